//! [`Protocol`]: how a user teaches redial a wire protocol.

use alloc::vec::Vec;
use core::{net::SocketAddr, time::Duration};

use bytes::BytesMut;
use thiserror::Error;

use crate::{ConnectionId, HandshakeError, Limits, Matching, NodeId, NodeSpec, ReplyTo, Verdict};

/// A wire protocol: bytes to items and requests to bytes. The module's documentation tells
/// [how to write one](crate::client#how-to-write-a-protocol).
///
/// It is pure: no I/O, no clock, no randomness of its own. What lives as long as one connection is
/// in [`Connection`](Self::Connection); what lives across connections, such as a session id, is in
/// the value itself.
pub trait Protocol {
    /// What the application sends. Kept until its completion, because a retry encodes it again.
    type Request;
    /// What answers a request.
    type Reply;
    /// What the server sends unasked.
    type Push;
    /// What the protocol remembers of one connection; `()` if nothing.
    type Connection;

    /// Whether a connection starts with a handshake. Default: yes. Without, a node is Ready as soon
    /// as its transport is up, and [`start_handshake`](Self::start_handshake) is never called.
    fn has_handshake(&self) -> bool {
        true
    }

    /// How replies find their requests. Default: by correlation id.
    fn matching(&self) -> Matching {
        Matching::Serial
    }

    /// The most bytes that may wait for the rest of their frame; with more the connection ends as a
    /// protocol error. A backstop for the frame limit that the protocol checks itself, and not
    /// below it. Default: 16 MiB and the 4 bytes of a length.
    fn max_buffered(&self) -> usize {
        16 * 1024 * 1024 + 4
    }

    /// Whether a request has a reply. Default: yes. [`RequestOptions::expects_reply`] can say no
    /// too.
    ///
    /// [`RequestOptions::expects_reply`]: crate::RequestOptions::expects_reply
    fn expects_reply(&self, request: &Self::Request) -> bool {
        let _ = request;
        true
    }

    /// A request's size in bytes, for [`Config::queue_max_bytes`]. Default: 0, not known.
    ///
    /// [`Config::queue_max_bytes`]: crate::Config::queue_max_bytes
    fn size(&self, request: &Self::Request) -> usize {
        let _ = request;
        0
    }

    /// The transport to `peer` is up: the state that its connection starts with.
    fn open(&mut self, peer: Peer<'_>) -> Self::Connection;

    /// Appends the first bytes of the handshake to `out`. Default: none, the server speaks first.
    /// Its end is an item: [`Item::HandshakeDone`] or [`Item::HandshakeFailed`].
    fn start_handshake(&mut self, connection: &mut Self::Connection, out: &mut BytesMut) {
        let _ = (connection, out);
    }

    /// Whether the protocol has a keepalive: something to send that the peer answers, whatever else
    /// is under way. Default: no.
    fn has_keepalive(&self) -> bool {
        false
    }

    /// Whether a client may have one session only, and so one connection: then
    /// [`Config::make_before_break`](crate::Config::make_before_break) is refused. Default: no.
    fn has_one_session(&self) -> bool {
        false
    }

    /// Appends a keepalive to `out`. Whatever byte comes next counts as its answer;
    /// [`decode`](Self::decode) must skip the answer itself. A protocol that matches by order has to
    /// remember where among the requests it stands.
    fn keepalive(&mut self, connection: &mut Self::Connection, out: &mut BytesMut) {
        let _ = (connection, out);
    }

    /// Whether a server can be asked for the servers of its cluster, for
    /// [`Source::discovery`](crate::Source::discovery). Default: no.
    fn has_discovery(&self) -> bool {
        false
    }

    /// Appends the question for the servers of the cluster to `out`. Its answer is an item:
    /// [`Item::Servers`] or [`Item::NoServers`], in the order of the questions. A protocol that
    /// matches by order has to remember where among the requests it stands.
    fn discover(&mut self, connection: &mut Self::Connection, out: &mut BytesMut) {
        let _ = (connection, out);
    }

    /// Appends one request to `out`.
    ///
    /// # Errors
    ///
    /// [`Rejected`] if it cannot be encoded. What was appended is taken back, and this request alone
    /// fails, as [`Reason::Rejected`](crate::Reason::Rejected).
    fn encode(
        &mut self,
        connection: &mut Self::Connection,
        request: Outgoing<'_, Self::Request>,
        out: &mut BytesMut,
    ) -> Result<(), Rejected>;

    /// Takes the next item from the front of `input`; `None` if more bytes are needed for one.
    ///
    /// It is called until it returns `None`. A frame that is not whole yet must be left in `input`:
    /// bytes that are still there when the peer closes are a torn frame, a protocol error. What
    /// must be sent in answer (the next step of a handshake, a pong) is appended to `out`; a frame
    /// that means nothing to the application is skipped by going on to the next one.
    ///
    /// # Errors
    ///
    /// [`Malformed`] for bytes that are not the protocol's. The connection ends.
    fn decode(
        &mut self,
        connection: &mut Self::Connection,
        input: &mut BytesMut,
        out: &mut BytesMut,
    ) -> Decoded<Self>;
}

/// Whom a connection leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Peer<'a> {
    /// The connection.
    pub connection: ConnectionId,
    /// The node.
    pub node: NodeId,
    /// The node's entry of the server list.
    pub spec: &'a NodeSpec,
    /// The address that was dialled; `None` for an opaque endpoint.
    pub address: Option<SocketAddr>,
}

/// A request on its way out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Outgoing<'a, R> {
    /// The correlation id: rises by one on a connection, from 0, and wraps. Protocols that match by
    /// order ignore it.
    pub serial: u32,
    /// What to send.
    pub request: &'a R,
    /// Whether its reply is awaited.
    pub expects_reply: bool,
}

/// What came in.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Item<R, U> {
    /// The handshake is done: the connection is Ready, with these limits.
    HandshakeDone(Limits),
    /// The handshake failed. The connection is closed.
    HandshakeFailed(HandshakeError),
    /// A reply.
    Reply {
        /// Which request it answers.
        to: ReplyTo,
        /// What it means for the request.
        verdict: Verdict,
        /// No more requests to this node for so long, if it says so.
        throttle: Option<Duration>,
        /// Its content. Dropped if the request is tried again.
        reply: R,
    },
    /// The servers of the cluster, as [`Protocol::discover`] asked.
    Servers {
        /// Rises with each change, if the cluster counts them. A list whose version is not above the
        /// last one's is ignored.
        version: Option<u64>,
        /// All of them.
        servers: Vec<NodeSpec>,
    },
    /// The server could not say which they are.
    NoServers,
    /// Something that the server sent unasked.
    Push(U),
    /// No more requests to this node for so long.
    Throttle(Duration),
    /// The peer will close this connection.
    Goodbye,
}

impl<R, U> Item<R, U> {
    /// A reply that completes its request.
    pub const fn reply(to: ReplyTo, reply: R) -> Self {
        Self::Reply {
            to,
            verdict: Verdict::DONE,
            throttle: None,
            reply,
        }
    }
}

/// What [`Protocol::decode`] returns: the next item, or none until more bytes have come.
pub type Decoded<P> =
    Result<Option<Item<<P as Protocol>::Reply, <P as Protocol>::Push>>, Malformed>;

/// The bytes that came are not the protocol's.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
#[error("malformed: {0}")]
pub struct Malformed(
    /// What is wrong with them.
    pub &'static str,
);

/// A request cannot be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
#[error("the request cannot be encoded")]
pub struct Rejected;
