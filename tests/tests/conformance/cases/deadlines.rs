//! Deadlines of requests and of their attempts (SEMANTICS 4.1, 4.5, 4.8).

use std::time::Duration;

use redial::{Cause, Certainty, OnRequestTimeout, Reason, Warm};

use super::{SECOND, ms};
use crate::{
    client::{assert_echoed, failure},
    site::{Site, Way},
    wait::{begin, is_over},
};

pub(crate) async fn without_a_usable_node_a_request_times_out_unwritten(site: impl Site) {
    for way in [Way::Refuses, Way::BlackHole, Way::Mute] {
        let node = site.node(way);
        let client = site.client([&node]);
        let error = failure(site.soon(client.request("x".into()).timeout(ms(300))).await);
        let (reason, certainty) = (Reason::Timeout, Certainty::NeverWritten);
        assert_eq!(
            (error.reason, error.certainty),
            (reason, certainty),
            "{way:?}"
        );
        assert!(
            error.elapsed >= ms(300) && error.is_retryable(),
            "{error:?}"
        );
        assert!(node.received().is_empty());
    }
}

pub(crate) async fn without_a_reply_a_request_times_out_possibly_written(site: impl Site) {
    let node = site.node(Way::Silent);
    let client = site.client([&node]);
    site.soon(client.ready(20 * SECOND))
        .await
        .expect("it is up");
    let start = client.now();
    let error = failure(site.soon(client.request("x".into()).timeout(ms(200))).await);
    let (reason, certainty) = (Reason::Timeout, Certainty::PossiblyWritten);
    assert_eq!((error.reason, error.certainty), (reason, certainty));
    assert!(!error.is_retryable() && client.now() - start >= ms(200));
}

pub(crate) async fn a_request_without_time_is_never_written(site: impl Site) {
    let node = site.node(Way::Echo);
    let client = site.client([&node]);
    site.soon(client.ready(20 * SECOND))
        .await
        .expect("it is up");
    let error = failure(
        site.soon(client.request("x".into()).timeout(Duration::ZERO))
            .await,
    );
    let (reason, certainty) = (Reason::Timeout, Certainty::NeverWritten);
    assert_eq!((error.reason, error.certainty), (reason, certainty));
    client.assert_echoes("next").await;
    assert_eq!(node.received(), [b"next"]);
}

pub(crate) async fn with_an_empty_list_a_request_waits_until_its_deadline(site: impl Site) {
    let client = site.client([]);
    let error = failure(site.soon(client.request("x".into()).timeout(ms(100))).await);
    let (reason, certainty) = (Reason::NoNodes, Certainty::NeverWritten);
    assert_eq!((error.reason, error.certainty), (reason, certainty));
}

pub(crate) async fn with_an_empty_list_a_request_waits_for_a_list(site: impl Site) {
    let client = site.client([]);
    let waiting = begin(client.request("x".into()));
    site.sleep(ms(50)).await;
    let node = site.node(Way::Echo);
    client.list([&node]);
    assert_echoed(site.soon(waiting).await, "x");
}

pub(crate) async fn a_request_that_waits_too_long_in_the_queue_expires(site: impl Site) {
    let node = site.node(Way::Refuses);
    let client = site.client_with(|c| c.queue_max_age(ms(150)), [&node]);
    let error = failure(site.soon(client.request("x".into())).await);
    let (reason, certainty) = (Reason::Expired, Certainty::NeverWritten);
    assert_eq!((error.reason, error.certainty), (reason, certainty));
    assert!(error.elapsed >= ms(150), "{error:?}");
}

pub(crate) async fn a_late_reply_is_dropped_and_the_next_request_gets_its_own(site: impl Site) {
    let node = site.node(Way::Slow(ms(400)));
    let client = site.client([&node]);
    site.soon(client.ready(20 * SECOND))
        .await
        .expect("it is up");
    let late = client.request("late".into()).timeout(ms(100));
    assert_eq!(failure(site.soon(late).await).reason, Reason::Timeout);
    client.assert_echoes("next").await;
    site.until(|| client.stats().late_replies == 1).await;
    assert_eq!(node.accepted(), 1);
}

pub(crate) async fn an_attempt_timeout_moves_an_idempotent_request_to_another_node(
    site: impl Site,
) {
    let (silent, well) = (site.node(Way::Silent), site.node(Way::Echo));
    let configure = |c: redial::ConfigBuilder| c.warm(Warm::All).request_timeout(ms(300));
    let client = site.client_with(configure, [&silent]);
    let request = begin(client.request("x".into()).idempotent());
    site.until(|| silent.received().len() == 1).await;
    client.list([&silent, &well]);
    let response = assert_echoed(site.soon(request).await, "x");
    assert!(
        response.attempts >= 2 && response.elapsed >= ms(300),
        "{response:?}"
    );
    assert_eq!(response.node, client.id(&well));
}

pub(crate) async fn an_attempt_timeout_ends_a_request_that_may_not_be_repeated(site: impl Site) {
    let node = site.node(Way::Silent);
    let client = site.client_with(|c| c.request_timeout(ms(200)), [&node]);
    let error = failure(site.soon(client.request("x".into())).await);
    let (reason, certainty) = (Reason::Timeout, Certainty::PossiblyWritten);
    assert_eq!((error.reason, error.certainty), (reason, certainty));
    assert_eq!((error.attempts, node.received().len()), (1, 1));
    // With correlation ids the connection stays, and its slot is free.
    let stats = client.stats();
    assert_eq!((stats.connections, stats.in_flight), (1, 0));
}

pub(crate) async fn an_attempt_timeout_closes_the_connection_where_it_is_told_to(site: impl Site) {
    let node = site.node(Way::Silent);
    let client = site.client_with(
        |c| {
            c.request_timeout(ms(200))
                .on_request_timeout(OnRequestTimeout::Disconnect)
        },
        [&node],
    );
    let mut client = client;
    let request = begin(client.request("x".into()));
    assert_eq!(client.disconnected(&node).await, Cause::RequestTimeout);
    assert_eq!(failure(site.soon(request).await).reason, Reason::Timeout);
    site.until(|| node.open() == 0).await;
}

pub(crate) async fn a_shorter_attempt_timeout_of_a_request_gives_up_that_request_alone(
    site: impl Site,
) {
    let node = site.node(Way::Silent);
    let client = site.client([&node]);
    let mut other = begin(client.request("other".into()));
    let request = client.request("x".into()).request_timeout(ms(100));
    assert_eq!(failure(site.soon(request).await).reason, Reason::Timeout);
    assert!(!is_over(&mut other));
    assert_eq!((client.stats().connections, node.open()), (1, 1));
}
