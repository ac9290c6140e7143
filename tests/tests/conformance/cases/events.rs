//! What can be seen (SEMANTICS 10).

use redial::{Event, Instant, NodeState, Reason, Why, driver::ClientEvent};

use super::{SECOND, ms};
use crate::{
    client::failure,
    site::{Site, Way},
};

pub(crate) async fn events_tell_what_happened_in_order(site: impl Site) {
    let node = site.node(Way::Echo);
    let client = site.client([&node]);
    let mut events = client.events();
    client.assert_echoes("x").await;
    site.soon(client.shutdown(15 * SECOND))
        .await
        .expect("a drain that ends");
    let (mut story, mut last) = (Vec::new(), Instant::ORIGIN);
    while let Some(record) = site.soon(events.next()).await {
        assert!(record.at >= last && record.at <= client.now());
        last = record.at;
        match record.event {
            ClientEvent::Cluster(Event::StateChanged { to, .. }) => story.push(to.to_string()),
            ClientEvent::Cluster(Event::Connected { .. }) => story.push("up".into()),
            ClientEvent::Cluster(Event::Disconnected { .. }) => story.push("down".into()),
            _ => {}
        }
    }
    story.retain(|word| word != "Disconnected");
    assert_eq!(story, ["Connecting", "up", "Handshaking", "Ready", "down"]);
    assert_eq!(events.dropped(), 0);
}

pub(crate) async fn each_receiver_gets_every_event(site: impl Site) {
    let node = site.node(Way::Echo);
    let client = site.client([&node]);
    let (mut first, mut second) = (client.events(), client.events());
    client.assert_echoes("x").await;
    site.soon(client.shutdown(15 * SECOND))
        .await
        .expect("a drain that ends");
    let mut count = 0;
    while let Some(record) = site.soon(first.next()).await {
        assert_eq!(site.soon(second.next()).await, Some(record));
        count += 1;
    }
    assert_eq!(site.soon(second.next()).await, None);
    assert!(count >= 6, "{count}");
}

pub(crate) async fn each_connection_that_comes_up_ends_once(site: impl Site) {
    let node = site.node(Way::ClosesAtRequest);
    let client = site.client([&node]);
    let mut events = client.events();
    for _ in 0..3 {
        failure(site.soon(client.request("x".into())).await);
    }
    site.soon(client.shutdown(SECOND))
        .await
        .expect("a drain that ends");
    let (mut up, mut down) = (Vec::new(), Vec::new());
    while let Some(record) = site.soon(events.next()).await {
        match record.event {
            ClientEvent::Cluster(Event::Connected { connection, .. }) => up.push(connection),
            ClientEvent::Cluster(Event::Disconnected { connection, .. }) => down.push(connection),
            _ => {}
        }
    }
    assert_eq!((up.len(), &up), (3, &down));
}

pub(crate) async fn bytes_that_make_no_sense_are_told_with_what_is_wrong(site: impl Site) {
    let node = site.node(Way::GarbageReply);
    let client = site.client([&node]);
    let mut events = client.events();
    let error = failure(site.soon(client.request("x".into())).await);
    assert_eq!(error.reason, Reason::Protocol);
    loop {
        let record = site.soon(events.next()).await.expect("the client lives");
        if let ClientEvent::Malformed {
            node: at, error, ..
        } = record.event
        {
            assert_eq!(at, client.id(&node));
            assert!(!error.0.is_empty());
            return;
        }
    }
}

pub(crate) async fn a_snapshot_shows_counters_and_nodes(site: impl Site) {
    let (well, dead) = (site.node(Way::Echo), site.node(Way::Refuses));
    let client = site.client_with(|c| c.warm(redial::Warm::All), [&well, &dead]);
    client.assert_echoes("x").await;
    site.until(|| client.stats().failures_connect >= 1).await;
    let snapshot = client.snapshot();
    assert_eq!((snapshot.stats.nodes, snapshot.stats.succeeded), (2, 1));
    let of = |node| {
        let id = client.id(node);
        snapshot
            .nodes
            .iter()
            .find(|node| node.id == id)
            .expect("it is in the list")
    };
    assert_eq!(
        (of(&well).state, of(&well).why),
        (NodeState::Ready, Why::Eligible)
    );
    let failure = of(&dead).last_failure.expect("it has failed");
    assert_eq!(failure.cause, redial::Cause::Refused);
    assert!(of(&dead).failures >= 1);
}

pub(crate) async fn the_clock_goes_on(site: impl Site) {
    let client = site.client([]);
    let start = client.now();
    site.sleep(ms(50)).await;
    let passed = client.now() - start;
    assert!((ms(50)..15 * SECOND).contains(&passed), "{passed:?}");
}
