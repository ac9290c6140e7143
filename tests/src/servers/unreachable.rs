//! Ports where connecting fails, or never ends.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr, TcpStream},
    time::Duration,
};

use socket2::{Domain, Socket, Type};

/// A port that is taken, but nobody listens there: connections are refused, until a
/// [`Server`](super::Server) is started at it.
#[derive(Debug)]
pub struct ClosedPort {
    address: SocketAddr,
    _socket: Socket,
}

impl ClosedPort {
    /// A free port, now taken.
    pub fn take() -> io::Result<Self> {
        let (socket, address) = bound_socket()?;
        Ok(Self {
            address,
            _socket: socket,
        })
    }

    /// Where it refuses.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

/// A listener whose queue of connections is full and is never emptied. The kernel then drops each
/// further SYN, so that connecting neither works nor fails. Needs no privilege.
#[derive(Debug)]
pub struct BlackHole {
    address: SocketAddr,
    _listener: Socket,
    _queued: Vec<TcpStream>,
}

impl BlackHole {
    /// A black hole on a free port.
    pub fn open() -> io::Result<Self> {
        let listener = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        listener.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
        listener.listen(0)?;
        let address = listener
            .local_addr()?
            .as_socket()
            .ok_or(io::ErrorKind::AddrNotAvailable)?;
        // Linux queues one more than it was told, others may queue more.
        let mut queued = Vec::new();
        loop {
            match TcpStream::connect_timeout(&address, Duration::from_millis(300)) {
                Ok(stream) if queued.len() < 64 => queued.push(stream),
                Ok(_) => return Err(io::Error::other("the queue of connections does not fill")),
                Err(error) if error.kind() == io::ErrorKind::TimedOut => break,
                Err(error) => return Err(error),
            }
        }
        Ok(Self {
            address,
            _listener: listener,
            _queued: queued,
        })
    }

    /// Where it does not answer.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

fn bound_socket() -> io::Result<(Socket, SocketAddr)> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    // A server, which says the same, may then listen here beside it.
    socket.set_reuse_address(true)?;
    socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
    let address = socket
        .local_addr()?
        .as_socket()
        .ok_or(io::ErrorKind::AddrNotAvailable)?;
    Ok((socket, address))
}
