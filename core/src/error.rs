//! Errors: what happened, to which node, at which stage, after how long, what the caller can do.

use core::time::Duration;

use thiserror::Error;

use crate::NodeId;

/// How far a node had come when something failed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Stage {
    /// Looking up its name.
    Resolve,
    /// Bringing up the transport.
    Connect,
    /// Speaking the handshake.
    Handshake,
    /// Proving who we are.
    Authenticate,
    /// Ready.
    Established,
}

/// Why an attempt or a connection ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Cause {
    /// The name could not be looked up.
    #[error("the name could not be resolved")]
    ResolveFailed,
    /// The look-up gave no address.
    #[error("the name has no address")]
    NoAddress,
    /// Nobody listens there.
    #[error("connection refused")]
    Refused,
    /// No route to it.
    #[error("unreachable")]
    Unreachable,
    /// Reset while connecting.
    #[error("connection reset")]
    Reset,
    /// Another error while connecting.
    #[error("the transport did not come up")]
    ConnectFailed,
    /// The setup deadline passed (SEMANTICS 3.1).
    #[error("setup timed out")]
    SetupTimeout,
    /// The handshake's own deadline passed.
    #[error("handshake timed out")]
    HandshakeTimeout,
    /// The handshake was not understood.
    #[error("malformed handshake")]
    Malformed,
    /// No common version.
    #[error("protocol version refused")]
    VersionRefused,
    /// TLS failed.
    #[error("TLS refused")]
    TlsRefused,
    /// The credentials were refused.
    #[error("credentials rejected")]
    CredentialsRejected,
    /// The peer closed the connection.
    #[error("closed by the peer")]
    PeerClosed,
    /// The peer announced that it will close the connection.
    #[error("the peer is closing")]
    PeerDraining,
    /// An I/O error on an open connection.
    #[error("I/O error")]
    Io,
    /// The bytes that came are not the protocol's.
    #[error("protocol error")]
    ProtocolError,
    /// A reply did not come in time.
    #[error("a request timed out")]
    RequestTimeout,
    /// The transport accepted nothing for too long.
    #[error("writing stalled")]
    WriteStall,
    /// A keepalive or probe was not answered in time.
    #[error("keepalive timed out")]
    KeepaliveTimeout,
    /// Nothing was said on it for too long. Planned.
    #[error("idle")]
    Idle,
    /// It reached its age limit. Planned.
    #[error("too old")]
    MaxAge,
    /// The node has left the list. Planned.
    #[error("the node has left the list")]
    Removed,
    /// The node's endpoint changed. Planned.
    #[error("the node's endpoint changed")]
    EndpointChanged,
    /// Another address of the same attempt was faster. Planned.
    #[error("another address was faster")]
    LostRace,
    /// Another node was Ready first, under `Sticky`. Planned.
    #[error("another node was faster")]
    LostHedge,
    /// The client moves to another server of a new list. Planned.
    #[error("moved to another server")]
    Rebalanced,
    /// A second attempt in a row was aborted because another node was faster, or for a move: no
    /// failure of its own doing, but counted as one, so that it is not tried for ever in vain.
    #[error("aborted twice in a row")]
    AbortedTwice,
    /// The session is over.
    #[error("the session is over")]
    SessionExpired,
    /// The client is shutting down. Planned.
    #[error("shut down")]
    Shutdown,
}

impl Cause {
    /// Whether it was planned: no failure, it changes no health state and no backoff.
    #[must_use]
    pub const fn is_planned(self) -> bool {
        matches!(
            self,
            Self::Idle
                | Self::MaxAge
                | Self::Removed
                | Self::EndpointChanged
                | Self::LostRace
                | Self::LostHedge
                | Self::Rebalanced
                | Self::SessionExpired
                | Self::Shutdown
        )
    }
}

