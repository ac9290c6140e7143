//! Server lists that change, and where they come from (SEMANTICS 7).

use std::time::Duration;

use redial::{
    Certainty, ConfigBuilder, Reason, SelectionPolicy, SourceId, Warm,
    driver::{Builder, ClientEvent, ServerList, SourceError, from_fn},
};

use super::{SECOND, ms};
use crate::{
    client::{assert_echoed, failure},
    site::{Node, Site, Way, config, specs},
    wait::begin,
};

pub(crate) async fn a_node_that_stays_keeps_its_connection(site: impl Site) {
    let nodes = [(); 3].map(|()| site.node(Way::Echo));
    let client = site.client_with(|c| c.warm(Warm::All), &nodes[..2]);
    site.until(|| client.stats().nodes_ready == 2).await;
    client.list(&nodes[1..]);
    site.until(|| nodes[2].open() == 1 && nodes[0].open() == 0)
        .await;
    client.assert_echoes("hello").await;
    assert_eq!((nodes[1].accepted(), nodes[1].open()), (1, 1));
}

pub(crate) async fn what_is_in_flight_on_a_node_that_leaves_may_finish(site: impl Site) {
    let (leaves, stays) = (site.node(Way::Slow(ms(300))), site.node(Way::Echo));
    let client = site.client([&leaves]);
    let request = begin(client.request("x".into()));
    site.until(|| leaves.received().len() == 1).await;
    client.list([&stays]);
    let response = assert_echoed(site.soon(request).await, "x");
    assert_eq!((response.attempts, stays.received().len()), (1, 0));
    site.until(|| leaves.open() == 0).await;
}

pub(crate) async fn a_request_bound_to_a_node_that_leaves_fails(site: impl Site) {
    let (leaves, stays) = (site.node(Way::Refuses), site.node(Way::Echo));
    let client = site.client([&leaves]);
    let request = begin(client.request("x".into()).on(client.id(&leaves)));
    client.list([&stays]);
    let error = failure(site.soon(request).await);
    let (reason, certainty) = (Reason::NodeRemoved, Certainty::NeverWritten);
    assert_eq!((error.reason, error.certainty), (reason, certainty));
}

pub(crate) async fn a_request_for_any_node_waits_for_a_better_list(site: impl Site) {
    let (dead, well) = (site.node(Way::BlackHole), site.node(Way::Echo));
    let client = site.client([&dead]);
    let request = begin(client.request("x".into()));
    site.until(|| client.stats().attempts == 1).await;
    client.list([&well]);
    assert_echoed(site.soon(request).await, "x");
}

pub(crate) async fn a_list_that_is_wrong_changes_nothing(site: impl Site) {
    let node = site.node(Way::Echo);
    let client = site.client([&node]);
    client.assert_echoes("before").await;
    for wrong in ["", "10.0.0.1:1,b", "10.0.0.1:99999"] {
        assert!(client.set_servers(wrong).is_err(), "{wrong:?}");
    }
    assert!(client.set_nodes(&[]).is_err());
    client.assert_echoes("after").await;
    assert_eq!((client.nodes().len(), node.accepted()), (1, 1));
}

pub(crate) async fn a_source_says_where_the_servers_are(site: impl Site) {
    let node = site.node(Way::Echo);
    let list = ServerList::new(specs([&node]));
    let source = from_fn(move || {
        let list = list.clone();
        async { Ok(list) }
    });
    let client = site.client_built(|builder| builder.source(source), []);
    client.assert_echoes("hello").await;
}

pub(crate) async fn a_source_that_fails_changes_nothing_and_says_why(site: impl Site) {
    let node = site.node(Way::Echo);
    let source = from_fn(|| async { Err(SourceError::other("on holiday")) });
    let often = |c: ConfigBuilder| {
        c.refresh_interval(ms(50))
            .refresh_jitter(Duration::ZERO)
            .refresh_min_interval(ms(50))
    };
    let say = |builder: Builder<_, _>| builder.config(config(often)).source(source);
    let client = site.client_built(say, [&node]);
    let mut events = client.events();
    client.assert_echoes("hello").await;
    loop {
        let record = site.soon(events.next()).await.expect("the client lives");
        if let ClientEvent::SourceFailed { source, error } = record.event {
            assert_eq!(source, SourceId::new(0));
            assert!(error.to_string().contains("on holiday"));
            break;
        }
    }
    assert_eq!(client.nodes().len(), 1);
}

pub(crate) async fn fallback_servers_serve_when_all_others_have_failed(site: impl Site) {
    let (dead, well) = (site.node(Way::Refuses), site.node(Way::Echo));
    let fallback = well.endpoint().to_string();
    let client = site.client_built(|builder| builder.fallback(fallback), [&dead]);
    client.assert_echoes("hello").await;
}

pub(crate) async fn under_sticky_all_requests_go_to_one_node(site: impl Site) {
    let nodes = [(); 3].map(|()| site.node(Way::Echo));
    let client = site.client_with(|c| c.selection(SelectionPolicy::Sticky), &nodes);
    for _ in 0..20 {
        client.assert_echoes("hello").await;
    }
    let accepted: usize = nodes.iter().map(Node::accepted).sum();
    assert_eq!(accepted, 1);
    site.soon(client.shutdown(SECOND))
        .await
        .expect("a drain that ends");
}

pub(crate) async fn under_round_robin_all_nodes_take_turns(site: impl Site) {
    let nodes = [(); 3].map(|()| site.node(Way::Echo));
    let client = site.client_with(|c| c.selection(SelectionPolicy::RoundRobin), &nodes);
    site.until(|| client.stats().nodes_ready == 3).await;
    for _ in 0..30 {
        client.assert_echoes("hello").await;
    }
    assert!(nodes.iter().all(|node| node.received().len() == 10));
}
