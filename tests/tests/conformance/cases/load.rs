//! Many requests, over a node that dies again and again, and beside peers that flood.

use std::collections::BTreeMap;

use redial::{
    Backoff, Certainty, ConfigBuilder, Reason, SelectionPolicy, Warm,
    driver::{Error, Runtime},
};
use redial_tests::servers::ways;

use super::{SECOND, ms};
use crate::{
    client::{assert_echoed, failure},
    loopback::{Loopback, serve},
    site::{Site, Way},
    wait::begin,
};

/// Comes back at once, as often as it takes.
fn eager(config: ConfigBuilder) -> ConfigBuilder {
    let rests = Backoff::new(ms(5), ms(20), 2);
    config
        .reconnect_backoff(rests)
        .retry_backoff(rests)
        .retry_budget(None)
}

pub(crate) async fn ten_thousand_requests_over_a_flapping_node_are_all_answered(site: impl Site) {
    let node = site.node(Way::Flaps);
    let client = site.client_with(eager, [&node]);
    let tasks: Vec<_> = (0..50)
        .map(|task| {
            let client = client.handle();
            site.task(async move {
                for number in 0..200 {
                    let payload = format!("{task}-{number}");
                    let request = client.request(payload.clone().into()).idempotent();
                    assert_echoed(request.await, payload);
                }
            })
        })
        .collect();
    for task in tasks {
        site.soon(task).await;
    }
    let stats = client.stats();
    assert_eq!((stats.requests, stats.succeeded), (10_000, 10_000));
    assert_eq!((stats.open_requests, stats.in_flight), (0, 0));
    assert!(
        stats.failures_established >= 3 && stats.retries > 0,
        "{stats:?}"
    );
}

pub(crate) async fn what_may_not_be_repeated_reaches_a_flapping_node_at_most_once(site: impl Site) {
    let node = site.node(Way::Flaps);
    let client = site.client_with(eager, [&node]);
    let tasks: Vec<_> = (0..20)
        .map(|task| {
            let client = client.handle();
            site.task(async move {
                let mut answered = 0;
                for number in 0..200 {
                    let payload = format!("{task}-{number}");
                    match client.request(payload.clone().into()).await {
                        Err(Error::Request(error)) => {
                            // What was never written is tried again.
                            assert!(matches!(error.reason, Reason::Disconnected(_)), "{error}");
                            assert_eq!(error.certainty, Certainty::PossiblyWritten);
                        }
                        result => {
                            assert_echoed(result, payload);
                            answered += 1;
                        }
                    }
                }
                answered
            })
        })
        .collect();
    let mut answered = 0;
    for task in tasks {
        answered += site.soon(task).await;
    }
    let mut times = BTreeMap::<_, usize>::new();
    for payload in node.received() {
        *times.entry(payload).or_default() += 1;
    }
    assert!(times.values().all(|&times| times == 1));
    let stats = client.stats();
    assert_eq!((stats.requests, stats.succeeded), (4_000, answered));
    assert!(
        stats.failed > 0 && times.len() as u64 >= answered,
        "{stats:?}"
    );
}

pub(crate) async fn large_and_small_requests_share_a_connection(site: impl Site) {
    let node = site.node(Way::Echo);
    let client = site.client([&node]);
    let payloads: Vec<_> = (0..120_usize)
        .map(|number| vec![number as u8; if number % 6 == 0 { 300_000 } else { number }])
        .collect();
    let requests: Vec<_> = payloads
        .iter()
        .map(|payload| begin(client.request(payload.clone().into())))
        .collect();
    for (payload, request) in payloads.into_iter().zip(requests) {
        assert_echoed(site.soon(request).await, payload);
    }
    assert_eq!(node.accepted(), 1);
}

pub(crate) async fn fifty_nodes_are_served_at_once<R: Runtime>(site: Loopback<R>) {
    let nodes: Vec<_> = (0..50).map(|_| site.node(Way::Echo)).collect();
    let client = site.client_with(|c| c.selection(SelectionPolicy::RoundRobin), &nodes);
    site.until(|| client.stats().nodes_ready == 50).await;
    let requests: Vec<_> = (0..500)
        .map(|_| begin(client.request("x".into())))
        .collect();
    for request in requests {
        assert_echoed(site.soon(request).await, "x");
    }
    assert!(nodes.iter().all(|node| node.received().len() == 10));
}

pub(crate) async fn a_flood_starves_neither_others_nor_deadlines<R: Runtime>(site: Loopback<R>) {
    let (floods, well) = (serve(ways::flood), site.node(Way::Echo));
    let client = site.client_with(|c| c.warm(Warm::All), [&floods, &well]);
    site.until(|| client.stats().nodes_ready == 2).await;
    let on_the_flood = client.request("x".into()).on(client.id(&floods));
    let given_up = begin(on_the_flood.timeout(ms(300)));
    for _ in 0..20 {
        let request = client.request("x".into()).on(client.id(&well));
        assert_echoed(site.soon(request).await, "x");
    }
    let error = failure(site.soon(given_up).await);
    assert_eq!(error.reason, Reason::Timeout);
    assert!(error.elapsed < 15 * SECOND, "{error}");
}
