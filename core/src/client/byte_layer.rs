//! [`Client`]: requests and replies as bytes, over [`Cluster`].
use core::{net::SocketAddr, time::Duration};
use crate::*;
use super::*;

/// SKELETON: signatures only.
pub struct Client<P: Protocol> { protocol: P, cluster: Cluster }

#[allow(unused_variables, clippy::todo, missing_docs, clippy::must_use_candidate, clippy::missing_errors_doc)]
impl<P: Protocol> Client<P> {
    pub fn new(protocol: P, config: Config, seed: u64, now: Instant) -> Result<Self, ConfigError> { todo!() }

    // Commands.
    pub fn set_nodes(&mut self, now: Instant, list: &[NodeSpec]) -> Result<(), SetNodesError> { todo!() }
    pub fn submit(&mut self, now: Instant, request: P::Request, options: RequestOptions) -> Result<RequestId, Refused<P::Request>> { todo!() }
    pub fn cancel(&mut self, now: Instant, request: RequestId) -> bool { todo!() }
    pub fn shutdown(&mut self, now: Instant, drain: Duration) -> Result<(), ShutdownError> { todo!() }

    // Facts.
    pub fn handle_input(&mut self, now: Instant, input: TransportInput) { todo!() }
    pub fn resolved(&mut self, now: Instant, attempt: AttemptId, addresses: &[SocketAddr]) { todo!() }
    pub fn read(&mut self, now: Instant, connection: ConnectionId, bytes: &[u8]) { todo!() }
    pub fn transmit(&mut self, now: Instant, connection: ConnectionId) -> &[u8] { todo!() }
    pub fn transmitted(&mut self, now: Instant, connection: ConnectionId, accepted: usize) { todo!() }

    // Time.
    pub fn handle_timeout(&mut self, now: Instant) { todo!() }

    // Outputs.
    pub fn poll_output(&mut self) -> Option<ClientOutput<P>> { todo!() }
    pub fn poll_timeout(&self) -> Option<Deadline> { todo!() }
    pub fn drive(&mut self, now: Instant, on_output: impl FnMut(&mut Self, ClientOutput<P>)) -> Option<Deadline> { todo!() }

    // Getters.
    pub fn cluster(&self) -> &Cluster { &self.cluster }
    pub fn protocol(&self) -> &P { &self.protocol }
    pub fn protocol_mut(&mut self) -> &mut P { &mut self.protocol }
}
