//! TCP.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use redial::driver::Stream;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

/// A TCP connection.
#[derive(Debug)]
pub struct Tcp(TcpStream);

impl Tcp {
    pub(crate) const fn new(stream: TcpStream) -> Self {
        Self(stream)
    }
}

impl Stream for Tcp {
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
}
