//! Real TCP servers on loopback, on a thread of their own so that they do not disturb the client.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    thread,
    time::Duration,
};

use bytes::BytesMut;
use redial::client::length_prefixed::{Frame, Kind, Status};
use socket2::{Domain, SockRef, Socket, Type};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{mpsc, oneshot, watch},
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::client::Mode;

/// How long a server works on what has come, so that a kill finds requests in flight.
const WORK: Duration = Duration::from_millis(10);

/// The servers of the cluster.
pub(crate) struct Servers {
    nodes: Vec<Server>,
}

struct Server {
    address: SocketAddr,
    commands: mpsc::UnboundedSender<(Mode, oneshot::Sender<()>)>,
}

impl Servers {
    /// One for each mode. Returns when each behaves as it should.
    pub(crate) async fn start(modes: &[Mode]) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let mut nodes = Vec::new();
        for _ in modes {
            let port = Port::reserve()?;
            let (commands, receiver) = mpsc::unbounded_channel();
            nodes.push(Server {
                address: port.address,
                commands,
            });
            runtime.spawn(run(port, receiver));
        }
        thread::spawn(move || runtime.block_on(std::future::pending::<()>()));
        let servers = Self { nodes };
        for (node, mode) in modes.iter().enumerate() {
            servers.set(node, *mode).await;
        }
        Ok(servers)
    }

    pub(crate) fn addresses(&self) -> impl Iterator<Item = SocketAddr> {
        self.nodes.iter().map(|node| node.address)
    }

    /// Returns when the server behaves so.
    pub(crate) async fn set(&self, node: usize, mode: Mode) {
        let (done, is_done) = oneshot::channel();
        self.nodes[node]
            .commands
            .send((mode, done))
            .expect("the servers' thread lives");
        is_done.await.expect("the servers' thread lives");
    }
}

/// One server: carries out commands, accepts while it is alive or mute.
async fn run(mut port: Port, mut commands: mpsc::UnboundedReceiver<(Mode, oneshot::Sender<()>)>) {
    let (talk, _) = watch::channel(false);
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            command = commands.recv() => {
                let Some((mode, done)) = command else { return };
                if mode == Mode::Dead {
                    // Each is reset when its task drops it.
                    connections.shutdown().await;
                }
                port.set(mode).await.expect("loopback works");
                talk.send_replace(mode == Mode::Live);
                let _ = done.send(());
            }
            stream = port.accept() => {
                connections.spawn(serve(stream, talk.subscribe()));
            }
        }
    }
}

/// Greets and echoes, but only while the server talks.
async fn serve(mut stream: TcpStream, mut talk: watch::Receiver<bool>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    SockRef::from(&stream).set_linger(Some(Duration::ZERO))?;
    let (mut input, mut output) = (BytesMut::new(), BytesMut::new());
    while stream.read_buf(&mut input).await? > 0 {
        let _ = talk.wait_for(|talk| *talk).await;
        while let Some(frame) = Frame::decode(&mut input, 1 << 20).map_err(io::Error::other)? {
            match frame.kind {
                Kind::Hello => Frame::hello_answer(Status::Ok, 0).encode(&mut output),
                Kind::Request => Frame::reply(frame.id, frame.body).encode(&mut output),
                _ => return Ok(()),
            }
        }
        sleep(WORK).await;
        stream.write_all_buf(&mut output).await?;
    }
    Ok(())
}

/// A port that stays ours while nobody listens on it.
struct Port {
    address: SocketAddr,
    state: State,
}

enum State {
    /// Bound, so that connecting to it is refused and nobody else can take it.
    Reserved {
        _socket: Socket,
    },
    /// Its accept queue is full of `_queue`: the kernel drops what else knocks.
    Full {
        listener: Socket,
        _queue: Vec<TcpStream>,
    },
    Listening(TcpListener),
}

impl Port {
    fn reserve() -> io::Result<Self> {
        let socket = bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        let address = socket.local_addr()?.as_socket().expect("an IP socket");
        Ok(Self {
            address,
            state: State::Reserved { _socket: socket },
        })
    }

    async fn set(&mut self, mode: Mode) -> io::Result<()> {
        match (mode, &self.state) {
            (Mode::Live | Mode::Mute, State::Listening(_)) => return Ok(()),
            (Mode::Live | Mode::Mute, State::Full { listener, .. }) => {
                let listener = listener.try_clone()?;
                self.state = listen(listener)?;
            }
            (Mode::Live | Mode::Mute, State::Reserved { _socket: socket }) => {
                let socket = socket.try_clone()?;
                self.state = listen(socket)?;
            }
            (Mode::Dead, _) => {
                self.state = State::Reserved {
                    _socket: self.rebind()?,
                }
            }
            (Mode::BlackHole, _) => self.state = fill(self.rebind()?, self.address).await?,
        }
        Ok(())
    }

    /// Ends what listens on the port and binds it anew.
    fn rebind(&mut self) -> io::Result<Socket> {
        self.state = State::Reserved {
            _socket: Socket::new(Domain::IPV4, Type::STREAM, None)?,
        };
        bind(self.address)
    }

    /// The next connection; never one while nothing is accepted.
    async fn accept(&self) -> TcpStream {
        if let State::Listening(listener) = &self.state {
            loop {
                if let Ok((stream, _)) = listener.accept().await {
                    return stream;
                }
            }
        }
        std::future::pending().await
    }
}

fn bind(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

fn listen(socket: Socket) -> io::Result<State> {
    socket.listen(1024)?;
    socket.set_nonblocking(true)?;
    Ok(State::Listening(TcpListener::from_std(socket.into())?))
}

/// Connects to a listener that does not accept until a connect stays pending.
async fn fill(listener: Socket, address: SocketAddr) -> io::Result<State> {
    listener.listen(0)?;
    let mut queue = Vec::new();
    while let Ok(stream) = timeout(Duration::from_millis(100), TcpStream::connect(address)).await {
        queue.push(stream?);
    }
    Ok(State::Full {
        listener,
        _queue: queue,
    })
}
