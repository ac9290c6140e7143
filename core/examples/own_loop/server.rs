//! An echo server in a thread, for the client to lose.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::{thread, time::Duration};

use bytes::BytesMut;
use redial::client::length_prefixed::{Frame, Kind, Status};

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    alive: Arc<AtomicBool>,
}

impl Server {
    pub(crate) fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let (address, alive) = (listener.local_addr()?, Arc::new(AtomicBool::new(true)));
        let still_alive = alive.clone();
        thread::spawn(move || serve(&listener, &still_alive));
        Ok(Self { address, alive })
    }

    pub(crate) fn kill(&self) {
        self.alive.store(false, Relaxed);
    }
}

/// Serves one connection; its socket and the listener close when this returns.
fn serve(listener: &TcpListener, alive: &AtomicBool) -> io::Result<()> {
    let (mut socket, _) = listener.accept()?;
    socket.set_read_timeout(Some(Duration::from_millis(10)))?;
    let (mut input, mut output, mut buffer) = (BytesMut::new(), BytesMut::new(), [0; 4096]);
    loop {
        match socket.read(&mut buffer) {
            _ if !alive.load(Relaxed) => return Ok(()),
            Ok(0) => return Ok(()),
            Ok(count) => input.extend_from_slice(&buffer[..count]),
            Err(_) => continue, // Nothing came yet.
        }
        while let Ok(Some(frame)) = Frame::decode(&mut input, 1024) {
            match frame.kind {
                Kind::Hello => Frame::hello_answer(Status::Ok, 0).encode(&mut output),
                _ => Frame::reply(frame.id, frame.body).encode(&mut output),
            }
        }
        socket.write_all(&output.split())?;
    }
}
