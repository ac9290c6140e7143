//! redial on tokio.
//!
//! [`Client`] is redial's handle with tokio filled in: TCP with nodelay and keepalive, tokio's
//! timers and tasks, the system's resolver. All logic is in [`redial`]; this crate is a few hundred
//! lines of sockets, timers and spawn.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use redial::client::length_prefixed::LengthPrefixed;
//! use redial_tokio::Client;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! // Inside of a runtime. Nothing is dialled yet, and nothing can fail for a reason of the network.
//! let client = Client::builder(LengthPrefixed::new()).servers("a:9092,b:9092").build()?;
//!
//! // Any node; a dead one is passed over.
//! let response = client.request("ping".into()).await?;
//! println!("{:?} from {}", response.reply, response.node);
//!
//! // The same node, for two seconds at most, and twice if need be.
//! let request = client.request("get x".into()).on(response.node);
//! match request.timeout(Duration::from_secs(2)).idempotent().await {
//!     Ok(response) => println!("{:?} after {} attempts", response.reply, response.attempts),
//!     Err(error) => println!("{error}; is another try safe: {}", error.is_retryable()),
//! }
//!
//! // What is in flight may finish. Dropping the last clone closes everything at once.
//! client.shutdown(Duration::from_secs(5)).await?;
//! # Ok(())
//! # }
//! ```
//!
//! A server may be a Unix socket: `.servers("unix:/run/redis.sock")`. What else carries bytes is a
//! [`Transport`]: wrap its streams in [`Io`], and give it to
//! [`Tokio::with_transport`](redial::driver::Runtime::with_transport). `examples/turmoil` runs clients
//! on the simulated network of turmoil that way.
//!
//! Where the time of redial's clock is needed as a [`std::time::Instant`], make the runtime yourself,
//! keep its [`Tokio::clock`], and give it to the builder.
//!
//! Where the servers are may be asked of others: [`DnsSource`] takes the addresses of a name; with the
//! feature `dns`, `SrvSource` takes SRV records, and `NameServers` are asked without the system's
//! resolver; with the feature `file`, `FileSource` takes a file that is watched; with `http`,
//! `HttpSource` takes what is behind an HTTP(S) URL, and writes it there.
//!
//! `examples/failover` shows a client among servers that die and come back.

#[cfg(feature = "dns")]
mod dns;
#[cfg(feature = "file")]
mod file;
#[cfg(feature = "http")]
mod http;
mod stream;
mod timer;

use std::{future::Future, io, net::SocketAddr};

use redial::{
    Clock, ConnectError, Instant, NodeSpec,
    driver::{self, Handle, Runtime, SystemResolver, Transport},
};
use tokio::net::lookup_host;

#[cfg(feature = "dns")]
pub use dns::{NameServers, SrvSelection, SrvSource};
#[cfg(feature = "file")]
pub use file::FileSource;
#[cfg(feature = "http")]
pub use http::{Condition, Fetched, HttpError, HttpSource, HttpSourceBuilder, PublishError};
pub use {
    stream::{Io, Socket},
    timer::Timer,
};

/// A client on tokio. Cheap to clone; see [`Handle`].
pub type Client<P> = Handle<P, Tokio>;

/// The addresses of one name, each of them a node: a headless service of Kubernetes, a name with a
/// record for each server. See [`redial::driver::DnsSource`]. The system's resolver blocks one of
/// tokio's threads for each look-up that hangs; with the feature `dns`, `NameServers` can be asked
/// [without it](redial::driver::DnsSource::through).
///
/// ```
/// use redial_tokio::DnsSource;
///
/// let source = DnsSource::new("orders.prod.svc.cluster.local", 9092);
/// # let _ = source;
/// ```
pub type DnsSource = driver::DnsSource<SystemResolver<Tokio>>;

/// tokio as redial's [`Runtime`]. Its connections are TCP, and Unix sockets for endpoints such as
/// `unix:/run/redis.sock`; for others, see [`Transport`].
#[derive(Clone, Debug)]
pub struct Tokio {
    handle: tokio::runtime::Handle,
    clock: Clock,
}

impl Tokio {
    /// This runtime, with a clock that starts now. Its timer must be enabled, and its I/O, unless
    /// another transport makes the connections.
    #[must_use]
    pub fn new(handle: tokio::runtime::Handle) -> Self {
        let now = {
            let _context = handle.enter();
            tokio::time::Instant::now().into_std()
        };
        let clock = Clock::starting_at(now);
        Self { handle, clock }
    }

    /// Converts the times that redial reports to those of the standard library.
    #[must_use]
    pub const fn clock(&self) -> Clock {
        self.clock
    }
}

impl Transport for Tokio {
    type Stream = Socket;

    fn connect(
        &self,
        node: &NodeSpec,
        address: Option<SocketAddr>,
    ) -> impl Future<Output = Result<Socket, ConnectError>> + Send + 'static {
        stream::connect(address, node.endpoint.unix_path())
    }
}

impl Runtime for Tokio {
    type Timer = Timer;

    fn current() -> Option<Self> {
        tokio::runtime::Handle::try_current().ok().map(Self::new)
    }

    fn now(&self) -> Instant {
        self.clock.from_std(tokio::time::Instant::now().into_std())
    }

    fn timer(&self) -> Timer {
        Timer::new(self.clock)
    }

    fn resolve(
        &self,
        host: &str,
        port: u16,
    ) -> impl Future<Output = io::Result<Vec<SocketAddr>>> + Send + 'static {
        let host = host.to_owned();
        async move { Ok(lookup_host((host, port)).await?.collect()) }
    }

    fn spawn(&self, driver: impl Future<Output = ()> + Send + 'static) {
        self.handle.spawn(driver);
    }
}

// Its snippets use these features.
#[cfg(all(doctest, feature = "dns", feature = "file", feature = "http"))]
#[doc = include_str!("../../README.md")]
struct Readme;
