//! [`Server`]: the other side of the wire.

use core::time::Duration;
use std::{boxed::Box, vec::Vec};

use bytes::{Bytes, BytesMut};

use crate::{
    Instant,
    client::length_prefixed::{Frame, Kind, Status},
};

/// A server of the simulation, which speaks the wire protocol of the clients. What the simulation can
/// do to it without knowing the protocol (crash, pause, slow, cut off, …) it does itself; what it
/// cannot, a server finds in [`Answers::conduct`].
///
/// It is pure: no clock, no I/O, no randomness of its own. For the ready-made
/// [`length_prefixed`](crate::client::length_prefixed) protocol there is [`Service`].
pub trait Server: Send {
    /// Bytes have come on a connection. Take the whole frames from the front of `input`, and leave
    /// the rest. Connections have numbers that are not used again.
    fn read(&mut self, connection: u64, input: &mut BytesMut, answers: &mut Answers);

    /// A connection has ended, or was lost. Default: nothing.
    fn closed(&mut self, connection: u64) {
        let _ = connection;
    }

    /// The server is about to go: appends what the protocol says then to each connection. Default:
    /// nothing.
    fn goodbye(&mut self, connection: u64, out: &mut BytesMut) {
        let _ = (connection, out);
    }

    /// The process is started anew: what was in its memory is gone. Default: nothing.
    fn restart(&mut self) {}
}

/// How a server is to behave, by the faults of the moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Conduct {
    /// It asks for no requests for so long, with each answer, as far as its protocol can say so.
    pub throttle: Option<Duration>,
    /// It refuses the credentials of whoever greets it, as far as its protocol can say so.
    pub rejects_credentials: bool,
}

/// What a server answers.
#[derive(Debug, Default)]
pub struct Answers {
    now: Instant,
    conduct: Conduct,
    pub(super) sent: Vec<Sent>,
    pub(super) closes: bool,
}

#[derive(Debug)]
pub(super) struct Sent {
    pub(super) after: Duration,
    pub(super) in_order: bool,
    pub(super) bytes: Bytes,
}

impl Answers {
    pub(super) const fn new(now: Instant, conduct: Conduct) -> Self {
        Self {
            now,
            conduct,
            sent: Vec::new(),
            closes: false,
        }
    }

    /// The time, for servers that hold leases or sessions.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// How to behave.
    #[must_use]
    pub const fn conduct(&self) -> Conduct {
        self.conduct
    }

    /// Sends bytes after so long, and not before what was sent so earlier on this connection.
    pub fn send(&mut self, after: Duration, bytes: impl Into<Bytes>) {
        self.push(after, true, bytes.into());
    }

    /// Sends bytes after so long, perhaps before what was sent earlier: for protocols whose replies
    /// may come in any order.
    pub fn send_unordered(&mut self, after: Duration, bytes: impl Into<Bytes>) {
        self.push(after, false, bytes.into());
    }

    /// Closes the connection, after what was sent before. What is sent afterwards is dropped.
    pub const fn close(&mut self) {
        self.closes = true;
    }

    fn push(&mut self, after: Duration, in_order: bool, bytes: Bytes) {
        if !self.closes {
            self.sent.push(Sent {
                after,
                in_order,
                bytes,
            });
        }
    }
}

/// A server of the ready-made [`length_prefixed`](crate::client::length_prefixed) protocol: it greets,
/// and answers each request as a closure says. Replies to requests that take different times come in
/// any order.
pub struct Service {
    answer: Box<dyn FnMut(&Bytes) -> Reaction + Send>,
    limit: u32,
}

/// What a [`Service`] does with a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reaction {
    /// It replies after so long.
    Reply(Duration, Bytes),
    /// It says that it has not carried it out: try again here after so long.
    RetryHere(Duration),
    /// It says that it has not carried it out: try another server.
    RetryElsewhere,
    /// It never answers.
    Silence,
    /// It closes the connection.
    Close,
}

impl Service {
    /// One that answers by this closure.
    pub fn new(answer: impl FnMut(&Bytes) -> Reaction + Send + 'static) -> Self {
        Self {
            answer: Box::new(answer),
            limit: 0,
        }
    }

    /// One that gives each request back, after so long.
    #[must_use]
    pub fn echo(after: Duration) -> Self {
        Self::new(move |request| Reaction::Reply(after, request.clone()))
    }

    /// The same, with at most so many requests in flight on a connection; 0 for no limit.
    #[must_use]
    pub fn limit(self, limit: u32) -> Self {
        Self { limit, ..self }
    }

    fn greet(&self, answers: &mut Answers) {
        let status = match answers.conduct().rejects_credentials {
            true => Status::CredentialsRejected,
            false => Status::Ok,
        };
        send(
            answers,
            Duration::ZERO,
            &Frame::hello_answer(status, self.limit),
        );
        if status != Status::Ok {
            answers.close();
        }
    }

    fn request(&mut self, frame: &Frame, answers: &mut Answers) {
        if let Some(wait) = answers.conduct().throttle {
            send(answers, Duration::ZERO, &Frame::throttle(wait));
        }
        match (self.answer)(&frame.body) {
            Reaction::Reply(after, body) => send(answers, after, &Frame::reply(frame.id, body)),
            Reaction::RetryHere(wait) => {
                send(answers, Duration::ZERO, &Frame::retry_here(frame.id, wait));
            }
            Reaction::RetryElsewhere => {
                send(
                    answers,
                    Duration::ZERO,
                    &Frame::retry_elsewhere(frame.id, Duration::ZERO),
                );
            }
            Reaction::Silence => {}
            Reaction::Close => answers.close(),
        }
    }
}

fn send(answers: &mut Answers, after: Duration, frame: &Frame) {
    let mut bytes = BytesMut::new();
    frame.encode(&mut bytes);
    answers.send_unordered(after, bytes);
}

impl Server for Service {
    fn read(&mut self, _: u64, input: &mut BytesMut, answers: &mut Answers) {
        loop {
            match Frame::decode(input, 16 * 1024 * 1024) {
                Ok(None) => return,
                Ok(Some(frame)) => match frame.kind {
                    Kind::Hello => self.greet(answers),
                    Kind::Request => self.request(&frame, answers),
                    Kind::OneWay => _ = (self.answer)(&frame.body),
                    _ => return answers.close(),
                },
                Err(_) => return answers.close(),
            }
        }
    }

    fn goodbye(&mut self, _: u64, out: &mut BytesMut) {
        Frame::goodbye().encode(out);
    }
}

impl core::fmt::Debug for Service {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Service")
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}
