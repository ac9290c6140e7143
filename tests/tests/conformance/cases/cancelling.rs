//! Futures that are dropped, at each point of a request's way (SEMANTICS 4.9).

use redial::{Backoff, Stats, driver::Runtime};
use redial_tests::servers::{Gate, ways};

use super::{SECOND, more_than_the_kernel_buffers, ms};
use crate::{
    client::{Client, assert_echoed},
    loopback::{Loopback, serve},
    site::{Site, Way},
    wait::{before, begin, yield_now},
};

/// Nothing is open, in flight or remembered.
fn is_idle(stats: &Stats) -> bool {
    (stats.open_requests, stats.in_flight, stats.tombstones) == (0, 0, 0)
}

pub(crate) async fn dropped_while_queued_it_is_never_written(site: impl Site) {
    let node = site.node(Way::Slow(ms(200)));
    let client = site.client_with(|c| c.max_in_flight(1_u32), [&node]);
    let first = begin(client.request("first".into()));
    site.until(|| node.received().len() == 1).await;
    drop(begin(client.request("queued".into())));
    assert_echoed(site.soon(first).await, "first");
    client.assert_echoes("next").await;
    assert_eq!(node.received(), [&b"first"[..], b"next"]);
}

pub(crate) async fn dropped_during_the_handshake_it_is_never_written(site: impl Site) {
    let node = site.node(Way::Mute);
    let client = site.client([&node]);
    let request = begin(client.request("dropped".into()));
    site.until(|| node.accepted() == 1).await;
    drop(request);
    assert!(is_idle(&client.stats()));
    assert!(node.received().is_empty());
}

pub(crate) async fn dropped_while_no_node_can_be_reached_it_leaves_nothing(site: impl Site) {
    let node = site.node(Way::BlackHole);
    let client = site.client([&node]);
    let request = begin(client.request("dropped".into()));
    site.until(|| client.stats().attempts == 1).await;
    drop(request);
    assert!(is_idle(&client.stats()));
}

pub(crate) async fn dropped_while_it_waits_for_a_retry_it_is_not_tried_again(site: impl Site) {
    let node = site.node(Way::ClosesAtRequest);
    let configure =
        |c: redial::ConfigBuilder| c.retry_backoff(Backoff::new(2 * SECOND, 2 * SECOND, 1));
    let client = site.client_with(configure, [&node]);
    let request = begin(client.request("dropped".into()).idempotent());
    site.until(|| client.stats().retries == 1).await;
    drop(request);
    assert!(is_idle(&client.stats()));
    let received = node.received().len();
    site.sleep(ms(2_100)).await;
    assert_eq!(node.received().len(), received);
}

pub(crate) async fn dropped_after_it_was_written_it_leaves_the_next_its_own_reply(site: impl Site) {
    let node = site.node(Way::Slow(ms(200)));
    let client = site.client([&node]);
    let request = begin(client.request("dropped".into()));
    site.until(|| node.received().len() == 1).await;
    drop(request);
    client.assert_echoes("next").await;
    let stats = client.stats();
    assert!(is_idle(&stats) && stats.late_replies == 1, "{stats:?}");
    assert_eq!(node.accepted(), 1);
}

pub(crate) async fn dropped_at_any_moment_a_thousand_leave_nothing(site: impl Site) {
    let node = site.node(Way::Echo);
    let client = site.client([&node]);
    for number in 0..1_000 {
        let steps = async {
            for _ in 0..number % 50 {
                yield_now().await;
            }
        };
        before(client.request("dropped".into()), steps).await;
    }
    client.assert_echoes("next").await;
    site.until(|| is_idle(&client.stats())).await;
    let stats = client.stats();
    assert_eq!(
        (stats.requests, node.accepted()),
        (stats.succeeded + stats.failed, 1)
    );
}

pub(crate) async fn dropped_in_many_tasks_two_thousand_leave_nothing(site: impl Site) {
    let node = site.node(Way::Echo);
    let client = site.client([&node]);
    let tasks: Vec<_> = (0..2_000_u32)
        .map(|number| {
            let client = client.handle();
            site.task(async move {
                let steps = async {
                    for _ in 0..number % 70 {
                        yield_now().await;
                    }
                };
                let payload = number.to_string();
                let request = client.request(payload.clone().into());
                before(request, steps).await.map(|result| (payload, result))
            })
        })
        .collect();
    for task in tasks {
        if let Some((payload, result)) = site.soon(task).await {
            assert_echoed(result, payload);
        }
    }
    client.assert_echoes("next").await;
    site.until(|| is_idle(&client.stats())).await;
    let stats = client.stats();
    assert_eq!(
        (stats.requests, node.accepted()),
        (stats.succeeded + stats.failed, 1)
    );
}

/// Sends a request and drops its future when its connection waits at the gate; then opens that.
async fn drop_at<R: Runtime>(
    site: &Loopback<R>,
    gate: &Gate,
    client: &Client<R>,
    payload: bytes::Bytes,
) {
    let reached = site.until(|| gate.is_reached());
    let answered = before(client.request(payload), reached).await;
    assert!(answered.is_none(), "answered too early");
    gate.open();
}

pub(crate) async fn dropped_while_partly_written_it_is_written_to_its_end<R: Runtime>(
    site: Loopback<R>,
) {
    let gate = Gate::closed();
    let node = serve(ways::read_after(gate.clone()));
    let client = site.client([&node]);
    let payload = more_than_the_kernel_buffers();
    drop_at(&site, &gate, &client, payload.clone()).await;
    client.assert_echoes("next").await;
    assert_eq!(node.received(), [&payload[..], b"next"]);
    assert_eq!((node.accepted(), client.stats().late_replies), (1, 1));
}

pub(crate) async fn dropped_while_its_reply_is_partly_read_it_leaves_the_next_its_own<
    R: Runtime,
>(
    site: Loopback<R>,
) {
    let gate = Gate::closed();
    let node = serve(ways::half_a_reply_before(gate.clone()));
    let client = site.client([&node]);
    drop_at(&site, &gate, &client, "dropped".into()).await;
    client.assert_echoes("next").await;
    assert_eq!((node.accepted(), client.stats().late_replies), (1, 1));
}

pub(crate) async fn dropped_without_a_reply_it_frees_its_slot_at_its_attempt_deadline(
    site: impl Site,
) {
    let node = site.node(Way::Silent);
    let client = site.client_with(|c| c.max_in_flight(1_u32).request_timeout(ms(300)), [&node]);
    let request = begin(client.request("dropped".into()));
    site.until(|| node.received().len() == 1).await;
    drop(request);
    let next = client
        .request("next".into())
        .timeout(15 * SECOND)
        .without_reply();
    assert!(site.soon(next).await.is_ok());
}
