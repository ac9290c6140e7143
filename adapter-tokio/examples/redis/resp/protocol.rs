//! The `Protocol`: what redial asks of it, put together from the other files.

use std::fmt;

use bytes::{Bytes, BytesMut};
use redial::{
    Matching,
    client::{Decoded, Outgoing, Peer, Protocol, Rejected},
};

use super::{Command, Value, parse::parse, session::Session};

/// The protocol of Redis: RESP3, or RESP2 if told so.
///
/// All callers of a client share one connection to each server. So commands that change what the
/// others get (`SELECT`, `MULTI`, `MONITOR`, …) are refused, one that blocks (`BLPOP`) holds up those
/// behind it, and in RESP2, where a connection with subscriptions takes no other commands,
/// subscriptions need a client of their own.
///
/// Subscriptions end with their connection; renew them when an event says that it has ended, and keep
/// an idle one open with [`warm`](redial::Config::warm). A command about several channels is answered
/// by the confirmation of the last one.
#[derive(Clone, PartialEq, Eq)]
#[must_use]
pub struct Redis {
    resp3: bool,
    user: Option<Bytes>,
    password: Option<Bytes>,
    max_frame: usize,
}

impl Redis {
    /// RESP3, without a password, with replies up to 64 MiB.
    pub const fn new() -> Self {
        Self {
            resp3: true,
            user: None,
            password: None,
            max_frame: 64 * 1024 * 1024,
        }
    }

    /// Speaks RESP2, for servers before 6.0.
    pub fn resp2(self) -> Self {
        Self {
            resp3: false,
            ..self
        }
    }

    /// Authenticates with this password. Default: without.
    pub fn password(self, password: impl Into<Bytes>) -> Self {
        Self {
            password: Some(password.into()),
            ..self
        }
    }

    /// The user whose password it is. Default: the server's default user.
    pub fn user(self, user: impl Into<Bytes>) -> Self {
        Self {
            user: Some(user.into()),
            ..self
        }
    }

    /// The most bytes of a reply or a push; a longer one ends the connection. Default: 64 MiB. One of
    /// many tiny elements takes about 16 times its bytes when it is parsed.
    pub fn max_frame(self, bytes: usize) -> Self {
        Self {
            max_frame: bytes,
            ..self
        }
    }

    /// What is said first. Each way it is one command, so that one reply ends the handshake.
    fn greeting(&self) -> Command {
        match (self.resp3, &self.user, &self.password) {
            (true, user, Some(password)) => Command::new("HELLO")
                .arg("3")
                .arg("AUTH")
                .arg(user.clone().unwrap_or(Bytes::from_static(b"default")))
                .arg(password.clone()),
            (true, _, None) => Command::new("HELLO").arg("3"),
            (false, Some(user), Some(password)) => {
                Command::new("AUTH").arg(user.clone()).arg(password.clone())
            }
            (false, None, Some(password)) => Command::new("AUTH").arg(password.clone()),
            // It shows that the server answers, and whether it wants a password.
            (false, _, None) => Command::new("PING"),
        }
    }
}

impl Protocol for Redis {
    type Request = Command;
    type Reply = Value;
    type Push = Vec<Value>;
    type Connection = Session;

    /// A timeout then ends the connection, because nobody could tell the late reply from the next.
    fn matching(&self) -> Matching {
        Matching::Order
    }

    fn max_buffered(&self) -> usize {
        self.max_frame
    }

    fn size(&self, command: &Command) -> usize {
        command.size()
    }

    fn open(&mut self, _: Peer<'_>) -> Session {
        Session::new(self.resp3)
    }

    fn start_handshake(&mut self, _: &mut Session, out: &mut BytesMut) {
        self.greeting().encode(out);
    }

    fn has_keepalive(&self) -> bool {
        true
    }

    /// Its reply comes in its turn among the others, so it leaves a note like any command. Behind one
    /// that blocks it is answered only after that.
    fn keepalive(&mut self, session: &mut Session, out: &mut BytesMut) {
        let ping = Command::new("PING");
        ping.encode(out);
        session.note(&ping, false);
    }

    fn encode(
        &mut self,
        session: &mut Session,
        outgoing: Outgoing<'_, Command>,
        out: &mut BytesMut,
    ) -> Result<(), Rejected> {
        let command = outgoing.request;
        if !command.is_for_shared_connections() {
            return Err(Rejected);
        }
        command.encode(out);
        session.note(command, outgoing.expects_reply);
        Ok(())
    }

    fn decode(
        &mut self,
        session: &mut Session,
        input: &mut BytesMut,
        _: &mut BytesMut,
    ) -> Decoded<Self> {
        while let Some(frame) = session.scanner.next_frame(input, self.max_frame)? {
            // A frame that means nothing to the application is passed over.
            if let Some(item) = session.item(parse(&frame)?)? {
                return Ok(Some(item));
            }
        }
        Ok(None)
    }
}

impl Default for Redis {
    fn default() -> Self {
        Self::new()
    }
}

/// Shows no password.
impl fmt::Debug for Redis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redis")
            .field("resp3", &self.resp3)
            .field("max_frame", &self.max_frame)
            .finish_non_exhaustive()
    }
}
