//! One connection's I/O.

use core::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, Waker},
};
use std::{boxed::Box, sync::Arc};

use super::{access::Access, runtime::Runtime, transport::Stream, wakeups::SourceWaker};
use crate::{
    CloseError, ConnectError, ConnectionId,
    client::{Protocol, TransportInput},
};

/// A transport that is up or coming up.
pub(super) struct Connection<S> {
    pub(super) id: ConnectionId,
    phase: Phase<S>,
    source: Arc<SourceWaker>,
    waker: Waker,
}

enum Phase<S> {
    Connecting(Pin<Box<dyn Future<Output = Result<S, ConnectError>> + Send>>),
    Open(Open<S>),
}

/// A transport that is up.
struct Open<S> {
    id: ConnectionId,
    stream: Pin<Box<S>>,
    /// The client may have bytes to send.
    writing: bool,
    /// The stream took nothing the last time, and the client knows.
    blocked: bool,
    /// The stream may hold bytes of its own that have not left.
    flushing: bool,
    /// Writing has failed. What can still be read is read, then it is closed.
    broken: bool,
    /// A read may give something.
    reading: bool,
}

/// What to do with a source after it was polled.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Turn {
    /// Its waker will tell.
    Wait,
    /// There may be more to do, after the others had their turn.
    Again,
    /// It has ended.
    Gone,
}

impl<S: Stream> Connection<S> {
    pub(super) fn new(
        id: ConnectionId,
        connect: impl Future<Output = Result<S, ConnectError>> + Send + 'static,
        source: Arc<SourceWaker>,
    ) -> Self {
        Self {
            id,
            phase: Phase::Connecting(Box::pin(connect)),
            waker: Waker::from(Arc::clone(&source)),
            source,
        }
    }

    /// The client has bytes to send.
    pub(super) const fn transmit(&mut self) {
        if let Phase::Open(open) = &mut self.phase {
            open.writing = true;
        }
    }

    /// Tries to connect, or serves the transport.
    pub(super) fn poll<P, R>(&mut self, access: &mut Access<P, R>, buffer: &mut [u8]) -> Turn
    where
        P: Protocol,
        R: Runtime<Stream = S>,
    {
        let woken = self.source.take_listed();
        let mut cx = Context::from_waker(&self.waker);
        let connection = self.id;
        match &mut self.phase {
            Phase::Connecting(connect) => match connect.as_mut().poll(&mut cx) {
                Poll::Pending => Turn::Wait,
                Poll::Ready(Ok(stream)) => {
                    self.phase = Phase::Open(Open::new(connection, stream));
                    access.input(TransportInput::Connected { connection });
                    Turn::Again
                }
                Poll::Ready(Err(error)) => {
                    access.input(TransportInput::ConnectFailed { connection, error });
                    Turn::Gone
                }
            },
            Phase::Open(open) => {
                open.reading |= woken;
                let served = open.serve(&mut cx, access, buffer);
                mutant!(ForgetsWakeUp => { self.source.take_listed(); });
                match served {
                    Ok(true) => Turn::Again,
                    Ok(false) => Turn::Wait,
                    Err(error) => {
                        access.input(TransportInput::Closed { connection, error });
                        Turn::Gone
                    }
                }
            }
        }
    }

    /// Closes it in good order, as far as that is possible at once.
    pub(super) fn close(mut self) {
        if let Phase::Open(open) = &mut self.phase {
            let mut cx = Context::from_waker(Waker::noop());
            let _ = open.stream.as_mut().poll_close(&mut cx);
        }
    }
}

impl<S: Stream> Open<S> {
    fn new(id: ConnectionId, stream: S) -> Self {
        Self {
            id,
            stream: Box::pin(stream),
            writing: false,
            blocked: false,
            flushing: false,
            broken: false,
            reading: true,
        }
    }

    /// One write and one read: a peer that never stops sending holds up nobody, and a peer that
    /// never reads does not keep us from reading. Returns whether there may be more to do at once.
    fn serve<P, R>(
        &mut self,
        cx: &mut Context<'_>,
        access: &mut Access<P, R>,
        buffer: &mut [u8],
    ) -> Result<bool, CloseError>
    where
        P: Protocol,
        R: Runtime,
    {
        let mut again = false;
        if self.writing && !self.broken {
            again |= self.write(cx, access, buffer);
        }
        if self.flushing && !self.writing && !self.broken {
            self.flush(cx);
        }
        if self.reading || self.broken {
            again |= self.read(cx, access, buffer)?;
        }
        Ok(again)
    }

    /// Writes what the client hands over. Returns whether there is more and the stream took some.
    fn write<P, R>(
        &mut self,
        cx: &mut Context<'_>,
        access: &mut Access<P, R>,
        buffer: &mut [u8],
    ) -> bool
    where
        P: Protocol,
        R: Runtime,
    {
        let id = self.id;
        let length = access.with(|client, now| {
            let bytes = client.transmit(now, id);
            let length = bytes.len().min(buffer.len());
            buffer[..length].copy_from_slice(&bytes[..length]);
            length
        });
        if length == 0 {
            self.writing = false;
            return false;
        }
        match self.stream.as_mut().poll_write(cx, &buffer[..length]) {
            Poll::Pending => {
                if !self.blocked {
                    self.blocked = true;
                    access.input(TransportInput::WriteBlocked { connection: id });
                }
                false
            }
            Poll::Ready(Ok(0) | Err(_)) => {
                self.broken = true;
                false
            }
            Poll::Ready(Ok(accepted)) => {
                self.blocked = false;
                self.flushing = true;
                self.writing = access.with(|client, now| {
                    client.transmitted(now, id, accepted);
                    !client.transmit(now, id).is_empty()
                });
                self.writing
            }
        }
    }

    fn flush(&mut self, cx: &mut Context<'_>) {
        match self.stream.as_mut().poll_flush(cx) {
            Poll::Pending => {}
            Poll::Ready(Ok(())) => self.flushing = false,
            Poll::Ready(Err(_)) => self.broken = true,
        }
    }

    /// Reads for the client. Returns whether something came.
    fn read<P, R>(
        &mut self,
        cx: &mut Context<'_>,
        access: &mut Access<P, R>,
        buffer: &mut [u8],
    ) -> Result<bool, CloseError>
    where
        P: Protocol,
        R: Runtime,
    {
        match self.stream.as_mut().poll_read(cx, buffer) {
            Poll::Pending if self.broken => Err(CloseError::Io),
            Poll::Pending => {
                self.reading = false;
                Ok(false)
            }
            Poll::Ready(Ok(0)) => Err(CloseError::Peer),
            Poll::Ready(Ok(length)) => {
                let id = self.id;
                access.with(|client, now| client.read(now, id, &buffer[..length]));
                Ok(true)
            }
            Poll::Ready(Err(_)) => Err(CloseError::Io),
        }
    }
}
