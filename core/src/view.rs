//! What can be read of a node and of a connection.

use core::net::SocketAddr;

use crate::{AttemptId, Cause, ConnectionId, Instant, NodeId, NodeSpec, NodeState, Stage};

/// A node as it is now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct NodeView<'a> {
    /// Its id.
    pub id: NodeId,
    /// Its entry of the server list.
    pub spec: &'a NodeSpec,
    /// What it is doing.
    pub state: NodeState,
    /// The attempt under way.
    pub attempt: Option<AttemptId>,
    /// Its connection, from transport up to the end of Ready.
    pub connection: Option<ConnectionId>,
    /// Consecutive failures.
    pub failures: u32,
    /// The last failure since the node was last Ready.
    pub last_failure: Option<LastFailure>,
    /// Before this it is not dialled. `None` while it is in setup or Ready, and if it never failed.
    pub next_attempt: Option<Instant>,
    /// By when the attempt under way must be Ready (or the handshake done, if that has its own
    /// deadline).
    pub setup_deadline: Option<Instant>,
    /// The later of the last attempt's start and its end, or the end of the connection that it
    /// became. `None`: never tried.
    pub last_attempt: Option<Instant>,
    /// The end of a throttle that is not over.
    pub throttled_until: Option<Instant>,
    /// Slots taken on its connection, tombstones included.
    pub in_flight: u32,
    /// Requests bound to it that wait, those in retry backoff included.
    pub queued: u32,
    /// Attempt timeouts in a row have made its connection unhealthy.
    pub unhealthy: bool,
}

/// The last failure of a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LastFailure {
    /// How far it had come.
    pub stage: Stage,
    /// What happened.
    pub cause: Cause,
    /// When.
    pub at: Instant,
}

/// A connection as it is now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct ConnectionView {
    /// Its id.
    pub id: ConnectionId,
    /// Whose it is; the node may have left the list.
    pub node: NodeId,
    /// Where it leads; `None` for an opaque endpoint.
    pub address: Option<SocketAddr>,
    /// Its transport is up.
    pub connected: bool,
    /// It is detached from its node: it takes no new requests and ends with those in flight.
    pub draining: bool,
    /// Slots taken, tombstones included.
    pub in_flight: u32,
    /// Of these, tombstones.
    pub tombstones: u32,
}
