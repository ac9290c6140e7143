//! Connections that are closed, replaced and probed (SEMANTICS 5.3, 8).

use redial::{
    Cause, ConfigBuilder, Event, Hint, NodeId, Reason, Warm,
    driver::{ClientEvent, Events, Handle},
};

use super::{SECOND, ms};
use crate::{
    client::{assert_echoed, failure},
    pinging::Pinging,
    site::{Node, Site, Way, config, specs},
    wait::begin,
};

pub(crate) async fn an_idle_connection_is_closed_and_the_next_request_dials(site: impl Site) {
    let node = site.node(Way::Echo);
    let mut client = site.client_with(|c| c.max_idle(ms(200)), [&node]);
    client.assert_echoes("before").await;
    assert_eq!(client.disconnected(&node).await, Cause::Idle);
    site.until(|| node.open() == 0).await;
    client.assert_echoes("after").await;
    assert_eq!(
        (node.accepted(), client.stats().failures_established),
        (2, 0)
    );
}

pub(crate) async fn a_connection_that_is_waited_on_is_not_idle(site: impl Site) {
    let node = site.node(Way::Slow(ms(800)));
    let client = site.client_with(|c| c.max_idle(ms(200)), [&node]);
    assert_echoed(site.soon(client.request("x".into())).await, "x");
    assert_eq!(node.accepted(), 1);
}

pub(crate) async fn a_connection_that_is_kept_warm_may_be_idle(site: impl Site) {
    let node = site.node(Way::Echo);
    let client = site.client_with(|c| c.warm(Warm::All).max_idle(ms(100)), [&node]);
    site.until(|| client.stats().nodes_ready == 1).await;
    site.sleep(ms(500)).await;
    assert_eq!((node.accepted(), node.open()), (1, 1));
}

pub(crate) async fn an_old_connection_is_replaced(site: impl Site) {
    let node = site.node(Way::Echo);
    let mut client = site.client_with(|c| c.warm(Warm::All).max_age(ms(300)), [&node]);
    assert_eq!(client.disconnected(&node).await, Cause::MaxAge);
    site.until(|| node.accepted() >= 2).await;
    client.assert_echoes("hello").await;
    assert_eq!(client.stats().failures_established, 0);
}

/// A client that can ask whether its peer is alive.
fn pinging<'a, S: Site>(
    site: &S,
    configure: impl FnOnce(ConfigBuilder) -> ConfigBuilder,
    nodes: impl IntoIterator<Item = &'a Node>,
) -> Handle<Pinging, S::Runtime> {
    Handle::builder(Pinging)
        .nodes(specs(nodes))
        .config(config(|c| configure(c.warm(Warm::All))))
        .runtime(site.runtime())
        .build()
        .expect("what was said is correct")
}

/// Why the next connection ends, and whose.
async fn disconnected(site: &impl Site, events: &mut Events) -> (NodeId, Cause) {
    loop {
        let record = site.soon(events.next()).await.expect("the client lives");
        if let ClientEvent::Cluster(Event::Disconnected { node, cause, .. }) = record.event {
            return (node, cause);
        }
    }
}

pub(crate) async fn a_silent_peer_is_asked_whether_it_is_alive(site: impl Site) {
    let node = site.node(Way::Echo);
    let client = pinging(&site, |c| c.keepalive_interval(ms(50)), [&node]);
    // Each is a frame without payload.
    site.until(|| node.received().len() >= 4).await;
    assert_eq!((node.accepted(), client.stats().connections), (1, 1));
    let answered = site
        .soon(client.request("hello".into()))
        .await
        .expect("an answer");
    assert_eq!(answered.reply.as_deref(), Some(&b"hello"[..]));
}

pub(crate) async fn a_peer_that_does_not_say_that_it_is_alive_is_hung_up_on(site: impl Site) {
    let node = site.node(Way::Silent);
    let timeouts = |c: ConfigBuilder| c.keepalive_interval(ms(50)).keepalive_timeout(ms(200));
    let client = pinging(&site, timeouts, [&node]);
    let mut events = client.events();
    let id = client.find(node.endpoint()).expect("it is in the list");
    assert_eq!(
        disconnected(&site, &mut events).await,
        (id, Cause::KeepaliveTimeout)
    );
}

pub(crate) async fn on_another_network_connections_are_probed(site: impl Site) {
    let node = site.node(Way::Silent);
    let client = pinging(&site, |c| c.keepalive_timeout(ms(200)), [&node]);
    site.until(|| client.stats().nodes_ready == 1).await;
    let mut events = client.events();
    client.hint(Hint::NetworkChanged);
    assert_eq!(
        disconnected(&site, &mut events).await.1,
        Cause::KeepaliveTimeout
    );
}

pub(crate) async fn a_node_that_is_said_to_be_down_is_probed_alone(site: impl Site) {
    let nodes = [site.node(Way::Silent), site.node(Way::Silent)];
    let client = pinging(&site, |c| c.keepalive_timeout(ms(200)), &nodes);
    site.until(|| client.stats().nodes_ready == 2).await;
    let down = client.find(nodes[1].endpoint()).expect("it is in the list");
    let mut events = client.events();
    client.hint(Hint::NodeDown(down));
    assert_eq!(
        disconnected(&site, &mut events).await,
        (down, Cause::KeepaliveTimeout)
    );
    assert_eq!((nodes[0].accepted(), nodes[0].received().len()), (1, 0));
}

pub(crate) async fn a_node_that_does_not_answer_is_chosen_last(site: impl Site) {
    let (silent, well) = (site.node(Way::Silent), site.node(Way::Echo));
    let configure = |c: ConfigBuilder| c.warm(Warm::All).request_timeout(ms(100));
    let mut client = site.client_with(configure, [&silent, &well]);
    for _ in 0..3 {
        let request = client.request("x".into()).on(client.id(&silent));
        assert_eq!(failure(site.soon(request).await).reason, Reason::Timeout);
    }
    while !matches!(client.event().await, Event::Unhealthy { .. }) {}
    site.until(|| client.stats().nodes_ready == 2).await;
    let requests =
        [(); 10].map(|()| begin(client.request("y".into()).request_timeout(SECOND * 15)));
    for request in requests {
        assert_echoed(site.soon(request).await, "y");
    }
    assert_eq!(silent.received().len(), 3);
}
