//! Shutdown, from whatever state (SEMANTICS 9).

use std::time::Duration;

use redial::{
    Certainty, Reason, ShutdownError, SubmitError, Warm,
    driver::{Error, Runtime},
};
use redial_tests::servers::ways;

use super::{SECOND, more_than_the_kernel_buffers, ms};
use crate::{
    client::{assert_echoed, failure},
    loopback::{Loopback, serve},
    site::{Site, Way},
    wait::begin,
};

pub(crate) async fn what_was_written_may_finish_and_the_rest_is_refused(site: impl Site) {
    let node = site.node(Way::Slow(ms(300)));
    let client = site.client([&node]);
    let written = begin(client.request("written".into()));
    site.until(|| node.received().len() == 1).await;
    let drained = client.shutdown(15 * SECOND);
    let refused = site.soon(client.request("late".into())).await;
    assert_eq!(refused, Err(Error::Submit(SubmitError::Closed)));
    assert_echoed(site.soon(written).await, "written");
    site.soon(drained).await.expect("a drain that ends");
    assert_eq!(client.stats().connections, 0);
    site.until(|| node.open() == 0).await;
}

pub(crate) async fn what_was_not_written_fails_as_closed(site: impl Site) {
    let node = site.node(Way::Slow(ms(200)));
    let client = site.client_with(|c| c.max_in_flight(1_u32), [&node]);
    let written = begin(client.request("written".into()));
    site.until(|| node.received().len() == 1).await;
    let queued = begin(client.request("queued".into()));
    let drained = client.shutdown(15 * SECOND);
    let error = failure(site.soon(queued).await);
    let (reason, certainty) = (Reason::Closed, Certainty::NeverWritten);
    assert_eq!((error.reason, error.certainty), (reason, certainty));
    assert_echoed(site.soon(written).await, "written");
    site.soon(drained).await.expect("a drain that ends");
    assert_eq!(node.received().len(), 1);
}

pub(crate) async fn what_is_not_answered_fails_when_the_drain_ends(site: impl Site) {
    let node = site.node(Way::Silent);
    let client = site.client([&node]);
    let open = begin(client.request("x".into()));
    site.until(|| node.received().len() == 1).await;
    let start = client.now();
    site.soon(client.shutdown(ms(300)))
        .await
        .expect("a drain that ends");
    assert!(client.now() - start >= ms(300));
    let error = failure(site.soon(open).await);
    let (reason, certainty) = (Reason::Closed, Certainty::PossiblyWritten);
    assert_eq!((error.reason, error.certainty), (reason, certainty));
    site.until(|| node.open() == 0).await;
}

pub(crate) async fn with_a_peer_that_never_reads_it_ends_with_the_drain<R: Runtime>(
    site: Loopback<R>,
) {
    let node = serve(ways::stop_reading);
    let client = site.client([&node]);
    let open = begin(client.request(more_than_the_kernel_buffers()));
    site.until(|| client.stats().in_flight == 1).await;
    let start = client.now();
    site.soon(client.shutdown(ms(500)))
        .await
        .expect("a drain that ends");
    let took = client.now() - start;
    assert!((ms(500)..15 * SECOND).contains(&took), "{took:?}");
    let error = failure(site.soon(open).await);
    let (reason, certainty) = (Reason::Closed, Certainty::PossiblyWritten);
    assert_eq!((error.reason, error.certainty), (reason, certainty));
}

pub(crate) async fn without_a_drain_a_peer_that_never_reads_holds_up_nothing<R: Runtime>(
    site: Loopback<R>,
) {
    let node = serve(ways::stop_reading);
    let client = site.client([&node]);
    let open = begin(client.request(more_than_the_kernel_buffers()));
    site.until(|| client.stats().in_flight == 1).await;
    site.soon(client.shutdown(Duration::ZERO))
        .await
        .expect("no drain");
    assert_eq!(failure(site.soon(open).await).reason, Reason::Closed);
    assert_eq!(client.stats().connections, 0);
}

pub(crate) async fn nodes_in_setup_hold_up_nothing(site: impl Site) {
    let nodes = [Way::BlackHole, Way::Mute, Way::Refuses].map(|way| site.node(way));
    let client = site.client_with(|c| c.warm(Warm::All), &nodes);
    let waiting = begin(client.request("x".into()));
    site.until(|| client.stats().attempts >= 3).await;
    let start = client.now();
    site.soon(client.shutdown(600 * SECOND))
        .await
        .expect("nothing to wait for");
    assert!(client.now() - start < 15 * SECOND);
    let error = failure(site.soon(waiting).await);
    let (reason, certainty) = (Reason::Closed, Certainty::NeverWritten);
    assert_eq!((error.reason, error.certainty), (reason, certainty));
}

pub(crate) async fn a_second_call_can_shorten_the_drain(site: impl Site) {
    let node = site.node(Way::Silent);
    let client = site.client([&node]);
    let _open = begin(client.request("x".into()));
    site.until(|| node.received().len() == 1).await;
    let long = client.shutdown(600 * SECOND);
    let short = client.shutdown(ms(100));
    site.soon(long).await.expect("a drain that ends");
    site.soon(short).await.expect("a drain that ends");
}

pub(crate) async fn it_begins_without_being_awaited(site: impl Site) {
    let node = site.node(Way::Echo);
    let client = site.client([&node]);
    client.assert_echoes("hello").await;
    drop(client.shutdown(Duration::ZERO));
    site.until(|| node.open() == 0).await;
    let refused = site.soon(client.request("late".into())).await;
    assert_eq!(refused, Err(Error::Submit(SubmitError::Closed)));
}

pub(crate) async fn a_drain_without_end_is_refused_and_nothing_ends(site: impl Site) {
    let node = site.node(Way::Echo);
    let client = site.client([&node]);
    let refused = site.soon(client.shutdown(Duration::MAX)).await;
    assert_eq!(refused, Err(ShutdownError::DrainTooLong));
    client.assert_echoes("still here").await;
}

pub(crate) async fn afterwards_nothing_is_dialled_and_nothing_is_retried(site: impl Site) {
    let node = site.node(Way::ClosesAtRequest);
    let client = site.client_with(|c| c.warm(Warm::All), [&node]);
    let waiting = begin(client.request("x".into()).idempotent());
    site.until(|| client.stats().retries >= 1).await;
    site.soon(client.shutdown(ms(100)))
        .await
        .expect("a drain that ends");
    // It waits for its next attempt, or is in the middle of one.
    let reason = failure(site.soon(waiting).await).reason;
    assert!(
        matches!(reason, Reason::Closed | Reason::Disconnected(_)),
        "{reason}"
    );
    let (attempts, accepted) = (client.stats().attempts, node.accepted());
    site.sleep(ms(500)).await;
    assert_eq!(
        (client.stats().attempts, node.accepted()),
        (attempts, accepted)
    );
}

pub(crate) async fn afterwards_events_pushes_and_lists_end(site: impl Site) {
    let node = site.node(Way::Echo);
    let client = site.client([&node]);
    let (mut events, mut pushes) = (client.events(), client.pushes());
    client.assert_echoes("hello").await;
    site.soon(client.shutdown(SECOND))
        .await
        .expect("a drain that ends");
    while site.soon(events.next()).await.is_some() {}
    assert_eq!(site.soon(pushes.next()).await, None);
    assert_eq!(site.soon(client.events().next()).await, None);
    assert!(client.set_servers("10.0.0.1:1").is_err());
    site.soon(client.shutdown(SECOND))
        .await
        .expect("it has ended");
}
