//! Connections.

use core::{
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll},
};
use std::io;

use super::slots::{Side, Slot, Wait};
use crate::{
    CloseError, ConnectError,
    driver::Stream,
    sim::world::{LinkId, World},
};

/// A connection in a [`VirtualWorld`](super::VirtualWorld).
pub struct VirtualStream {
    slot: Slot,
    link: LinkId,
}

impl VirtualStream {
    pub(super) const fn new(slot: Slot, link: LinkId) -> Self {
        Self { slot, link }
    }

    /// Waits until it is up.
    pub(super) async fn connected(&self) -> Result<(), ConnectError> {
        let look = |_: &mut World, wait: &mut Wait| wait.connected.take();
        poll_fn(|cx| self.slot.poll(cx, Side::Read, look)).await
    }
}

impl Stream for VirtualStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let link = self.link;
        self.slot.poll(cx, Side::Read, |world, _| {
            let arrived = world.arrived(link);
            let count = arrived.len().min(buffer.len());
            if count > 0 {
                buffer[..count].copy_from_slice(&arrived[..count]);
                world.take(link, count);
                return Some(Ok(count));
            }
            Some(match world.ended(link)? {
                CloseError::Peer => Ok(0),
                CloseError::Io | CloseError::Protocol => Err(io::ErrorKind::ConnectionReset.into()),
            })
        })
    }

    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let link = self.link;
        self.slot.poll(cx, Side::Write, |world, _| {
            if world.ended(link) == Some(CloseError::Io) {
                return Some(Err(io::ErrorKind::ConnectionReset.into()));
            }
            Some(world.write(link, bytes))
                .filter(|count| *count > 0)
                .map(Ok)
        })
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.slot.with(|world, _| world.close(self.link));
        Poll::Ready(Ok(()))
    }
}

impl Drop for VirtualStream {
    fn drop(&mut self) {
        self.slot.with(|world, _| world.close(self.link));
    }
}

impl core::fmt::Debug for VirtualStream {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("VirtualStream").field(&self.link.0).finish()
    }
}
