//! Nodes that are dead before they are ready (SEMANTICS 3), and rejected credentials (6).

use redial::{
    Backoff, Cause, Certainty, ConfigBuilder, HedgeDelay, Reason, Stage, Warm, driver::Runtime,
};

use super::{SECOND, ms};
use crate::{
    client::{FailedAttempt, failure},
    site::{Node, Site, Way},
};

/// Every node is dialled at once, and each attempt may take half a second, without growth or jitter.
fn quick_setup(config: ConfigBuilder) -> ConfigBuilder {
    config
        .warm(Warm::All)
        .connection_setup_timeout(Backoff::new(ms(500), ms(500), 1))
}

/// A node that is alive answers while one of these ways fails as is returned.
async fn failure_beside_a_node_that_answers(site: impl Site, way: Way) -> FailedAttempt {
    let (dead, alive) = (site.node(way), site.node(Way::Echo));
    let mut client = site.client_with(quick_setup, [&dead, &alive]);
    client.assert_echoes("hello").await;
    client.failed_attempt(&dead).await
}

pub(crate) async fn a_node_that_refuses_fails_at_once_and_another_answers(site: impl Site) {
    let failed = failure_beside_a_node_that_answers(site, Way::Refuses).await;
    assert_eq!(
        (failed.stage, failed.cause),
        (Stage::Connect, Cause::Refused)
    );
}

pub(crate) async fn a_black_holed_node_fails_at_its_deadline_and_another_answers(site: impl Site) {
    let failed = failure_beside_a_node_that_answers(site, Way::BlackHole).await;
    assert_eq!(
        (failed.stage, failed.cause),
        (Stage::Connect, Cause::SetupTimeout)
    );
    assert!(failed.duration >= ms(500), "{failed:?}");
}

pub(crate) async fn a_mute_node_fails_at_its_deadline_and_another_answers(site: impl Site) {
    let failed = failure_beside_a_node_that_answers(site, Way::Mute).await;
    assert_eq!(
        (failed.stage, failed.cause),
        (Stage::Handshake, Cause::SetupTimeout)
    );
    assert!(failed.duration >= ms(500), "{failed:?}");
}

pub(crate) async fn a_node_that_accepts_and_closes_fails_and_another_answers(site: impl Site) {
    let failed = failure_beside_a_node_that_answers(site, Way::Closes).await;
    assert_eq!(failed.stage, Stage::Handshake);
    // Whether a hello that meets a closed socket is answered by a reset first is the kernel's choice.
    assert!(
        matches!(failed.cause, Cause::PeerClosed | Cause::Io),
        "{failed:?}"
    );
}

pub(crate) async fn a_node_that_greets_with_garbage_fails_and_another_answers(site: impl Site) {
    let failed = failure_beside_a_node_that_answers(site, Way::GarbageHello).await;
    assert_eq!(
        (failed.stage, failed.cause),
        (Stage::Handshake, Cause::Malformed)
    );
}

pub(crate) async fn a_node_that_rejects_credentials_fails_and_another_answers(site: impl Site) {
    let failed = failure_beside_a_node_that_answers(site, Way::Rejects).await;
    assert_eq!(failed.stage, Stage::Authenticate);
    assert_eq!(failed.cause, Cause::CredentialsRejected);
}

pub(crate) async fn credentials_that_all_reject_fail_a_request(site: impl Site) {
    let node = site.node(Way::Rejects);
    let client = site.client([&node]);
    let error = failure(site.soon(client.request("x".into())).await);
    assert_eq!(error.reason, Reason::AuthenticationFailed);
    assert_eq!(error.certainty, Certainty::NeverWritten);
}

pub(crate) async fn a_handshake_can_have_a_deadline_of_its_own(site: impl Site) {
    let node = site.node(Way::Mute);
    let mut client = site.client_with(|c| c.warm(Warm::All).handshake_timeout(ms(200)), [&node]);
    let failed = client.failed_attempt(&node).await;
    assert_eq!(
        (failed.stage, failed.cause),
        (Stage::Handshake, Cause::HandshakeTimeout)
    );
}

