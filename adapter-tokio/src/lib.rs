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
//! Where the time of redial's clock is needed as a [`std::time::Instant`], make the runtime yourself,
//! keep its [`Tokio::clock`], and give it to the builder.
//!
//! Where the servers are may be asked of others: [`DnsSource`] takes the addresses of a name; with the
//! feature `dns`, `SrvSource` takes SRV records, and `NameServers` are asked without the system's
//! resolver; with the feature `file`, `FileSource` takes a file that is watched; with `http`,
//! `HttpSource` takes what is behind an HTTP(S) URL, and writes it there.
//!
//! `examples/failover` shows a client among servers that die and come back.

mod dns;
#[cfg(feature = "file")]
mod file;
#[cfg(feature = "http")]
mod http;
mod stream;
mod timer;

use std::{future::Future, io, net::SocketAddr, time::Duration};

use redial::{
    Clock, ConnectError, Instant, NodeSpec,
    driver::{Handle, Runtime},
};
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpStream, lookup_host};

#[cfg(feature = "dns")]
pub use dns::{NameServers, SrvSelection, SrvSource};
#[cfg(feature = "file")]
pub use file::FileSource;
#[cfg(feature = "http")]
pub use http::{Condition, Fetched, HttpError, HttpSource, HttpSourceBuilder, PublishError};
pub use {dns::DnsSource, stream::Tcp, timer::Timer};

/// A client on tokio. Cheap to clone; see [`Handle`].
pub type Client<P> = Handle<P, Tokio>;

/// After this long without bytes the kernel probes the peer, and again after each [`PROBE_INTERVAL`]
/// without an answer. It finds half-open connections that nobody writes to; with something
/// unanswered in flight the client's own timeouts are sooner.
const PROBE_AFTER: Duration = Duration::from_secs(60);
const PROBE_INTERVAL: Duration = Duration::from_secs(10);

/// tokio as redial's [`Runtime`].
#[derive(Clone, Debug)]
pub struct Tokio {
    handle: tokio::runtime::Handle,
    clock: Clock,
}

impl Tokio {
    /// This runtime, with a clock that starts now. Its I/O and its timer must be enabled.
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

impl Runtime for Tokio {
    type Stream = Tcp;
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

    fn connect(
        &self,
        _node: &NodeSpec,
        address: Option<SocketAddr>,
    ) -> impl Future<Output = Result<Tcp, ConnectError>> + Send + 'static {
        connect(address)
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

async fn connect(address: Option<SocketAddr>) -> Result<Tcp, ConnectError> {
    // Opaque endpoints are for other transports.
    let address = address.ok_or(ConnectError::Other)?;
    let stream = TcpStream::connect(address).await.map_err(connect_error)?;
    if is_self_connected(&stream) {
        return Err(ConnectError::Refused);
    }
    prepare(&stream).map_err(connect_error)?;
    Ok(Tcp::new(stream))
}

/// Where nobody listens on a local port, TCP can connect a socket to itself, if the kernel happens
/// to pick that port as the source.
fn is_self_connected(stream: &TcpStream) -> bool {
    matches!((stream.local_addr(), stream.peer_addr()), (Ok(local), Ok(peer)) if local == peer)
}

/// Requests leave at once, as the driver coalesces them itself; a silent peer is probed.
fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let keepalive = TcpKeepalive::new()
        .with_time(PROBE_AFTER)
        .with_interval(PROBE_INTERVAL);
    SockRef::from(stream).set_tcp_keepalive(&keepalive)
}

fn connect_error(error: io::Error) -> ConnectError {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => ConnectError::Refused,
        io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted => ConnectError::Reset,
        io::ErrorKind::NetworkUnreachable
        | io::ErrorKind::HostUnreachable
        | io::ErrorKind::NetworkDown => ConnectError::Unreachable,
        _ => ConnectError::Other,
    }
}

// Its snippets use these features.
#[cfg(all(doctest, feature = "dns", feature = "file", feature = "http"))]
#[doc = include_str!("../../README.md")]
struct Readme;
