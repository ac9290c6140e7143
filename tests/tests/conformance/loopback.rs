//! Nodes that are servers on loopback, for every runtime with sockets.

use std::{net::SocketAddr, time::Duration};

use redial::driver::Runtime;
use redial_tests::servers::{BlackHole, ClosedPort, FlappingServer, Peer, Server, ways};

use crate::site::{Behind, Node, Site, Way};

/// A runtime with sockets.
#[derive(Clone)]
pub(crate) struct Loopback<R>(pub(crate) R);

impl<R: Runtime> Site for Loopback<R> {
    type Runtime = R;

    fn runtime(&self) -> R {
        self.0.clone()
    }

    fn node(&self, way: Way) -> Node {
        match way {
            Way::Echo => serve(ways::echo),
            Way::Slow(by) => serve(ways::slow(by)),
            Way::Limited(limit) => serve(ways::limited(limit)),
            Way::News => serve(ways::push_before_each_reply),
            Way::Throttles(wait) => serve(ways::throttle(wait)),
            Way::Goodbye => serve(ways::say_goodbye),
            Way::Elsewhere => serve(ways::send_elsewhere),
            Way::Silent => serve(ways::silent),
            Way::ClosesAtRequest => serve(ways::close_at_a_request),
            Way::GarbageReply => serve(ways::garbage_for_a_reply),
            Way::Mute => serve(ways::mute),
            Way::Closes => serve(ways::close),
            Way::GarbageHello => serve(ways::garbage_for_a_hello),
            Way::Rejects => serve(ways::reject),
            Way::EndsSession => serve(ways::end_session),
            Way::Refuses => {
                let port = ClosedPort::take().expect("a port");
                node(port.address(), port)
            }
            Way::BlackHole => {
                let hole = BlackHole::open().expect("a full queue swallows connections");
                node(hole.address(), hole)
            }
            Way::Flaps => {
                let (up, down) = (Duration::from_millis(60), Duration::from_millis(40));
                // So that some requests are on their way whenever it dies.
                let way = ways::slow(Duration::from_micros(100));
                let server = FlappingServer::start(up, down, way).expect("a port");
                node(server.address(), server)
            }
        }
    }
}

/// A node that is this server.
pub(crate) fn serve(
    way: impl Fn(&mut Peer) -> std::io::Result<()> + Send + Sync + 'static,
) -> Node {
    let server = Server::start(way);
    node(server.address(), server)
}

/// A node that is this server at the port of another node.
pub(crate) fn serve_at(
    address: SocketAddr,
    way: impl Fn(&mut Peer) -> std::io::Result<()> + Send + Sync + 'static,
) -> Node {
    node(address, Server::start_at(address, way))
}

fn node(address: SocketAddr, behind: impl Behind + 'static) -> Node {
    Node {
        spec: address.into(),
        behind: Box::new(behind),
    }
}

impl Behind for Server {
    fn accepted(&self) -> usize {
        self.accepted()
    }

    fn open(&self) -> usize {
        self.open()
    }

    fn received(&self) -> Vec<Vec<u8>> {
        self.received()
    }
}

impl Behind for FlappingServer {
    fn accepted(&self) -> usize {
        self.deaths()
    }

    fn open(&self) -> usize {
        0
    }

    fn received(&self) -> Vec<Vec<u8>> {
        self.received()
    }
}

/// Nobody is behind it.
macro_rules! unreachable {
    ($($type:ty),*) => {
        $(impl Behind for $type {
            fn accepted(&self) -> usize {
                0
            }

            fn open(&self) -> usize {
                0
            }

            fn received(&self) -> Vec<Vec<u8>> {
                Vec::new()
            }
        })*
    };
}

unreachable!(ClosedPort, BlackHole);
