//! Nodes that die while they serve, and those that are only slow (SEMANTICS 2.1, 4.7, 4.8).

use redial::{Backoff, Cause, Certainty, Reason, RetryBudget, Warm};

use super::{SECOND, ms};
use crate::{
    client::{assert_echoed, failure},
    site::{Site, Way},
    wait::begin,
};

/// Sends a request that may be repeated to a client that knows a node of this way only, and tells it of
/// one that is alive once the connection to the first has ended, for the cause that is returned.
async fn answered_elsewhere(site: impl Site, way: Way) -> Cause {
    let (dying, alive) = (site.node(way), site.node(Way::Echo));
    let mut client = site.client([&dying]);
    let request = begin(client.request("hello".into()).idempotent());
    let cause = client.disconnected(&dying).await;
    client.list([&dying, &alive]);
    let response = assert_echoed(site.soon(request).await, "hello");
    assert!(response.attempts >= 2);
    assert_eq!(alive.received(), [b"hello"]);
    cause
}

pub(crate) async fn after_a_close_an_idempotent_request_is_answered_elsewhere(site: impl Site) {
    let cause = answered_elsewhere(site, Way::ClosesAtRequest).await;
    assert_eq!(cause, Cause::PeerClosed);
}

pub(crate) async fn after_garbage_an_idempotent_request_is_answered_elsewhere(site: impl Site) {
    let cause = answered_elsewhere(site, Way::GarbageReply).await;
    assert_eq!(cause, Cause::ProtocolError);
}

pub(crate) async fn a_request_that_may_have_been_carried_out_is_not_repeated(site: impl Site) {
    let node = site.node(Way::ClosesAtRequest);
    let client = site.client([&node]);
    let error = failure(site.soon(client.request("hello".into())).await);
    assert_eq!(error.reason, Reason::Disconnected(Cause::PeerClosed));
    assert_eq!(
        (error.certainty, error.attempts),
        (Certainty::PossiblyWritten, 1)
    );
    assert!(!error.is_retryable());
    assert_eq!(node.received().len(), 1);
}

pub(crate) async fn a_request_is_tried_no_more_often_than_allowed(site: impl Site) {
    let node = site.node(Way::ClosesAtRequest);
    let client = site.client_with(
        |c| {
            c.max_attempts(3)
                .retry_backoff(Backoff::new(ms(10), ms(10), 1))
        },
        [&node],
    );
    let error = failure(site.soon(client.request("hello".into()).idempotent()).await);
    assert_eq!(error.reason, Reason::Disconnected(Cause::PeerClosed));
    assert_eq!((error.attempts, node.received().len()), (3, 3));
}

pub(crate) async fn retries_end_with_their_budget(site: impl Site) {
    let node = site.node(Way::ClosesAtRequest);
    let one_retry = RetryBudget {
        per_submit_milli: 0,
        per_second: 0,
        max: 1,
    };
    let client = site.client_with(|c| c.retry_budget(one_retry), [&node]);
    let error = failure(site.soon(client.request("hello".into()).idempotent()).await);
    assert_eq!((error.attempts, error.budget_exhausted), (2, true));
    assert_eq!(error.reason, Reason::Disconnected(Cause::PeerClosed));
}

pub(crate) async fn retries_end_with_the_request(site: impl Site) {
    let node = site.node(Way::ClosesAtRequest);
    let client = site.client([&node]);
    let request = client.request("hello".into()).idempotent().timeout(ms(700));
    let error = failure(site.soon(request).await);
    assert_eq!(error.certainty, Certainty::PossiblyWritten);
    // The last wait may be longer than the time that is left.
    assert!(
        matches!(
            error.reason,
            Reason::Timeout | Reason::Disconnected(Cause::PeerClosed)
        ),
        "{error:?}"
    );
    assert!(error.elapsed < 15 * SECOND);
}

pub(crate) async fn the_loss_of_a_node_leaves_requests_on_another_alone(site: impl Site) {
    let (slow, dying) = (
        site.node(Way::Slow(ms(500))),
        site.node(Way::ClosesAtRequest),
    );
    let client = site.client_with(|c| c.warm(Warm::All), [&slow, &dying]);
    let on_slow = begin(client.request("slow".into()).on(client.id(&slow)));
    site.until(|| slow.received().len() == 1).await;
    let on_dying = client.request("dying".into()).on(client.id(&dying));
    failure(site.soon(on_dying).await);
    let response = assert_echoed(site.soon(on_slow).await, "slow");
    assert_eq!((response.attempts, slow.accepted()), (1, 1));
}

pub(crate) async fn a_slow_node_is_waited_for_on_one_connection(site: impl Site) {
    let node = site.node(Way::Slow(ms(150)));
    let client = site.client([&node]);
    let payloads = ["a", "b", "c", "d", "e"];
    let requests = payloads.map(|payload| begin(client.request(payload.into())));
    for (payload, request) in payloads.into_iter().zip(requests) {
        assert_eq!(assert_echoed(site.soon(request).await, payload).attempts, 1);
    }
    assert_eq!(node.accepted(), 1);
}
