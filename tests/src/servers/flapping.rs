//! A server that dies and comes back, again and again.

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use super::{ClosedPort, Peer, Server, lock};

/// A server that listens for a while, closes everything, is gone for a while, and so on. Its port is
/// its own all the time.
#[derive(Debug)]
pub struct FlappingServer {
    port: ClosedPort,
    state: Arc<State>,
    thread: Option<thread::JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct State {
    stopped: AtomicBool,
    deaths: AtomicUsize,
    /// Locked before `current`.
    received: Mutex<Vec<Vec<u8>>>,
    current: Mutex<Option<Server>>,
}

impl FlappingServer {
    /// A server that is up and down for these times, each of whose connections goes the given way.
    pub fn start(
        up: Duration,
        down: Duration,
        way: impl Fn(&mut Peer) -> io::Result<()> + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let way = Arc::new(way);
        let port = ClosedPort::take()?;
        let (address, state) = (port.address(), Arc::<State>::default());
        let shared = Arc::clone(&state);
        let thread = thread::spawn(move || {
            while !shared.stopped.load(Ordering::SeqCst) {
                let way = Arc::clone(&way);
                let server = Server::start_at(address, move |peer| way(peer));
                *lock(&shared.current) = Some(server);
                thread::sleep(up);
                shared.die();
                thread::sleep(down);
            }
        });
        Ok(Self {
            port,
            state,
            thread: Some(thread),
        })
    }

    /// Where it listens, when it does.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.port.address()
    }

    /// How often it has died so far.
    #[must_use]
    pub fn deaths(&self) -> usize {
        self.state.deaths.load(Ordering::SeqCst)
    }

    /// The payloads of the requests that it has read so far.
    #[must_use]
    pub fn received(&self) -> Vec<Vec<u8>> {
        let mut received = lock(&self.state.received).clone();
        let current = lock(&self.state.current);
        received.extend(current.iter().flat_map(Server::received));
        received
    }
}

impl State {
    fn die(&self) {
        let mut received = lock(&self.received);
        let server = lock(&self.current).take();
        received.extend(server.into_iter().flat_map(Server::end));
        self.deaths.fetch_add(1, Ordering::SeqCst);
    }
}

impl Drop for FlappingServer {
    fn drop(&mut self) {
        self.state.stopped.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
