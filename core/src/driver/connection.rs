//! One connection's I/O.

use core::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, Waker},
};
use std::{boxed::Box, io, sync::Arc};

use super::{
    runtime::{Runtime, Stream},
    task::Core,
    wakeups::SourceWaker,
};
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
    /// The client may have bytes to send.
    pub(super) writing: bool,
    /// The stream took nothing the last time.
    blocked: bool,
    /// The stream may hold bytes of its own that have not left.
    flushing: bool,
    /// A read may give something.
    reading: bool,
}

enum Phase<S> {
    Connecting(Pin<Box<dyn Future<Output = Result<S, ConnectError>> + Send>>),
    Open(Pin<Box<S>>),
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
            writing: false,
            blocked: false,
            flushing: false,
            reading: false,
        }
    }

    /// One try to connect, or one write and one read: a peer that never stops sending holds up
    /// nobody, and a peer that never reads does not keep us from reading.
    pub(super) fn poll<P, R>(&mut self, core: &mut Core<P, R>, buffer: &mut [u8]) -> Turn
    where
        P: Protocol,
        R: Runtime<Stream = S>,
    {
        let woken = self.source.take_listed();
        let waker = self.waker.clone();
        let mut cx = Context::from_waker(&waker);
        let connection = self.id;
        match &mut self.phase {
            Phase::Connecting(connect) => match connect.as_mut().poll(&mut cx) {
                Poll::Pending => Turn::Wait,
                Poll::Ready(Ok(stream)) => {
                    self.phase = Phase::Open(Box::pin(stream));
                    self.reading = true;
                    core.input(TransportInput::Connected { connection });
                    Turn::Again
                }
                Poll::Ready(Err(error)) => {
                    core.input(TransportInput::ConnectFailed { connection, error });
                    Turn::Gone
                }
            },
            Phase::Open(_) => {
                self.reading |= woken;
                match self.poll_open(&mut cx, core, buffer) {
                    Ok(true) => Turn::Again,
                    Ok(false) => Turn::Wait,
                    Err(error) => {
                        core.input(TransportInput::Closed { connection, error });
                        Turn::Gone
                    }
                }
            }
        }
    }

    /// Whether there may be more to do at once.
    fn poll_open<P, R>(
        &mut self,
        cx: &mut Context<'_>,
        core: &mut Core<P, R>,
        buffer: &mut [u8],
    ) -> Result<bool, CloseError>
    where
        P: Protocol,
        R: Runtime<Stream = S>,
    {
        let Phase::Open(stream) = &mut self.phase else {
            return Ok(false);
        };
        let id = self.id;
        let mut again = false;
        if self.writing {
            let length = core.with(|client, now| {
                let bytes = client.transmit(now, id);
                let length = bytes.len().min(buffer.len());
                buffer[..length].copy_from_slice(&bytes[..length]);
                length
            });
            if length == 0 {
                self.writing = false;
            } else if let Poll::Ready(accepted) = stream.as_mut().poll_write(cx, &buffer[..length])
            {
                let accepted = accepted.ok().filter(|&n| n > 0).ok_or(CloseError::Io)?;
                self.blocked = false;
                self.flushing = true;
                self.writing = core.with(|client, now| {
                    client.transmitted(now, id, accepted);
                    !client.transmit(now, id).is_empty()
                });
                again |= self.writing;
            } else if !self.blocked {
                self.blocked = true;
                core.input(TransportInput::WriteBlocked { connection: id });
            }
        }
        if self.flushing && !self.writing {
            match stream.as_mut().poll_flush(cx) {
                Poll::Ready(flushed) => {
                    flushed.map_err(close_error)?;
                    self.flushing = false;
                }
                Poll::Pending => {}
            }
        }
        if self.reading {
            match stream.as_mut().poll_read(cx, buffer) {
                Poll::Pending => self.reading = false,
                Poll::Ready(read) => {
                    let length = read.map_err(close_error)?;
                    if length == 0 {
                        return Err(CloseError::Peer);
                    }
                    core.with(|client, now| client.read(now, id, &buffer[..length]));
                    again = true;
                }
            }
        }
        Ok(again)
    }

    /// Closes it in good order, as far as that is possible at once.
    pub(super) fn close(mut self) {
        if let Phase::Open(stream) = &mut self.phase {
            let _ = stream
                .as_mut()
                .poll_close(&mut Context::from_waker(Waker::noop()));
        }
    }
}

fn close_error(_: io::Error) -> CloseError {
    CloseError::Io
}
