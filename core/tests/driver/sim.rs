//! A runtime on virtual time, with pipes in place of sockets and nothing that happens by itself.

use std::{
    collections::VecDeque,
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

use bytes::BytesMut;
use redial::{
    ConnectError, Instant, NodeSpec,
    client::length_prefixed::{Frame, Kind, Status},
    driver::{Runtime, Stream, Timer, Transport},
};

/// The runtime, and the test's hold on its world.
#[derive(Clone, Default)]
pub(crate) struct Sim(Arc<Mutex<World>>);

#[derive(Default)]
pub(crate) struct World {
    pub(crate) now: Instant,
    pub(crate) pipes: Vec<Pipe>,
    /// How often the timer was set.
    pub(crate) timer_sets: u32,
    timer: Option<Instant>,
    timer_waker: Option<Waker>,
    driver: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

/// A connection.
#[derive(Default)]
pub(crate) struct Pipe {
    pub(crate) address: Option<SocketAddr>,
    /// What the client wrote, by write.
    pub(crate) writes: Vec<Vec<u8>>,
    /// What the client has not read, by read.
    reads: VecDeque<Vec<u8>>,
    /// So many bytes are taken at once.
    pub(crate) takes: Option<usize>,
    /// Writing is blocked.
    pub(crate) blocked: bool,
    /// Writing fails.
    pub(crate) broken: bool,
    /// Reading never ends: more of this comes after every read.
    pub(crate) flood: Option<Vec<u8>>,
    /// The client has closed it in good order; it is gone.
    pub(crate) closed: bool,
    pub(crate) dropped: bool,
    waker: Option<Waker>,
}

/// The test's waker for the driver: counts.
#[derive(Default)]
pub(crate) struct Wakes(AtomicU32);

impl Wakes {
    pub(crate) fn take(&self) -> u32 {
        self.0.swap(0, Ordering::SeqCst)
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Sim {
    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        self.0.lock().expect("nothing panics under this lock")
    }

    /// Polls the driver once. Whether it has ended.
    pub(crate) fn poll(&self, wakes: &Arc<Wakes>) -> bool {
        let mut driver = self
            .world()
            .driver
            .take()
            .expect("it was spawned and has not ended");
        let waker = Waker::from(Arc::clone(wakes));
        let ended = driver
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_ready();
        if !ended {
            self.world().driver = Some(driver);
        }
        ended
    }

    pub(crate) fn drop_driver(&self) {
        let driver = self.world().driver.take();
        drop(driver);
    }

    /// Lets time pass; the timer wakes whom it must.
    pub(crate) fn advance(&self, by: Duration) {
        let mut world = self.world();
        world.now += by;
        if world.timer.is_some_and(|at| at <= world.now)
            && let Some(waker) = world.timer_waker.take()
        {
            drop(world);
            waker.wake();
        }
    }

    /// Changes a pipe and wakes who waits for it.
    pub(crate) fn pipe(&self, index: usize, change: impl FnOnce(&mut Pipe)) {
        let waker = {
            let pipe = &mut self.world().pipes[index];
            change(pipe);
            pipe.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// The server sends these frames in one piece.
    pub(crate) fn send(&self, index: usize, frames: &[Frame]) {
        let mut bytes = BytesMut::new();
        frames.iter().for_each(|frame| frame.encode(&mut bytes));
        self.pipe(index, |pipe| pipe.reads.push_back(bytes.to_vec()));
    }

    /// The server's hello.
    pub(crate) fn welcome(&self, index: usize) {
        self.send(index, &[Frame::hello_answer(Status::Ok, 0)]);
    }

    /// The requests that were wholly written, by their id.
    pub(crate) fn requests(&self, index: usize) -> Vec<u32> {
        let mut bytes = BytesMut::new();
        for write in &self.world().pipes[index].writes {
            bytes.extend_from_slice(write);
        }
        std::iter::from_fn(|| Frame::decode(&mut bytes, 1 << 24).expect("the client is correct"))
            .filter(|frame| frame.kind == Kind::Request)
            .map(|frame| frame.id)
            .collect()
    }
}

impl Transport for Sim {
    type Stream = End;

    fn connect(
        &self,
        _: &NodeSpec,
        address: Option<SocketAddr>,
    ) -> impl Future<Output = Result<End, ConnectError>> + Send + 'static {
        let sim = self.clone();
        async move {
            let mut world = sim.world();
            world.pipes.push(Pipe {
                address,
                ..Pipe::default()
            });
            let index = world.pipes.len() - 1;
            drop(world);
            Ok(End { sim, index })
        }
    }
}

impl Runtime for Sim {
    type Timer = SimTimer;

    fn current() -> Option<Self> {
        None
    }

    fn now(&self) -> Instant {
        self.world().now
    }

    fn timer(&self) -> SimTimer {
        SimTimer(self.clone())
    }

    fn resolve(
        &self,
        host: &str,
        port: u16,
    ) -> impl Future<Output = io::Result<Vec<SocketAddr>>> + Send + 'static {
        let known = host == "known";
        async move {
            match known {
                true => Ok(vec![SocketAddr::from(([10, 0, 0, 1], port))]),
                false => Err(io::ErrorKind::NotFound.into()),
            }
        }
    }

    fn spawn(&self, driver: impl Future<Output = ()> + Send + 'static) {
        self.world().driver = Some(Box::pin(driver));
    }
}

pub(crate) struct SimTimer(Sim);

impl Timer for SimTimer {
    fn set(&mut self, at: Instant) {
        let mut world = self.0.world();
        world.timer = Some(at);
        world.timer_sets += 1;
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut world = self.0.world();
        if world.timer.is_some_and(|at| at <= world.now) {
            return Poll::Ready(());
        }
        world.timer_waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

/// The client's end of a pipe.
pub(crate) struct End {
    sim: Sim,
    index: usize,
}

impl End {
    fn with<T>(&self, cx: &Context<'_>, work: impl FnOnce(&mut Pipe) -> Poll<T>) -> Poll<T> {
        let pipe = &mut self.sim.world().pipes[self.index];
        let poll = work(pipe);
        if poll.is_pending() {
            pipe.waker = Some(cx.waker().clone());
        }
        poll
    }
}

impl Stream for End {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        self.with(cx, |pipe| {
            match pipe.reads.pop_front().or_else(|| pipe.flood.clone()) {
                Some(bytes) => {
                    buffer[..bytes.len()].copy_from_slice(&bytes);
                    Poll::Ready(Ok(bytes.len()))
                }
                None => Poll::Pending,
            }
        })
    }

    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.with(cx, |pipe| {
            if pipe.broken {
                return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
            }
            if pipe.blocked {
                return Poll::Pending;
            }
            let length = bytes.len().min(pipe.takes.unwrap_or(usize::MAX));
            pipe.writes.push(bytes[..length].to_vec());
            Poll::Ready(Ok(length))
        })
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.with(cx, |pipe| {
            pipe.closed = true;
            Poll::Ready(Ok(()))
        })
    }
}

impl Drop for End {
    fn drop(&mut self) {
        self.sim.world().pipes[self.index].dropped = true;
    }
}
