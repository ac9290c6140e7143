//! Where a case takes place: a runtime, and nodes in its reach.

use std::{future::IntoFuture, net::SocketAddr, time::Duration};

use redial::{
    Config, ConfigBuilder, Endpoint, NodeSpec,
    client::length_prefixed::LengthPrefixed,
    driver::{Builder, Handle, Runtime},
};

use crate::{client::Client, wait};

/// A runtime, and nodes that it can reach.
pub(crate) trait Site: Sized {
    type Runtime: Runtime;

    fn runtime(&self) -> Self::Runtime;

    /// A node that treats its connections this way, until it is dropped.
    fn node(&self, way: Way) -> Node;

    /// A client of these nodes, as it is by default.
    fn client<'a>(&self, nodes: impl IntoIterator<Item = &'a Node>) -> Client<Self::Runtime> {
        self.client_with(|config| config, nodes)
    }

    /// A client of these nodes, with another configuration.
    fn client_with<'a>(
        &self,
        configure: impl FnOnce(ConfigBuilder) -> ConfigBuilder,
        nodes: impl IntoIterator<Item = &'a Node>,
    ) -> Client<Self::Runtime> {
        self.client_built(|builder| builder.config(config(configure)), nodes)
    }

    /// A client of these nodes about which more is said.
    fn client_built<'a>(
        &self,
        say: impl FnOnce(
            Builder<LengthPrefixed, Self::Runtime>,
        ) -> Builder<LengthPrefixed, Self::Runtime>,
        nodes: impl IntoIterator<Item = &'a Node>,
    ) -> Client<Self::Runtime> {
        let builder = Handle::builder(LengthPrefixed::new());
        let builder = say(builder.nodes(specs(nodes)).seed(1));
        Client::new(builder, self.runtime())
    }

    /// Waits for so long.
    fn sleep(&self, time: Duration) -> impl Future<Output = ()> {
        wait::sleep(self.runtime(), time)
    }

    /// Waits for what has to come, and panics if it does not come in good time.
    fn soon<F: IntoFuture>(&self, future: F) -> impl Future<Output = F::Output> {
        wait::soon(self.runtime(), future)
    }

    /// Waits until a condition holds that nobody will tell us of.
    fn until(&self, condition: impl FnMut() -> bool) -> impl Future<Output = ()> {
        wait::until(self.runtime(), condition)
    }

    /// Runs a future as a task of the runtime. Dropping what is returned does not end it.
    fn task<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> impl Future<Output = T> {
        wait::task(self.runtime(), future)
    }
}

/// How a node treats its connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// It answers each request at once with its own payload.
    Echo,
    /// The same, so much later.
    Slow(Duration),
    /// As `Echo`, with at most so many requests in flight.
    Limited(u32),
    /// As `Echo`, with "news" before each reply.
    News,
    /// As `Echo`, and with each reply it asks for no more requests for so long.
    Throttles(Duration),
    /// As `Echo`, but after the first reply on a connection it says that it will close that.
    Goodbye,
    /// It sends each request to another node.
    Elsewhere,
    /// It reads all requests and answers none.
    Silent,
    /// It closes a connection at its first request.
    ClosesAtRequest,
    /// It answers the first request with what is not the protocol.
    GarbageReply,
    /// It accepts, and says nothing.
    Mute,
    /// It accepts, and closes.
    Closes,
    /// It answers the hello with what is not the protocol.
    GarbageHello,
    /// It refuses the credentials.
    Rejects,
    /// It says that the session is over.
    EndsSession,
    /// Nobody listens.
    Refuses,
    /// Connecting neither works nor fails.
    BlackHole,
    /// It echoes for 60 ms, is gone for 40 ms, and so on.
    Flaps,
}

/// A node, until it is dropped.
pub(crate) struct Node {
    pub(crate) spec: NodeSpec,
    pub(crate) behind: Box<dyn Behind>,
}

/// What a node has seen.
pub(crate) trait Behind {
    /// How many connections it has accepted.
    fn accepted(&self) -> usize;
    /// How many of these have not ended.
    fn open(&self) -> usize;
    /// The payloads of the requests that it has read.
    fn received(&self) -> Vec<Vec<u8>>;
}

impl Node {
    pub(crate) const fn endpoint(&self) -> &Endpoint {
        &self.spec.endpoint
    }

    pub(crate) fn accepted(&self) -> usize {
        self.behind.accepted()
    }

    pub(crate) fn open(&self) -> usize {
        self.behind.open()
    }

    pub(crate) fn received(&self) -> Vec<Vec<u8>> {
        self.behind.received()
    }
}

/// At an address, with nobody behind it that could be asked.
impl From<SocketAddr> for Node {
    fn from(address: SocketAddr) -> Self {
        struct Nobody;

        impl Behind for Nobody {
            fn accepted(&self) -> usize {
                0
            }

            fn open(&self) -> usize {
                0
            }

            fn received(&self) -> Vec<Vec<u8>> {
                Vec::new()
            }
        }

        Self {
            spec: address.into(),
            behind: Box::new(Nobody),
        }
    }
}

pub(crate) fn specs<'a>(nodes: impl IntoIterator<Item = &'a Node>) -> Vec<NodeSpec> {
    nodes.into_iter().map(|node| node.spec.clone()).collect()
}

/// The default configuration with changes.
pub(crate) fn config(configure: impl FnOnce(ConfigBuilder) -> ConfigBuilder) -> Config {
    configure(Config::builder())
        .build()
        .expect("a valid configuration")
}
