//! What goes into a [`Client`](super::Client) and what comes out.

use core::{fmt, net::SocketAddr, time::Duration};

use thiserror::Error;

use super::{Malformed, Protocol};
use crate::{
    AttemptId, CloseError, ConnectError, ConnectionId, Event, NodeId, RefreshId, RequestError,
    RequestId, SourceId, SubmitError,
};

/// A fact about a transport, given to [`Client::handle_input`](super::Client::handle_input).
///
/// One with a stale or foreign id is ignored and counted. The answer to a Resolve that worked is
/// [`Client::resolved`](super::Client::resolved); bytes that came are
/// [`Client::read`](super::Client::read); bytes that left are
/// [`Client::transmitted`](super::Client::transmitted).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TransportInput {
    /// The name could not be resolved.
    ResolveFailed {
        /// From the Resolve action.
        attempt: AttemptId,
    },
    /// The transport is up: its bytes can flow.
    Connected {
        /// From the Connect action.
        connection: ConnectionId,
    },
    /// The transport did not come up.
    ConnectFailed {
        /// From the Connect action.
        connection: ConnectionId,
        /// How it failed.
        error: ConnectError,
    },
    /// The transport has ended. Bytes of a torn frame turn [`CloseError::Peer`] into
    /// [`CloseError::Protocol`].
    Closed {
        /// The connection.
        connection: ConnectionId,
        /// How it ended.
        error: CloseError,
    },
    /// The transport takes no more bytes for now.
    WriteBlocked {
        /// The connection.
        connection: ConnectionId,
    },
}

/// One item of the output stream. Drain with
/// [`Client::poll_output`](super::Client::poll_output) until it returns `None`.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum ClientOutput<P: Protocol> {
    /// Do this.
    Action(ClientAction),
    /// A request is complete: every accepted one is, exactly once.
    Completion {
        /// The request.
        request: RequestId,
        /// How it ended.
        result: Result<Response<P::Reply>, RequestError>,
    },
    /// The server sent something unasked.
    Push {
        /// Which server.
        node: NodeId,
        /// On which connection.
        connection: ConnectionId,
        /// What.
        push: P::Push,
    },
    /// The bytes of a connection are not the protocol's; it ends. Nothing need be done.
    Malformed {
        /// Which node sent them.
        node: NodeId,
        /// On which connection.
        connection: ConnectionId,
        /// What is wrong with them.
        error: Malformed,
    },
    /// Something happened that may interest you; nothing need be done.
    Event(Event),
    /// The last output of all, after [`Client::shutdown`](super::Client::shutdown).
    Terminated,
}

/// A command to whoever has the sockets.
///
/// | action | answered by |
/// |---|---|
/// | `Resolve` | [`Client::resolved`](super::Client::resolved) or `ResolveFailed` |
/// | `Connect` | `Connected` or `ConnectFailed` |
/// | `Transmit` | [`Client::transmitted`](super::Client::transmitted), `WriteBlocked` or `Closed` |
/// | `Refresh` | [`Client::refreshed`](super::Client::refreshed) or [`Client::refresh_failed`](super::Client::refresh_failed) |
/// | `Close`, `Abort`, `AbortResolve` | nothing |
/// | – (at any time) | [`Client::read`](super::Client::read), `Closed` |
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ClientAction {
    /// Look up the addresses of the node's name; [`NodeView::spec`](crate::NodeView::spec) has it.
    Resolve {
        /// To be named in the answer.
        attempt: AttemptId,
        /// Whose name.
        node: NodeId,
    },
    /// The look-up is not needed any more.
    AbortResolve {
        /// From the Resolve action.
        attempt: AttemptId,
    },
    /// Bring up a transport.
    Connect {
        /// To be named in every fact about it.
        connection: ConnectionId,
        /// The attempt that it belongs to.
        attempt: AttemptId,
        /// To whom.
        node: NodeId,
        /// Where; `None` for an opaque endpoint.
        address: Option<SocketAddr>,
    },
    /// There may be bytes to send: call [`Client::transmit`](super::Client::transmit) until it
    /// returns an empty slice or the transport is blocked. Not repeated before `transmit` is called.
    Transmit {
        /// The connection.
        connection: ConnectionId,
    },
    /// Close a connection that was up.
    Close {
        /// The connection.
        connection: ConnectionId,
    },
    /// Give up a connection that is being set up.
    Abort {
        /// The connection.
        connection: ConnectionId,
    },
    /// Ask this source for the server list.
    Refresh {
        /// To be named in the answer.
        refresh: RefreshId,
        /// Whom to ask: its place in [`Config::sources`](crate::Config::sources).
        source: SourceId,
    },
}

/// A request that ended well.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Response<R> {
    /// The reply; `None` for a request that expects none and was wholly accepted by the transport.
    pub reply: Option<R>,
    /// The node that answered or took it.
    pub node: NodeId,
    /// How often it was handed over.
    pub attempts: u32,
    /// Since `submit`.
    pub elapsed: Duration,
    /// The reply asked for a retry that was not possible: no attempt, time or token was left, or the
    /// request is bound to the node that sends it elsewhere. So the peer may not have done what it
    /// was asked for.
    pub retry_refused: bool,
    /// It was the retry budget that had no token.
    pub budget_exhausted: bool,
}

/// A request that was not accepted, given back.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[error("{error}")]
pub struct Refused<R> {
    /// The request.
    pub request: R,
    /// Why it was not accepted.
    pub error: SubmitError,
}

impl<R> fmt::Debug for Refused<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refused")
            .field("error", &self.error)
            .finish_non_exhaustive()
    }
}
