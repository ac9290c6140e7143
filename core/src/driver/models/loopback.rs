//! A runtime that is nothing but memory, and a protocol of one byte a frame.

use core::{
    future::Future,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll, Waker},
};
use std::{
    boxed::Box,
    io,
    sync::{Arc, Mutex as StdMutex},
    vec::Vec,
};

use bytes::{Buf, BufMut, BytesMut};

use super::super::{
    Handle, Runtime, Stream, Timer, Transport,
    sync::{Mutex, lock},
};
use crate::{
    ConnectError, Instant, Matching, NodeSpec, ReplyTo,
    client::{Decoded, Item, Outgoing, Peer, Protocol, Rejected},
};

pub(super) type Client = Handle<Bytes, Loopback>;
pub(super) type Driver = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Who answers requests.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Server {
    /// The wire, at once: on the driver's own thread.
    Echo,
    /// Whoever calls `poll_answer`.
    Model,
}

/// Time stands still in it, and each connection leads to the same server.
#[derive(Clone)]
pub(super) struct Loopback {
    server: Server,
    wire: Arc<Mutex<Wire>>,
    /// Until the model takes it, on the thread that spawned it, so loom need not see it.
    driver: Arc<StdMutex<Option<Driver>>>,
}

#[derive(Default)]
struct Wire {
    /// What the client wrote and the server has not answered.
    written: Vec<u8>,
    /// What the client may read.
    replies: Vec<u8>,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

/// A client, its driver, which is not polled yet, and its server.
pub(super) fn client(server: Server) -> (Client, Driver, Loopback) {
    let loopback = Loopback {
        server,
        wire: Arc::default(),
        driver: Arc::default(),
    };
    let client = Handle::builder(Bytes)
        .servers("10.0.0.1:1")
        .seed(1)
        .runtime(loopback.clone())
        .build()
        .expect("what was said is correct");
    let driver = loopback.driver.lock().expect("no panic").take();
    (client, driver.expect("it was spawned"), loopback)
}

impl Loopback {
    /// Answers what has come with the same bytes.
    pub(super) fn poll_answer(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut wire = lock(&self.wire);
        if wire.written.is_empty() {
            wire.writer = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let Wire {
            written, replies, ..
        } = &mut *wire;
        replies.append(written);
        let reader = wire.reader.take();
        drop(wire);
        reader.into_iter().for_each(Waker::wake);
        Poll::Ready(())
    }
}

impl Transport for Loopback {
    type Stream = Self;

    fn connect(
        &self,
        _: &NodeSpec,
        _: Option<SocketAddr>,
    ) -> impl Future<Output = Result<Self, ConnectError>> + Send + 'static {
        core::future::ready(Ok(self.clone()))
    }
}

impl Runtime for Loopback {
    type Timer = Never;

    fn current() -> Option<Self> {
        None
    }

    fn now(&self) -> Instant {
        Instant::default()
    }

    fn timer(&self) -> Never {
        Never
    }

    fn resolve(
        &self,
        _: &str,
        _: u16,
    ) -> impl Future<Output = io::Result<Vec<SocketAddr>>> + Send + 'static {
        core::future::pending()
    }

    fn spawn(&self, driver: impl Future<Output = ()> + Send + 'static) {
        *self.driver.lock().expect("no panic") = Some(Box::pin(driver));
    }
}

impl Stream for Loopback {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let mut wire = lock(&self.wire);
        if wire.replies.is_empty() {
            wire.reader = Some(cx.waker().clone());
            return Poll::Pending;
        }
        buffer[0] = wire.replies.remove(0);
        Poll::Ready(Ok(1))
    }

    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut wire = lock(&self.wire);
        wire.written.extend_from_slice(bytes);
        let writer = wire.writer.take();
        drop(wire);
        writer.into_iter().for_each(Waker::wake);
        if self.server == Server::Echo {
            let _ = self.poll_answer(cx);
        }
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

pub(super) struct Never;

impl Timer for Never {
    fn set(&mut self, _: Instant) {}

    fn poll(&mut self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }
}

/// A request is a byte, its reply is one too.
pub(super) struct Bytes;

impl Protocol for Bytes {
    type Request = u8;
    type Reply = u8;
    type Push = ();
    type Connection = ();

    fn has_handshake(&self) -> bool {
        false
    }

    fn matching(&self) -> Matching {
        Matching::Order
    }

    fn open(&mut self, _: Peer<'_>) {}

    fn encode(
        &mut self,
        (): &mut (),
        request: Outgoing<'_, u8>,
        out: &mut BytesMut,
    ) -> Result<(), Rejected> {
        out.put_u8(*request.request);
        Ok(())
    }

    fn decode(&mut self, (): &mut (), input: &mut BytesMut, _: &mut BytesMut) -> Decoded<Self> {
        Ok((!input.is_empty()).then(|| Item::reply(ReplyTo::Oldest, input.get_u8())))
    }
}