/// A request that failed: why, where, and what is known about its effect.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[error("{reason} after {elapsed:?} and {attempts} attempts ({certainty})")]
pub struct RequestError {
    /// What happened.
    pub reason: Reason,
    /// The stage of the node failure behind it, if there was one.
    pub stage: Option<Stage>,
    /// The node that it was bound to or handed over to last, or whose failure ended it.
    pub node: Option<NodeId>,
    /// How often it was handed over.
    pub attempts: u32,
    /// Since `submit`.
    pub elapsed: Duration,
    /// Whether the peer may have seen it.
    pub certainty: Certainty,
    /// It could have been retried, but the retry budget had no token for it (SEMANTICS 4.7).
    pub budget_exhausted: bool,
}

impl RequestError {
    /// Whether submitting it again makes sense and is safe: the failure is not for ever, and the
    /// peer has never seen it. (A request that may have been carried out can be submitted again
    /// only if it is idempotent, which the caller knows.)
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        matches!(self.certainty, Certainty::NeverWritten)
            && matches!(
                self.reason,
                Reason::Timeout | Reason::Expired | Reason::Disconnected(_) | Reason::NoNodes
            )
    }
}

/// Why a request failed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Reason {
    /// Its own deadline passed, or no reply came within its attempt's timeout and it could not be
    /// retried.
    #[error("timed out")]
    Timeout,
    /// It waited in the queue for longer than the queue's age limit.
    #[error("expired in the queue")]
    Expired,
    /// Its connection ended, or (fail-fast) no node could be reached.
    #[error("disconnected: {0}")]
    Disconnected(Cause),
    /// The credentials were rejected.
    #[error("authentication failed")]
    AuthenticationFailed,
    /// The peer broke the protocol.
    #[error("protocol error")]
    Protocol,
    /// The node that it was bound to has left the list.
    #[error("its node has left the list")]
    NodeRemoved,
    /// Its deadline passed while the server list was empty.
    #[error("the server list is empty")]
    NoNodes,
    /// The caller cancelled it.
    #[error("cancelled")]
    Cancelled,
    /// The client has been shut down.
    #[error("the client is closed")]
    Closed,
    /// The user's encoder refused it.
    #[error("rejected by the encoder")]
    Rejected,
}

/// What is known about the effect of a request that failed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Certainty {
    /// No byte of it ever left.
    #[error("never written")]
    NeverWritten,
    /// It was handed to a transport; the peer may have carried it out.
    #[error("possibly written")]
    PossiblyWritten,
    /// The peer answered.
    #[error("answered")]
    Answered,
}

/// Why a request was not accepted. It leaves no trace.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum SubmitError {
    /// `shutdown` was called.
    #[error("the client is closed")]
    Closed,
    /// The queue has no room; try again later.
    #[error("the queue is full")]
    QueueFull,
    /// The target node is not in the list (any more).
    #[error("unknown node {0}")]
    UnknownNode(NodeId),
    /// The target, or every node, has just rejected our credentials and is backing off
    /// (SEMANTICS 6.1).
    #[error("authentication failed")]
    AuthenticationFailed,
}

/// Why a server list was not accepted. The old list stays.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum SetNodesError {
    /// The list is empty; to stop, use `shutdown`.
    #[error("the server list is empty")]
    Empty,
    /// More nodes than [`Config::max_nodes`](crate::Config::max_nodes).
    #[error("{nodes} nodes, at most {max} are allowed")]
    TooMany {
        /// How many were given.
        nodes: usize,
        /// How many are allowed.
        max: usize,
    },
    /// Two entries with one key and different endpoints.
    #[error("entries {first} and {second} have the same key and different endpoints")]
    DuplicateKey {
        /// Index of the first entry.
        first: usize,
        /// Index of the second.
        second: usize,
    },
    /// `shutdown` was called.
    #[error("the client is closed")]
    Closed,
}

/// Why a shutdown was not accepted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ShutdownError {
    /// The drain's end cannot be represented; it would never come.
    #[error("the drain would never end")]
    DrainTooLong,
}
