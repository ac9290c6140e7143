//! What servers say beside replies: another node, not now, goodbye, never again (SEMANTICS 2.1, 4.6,
//! 4.7, 8.6).

use redial::{
    Event, Reason, SubmitError, Warm,
    driver::{ClientEvent, Error},
};

use super::ms;
use crate::{
    client::{assert_echoed, failure},
    site::{Site, Way},
    wait::begin,
};

pub(crate) async fn a_request_that_is_sent_elsewhere_is_answered_there(site: impl Site) {
    let (elsewhere, here) = (site.node(Way::Elsewhere), site.node(Way::Echo));
    let client = site.client_with(|c| c.warm(Warm::All), [&elsewhere, &here]);
    site.until(|| client.stats().nodes_ready == 2).await;
    // Both are as good as idle, so the first node gets some of them.
    let requests = [(); 10].map(|()| begin(client.request("x".into())));
    for request in requests {
        let response = assert_echoed(site.soon(request).await, "x");
        assert_eq!(response.node, client.id(&here));
    }
    assert!(!elsewhere.received().is_empty());
}

pub(crate) async fn a_request_for_a_node_that_sends_it_elsewhere_ends_with_that_answer(
    site: impl Site,
) {
    let node = site.node(Way::Elsewhere);
    let client = site.client([&node]);
    let request = client.request("x".into()).on(client.id(&node));
    let response = site.soon(request).await.expect("an answer");
    assert!(response.retry_refused);
    assert_eq!(node.received().len(), 1);
}

pub(crate) async fn a_node_that_asks_for_no_more_requests_gets_none_until_then(site: impl Site) {
    let node = site.node(Way::Throttles(ms(400)));
    let client = site.client([&node]);
    let start = client.now();
    client.assert_echoes("first").await;
    client.assert_echoes("second").await;
    assert!(client.now() - start >= ms(400));
    // It is busy, not failed.
    let stats = client.stats();
    assert_eq!((stats.failures_established, node.accepted()), (0, 1));
}

pub(crate) async fn after_a_goodbye_requests_go_on_a_new_connection(site: impl Site) {
    let node = site.node(Way::Goodbye);
    let client = site.client([&node]);
    for nth in 1..=3 {
        client.assert_echoes("hello").await;
        // The goodbye comes after the reply.
        site.until(|| client.stats().connections == 0).await;
        assert_eq!(node.accepted(), nth);
    }
    assert_eq!(client.stats().failures_established, 0);
    site.until(|| node.open() == 0).await;
}

pub(crate) async fn what_servers_say_unasked_is_received(site: impl Site) {
    let node = site.node(Way::News);
    let client = site.client([&node]);
    let mut pushes = client.pushes();
    let response = assert_echoed(site.soon(client.request("x".into())).await, "x");
    let record = site.soon(pushes.next()).await.expect("the client lives");
    assert_eq!(
        (&record.push[..], record.node),
        (&b"news"[..], response.node)
    );
}

pub(crate) async fn the_latest_receiver_of_pushes_takes_over(site: impl Site) {
    let node = site.node(Way::News);
    let client = site.client([&node]);
    let (mut earlier, mut later) = (client.pushes(), client.pushes());
    assert_eq!(site.soon(earlier.next()).await, None);
    client.assert_echoes("x").await;
    assert!(site.soon(later.next()).await.is_some());
}

pub(crate) async fn a_session_that_is_over_ends_the_client(site: impl Site) {
    let node = site.node(Way::EndsSession);
    let client = site.client([&node]);
    let mut events = client.events();
    let error = failure(site.soon(client.request("x".into())).await);
    assert_eq!(error.reason, Reason::Closed);
    let mut ends = 0;
    while let Some(record) = site.soon(events.next()).await {
        let end = ClientEvent::Cluster(Event::SessionExpired {
            node: Some(client.id(&node)),
        });
        ends += u32::from(record.event == end);
    }
    assert_eq!(ends, 1);
    let refused = site.soon(client.request("late".into())).await;
    assert_eq!(refused, Err(Error::Submit(SubmitError::Closed)));
}
