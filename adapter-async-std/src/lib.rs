//! redial on async-std and on smol.
//!
//! [`Client`] is redial's handle with async-std filled in, `SmolClient` with smol. Both runtimes are
//! made of the same parts: sockets and timers of async-io, a pool of threads for what blocks. So this
//! is one adapter, [`AsyncIo`], and what differs is who runs the tasks: an [`Executor`], of which there
//! is one for each runtime, and your own if you have one. All logic is in [`redial`].
//!
//! # Which runtime
//!
//! **async-std is discontinued** since its version 1.13.1 of February 2025, by its authors'
//! own word ([RUSTSEC-2025-0052](https://rustsec.org/advisories/RUSTSEC-2025-0052)): it gets no
//! fixes any more, and they name smol in its place. Its parts live on, as they are smol's.
//!
//! - You start anew, or are on tokio: take `redial-tokio`. It has the most sources of server lists.
//! - You are on smol, or on an executor of your own beside async-io: take this crate with
//!   `default-features = false, features = ["smol"]`, or without any feature. Then async-std is not
//!   among your dependencies.
//! - You are on async-std and not away from it yet: take this crate as it is. The way to smol is then
//!   another `Client`.
//!
//! ```no_run
//! # #[cfg(feature = "async-std")]
//! use redial::client::length_prefixed::LengthPrefixed;
//! # #[cfg(feature = "async-std")]
//! use redial_async_std::Client;
//!
//! # #[cfg(feature = "async-std")]
//! async fn example() -> Result<(), Box<dyn std::error::Error>> {
//!     let client = Client::builder(LengthPrefixed::new()).servers("a:9092,b:9092").build()?;
//!     let response = client.request("ping".into()).await?;
//!     println!("{:?} from {}", response.reply, response.node);
//!     Ok(())
//! }
//! ```
//!
//! # What is different from tokio
//!
//! The executors of async-std and smol are the process's own: they start with the first task and never
//! end. A client can therefore be built anywhere, and a [`BuildError::NoRuntime`] does not come.
//!
//! Server lists come from the application, callbacks, the cluster itself and the addresses of a name
//! ([`DnsSource`]); files, URLs and SRV records are for tokio only.
//!
//! [`BuildError::NoRuntime`]: redial::driver::BuildError::NoRuntime

mod executor;
mod stream;
mod timer;

use std::{
    future::Future,
    io,
    net::{SocketAddr, ToSocketAddrs},
};

use redial::{
    Clock, ConnectError, Instant, NodeSpec,
    driver::{self, Runtime, SystemResolver, Transport},
};

#[cfg(feature = "async-std")]
pub use executor::AsyncStdExecutor;
pub use executor::Executor;
#[cfg(feature = "smol")]
pub use executor::SmolExecutor;
pub use stream::{Io, Socket};
pub use timer::Timer;

/// A client on async-std. Cheap to clone; see [`Handle`](driver::Handle). Feature `async-std`.
#[cfg(feature = "async-std")]
pub type Client<P> = driver::Handle<P, AsyncStd>;

/// A client on smol. Cheap to clone; see [`Handle`](driver::Handle). Feature `smol`.
#[cfg(feature = "smol")]
pub type SmolClient<P> = driver::Handle<P, Smol>;

/// async-std as redial's [`Runtime`]. Feature `async-std`.
#[cfg(feature = "async-std")]
pub type AsyncStd = AsyncIo<AsyncStdExecutor>;

/// smol as redial's [`Runtime`]. Feature `smol`.
#[cfg(feature = "smol")]
pub type Smol = AsyncIo<SmolExecutor>;

/// The addresses of one name, each of them a node, as the system's resolver knows them; see
/// [`redial::driver::DnsSource`]. A look-up that hangs blocks one thread of a pool of 500.
///
/// Beside an [`Executor`] that has no [`current`](Executor::current), name the runtime:
/// `.through(SystemResolver::of(runtime))`.
///
/// ```
/// # #[cfg(feature = "async-std")] {
/// use redial_async_std::{AsyncStd, DnsSource};
///
/// let source = DnsSource::<AsyncStd>::new("orders.prod.svc.cluster.local", 9092);
/// # let _ = source;
/// # }
/// ```
pub type DnsSource<R> = driver::DnsSource<SystemResolver<R>>;

/// async-io and an [`Executor`] as redial's [`Runtime`]. Its connections are TCP, and Unix sockets for
/// endpoints such as `unix:/run/redis.sock`; for others, see [`Transport`].
#[derive(Clone, Copy, Debug)]
pub struct AsyncIo<E> {
    executor: E,
    clock: Clock,
}

impl<E> AsyncIo<E> {
    /// This executor, with a clock that starts now.
    #[must_use]
    pub fn new(executor: E) -> Self {
        let clock = Clock::starting_now();
        Self { executor, clock }
    }

    /// Converts the times that redial reports to those of the standard library.
    #[must_use]
    pub const fn clock(&self) -> Clock {
        self.clock
    }
}

/// With a clock that starts now.
impl<E: Default> Default for AsyncIo<E> {
    fn default() -> Self {
        Self::new(E::default())
    }
}

impl<E: Executor> Transport for AsyncIo<E> {
    type Stream = Socket;

    fn connect(
        &self,
        node: &NodeSpec,
        address: Option<SocketAddr>,
    ) -> impl Future<Output = Result<Socket, ConnectError>> + Send + 'static {
        let path = node.endpoint.unix_path();
        async move {
            match address {
                Some(address) => stream::connect(address).await,
                // Without a path it is for another transport.
                None => stream::connect_unix(path.ok_or(ConnectError::Other)?).await,
            }
        }
    }
}

impl<E: Executor> Runtime for AsyncIo<E> {
    type Timer = Timer;

    /// The executor's, if it is one that is always there.
    fn current() -> Option<Self> {
        E::current().map(Self::new)
    }

    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn timer(&self) -> Timer {
        Timer::new(self.clock)
    }

    fn spawn(&self, driver: impl Future<Output = ()> + Send + 'static) {
        self.executor.spawn(driver);
    }

    fn resolve(
        &self,
        host: &str,
        port: u16,
    ) -> impl Future<Output = io::Result<Vec<SocketAddr>>> + Send + 'static {
        let host = host.to_owned();
        blocking::unblock(move || Ok((&*host, port).to_socket_addrs()?.collect()))
    }
}
