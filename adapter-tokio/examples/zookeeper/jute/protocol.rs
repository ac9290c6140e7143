//! The `Protocol`: what redial asks of it, put together from the other files.

use std::{fmt, time::Duration};

use bytes::{BufMut, BytesMut};
use redial::{
    DynamicConfig, Matching, ReplyTo,
    client::{
        Decoded, Item, Malformed, Outgoing, Peer, Protocol, Rejected,
        framing::{put_frame, take_frame},
    },
};

use super::{
    CONFIG_PATH, Push, Reply, Request, ServerError,
    codec::Reader,
    connection::{AskedBy, Connection, Unanswered},
    reply::read_change,
    request::{Kind, encode_ping},
    session::{Session, Welcome},
};

/// In place of a request's number: a watch tells something.
const WATCH_XID: i32 = -1;
const PING_XID: i32 = -2;
const SET_WATCHES_XID: i32 = -8;

/// An error is an answer like any other.
type Answer = Result<Reply, ServerError>;
type Incoming = Item<Answer, Push>;

/// The protocol of ZooKeeper 3.5 and later. One value is one session, which every connection takes up
/// again; its watches too, which for a server end with the connection.
///
/// Use it with [`Config::zookeeper`](redial::Config::zookeeper) and the same session timeout. When the
/// servers have given up the session the client ends, with
/// [`Event::SessionExpired`](redial::Event::SessionExpired); build another one for another session.
#[derive(Clone, PartialEq, Eq)]
#[must_use]
pub struct ZooKeeper {
    session: Session,
    max_frame: usize,
}

impl ZooKeeper {
    /// Asks for a session that the servers keep for so long without hearing from us; they may give
    /// another timeout. Frames have at most 4 MiB.
    pub const fn new(session_timeout: Duration) -> Self {
        Self {
            session: Session::new(session_timeout),
            max_frame: 4 * 1024 * 1024,
        }
    }

    /// The most bytes of a frame: a longer request is refused, a longer frame from the server ends
    /// the connection. Default: 4 MiB; a node has at most 1 MiB unless its servers are told otherwise.
    pub fn max_frame(self, bytes: usize) -> Self {
        Self {
            max_frame: bytes,
            ..self
        }
    }

    fn ask(
        &self,
        connection: &mut Connection,
        request: &Request,
        asked_by: AskedBy,
        out: &mut BytesMut,
    ) -> Result<(), Rejected> {
        put_frame(out, self.max_frame, |out| {
            out.put_i32(connection.next_xid());
            request.encode(out);
        })?;
        connection.note(request, asked_by);
        Ok(())
    }

    fn end_handshake(
        &mut self,
        connection: &mut Connection,
        body: Reader,
        out: &mut BytesMut,
    ) -> Result<Incoming, Malformed> {
        Ok(match self.session.answered(body)? {
            Welcome::Refused(error) => Item::HandshakeFailed(error),
            Welcome::Session(limits, push) => {
                connection.ready = true;
                connection.then = Some(push);
                self.session
                    .renew_watches(|body| put_numbered(out, SET_WATCHES_XID, body));
                Item::HandshakeDone(limits)
            }
        })
    }

    /// What a frame means; `None` if it means nothing to the application.
    fn item(
        &mut self,
        connection: &mut Connection,
        mut frame: Reader,
    ) -> Result<Option<Incoming>, Malformed> {
        let (xid, zxid, error) = (frame.int()?, frame.long()?, frame.int()?);
        match xid {
            PING_XID | SET_WATCHES_XID => frame.end().map(|()| None),
            WATCH_XID => {
                let (path, change) = read_change(frame)?;
                self.session.changed(&path, change);
                Ok(Some(Item::Push(Push::Changed { path, change })))
            }
            _ => {
                let request = connection.answered(xid)?;
                self.session.seen(zxid);
                let reply = match ServerError(error) {
                    ServerError(0) => Ok(Reply::read(request.kind, frame)?),
                    error => frame.end().map(|()| Err(error))?,
                };
                Ok(self.reply(request, reply))
            }
        }
    }

