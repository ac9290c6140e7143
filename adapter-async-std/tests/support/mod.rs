//! A server of the length-prefixed protocol, on std's sockets and threads.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener},
    sync::mpsc::{Receiver, channel},
    thread,
};

use bytes::BytesMut;
use redial::client::length_prefixed::{Frame, Kind, Status};
use redial_async_std::Executor;

/// Each of these for each executor.
macro_rules! on_each_executor {
    ($($test:ident)*) => {
        #[cfg(feature = "async-std")]
        mod async_std {
            $(#[test] fn $test() { super::$test::<redial_async_std::AsyncStdExecutor>(); })*
        }
        mod own {
            $(#[test] fn $test() { super::$test::<crate::support::Threads>(); })*
        }
        #[cfg(feature = "smol")]
        mod smol {
            $(#[test] fn $test() { super::$test::<redial_async_std::SmolExecutor>(); })*
        }
    };
}

/// An executor of the user's own: a thread for each client.
#[derive(Clone)]
pub(crate) struct Threads;

impl Executor for Threads {
    fn current() -> Option<Self> {
        Some(Self)
    }

    fn spawn(&self, driver: impl Future<Output = ()> + Send + 'static) {
        thread::spawn(|| async_io::block_on(driver));
    }
}

/// A server, for as long as the process lives.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    /// A message each time that a connection has ended.
    pub(crate) ended: Receiver<()>,
}

/// Greets each connection; what else it sends is up to `answer`.
pub(crate) fn server(answer: fn(Frame) -> Vec<Frame>) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback works");
    let address = listener.local_addr().expect("it is bound");
    let (sender, ended) = channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, sender) = (stream.expect("loopback works"), sender.clone());
            thread::spawn(move || {
                serve(stream, answer);
                let _ = sender.send(());
            });
        }
    });
    Server { address, ended }
}

/// The reply that echoes a request; nothing for other frames.
pub(crate) fn echo(frame: Frame) -> Vec<Frame> {
    match frame.kind {
        Kind::Request => vec![Frame::reply(frame.id, frame.body)],
        _ => Vec::new(),
    }
}

/// No answer.
pub(crate) fn silence(_: Frame) -> Vec<Frame> {
    Vec::new()
}

/// Serves one connection to its end.
pub(crate) fn serve(mut stream: impl Read + Write, answer: fn(Frame) -> Vec<Frame>) {
    let (mut input, mut output) = (BytesMut::new(), BytesMut::new());
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = stream.read(&mut buffer) {
        input.extend_from_slice(&buffer[..length]);
        while let Some(frame) = Frame::decode(&mut input, 1 << 20).expect("the client is correct") {
            match frame.kind {
                Kind::Hello => Frame::hello_answer(Status::Ok, 0).encode(&mut output),
                _ => answer(frame)
                    .iter()
                    .for_each(|frame| frame.encode(&mut output)),
            }
        }
        if stream.write_all(&output.split()).is_err() {
            return;
        }
    }
}
