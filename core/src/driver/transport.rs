//! What carries the bytes.

use core::{
    future::Future,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll},
};
use std::io;

use crate::{ConnectError, NodeSpec};

/// Makes connections: TCP, TLS over another transport, a proxy, a simulated network.
///
/// Each [`Runtime`](super::Runtime) is one. To bring another, implement this trait and give it to
/// [`Runtime::with_transport`](super::Runtime::with_transport); clocks, timers, tasks and name look-up
/// stay the runtime's. An adapter turns the streams of its runtime into [`Stream`]s.
pub trait Transport: Clone + Send + Sync + 'static {
    /// A connection that is up.
    type Stream: Stream;

    /// Brings up a transport to this node. `address` is one of its endpoint's addresses, `None` for
    /// an [opaque](crate::Endpoint::Opaque) endpoint. Dropping the future abandons it. It needs no
    /// timeout of its own: the client has one.
    ///
    /// The transport is up once its bytes can flow: TCP for TLS, whose own handshake is carried
    /// out by the stream's reads and writes.
    fn connect(
        &self,
        node: &NodeSpec,
        address: Option<SocketAddr>,
    ) -> impl Future<Output = Result<Self::Stream, ConnectError>> + Send + 'static;
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

/// A stream of one of two kinds, for a transport that makes both.
#[derive(Debug)]
pub enum Either<A, B> {
    /// The first kind.
    First(A),
    /// The second kind.
    Second(B),
}

impl<A: Unpin, B: Unpin> Either<A, B> {
    fn pinned(self: Pin<&mut Self>) -> Either<Pin<&mut A>, Pin<&mut B>> {
        match self.get_mut() {
            Self::First(stream) => Either::First(Pin::new(stream)),
            Self::Second(stream) => Either::Second(Pin::new(stream)),
        }
    }
}

impl<A: Stream + Unpin, B: Stream + Unpin> Stream for Either<A, B> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        match self.pinned() {
            Either::First(stream) => stream.poll_read(cx, buffer),
            Either::Second(stream) => stream.poll_read(cx, buffer),
        }
    }

    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.pinned() {
            Either::First(stream) => stream.poll_write(cx, bytes),
            Either::Second(stream) => stream.poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.pinned() {
            Either::First(stream) => stream.poll_flush(cx),
            Either::Second(stream) => stream.poll_flush(cx),
        }
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.pinned() {
            Either::First(stream) => stream.poll_close(cx),
            Either::Second(stream) => stream.poll_close(cx),
        }
    }
}

/// What the system says when a transport does not come up.
impl From<io::Error> for ConnectError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // The path of a Unix socket that nobody has made.
            io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => Self::Refused,
            io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted => Self::Reset,
            io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkDown => Self::Unreachable,
            _ => Self::Other,
        }
    }
}