    fn reply(&mut self, request: Unanswered, reply: Answer) -> Option<Incoming> {
        match (request.watched, &reply) {
            (Some(path), Ok(_)) => self.session.watch(path, true),
            // `Exists` watches what is not there; `GetData` does not.
            (Some(path), Err(ServerError::NO_NODE)) if request.kind == Kind::Stat => {
                self.session.watch(path, false);
            }
            _ => {}
        }
        match request.asked_by {
            AskedBy::Caller => Some(Item::reply(ReplyTo::Oldest, reply)),
            AskedBy::Nobody => None,
            AskedBy::Discovery => Some(servers(&reply).unwrap_or(Item::NoServers)),
        }
    }
}

impl Protocol for ZooKeeper {
    type Request = Request;
    type Reply = Answer;
    type Push = Push;
    type Connection = Connection;

    /// Requests have numbers, but are answered in their order.
    fn matching(&self) -> Matching {
        Matching::Order
    }

    fn max_buffered(&self) -> usize {
        self.max_frame.saturating_add(4)
    }

    fn size(&self, request: &Request) -> usize {
        request.size()
    }

    fn has_one_session(&self) -> bool {
        true
    }

    fn open(&mut self, _: Peer<'_>) -> Connection {
        Connection::new()
    }

    fn start_handshake(&mut self, _: &mut Connection, out: &mut BytesMut) {
        put_whole(out, |out| self.session.ask(out));
    }

    fn has_keepalive(&self) -> bool {
        true
    }

    /// It has a number of its own, so that its answer is told from replies.
    fn keepalive(&mut self, _: &mut Connection, out: &mut BytesMut) {
        put_numbered(out, PING_XID, &mut encode_ping);
    }

    fn has_discovery(&self) -> bool {
        true
    }

    fn discover(&mut self, connection: &mut Connection, out: &mut BytesMut) {
        let question = Request::get(CONFIG_PATH);
        // Only a limit below 40 bytes refuses it; the question then has no answer, and times out.
        let _ = self.ask(connection, &question, AskedBy::Discovery, out);
    }

    fn encode(
        &mut self,
        connection: &mut Connection,
        outgoing: Outgoing<'_, Request>,
        out: &mut BytesMut,
    ) -> Result<(), Rejected> {
        let asked_by = match outgoing.expects_reply {
            true => AskedBy::Caller,
            false => AskedBy::Nobody,
        };
        self.ask(connection, outgoing.request, asked_by, out)
    }

    fn decode(
        &mut self,
        connection: &mut Connection,
        input: &mut BytesMut,
        out: &mut BytesMut,
    ) -> Decoded<Self> {
        if let Some(push) = connection.then.take() {
            return Ok(Some(Item::Push(push)));
        }
        while let Some(frame) = take_frame(input, self.max_frame)? {
            let frame = Reader::new(frame.freeze());
            if !connection.ready {
                return self.end_handshake(connection, frame, out).map(Some);
            }
            if let Some(item) = self.item(connection, frame)? {
                return Ok(Some(item));
            }
        }
        Ok(None)
    }
}

/// Shows no password.
impl fmt::Debug for ZooKeeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ZooKeeper")
            .field("max_frame", &self.max_frame)
            .finish_non_exhaustive()
    }
}

/// The servers that this reply names.
fn servers(reply: &Answer) -> Option<Incoming> {
    let Ok(Reply::Data { data, .. }) = reply else {
        return None;
    };
    let config = DynamicConfig::parse(str::from_utf8(data).ok()?).ok()?;
    Some(Item::Servers {
        version: config.version.and_then(|version| version.try_into().ok()),
        servers: config.nodes(),
    })
}

/// A frame of our own, which is under any limit that a server has.
fn put_numbered(out: &mut BytesMut, xid: i32, body: &mut dyn FnMut(&mut BytesMut)) {
    put_whole(out, |out| {
        out.put_i32(xid);
        body(out);
    });
}

fn put_whole(out: &mut BytesMut, body: impl FnOnce(&mut BytesMut)) {
    let put = put_frame(out, usize::MAX, body);
    put.expect("a few hundred KiB fit a length");
}
