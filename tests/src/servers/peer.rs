//! The server's side of one connection. It speaks the length-prefixed protocol from its description
//! and not through redial's codec, so that a mistake in that would show.

use std::{
    io::{self, Read, Write},
    net::TcpStream,
    sync::{Arc, atomic::Ordering},
    thread,
    time::Duration,
};

use socket2::SockRef;

use super::{Gate, State, lock};

const HELLO: u8 = 0;
const REQUEST: u8 = 1;
const REPLY: u8 = 2;
const PUSH: u8 = 3;
const GOODBYE: u8 = 4;
const ONE_WAY: u8 = 5;
const RETRY: u8 = 6;
const THROTTLE: u8 = 7;

const ACCEPTED: u8 = 0;
const CREDENTIALS_REJECTED: u8 = 2;
const SESSION_OVER: u8 = 3;

/// One accepted connection.
#[derive(Debug)]
pub struct Peer {
    stream: TcpStream,
    state: Arc<State>,
}

/// A request as it came.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// The correlation id.
    pub id: u32,
    /// The payload.
    pub payload: Vec<u8>,
}

impl Peer {
    pub(super) fn new(stream: TcpStream, state: Arc<State>) -> Self {
        // Replies go out when they are written, not when the last one was acknowledged.
        stream
            .set_nodelay(true)
            .expect("TCP_NODELAY on an open socket");
        Self { stream, state }
    }

    /// Takes the client's hello and accepts it.
    pub fn greet(&mut self) -> io::Result<()> {
        self.greet_with_limit(0)
    }

    /// The same, with at most so many requests in flight on the connection; 0 for no limit.
    pub fn greet_with_limit(&mut self, limit: u32) -> io::Result<()> {
        self.read_hello()?;
        self.answer_hello(ACCEPTED, limit)
    }

    /// Takes the client's hello and refuses its credentials.
    pub fn reject(&mut self) -> io::Result<()> {
        self.read_hello()?;
        self.answer_hello(CREDENTIALS_REJECTED, 0)
    }

    /// Takes the client's hello and says that its session is over.
    pub fn end_session(&mut self) -> io::Result<()> {
        self.read_hello()?;
        self.answer_hello(SESSION_OVER, 0)
    }

    fn answer_hello(&mut self, status: u8, limit: u32) -> io::Result<()> {
        self.write(&frame(HELLO, 0, &tagged(status, limit)))
    }

    /// Takes the client's hello.
    pub fn read_hello(&mut self) -> io::Result<()> {
        match self.read_frame()? {
            (HELLO, 0, body) if body.first() == Some(&1) => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    /// The next request that expects a reply.
    pub fn request(&mut self) -> io::Result<Request> {
        loop {
            let (kind, id, payload) = self.read_frame()?;
            if !matches!(kind, REQUEST | ONE_WAY) {
                return Err(unexpected(&(kind, id, payload)));
            }
            lock(&self.state.received).push(payload.clone());
            if kind == REQUEST {
                return Ok(Request { id, payload });
            }
        }
    }

    /// Answers a request with its own payload.
    pub fn echo(&mut self, request: &Request) -> io::Result<()> {
        self.write(&reply(request))
    }

    /// Says that a request was not carried out, and to try another node at once.
    pub fn send_elsewhere(&mut self, request: &Request) -> io::Result<()> {
        self.write(&frame(RETRY, request.id, &tagged(1, 0)))
    }

    /// Says something that nobody asked for.
    pub fn push(&mut self, payload: &[u8]) -> io::Result<()> {
        self.write(&frame(PUSH, 0, payload))
    }

    /// Asks for no more requests for so long.
    pub fn throttle(&mut self, wait: Duration) -> io::Result<()> {
        let wait = u32::try_from(wait.as_millis()).expect("waits in tests are short");
        self.write(&frame(THROTTLE, 0, &wait.to_be_bytes()))
    }

    /// Says that it will close the connection.
    pub fn say_goodbye(&mut self) -> io::Result<()> {
        self.write(&frame(GOODBYE, 0, &[]))
    }

    /// Writes bytes as they are.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Reads and drops whatever comes, until the client closes.
    pub fn read_to_end(&mut self) -> io::Result<()> {
        io::copy(&mut self.stream, &mut io::sink()).map(drop)
    }

    /// Waits until there is something to read, and leaves it there.
    pub fn wait_for_bytes(&self) -> io::Result<()> {
        self.stream.peek(&mut [0]).map(drop)
    }

    /// Neither reads nor writes until the gate is open.
    pub fn wait_at(&self, gate: &Gate) -> io::Result<()> {
        gate.reached.store(true, Ordering::SeqCst);
        while !gate.open.load(Ordering::SeqCst) {
            if self.state.stopped.load(Ordering::SeqCst) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// The end of the connection will be a reset, not a close in good order.
    pub fn end_with_reset(&self) -> io::Result<()> {
        SockRef::from(&self.stream).set_linger(Some(Duration::ZERO))
    }

    fn read_frame(&mut self) -> io::Result<(u8, u32, Vec<u8>)> {
        let mut head = [0; 9];
        self.stream.read_exact(&mut head)?;
        let [l0, l1, l2, l3, kind, i0, i1, i2, i3] = head;
        let length = u32::from_be_bytes([l0, l1, l2, l3]) as usize;
        let body = length.checked_sub(5).ok_or(io::ErrorKind::InvalidData)?;
        let mut body = vec![0; body];
        self.stream.read_exact(&mut body)?;
        Ok((kind, u32::from_be_bytes([i0, i1, i2, i3]), body))
    }
}

/// The frame that answers a request with its own payload.
#[must_use]
pub(super) fn reply(request: &Request) -> Vec<u8> {
    frame(REPLY, request.id, &request.payload)
}

fn frame(kind: u8, id: u32, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(5 + body.len()).expect("bodies in tests are small");
    let mut frame = length.to_be_bytes().to_vec();
    frame.push(kind);
    frame.extend(id.to_be_bytes());
    frame.extend(body);
    frame
}

/// A body of a byte and a number.
fn tagged(tag: u8, number: u32) -> [u8; 5] {
    let [a, b, c, d] = number.to_be_bytes();
    [tag, a, b, c, d]
}

fn unexpected(frame: &(u8, u32, Vec<u8>)) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("unexpected frame {frame:?}"),
    )
}
