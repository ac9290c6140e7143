//! Over real sockets: nodes that are dead before they are ready.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use redial::{Backoff, Cause, Certainty, Config, Reason, Stage, Warm};
use redial_tests::{
    real_client::{FailedAttempt, RealClient, failure, soon},
    servers::{BlackHole, ClosedPort, Server, ways},
};

const SECOND: Duration = Duration::from_secs(1);

/// Every node is dialled at once, and each attempt may take one second, without growth or jitter.
fn setup_in_a_second() -> Config {
    Config::builder()
        .warm(Warm::All)
        .connection_setup_timeout(Backoff::new(SECOND, SECOND, 1))
        .build()
        .expect("a valid configuration")
}

/// A node that is alive answers while the other one, at `dead`, fails as is returned.
async fn failure_beside_a_node_that_answers(dead: SocketAddr) -> FailedAttempt {
    let alive = Server::start(ways::echo);
    let mut client = RealClient::start(setup_in_a_second(), &[dead, alive.address()]);
    client.assert_echoes("hello").await;
    client.failed_attempt(dead).await
}

#[tokio::test]
async fn a_node_that_refuses_fails_at_once_and_another_answers() {
    let dead = ClosedPort::take().expect("a port");
    let failure = failure_beside_a_node_that_answers(dead.address()).await;
    assert_eq!(
        (failure.stage, failure.cause),
        (Stage::Connect, Cause::Refused)
    );
}

#[tokio::test]
async fn a_black_holed_node_fails_at_its_setup_deadline_and_another_answers() {
    let dead = BlackHole::open().expect("a full queue swallows connections");
    let failure = failure_beside_a_node_that_answers(dead.address()).await;
    assert_eq!(
        (failure.stage, failure.cause),
        (Stage::Connect, Cause::SetupTimeout)
    );
    assert!(failure.duration >= SECOND, "{failure:?}");
}

#[tokio::test]
async fn a_node_that_accepts_and_stays_mute_fails_at_its_setup_deadline_and_another_answers() {
    let dead = Server::start(ways::mute);
    let failure = failure_beside_a_node_that_answers(dead.address()).await;
    assert_eq!(
        (failure.stage, failure.cause),
        (Stage::Handshake, Cause::SetupTimeout)
    );
    assert!(failure.duration >= SECOND, "{failure:?}");
}

#[tokio::test]
async fn a_node_that_accepts_and_closes_fails_in_its_handshake_and_another_answers() {
    let dead = Server::start(ways::close);
    let failure = failure_beside_a_node_that_answers(dead.address()).await;
    assert_eq!(failure.stage, Stage::Handshake);
    // Whether a hello that meets a closed socket is answered by a reset first is the kernel's choice.
    assert!(
        matches!(failure.cause, Cause::PeerClosed | Cause::Io),
        "{failure:?}"
    );
}

#[tokio::test]
async fn a_node_that_answers_the_hello_with_garbage_fails_in_its_handshake_and_another_answers() {
    let dead = Server::start(ways::garbage_for_a_hello);
    let failure = failure_beside_a_node_that_answers(dead.address()).await;
    assert_eq!(
        (failure.stage, failure.cause),
        (Stage::Handshake, Cause::Malformed)
    );
}

#[tokio::test]
async fn a_node_that_accepts_and_closes_is_backed_off() {
    let start = Instant::now();
    let dead = Server::start(ways::close);
    let _observed = RealClient::start(setup_in_a_second(), &[dead.address()]);
    tokio::time::sleep(SECOND).await;

    let attempts = u32::try_from(dead.accepted()).expect("few");
    // The rests are at least 50, 100, 200 ms and so on: k of them take 50 × (2^k − 1) ms.
    let rests = (start.elapsed().as_millis() / 50 + 1).ilog2();
    assert!(
        (2..=1 + rests).contains(&attempts),
        "{attempts} attempts with {rests} rests"
    );
}

#[tokio::test]
async fn two_dead_nodes_of_three_do_not_hold_up_the_first_reply_by_default() {
    let black_hole = BlackHole::open().expect("a full queue swallows connections");
    let mute = Server::start(ways::mute);
    let alive = Server::start(ways::echo);
    let nodes = [black_hole.address(), mute.address(), alive.address()];
    for seed in 1..=6 {
        let start = Instant::now();
        let client = RealClient::start_seeded(Config::default(), &nodes, seed);
        client.assert_echoes("hello").await;
        // An attempt at a dead node takes 8 s at least; another node is dialled after 250 ms.
        assert!(
            start.elapsed() < 5 * SECOND,
            "seed {seed}: {:?}",
            start.elapsed()
        );
    }
}

#[tokio::test]
async fn a_request_that_only_dead_nodes_could_serve_fails_at_its_own_deadline() {
    let (closed, mute) = (
        ClosedPort::take().expect("a port"),
        Server::start(ways::mute),
    );
    let client = RealClient::start(Config::default(), &[closed.address(), mute.address()]);

    let timeout = Duration::from_millis(700);
    let request = client.handle.request("hello".into()).timeout(timeout);
    let error = failure(soon(request).await);
    assert_eq!(
        (error.reason, error.certainty),
        (Reason::Timeout, Certainty::NeverWritten)
    );
    assert!(error.elapsed >= timeout, "{error:?}");
}

#[tokio::test]
async fn a_node_that_was_killed_is_used_again_when_it_is_back() {
    // On an address of its own, so that no other test takes the port meanwhile.
    let server = Server::start_at("127.0.0.2:0".parse().expect("an address"), ways::echo);
    let address = server.address();
    let mut client = RealClient::start(setup_in_a_second(), &[address]);
    client.assert_echoes("before").await;

    drop(server);
    assert_eq!(client.failed_attempt(address).await.cause, Cause::Refused);

    let _server = Server::start_at(address, ways::echo);
    client.assert_echoes("after").await;
}
