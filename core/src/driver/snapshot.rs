//! A node as it was at one moment.

use crate::{AttemptId, ConnectionId, Instant, LastFailure, NodeId, NodeSpec, NodeState, NodeView};

/// A node as it was when it was asked for. [`NodeView`] that outlives the lock.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct NodeSnapshot {
    /// Its id.
    pub id: NodeId,
    /// Its entry of the server list.
    pub spec: NodeSpec,
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
    /// Before this it is not dialled.
    pub next_attempt: Option<Instant>,
    /// By when the attempt under way must be Ready.
    pub setup_deadline: Option<Instant>,
    /// When it was last tried or lost.
    pub last_attempt: Option<Instant>,
    /// The end of a throttle that is not over.
    pub throttled_until: Option<Instant>,
    /// Slots taken on its connection, tombstones included.
    pub in_flight: u32,
    /// Requests bound to it that wait.
    pub queued: u32,
    /// Attempt timeouts in a row have made its connection unhealthy.
    pub unhealthy: bool,
}

impl From<NodeView<'_>> for NodeSnapshot {
    fn from(view: NodeView<'_>) -> Self {
        Self {
            id: view.id,
            spec: view.spec.clone(),
            state: view.state,
            attempt: view.attempt,
            connection: view.connection,
            failures: view.failures,
            last_failure: view.last_failure,
            next_attempt: view.next_attempt,
            setup_deadline: view.setup_deadline,
            last_attempt: view.last_attempt,
            throttled_until: view.throttled_until,
            in_flight: view.in_flight,
            queued: view.queued,
            unhealthy: view.unhealthy,
        }
    }
}
