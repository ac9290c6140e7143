//! What only a socket does: resets, torn replies, ports that come and go.

use redial::{Backoff, Cause, Certainty, Hint, NodeId, Reason, driver::Runtime};
use redial_tests::servers::{ClosedPort, Server, ways};

use super::{SECOND, ms};
use crate::{
    client::{Client, assert_echoed, failure},
    loopback::{Loopback, serve, serve_at},
    site::{Node, Site, Way},
    wait::begin,
};

pub(crate) async fn after_a_reset_an_idempotent_request_is_answered_elsewhere<R: Runtime>(
    site: Loopback<R>,
) {
    let (dying, alive) = (serve(ways::reset_in_a_reply), site.node(Way::Echo));
    let mut client = site.client([&dying]);
    let request = begin(client.request("hello".into()).idempotent());
    assert_eq!(client.disconnected(&dying).await, Cause::Io);
    client.list([&dying, &alive]);
    assert!(assert_echoed(site.soon(request).await, "hello").attempts >= 2);
}

pub(crate) async fn a_reply_that_is_cut_off_is_an_error_of_the_protocol<R: Runtime>(
    site: Loopback<R>,
) {
    let node = serve(ways::close_in_a_reply);
    let client = site.client([&node]);
    let error = failure(site.soon(client.request("hello".into())).await);
    assert_eq!(error.certainty, Certainty::PossiblyWritten);
    assert_eq!(error.reason, Reason::Protocol);
}

pub(crate) async fn a_reply_that_comes_byte_by_byte_is_read_whole<R: Runtime>(site: Loopback<R>) {
    let node = serve(ways::dribble(ms(5)));
    let client = site.client([&node]);
    client.assert_echoes("byte by byte").await;
}

pub(crate) async fn the_loss_of_an_idle_connection_is_noticed_at_once<R: Runtime>(
    site: Loopback<R>,
) {
    let server = Server::start(ways::echo);
    let node = Node::from(server.address());
    let mut client = site.client([&node]);
    client.assert_echoes("before").await;
    drop(server);
    let cause = client.disconnected(&node).await;
    assert!(matches!(cause, Cause::PeerClosed | Cause::Io), "{cause}");
    assert_eq!(client.stats().connections, 0);
}

pub(crate) async fn a_node_that_comes_back_is_used_again<R: Runtime>(site: Loopback<R>) {
    // Keeps others from the port while nobody listens there.
    let port = ClosedPort::take().expect("a port");
    let node = serve_at(port.address(), ways::echo);
    let mut client = site.client([&node]);
    client.assert_echoes("before").await;
    drop(node);
    let node = Node::from(port.address());
    client.disconnected(&node).await;
    let waiting = begin(client.request("after".into()));
    client.failed_attempt(&node).await;
    let node = serve_at(port.address(), ways::echo);
    assert_echoed(site.soon(waiting).await, "after");
    assert_eq!(node.accepted(), 1);
}

/// A client that has found a node dead, and will not dial it again in the time that cases wait; and the
/// node, now alive.
async fn after_a_long_rest<R: Runtime>(site: &Loopback<R>, tell: impl FnOnce(&Client<R>, NodeId)) {
    let port = ClosedPort::take().expect("a port");
    let node = Node::from(port.address());
    // 50 to 100 ms, then eight minutes at least.
    let rests = Backoff::new(ms(100), 1_000 * SECOND, 10_000);
    let mut client = site.client_with(|c| c.reconnect_backoff(rests), [&node]);
    let waiting = begin(client.request("hello".into()));
    client.failed_attempt(&node).await;
    client.failed_attempt(&node).await;
    let node = serve_at(port.address(), ways::echo);
    tell(&client, client.id(&node));
    assert_echoed(site.soon(waiting).await, "hello");
}

pub(crate) async fn a_node_that_is_said_to_be_up_is_dialled_soon<R: Runtime>(site: Loopback<R>) {
    after_a_long_rest(&site, |client, node| client.hint(Hint::NodeUp(node))).await;
}

pub(crate) async fn on_another_network_nodes_are_dialled_soon<R: Runtime>(site: Loopback<R>) {
    after_a_long_rest(&site, |client, _| client.hint(Hint::NetworkChanged)).await;
}

pub(crate) async fn after_a_sleep_nodes_are_dialled_soon<R: Runtime>(site: Loopback<R>) {
    after_a_long_rest(&site, |client, _| client.hint(Hint::Resumed)).await;
}
