//! An echo server for frames: this program again, in another process.

use std::{
    env,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    thread,
};

use bytes::BytesMut;
use redial::client::length_prefixed::{Frame, Kind, Status};

use crate::pin;

/// The argument that makes this program the server.
pub(crate) const ARGUMENT: &str = "--server";

pub(crate) const MAX_FRAME: usize = 1 << 20;

/// Killed when dropped.
pub(crate) struct Server {
    process: Child,
    address: SocketAddr,
}

impl Server {
    pub(crate) fn start() -> Self {
        let program = env::current_exe().expect("this program");
        let mut process = Command::new(program)
            .arg(ARGUMENT)
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program again");
        let mut line = String::new();
        let output = process.stdout.take().expect("it is piped");
        let read = BufReader::new(output).read_line(&mut line);
        read.expect("the server says where it listens");
        let address = line.trim().parse().expect("an address");
        // Its threads, one a connection, come later and inherit it.
        pin(process.id(), 1);
        Self { process, address }
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Serves for ever.
pub(crate) fn serve() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    println!("{}", listener.local_addr().expect("it is bound"));
    for stream in listener.incoming() {
        thread::spawn(|| echo(stream.expect("a connection")));
    }
}

fn echo(mut stream: TcpStream) {
    stream.set_nodelay(true).expect("nodelay");
    let (mut chunk, mut input, mut output) = (vec![0; 64 * 1024], BytesMut::new(), BytesMut::new());
    while let Ok(length @ 1..) = stream.read(&mut chunk) {
        input.extend_from_slice(&chunk[..length]);
        while let Some(frame) = Frame::decode(&mut input, MAX_FRAME).expect("a frame") {
            match frame.kind {
                Kind::Hello => Frame::hello_answer(Status::Ok, 0).encode(&mut output),
                _ => Frame::reply(frame.id, frame.body).encode(&mut output),
            }
        }
        if stream.write_all(&output).is_err() {
            return;
        }
        output.clear();
    }
}
