//! What can be read. Nothing here changes anything.

use crate::{
    Cluster, Config, ConnectionId, ConnectionView, Endpoint, Instant, NodeId, NodeSpec, NodeView,
    RefreshId, RequestId, Stats,
    collections::NONE,
    node::{Node, Phase},
};

use super::Run;

impl Cluster {
    /// The latest `now` it was given.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Its configuration.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Whether the answer to this refresh is still waited for: it has not come, its
    /// [`refresh_timeout`](Config::refresh_timeout) has not passed, and no shutdown has begun. Who asks a
    /// source may give up a retrieval that nobody waits for.
    #[must_use]
    pub fn is_refreshing(&self, refresh: RefreshId) -> bool {
        self.source_of(refresh).is_some()
    }

    /// A node, if it is in the list.
    #[must_use]
    pub fn node(&self, id: NodeId) -> Option<NodeView<'_>> {
        let node = self.nodes.get(id.index, id.generation)?;
        Some(self.view(id, node))
    }

    /// All nodes, by rising index.
    pub fn nodes(&self) -> impl Iterator<Item = NodeView<'_>> {
        let nodes = self.nodes.iter();
        nodes.map(|(n, node)| self.view(self.node_id(n), node))
    }

    /// A node's entry, also of one that has left since the last drain.
    #[must_use]
    pub fn spec(&self, id: NodeId) -> Option<&NodeSpec> {
        let node = self.nodes.get(id.index, id.generation);
        node.map(|node| &node.spec)
            .or_else(|| self.leavers.get(&id))
    }

    /// The node with this endpoint.
    #[must_use]
    pub fn find(&self, endpoint: &Endpoint) -> Option<NodeId> {
        let n = self.nodes_by_endpoint(endpoint).next()?;
        Some(self.node_id(n))
    }

    /// The node with this key.
    #[must_use]
    pub fn find_key(&self, key: &str) -> Option<NodeId> {
        let n = self.node_by_key(key)?;
        Some(self.node_id(n))
    }

    /// A connection, from its Connect action to its end.
    #[must_use]
    pub fn connection(&self, id: ConnectionId) -> Option<ConnectionView> {
        let connection = self.connections.get(id.index, id.generation)?;
        Some(ConnectionView {
            id,
            node: connection.node,
            address: connection.address,
            connected: connection.is_up(),
            draining: matches!(connection.phase, Phase::Draining(_)),
            in_flight: connection.in_flight,
            tombstones: connection.in_flight - connection.open,
        })
    }

    /// Whether the request is not complete yet.
    #[must_use]
    pub fn is_open(&self, id: RequestId) -> bool {
        self.requests.get(id.index, id.generation).is_some()
    }

    /// Whether an emitted Write may still be started at `now`: it was neither withdrawn nor
    /// completed, and its request is within its deadline. Whoever writes asks before the first byte
    /// leaves, and drops what may not be written.
    #[must_use]
    pub fn may_write(&self, now: Instant, connection: ConnectionId, serial: u32) -> bool {
        let known = self
            .connections
            .get(connection.index, connection.generation);
        known.is_some() && self.is_startable(connection.index, serial, now.max(self.now))
    }

    /// Counters and gauges.
    #[must_use]
    pub fn stats(&self) -> Stats {
        Stats {
            dropped_events: self.outputs.dropped_events(),
            nodes: self.nodes.len(),
            nodes_ready: self.ready_nodes as usize,
            nodes_in_setup: self.setup_nodes as usize,
            open_requests: self.requests.len(),
            waiting_requests: self.waiting as usize,
            in_flight: self.in_flight as usize,
            tombstones: self.tombstones as usize,
            connections: self.connections.len(),
            ..self.stats
        }
    }

    /// Whether `Terminated` was put out, or is about to be: nothing else will come.
    #[must_use]
    pub fn is_terminated(&self) -> bool {
        self.run == Run::Terminated
    }

    fn view<'a>(&self, id: NodeId, node: &'a Node) -> NodeView<'a> {
        let connection = (node.connection != NONE).then(|| &self.connections[node.connection]);
        let ready = connection.filter(|connection| connection.phase == Phase::Ready);
        let stable = ready.is_some() && self.is_stable(node.connection);
        NodeView {
            id,
            spec: &node.spec,
            state: node.state,
            attempt: (node.attempt != NONE).then(|| self.attempt_id(node.attempt)),
            connection: connection.map(|_| self.connection_id(node.connection)),
            failures: if stable { 0 } else { node.failures },
            last_failure: node.last_failure,
            next_attempt: node.next_attempt,
            setup_deadline: self.setup_deadline(id.index),
            last_attempt: node.last_attempt,
            throttled_until: self
                .throttled
                .contains(id.index)
                .then_some(node.throttled_until),
            in_flight: connection.map_or(0, |connection| connection.in_flight),
            queued: node.queued(),
            unhealthy: connection.is_some_and(|connection| connection.unhealthy),
        }
    }
}
