//! Real TCP servers on loopback, on a thread of their own so that they do not disturb the client, and
//! without a runtime, so that they are the same for each.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, MutexGuard},
    thread,
    time::{Duration, Instant},
};

use bytes::BytesMut;
use redial::client::length_prefixed::{Frame, Kind, Status};
use socket2::{Domain, SockRef, Socket, Type};

use crate::client::Mode;

/// How long a server works on what has come, so that a kill finds requests in flight.
const WORK: Duration = Duration::from_millis(10);

/// Between two looks at the sockets.
const PERIOD: Duration = Duration::from_millis(1);

/// The servers of the cluster, until it is dropped.
pub(crate) struct Servers(Arc<Mutex<Vec<Server>>>);

struct Server {
    address: SocketAddr,
    port: Port,
    talks: bool,
    connections: Vec<Connection>,
}

/// A port that stays ours while nobody listens on it.
enum Port {
    /// Bound, so that connecting to it is refused and nobody else can take it.
    Reserved(Socket),
    /// Its accept queue is full of `_queue`: the kernel drops what else knocks.
    Full {
        listener: Socket,
        _queue: Vec<TcpStream>,
    },
    Listening(TcpListener),
}

impl Servers {
    /// One for each mode. Each behaves as it should.
    pub(crate) fn start(modes: &[Mode]) -> io::Result<Self> {
        let servers: io::Result<Vec<_>> = modes.iter().map(|_| Server::reserve()).collect();
        let servers = Arc::new(Mutex::new(servers?));
        let all = Self(Arc::clone(&servers));
        for (node, mode) in modes.iter().enumerate() {
            all.set(node, *mode)?;
        }
        let servers = Arc::downgrade(&servers);
        thread::spawn(move || {
            while let Some(servers) = servers.upgrade() {
                lock(&servers).iter_mut().for_each(Server::look);
                drop(servers);
                thread::sleep(PERIOD);
            }
        });
        Ok(all)
    }

    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        let servers = lock(&self.0);
        servers.iter().map(|server| server.address).collect()
    }

    /// From now on the server behaves so.
    pub(crate) fn set(&self, node: usize, mode: Mode) -> io::Result<()> {
        lock(&self.0)[node].set(mode)
    }
}

fn lock(servers: &Mutex<Vec<Server>>) -> MutexGuard<'_, Vec<Server>> {
    servers.lock().expect("nobody panics with it")
}

impl Server {
    fn reserve() -> io::Result<Self> {
        let socket = bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        Ok(Self {
            address: socket.local_addr()?.as_socket().expect("an IP socket"),
            port: Port::Reserved(socket),
            talks: false,
            connections: Vec::new(),
        })
    }

    fn set(&mut self, mode: Mode) -> io::Result<()> {
        self.talks = mode == Mode::Live;
        match (mode, &self.port) {
            (Mode::Live | Mode::Mute, Port::Listening(_)) => {}
            (
                Mode::Live | Mode::Mute,
                Port::Full {
                    listener: socket, ..
                }
                | Port::Reserved(socket),
            ) => {
                let listener = socket.try_clone()?;
                listener.listen(1024)?;
                listener.set_nonblocking(true)?;
                self.port = Port::Listening(listener.into());
            }
            (Mode::Dead, _) => {
                // Each is reset.
                self.connections.clear();
                self.rebind()?;
            }
            (Mode::BlackHole, _) => self.port = fill(self.rebind()?, self.address)?,
        }
        Ok(())
    }

    /// Ends what listens on the port and binds it anew.
    fn rebind(&mut self) -> io::Result<Socket> {
        self.port = Port::Reserved(Socket::new(Domain::IPV4, Type::STREAM, None)?);
        let socket = bind(self.address)?;
        self.port = Port::Reserved(socket.try_clone()?);
        Ok(socket)
    }

    /// Accepts, reads and writes what it can without waiting.
    fn look(&mut self) {
        if let Port::Listening(listener) = &self.port {
            while let Ok((stream, _)) = listener.accept() {
                self.connections.extend(Connection::new(stream));
            }
        }
        let talks = self.talks;
        self.connections.retain_mut(|c| c.serve(talks).is_ok());
    }
}

struct Connection {
    stream: TcpStream,
    input: BytesMut,
    output: BytesMut,
    /// When it has worked on what is in `output`.
    done: Instant,
}

impl Connection {
    fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        SockRef::from(&stream).set_linger(Some(Duration::ZERO))?;
        Ok(Self {
            stream,
            input: BytesMut::new(),
            output: BytesMut::new(),
            done: Instant::now(),
        })
    }

    /// Greets and echoes, but only while the server talks.
    fn serve(&mut self, talks: bool) -> io::Result<()> {
        if !talks || Instant::now() < self.done {
            return Ok(());
        }
        if !self.output.is_empty() {
            // The replies of one look are smaller than any socket's buffer.
            self.stream.write_all(&self.output.split())?;
        }
        let mut buffer = [0; 16 * 1024];
        match self.stream.read(&mut buffer) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(length) => self.input.extend_from_slice(&buffer[..length]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        }
        while let Some(frame) = Frame::decode(&mut self.input, 1 << 20).map_err(io::Error::other)? {
            match frame.kind {
                Kind::Hello => Frame::hello_answer(Status::Ok, 0).encode(&mut self.output),
                Kind::Request => Frame::reply(frame.id, frame.body).encode(&mut self.output),
                _ => return Err(ErrorKind::InvalidData.into()),
            }
        }
        self.done = Instant::now() + WORK;
        Ok(())
    }
}

fn bind(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

/// Connects to a listener that does not accept until a connect stays pending.
fn fill(listener: Socket, address: SocketAddr) -> io::Result<Port> {
    listener.listen(0)?;
    let mut queue = Vec::new();
    loop {
        match TcpStream::connect_timeout(&address, Duration::from_millis(100)) {
            Ok(stream) => queue.push(stream),
            Err(error) if error.kind() == ErrorKind::TimedOut => break,
            Err(error) => return Err(error),
        }
    }
    Ok(Port::Full {
        listener,
        _queue: queue,
    })
}
