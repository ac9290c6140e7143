//! What the driver needs from a runtime.

use core::{
    future::Future,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll},
};
use std::{io, vec::Vec};

use crate::{ConnectError, Instant, NodeSpec};

/// A runtime and its transport: a clock, timers, tasks, name look-up, connections.
///
/// The driver and the handle are written once, over this trait. Two implementations share no logic.
/// To bring another transport (TLS, Unix sockets, a proxy), wrap a runtime: delegate everything but
/// [`connect`](Self::connect) and [`Stream`](Self::Stream).
pub trait Runtime: Clone + Send + Sync + 'static {
    /// A connection that is up.
    type Stream: Stream;
    /// A timer for the driver's one deadline.
    type Timer: Timer;

    /// The runtime of the calling context, `None` if there is none or if it cannot be told. Used by
    /// [`Builder::build`](super::Builder::build) unless one is given.
    fn current() -> Option<Self>;

    /// This moment, by a monotonic clock. Clones of a runtime share its origin. It is called under
    /// the client's lock, so it must be quick and must not call the client.
    fn now(&self) -> Instant;

    /// A timer that is not set.
    fn timer(&self) -> Self::Timer;

    /// Brings up a transport to this node. `address` is one of its endpoint's addresses, `None` for
    /// an [opaque](crate::Endpoint::Opaque) endpoint. Dropping the future abandons it.
    ///
    /// The transport is up once its bytes can flow: TCP for TLS, whose own handshake is carried
    /// out by the stream's reads and writes.
    fn connect(
        &self,
        node: &NodeSpec,
        address: Option<SocketAddr>,
    ) -> impl Future<Output = Result<Self::Stream, ConnectError>> + Send + 'static;

    /// Looks up a name. The driver takes an error as "could not be resolved" and an empty list as
    /// "has no address". Dropping the future abandons it.
    fn resolve(
        &self,
        host: &str,
        port: u16,
    ) -> impl Future<Output = io::Result<Vec<SocketAddr>>> + Send + 'static;

    /// Runs the driver. The runtime must drop the future when it is done, and when the runtime ends
    /// before: then whoever waits for a request is told.
    fn spawn(&self, driver: impl Future<Output = ()> + Send + 'static);
}

/// A duplex stream of bytes. Dropping it closes it at once.
///
/// As everywhere in async Rust: `Pending` means that the context's waker will be woken when a new
/// try makes sense. Reading and writing are independent; both may be pending, with the same waker.
pub trait Stream: Send + 'static {
    /// Reads into `buffer`, which is never empty. `Ok(0)` means that the peer has closed.
    ///
    /// # Errors
    ///
    /// Whatever ends the connection, a reset included.
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>>;

    /// Writes from `bytes`, which is never empty, and says how many were accepted.
    ///
    /// # Errors
    ///
    /// Whatever ends the connection. `Ok(0)` counts as an error.
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>>;

    /// Sends on what the stream itself has buffered. The driver calls it after a write when it has
    /// nothing more to write for now. Streams without a buffer of their own keep the default.
    ///
    /// # Errors
    ///
    /// Whatever ends the connection.
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let _ = cx;
        Poll::Ready(Ok(()))
    }

    /// Tells the peer that nothing more will come. The driver calls it once and then drops the
    /// stream, whatever the answer: a peer that never reads cannot keep it open.
    ///
    /// # Errors
    ///
    /// Are ignored.
    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>>;
}

/// A timer that wakes the driver. The driver always asks the clock what is due, so a timer may be
/// late or early without harm to anything but punctuality.
pub trait Timer: Unpin + Send + 'static {
    /// Sets it to this point in time, which may have passed. Setting it again replaces that.
    fn set(&mut self, at: Instant);

    /// Ready once the point has been reached. Polled only after it was set, and not again after it
    /// was ready until it is set anew.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()>;
}
