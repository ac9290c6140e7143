//! A transport and a runtime around those under test.

use std::{
    future::poll_fn,
    io,
    net::SocketAddr,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use redial::{
    ConnectError, Instant, NodeSpec,
    driver::{Runtime, Stream, Transport},
};

/// Its connections take and give one byte a call, and every other call they are not ready.
#[derive(Clone)]
pub(crate) struct ByteByByte<T>(pub(crate) T);

pub(crate) struct ByteStream<S> {
    stream: Pin<Box<S>>,
    reads: bool,
    writes: bool,
}

/// Counts how often the driver is polled.
#[derive(Clone)]
pub(crate) struct Counting<R> {
    runtime: R,
    polls: Arc<AtomicUsize>,
}

impl<S: Stream> Stream for ByteStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        self.reads = !self.reads;
        match self.reads {
            true => self.stream.as_mut().poll_read(cx, &mut buffer[..1]),
            false => not_now(cx),
        }
    }

    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.writes = !self.writes;
        match self.writes {
            true => self.stream.as_mut().poll_write(cx, &bytes[..1]),
            false => not_now(cx),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_flush(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_close(cx)
    }
}

fn not_now<T>(cx: &Context<'_>) -> Poll<T> {
    cx.waker().wake_by_ref();
    Poll::Pending
}

impl<R> Counting<R> {
    pub(crate) fn new(runtime: R) -> Self {
        Self {
            runtime,
            polls: Arc::default(),
        }
    }

    pub(crate) fn polls(&self) -> usize {
        self.polls.load(Ordering::SeqCst)
    }
}

impl<T: Transport> Transport for ByteByByte<T> {
    type Stream = ByteStream<T::Stream>;

    fn connect(
        &self,
        node: &NodeSpec,
        address: Option<SocketAddr>,
    ) -> impl Future<Output = Result<Self::Stream, ConnectError>> + Send + 'static {
        let connect = self.0.connect(node, address);
        async {
            Ok(ByteStream {
                stream: Box::pin(connect.await?),
                reads: false,
                writes: false,
            })
        }
    }
}

impl<R: Transport> Transport for Counting<R> {
    type Stream = R::Stream;

    fn connect(
        &self,
        node: &NodeSpec,
        address: Option<SocketAddr>,
    ) -> impl Future<Output = Result<R::Stream, ConnectError>> + Send + 'static {
        self.runtime.connect(node, address)
    }
}

impl<R: Runtime> Runtime for Counting<R> {
    type Timer = R::Timer;

    fn current() -> Option<Self> {
        None
    }

    fn now(&self) -> Instant {
        self.runtime.now()
    }

    fn timer(&self) -> R::Timer {
        self.runtime.timer()
    }

    fn resolve(
        &self,
        host: &str,
        port: u16,
    ) -> impl Future<Output = io::Result<Vec<SocketAddr>>> + Send + 'static {
        self.runtime.resolve(host, port)
    }

    fn spawn(&self, driver: impl Future<Output = ()> + Send + 'static) {
        let polls = Arc::clone(&self.polls);
        self.runtime.spawn(async move {
            let mut driver = pin!(driver);
            poll_fn(|cx| {
                polls.fetch_add(1, Ordering::SeqCst);
                driver.as_mut().poll(cx)
            })
            .await;
        });
    }
}