/// At most so many attempts can have been made in this time: the rests between them are at least 50,
/// 100, 200 ms and so on, and k of them take 50 × (2^k − 1) ms.
fn most_attempts(elapsed: std::time::Duration) -> u32 {
    1 + (elapsed.as_millis() / 50 + 1).ilog2()
}

pub(crate) async fn a_dead_node_is_backed_off(site: impl Site) {
    for way in [Way::Refuses, Way::Closes] {
        let node = site.node(way);
        let start = site.runtime().now();
        let client = site.client_with(quick_setup, [&node]);
        site.until(|| client.stats().attempts >= 4).await;
        site.sleep(ms(200)).await;
        let attempts = client.stats().attempts;
        let most = most_attempts(client.now() - start);
        assert!(attempts <= most.into(), "{way:?}: {attempts}, not {most}");
    }
}

pub(crate) async fn dead_nodes_do_not_hold_up_the_first_reply(site: impl Site) {
    let nodes = [Way::BlackHole, Way::Mute, Way::Echo].map(|way| site.node(way));
    for seed in 1..=6 {
        let client = site.client_built(|builder| builder.seed(seed), &nodes);
        let start = client.now();
        client.assert_echoes("hello").await;
        // An attempt at a dead node takes 8 s at least; another node is dialled after 250 ms.
        assert!(client.now() - start < 5 * SECOND, "seed {seed}");
    }
}

pub(crate) async fn a_request_can_fail_as_soon_as_no_node_is_left(site: impl Site) {
    let nodes = [site.node(Way::Refuses), site.node(Way::Refuses)];
    let client = site.client(&nodes);
    let error = failure(site.soon(client.request("x".into()).fail_fast()).await);
    assert_eq!(error.reason, Reason::Disconnected(Cause::Refused));
    assert_eq!(
        (error.stage, error.certainty),
        (Some(Stage::Connect), Certainty::NeverWritten)
    );
}

pub(crate) async fn warm_nodes_are_connected_without_a_request(site: impl Site) {
    let nodes = [site.node(Way::Echo), site.node(Way::Echo)];
    let client = site.client_with(|c| c.warm(Warm::All), &nodes);
    site.until(|| client.stats().nodes_ready == 2).await;
    assert_eq!((nodes[0].accepted(), nodes[1].accepted()), (1, 1));
}

fn accepted(nodes: &[Node]) -> usize {
    nodes.iter().map(Node::accepted).sum()
}

pub(crate) async fn no_more_attempts_than_allowed_are_made_at_a_time(site: impl Site) {
    let nodes = [(); 3].map(|()| site.node(Way::Mute));
    let one_at_a_time = |c: ConfigBuilder| {
        c.warm(Warm::All)
            .max_concurrent_attempts(1)
            .hedge_delay(HedgeDelay::Never)
    };
    let client = site.client_with(one_at_a_time, &nodes);
    site.until(|| accepted(&nodes) == 1).await;
    site.sleep(ms(300)).await;
    assert_eq!((accepted(&nodes), client.stats().attempts), (1, 1));
}

pub(crate) async fn no_more_attempts_than_allowed_are_made_in_a_second(site: impl Site) {
    let nodes = [(); 3].map(|()| site.node(Way::Mute));
    let start = site.runtime().now();
    let client = site.client_with(|c| c.warm(Warm::All).attempts_per_second(2), &nodes);
    site.until(|| {
        let attempts = u128::from(client.stats().attempts);
        // Two at once, and one each half second.
        assert!(attempts <= 2 + (client.now() - start).as_millis() / 500);
        accepted(&nodes) == 3
    })
    .await;
    assert!(client.now() - start >= ms(500));
}
