//! Streams of futures-io as redial's, and the sockets that are built in.

#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::{
    io,
    net::{SocketAddr, TcpStream},
    pin::Pin,
    task::{Context, Poll},
};

use async_io::Async;
use futures_io::{AsyncRead, AsyncWrite};
#[cfg(unix)]
use redial::driver::Either;
use redial::{
    ConnectError,
    driver::{Stream, tcp},
};
use socket2::{SockRef, TcpKeepalive};

/// Any stream of futures-io as redial's [`Stream`]: a socket, TLS, a pipe in memory.
#[derive(Debug)]
pub struct Io<S>(pub S);

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> Stream for Io<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }

    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    // async-io's sockets do nothing here. Dropping them, as the driver does next, tells the peer.
    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_close(cx)
    }
}

/// A connection of [`AsyncIo`](crate::AsyncIo): TCP, or a Unix socket where there are any.
#[cfg(unix)]
pub type Socket = Either<Io<Async<TcpStream>>, Io<Async<UnixStream>>>;

/// A connection of [`AsyncIo`](crate::AsyncIo).
#[cfg(not(unix))]
pub type Socket = Io<Async<TcpStream>>;

pub(crate) async fn connect(address: SocketAddr) -> Result<Socket, ConnectError> {
    let stream = Async::<TcpStream>::connect(address).await?;
    prepare(stream.get_ref())?;
    let stream = Io(stream);
    #[cfg(unix)]
    let stream = Either::First(stream);
    Ok(stream)
}

#[cfg(unix)]
pub(crate) async fn connect_unix(path: String) -> Result<Socket, ConnectError> {
    let stream = Async::<UnixStream>::connect(path).await?;
    Ok(Either::Second(Io(stream)))
}

#[cfg(not(unix))]
pub(crate) async fn connect_unix(_path: String) -> Result<Socket, ConnectError> {
    Err(ConnectError::Other)
}

/// Requests leave at once, as the driver coalesces them itself; a silent peer is probed.
fn prepare(stream: &TcpStream) -> Result<(), ConnectError> {
    if tcp::is_self_connected(stream.local_addr(), stream.peer_addr()) {
        return Err(ConnectError::Refused);
    }
    let probes = TcpKeepalive::new().with_time(tcp::PROBE_AFTER);
    let probes = probes.with_interval(tcp::PROBE_INTERVAL);
    SockRef::from(stream).set_tcp_keepalive(&probes)?;
    Ok(stream.set_nodelay(true)?)
}
