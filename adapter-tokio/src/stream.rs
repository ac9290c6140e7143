//! tokio's streams as redial's, and the sockets that are built in.

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll},
};

#[cfg(unix)]
use redial::driver::Either;
use redial::{
    ConnectError,
    driver::{Stream, tcp},
};
use socket2::{SockRef, TcpKeepalive};
#[cfg(unix)]
use tokio::net::UnixStream;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

/// Any stream of tokio as redial's [`Stream`]: a socket, TLS, a pipe in memory.
#[derive(Debug)]
pub struct Io<S>(pub S);

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> Stream for Io<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(buffer);
        Pin::new(&mut self.0)
            .poll_read(cx, &mut buffer)
            .map_ok(|()| buffer.filled().len())
    }

    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }
}

/// A connection of [`Tokio`](crate::Tokio): TCP, or a Unix socket where there are any.
#[cfg(unix)]
pub type Socket = Either<Io<TcpStream>, Io<UnixStream>>;

/// A connection of [`Tokio`](crate::Tokio).
#[cfg(not(unix))]
pub type Socket = Io<TcpStream>;

#[cfg(unix)]
pub(crate) async fn connect(
    address: Option<SocketAddr>,
    path: Option<String>,
) -> Result<Socket, ConnectError> {
    match (address, path) {
        (Some(address), _) => connect_tcp(address).await.map(Either::First),
        (None, Some(path)) => Ok(Either::Second(Io(UnixStream::connect(path).await?))),
        // It is for another transport.
        (None, None) => Err(ConnectError::Other),
    }
}

#[cfg(not(unix))]
pub(crate) async fn connect(
    address: Option<SocketAddr>,
    _path: Option<String>,
) -> Result<Socket, ConnectError> {
    connect_tcp(address.ok_or(ConnectError::Other)?).await
}

async fn connect_tcp(address: SocketAddr) -> Result<Io<TcpStream>, ConnectError> {
    let stream = TcpStream::connect(address).await?;
    if tcp::is_self_connected(stream.local_addr(), stream.peer_addr()) {
        return Err(ConnectError::Refused);
    }
    // Requests leave at once, as the driver coalesces them itself; a silent peer is probed.
    stream.set_nodelay(true)?;
    let keepalive = TcpKeepalive::new()
        .with_time(tcp::PROBE_AFTER)
        .with_interval(tcp::PROBE_INTERVAL);
    SockRef::from(&stream).set_tcp_keepalive(&keepalive)?;
    Ok(Io(stream))
}
