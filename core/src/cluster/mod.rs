//! [`Cluster`]: the pure core.

use core::{net::SocketAddr, time::Duration};

use crate::*;

/// SKELETON: signatures only.
#[derive(Clone, Debug)]
pub struct Cluster;

#[allow(unused_variables, clippy::todo, missing_docs, clippy::must_use_candidate)]
impl Cluster {
    pub fn new(config: Config, seed: u64, now: Instant) -> Self { todo!() }

    // Commands.
    pub fn set_nodes(&mut self, now: Instant, list: &[NodeSpec]) -> Result<(), SetNodesError> { todo!() }
    pub fn submit(&mut self, now: Instant, options: RequestOptions) -> Result<RequestId, SubmitError> { todo!() }
    /// false if it was already complete (or is not known)
    pub fn cancel(&mut self, now: Instant, request: RequestId) -> bool { todo!() }
    pub fn shutdown(&mut self, now: Instant, drain: Duration) -> Result<(), ShutdownError> { todo!() }

    // Facts.
    pub fn handle_input(&mut self, now: Instant, input: Input) { todo!() }
    pub fn resolved(&mut self, now: Instant, attempt: AttemptId, addresses: &[SocketAddr]) { todo!() }

    // Time.
    pub fn handle_timeout(&mut self, now: Instant) { todo!() }

    // Outputs.
    pub fn poll_output(&mut self) -> Option<Output> { todo!() }
    pub fn poll_timeout(&self) -> Option<Deadline> { todo!() }
    pub fn drive(&mut self, now: Instant, on_output: impl FnMut(&mut Self, Output)) -> Option<Deadline> { todo!() }

    // Getters.
    /// The last `now`.
    pub fn now(&self) -> Instant { todo!() }
    pub fn config(&self) -> &Config { todo!() }
    pub fn node(&self, node: NodeId) -> Option<NodeView<'_>> { todo!() }
    pub fn nodes(&self) -> impl Iterator<Item = NodeView<'_>> { [].into_iter() }
    /// By id, also of a node that left since the last drain.
    pub fn spec(&self, node: NodeId) -> Option<&NodeSpec> { todo!() }
    pub fn find(&self, endpoint: &Endpoint) -> Option<NodeId> { todo!() }
    pub fn find_key(&self, key: &str) -> Option<NodeId> { todo!() }
    pub fn connection(&self, connection: ConnectionId) -> Option<ConnectionView> { todo!() }
    pub fn is_open(&self, request: RequestId) -> bool { todo!() }
    /// Whether this emitted Write may still be started at `now`: it is open, not withdrawn, and its
    /// request is within its deadline. The byte layer asks before it gives WriteStarted.
    pub fn may_write(&self, now: Instant, connection: ConnectionId, serial: u32) -> bool { todo!() }
    pub fn stats(&self) -> Stats { todo!() }
    pub fn is_terminated(&self) -> bool { todo!() }
    /// Checks the internal invariants of DESIGN 4 by brute force; Err says what is wrong. Slow.
    #[doc(hidden)]
    pub fn audit(&self) -> Result<(), alloc::string::String> { todo!() }
}
