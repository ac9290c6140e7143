//! Facts: what the embedder tells the core about the world.

use core::time::Duration;

use crate::{AttemptId, ConnectionId, Instant, NodeId, RefreshId, SourceId};

/// A fact about the world, given to [`Cluster::handle_input`](crate::Cluster::handle_input).
///
/// Facts are infallible. One that names a stale or foreign attempt, connection or serial is ignored
/// and counted ([`Stats::stale_facts`](crate::Stats::stale_facts),
/// [`Stats::late_replies`](crate::Stats::late_replies)). The answers that carry a list are calls of
/// their own: [`Cluster::resolved`](crate::Cluster::resolved) to a Resolve and
/// [`Cluster::refreshed`](crate::Cluster::refreshed) to a Refresh or Discover that worked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Input {
    /// The name could not be resolved.
    ResolveFailed {
        /// From the Resolve action.
        attempt: AttemptId,
    },
    /// The transport is up: its bytes can flow. TCP for TLS, whose own handshake belongs to
    /// Handshaking.
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
    /// The handshake is done; the connection is Ready.
    HandshakeDone {
        /// From the Handshake action.
        connection: ConnectionId,
        /// What the peer laid down for this connection.
        limits: Limits,
    },
    /// The handshake failed. This ends the connection as a `Closed` does: no Close or Abort comes
    /// for it, so close the transport if it is still open.
    HandshakeFailed {
        /// From the Handshake action.
        connection: ConnectionId,
        /// How it failed.
        error: HandshakeError,
    },
    /// The first byte of this frame is about to leave. From now on the request counts as handed
    /// over. Must be given before the byte leaves.
    WriteStarted {
        /// From the Write action.
        connection: ConnectionId,
        /// From the Write action.
        serial: u32,
    },
    /// The transport has accepted the whole frame. If that was all at once, no `WriteStarted` need come
    /// before.
    WriteDone {
        /// From the Write action.
        connection: ConnectionId,
        /// From the Write action.
        serial: u32,
    },
    /// The user's encoder refused this request before a byte of it left; it fails as
    /// [`Reason::Rejected`](crate::Reason::Rejected).
    WriteRejected {
        /// From the Write action.
        connection: ConnectionId,
        /// From the Write action.
        serial: u32,
    },
    /// The transport takes no more bytes for now; the connection counts as full.
    WriteBlocked {
        /// The connection.
        connection: ConnectionId,
    },
    /// The transport has accepted bytes; it is not blocked (any more).
    WriteProgress {
        /// The connection.
        connection: ConnectionId,
    },
    /// Bytes came, of whatever kind: proof of life (SEMANTICS 8.2). Needed where there is a
    /// keepalive or a session. A `Reply` or `Push` says it too.
    Received {
        /// The connection.
        connection: ConnectionId,
    },
    /// Something was read that the server sent unasked: the connection is not idle.
    Push {
        /// The connection.
        connection: ConnectionId,
    },
    /// A reply was read.
    Reply {
        /// The connection it came on.
        connection: ConnectionId,
        /// Which request it answers.
        to: ReplyTo,
        /// What it means.
        verdict: Verdict,
    },
    /// The peer asked for no more requests until then (SEMANTICS 4.6). Never shortens an earlier
    /// throttle.
    Throttled {
        /// The connection on which it was said.
        connection: ConnectionId,
        /// When it ends.
        until: Instant,
    },
    /// The peer said that it will close this connection.
    PeerDraining {
        /// The connection.
        connection: ConnectionId,
    },
    /// The transport has ended, or its bytes made no sense and you are ending it: no Close or Abort
    /// comes for it.
    Closed {
        /// The connection.
        connection: ConnectionId,
        /// How it ended.
        error: CloseError,
    },
    /// The source could not be asked, or its answer is no server list.
    RefreshFailed {
        /// From the Refresh or Discover action.
        refresh: RefreshId,
    },
}

/// What the application knows from elsewhere (SEMANTICS 8.5). With each the server list is refreshed,
/// if it has sources; [`SourceChanged`](Self::SourceChanged) refreshes that source and does nothing
/// else.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Hint {
    /// The machine's network is another: connections are probed, nodes may be dialled soon.
    NetworkChanged,
    /// The machine or process was asleep: the same.
    Resumed,
    /// This node is said to be up: it may be dialled soon, before its next-attempt time.
    NodeUp(NodeId),
    /// This node is said to be down: its connection is probed.
    NodeDown(NodeId),
    /// What this source says has changed: it is asked soon, `refresh_min_interval` after it was asked
    /// last. If it is being asked now it is asked once more, as the answer may be older than the
    /// change (SEMANTICS 7.4). One that the configuration does not have is ignored and counted.
    SourceChanged(SourceId),
}

