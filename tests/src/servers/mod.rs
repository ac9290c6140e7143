//! Real servers on loopback, and the ways in which they can be dead.
//!
//! They are threads with blocking sockets: nothing of the runtime or of redial that is under test.

mod child;
mod flapping;
mod peer;
mod unreachable;
pub mod ways;

use std::{
    collections::BTreeMap,
    io,
    net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

pub use {
    child::ChildServer,
    flapping::FlappingServer,
    peer::{Peer, Request},
    unreachable::{BlackHole, ClosedPort},
};

/// How a server treats one connection, from its acceptance to its end.
type Way = dyn Fn(&mut Peer) -> io::Result<()> + Send + Sync;

/// A TCP server on loopback. Dropping it closes its listener and all its connections.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    state: Arc<State>,
    acceptor: Option<thread::JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct State {
    stopped: AtomicBool,
    accepted: AtomicUsize,
    open: Mutex<BTreeMap<usize, TcpStream>>,
    received: Mutex<Vec<Vec<u8>>>,
}

impl Server {
    /// A server on a free port, each of whose connections goes the given way.
    #[must_use]
    pub fn start(way: impl Fn(&mut Peer) -> io::Result<()> + Send + Sync + 'static) -> Self {
        Self::start_at((Ipv4Addr::LOCALHOST, 0).into(), way)
    }

    /// The same at a given address, such as that of a server that has been dropped.
    #[must_use]
    pub fn start_at(
        address: SocketAddr,
        way: impl Fn(&mut Peer) -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).expect("a port on loopback");
        let address = listener
            .local_addr()
            .expect("a bound listener has an address");
        let state = Arc::new(State::default());
        let acceptor = {
            let state = Arc::clone(&state);
            thread::spawn(move || state.accept(&listener, &(Arc::new(way) as Arc<Way>)))
        };
        Self {
            address,
            state,
            acceptor: Some(acceptor),
        }
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many connections it has accepted so far.
    #[must_use]
    pub fn accepted(&self) -> usize {
        self.state.accepted.load(Ordering::SeqCst)
    }

    /// How many connections have not ended. Only ways that read can see an end.
    #[must_use]
    pub fn open(&self) -> usize {
        lock(&self.state.open).len()
    }

    /// The payloads of the requests that it has read so far.
    #[must_use]
    pub fn received(&self) -> Vec<Vec<u8>> {
        lock(&self.state.received).clone()
    }

    /// Closes everything, and returns the payloads of all requests that it has read. Only for ways that
    /// see the end of a connection.
    #[must_use]
    pub fn end(mut self) -> Vec<Vec<u8>> {
        self.stop();
        while self.open() > 0 {
            thread::sleep(Duration::from_millis(1));
        }
        self.received()
    }

    fn stop(&mut self) {
        self.state.stopped.store(true, Ordering::SeqCst);
        if let Some(acceptor) = self.acceptor.take() {
            // Wakes the acceptor, which then sees that it is to stop.
            let _ = TcpStream::connect(self.address);
            let _ = acceptor.join();
        }
        for stream in lock(&self.state.open).values() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

/// Where connections wait until the test lets them go on.
#[derive(Debug, Default)]
pub struct Gate {
    reached: AtomicBool,
    open: AtomicBool,
}

impl Gate {
    /// A gate that is closed.
    #[must_use]
    pub fn closed() -> Arc<Self> {
        Arc::default()
    }

    /// Opens it, for good.
    pub fn open(&self) {
        self.open.store(true, Ordering::SeqCst);
    }

    /// Whether a connection has come to it.
    #[must_use]
    pub fn is_reached(&self) -> bool {
        self.reached.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

impl State {
    fn accept(self: &Arc<Self>, listener: &TcpListener, way: &Arc<Way>) {
        for stream in listener.incoming() {
            if self.stopped.load(Ordering::SeqCst) {
                return;
            }
            let Ok(stream) = stream else { continue };
            let number = self.accepted.fetch_add(1, Ordering::SeqCst);
            let handle = stream.try_clone().expect("a second handle on a socket");
            lock(&self.open).insert(number, handle);
            let (state, way) = (Arc::clone(self), Arc::clone(way));
            thread::spawn(move || {
                // An error is the client's closing, or ours: the end either way.
                let _ = way(&mut Peer::new(stream, Arc::clone(&state)));
                lock(&state.open).remove(&number);
            });
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no holder of this lock panics")
}