/// Why a transport did not come up.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ConnectError {
    /// Nobody listens there.
    Refused,
    /// No route, or the network is down.
    Unreachable,
    /// The connection was reset while it was being made.
    Reset,
    /// Anything else, the system's own timeout included.
    Other,
}

/// Why a handshake failed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum HandshakeError {
    /// The peer closed the transport.
    Closed,
    /// What it sent could not be understood.
    Malformed,
    /// It does not speak a version that we speak.
    Version,
    /// TLS failed.
    Tls,
    /// It refused our credentials (SEMANTICS 6).
    Rejected,
    /// The session is over: the client ends, as after `shutdown` with drain 0.
    Fatal,
}

/// Why a transport ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum CloseError {
    /// The peer closed it in good order.
    Peer,
    /// An I/O error, a reset included.
    Io,
    /// The bytes that came are not the protocol's: garbage, a frame over the limit, a torn frame.
    Protocol,
}

/// What the handshake settled for this connection.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Limits {
    /// At most this many requests in flight, if the peer says so. The smaller of this and
    /// [`Config::max_in_flight`](crate::Config::max_in_flight) holds; zero counts as one.
    pub max_in_flight: Option<u32>,
    /// How long the servers keep our session without hearing from us, for protocols that have
    /// sessions. When we hear nothing for 4/3 of it the session counts as over, and the client ends
    /// (SEMANTICS 8.6).
    pub session_timeout: Option<Duration>,
}

impl Limits {
    /// No more than the configuration says.
    pub const NONE: Self = Self {
        max_in_flight: None,
        session_timeout: None,
    };

    /// At most `max` requests in flight.
    #[must_use]
    pub const fn in_flight(max: u32) -> Self {
        Self {
            max_in_flight: Some(max),
            ..Self::NONE
        }
    }

    /// The same with a session that ends after this long without a word.
    #[must_use]
    pub const fn with_session(self, timeout: Duration) -> Self {
        Self {
            session_timeout: Some(timeout),
            ..self
        }
    }
}

/// Which request a reply answers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ReplyTo {
    /// The one with this correlation id, from its Write action.
    Serial(u32),
    /// The one with the oldest serial that awaits a reply on the connection: for protocols that match
    /// by order. Their Writes must be started in the order in which they were given.
    Oldest,
}

/// What a reply means for the request it answers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Verdict {
    /// Done, or try again and where.
    pub next: Next,
    /// The wait that the peer asked for before the retry; the longer of this and the retry backoff
    /// holds.
    pub after: Duration,
    /// The peer says that it did not carry the request out, so that a retry is safe even if the
    /// request is not idempotent.
    pub not_executed: bool,
    /// The server list may have changed: all primary sources are asked for it (SEMANTICS 7.4).
    pub refresh: bool,
}

/// Where a reply leads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Next {
    /// The request is complete.
    Done,
    /// Try again on the same node.
    RetryHere,
    /// Try again on another node. A request that is bound to this node completes with this reply.
    RetryElsewhere,
}

impl Verdict {
    /// The request is complete.
    pub const DONE: Self = Self {
        next: Next::Done,
        after: Duration::ZERO,
        not_executed: false,
        refresh: false,
    };

    /// Not carried out; try again on the same node.
    pub const RETRY_HERE: Self = Self {
        next: Next::RetryHere,
        after: Duration::ZERO,
        not_executed: true,
        refresh: false,
    };

    /// Not carried out; try again on another node.
    pub const RETRY_ELSEWHERE: Self = Self {
        next: Next::RetryElsewhere,
        after: Duration::ZERO,
        not_executed: true,
        refresh: false,
    };

    /// The same, but not before `after` has passed.
    #[must_use]
    pub const fn after(self, after: Duration) -> Self {
        Self { after, ..self }
    }

    /// The same, and the server list is to be refreshed.
    #[must_use]
    pub const fn refresh(self) -> Self {
        Self {
            refresh: true,
            ..self
        }
    }
}
