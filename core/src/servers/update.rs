//! A new list replaces the old one (SEMANTICS 7.5, 7.6).

use alloc::vec::Vec;

use super::{Entries, hash_endpoint, hash_key, hash_peer};
use crate::{
    Cause, Cluster, Endpoint, Event, NodeSpec, NodeState, Reason, SetNodesError, collections::NONE,
    node::Node,
};

/// What a new list does, found out before anything is changed.
#[derive(Default)]
struct Plan {
    /// Entries that are new nodes, by index in the list.
    added: Vec<usize>,
    /// Nodes that keep their key and move to a new endpoint, with their entries.
    moved: Vec<(u32, usize)>,
    /// Nodes that stay where they are and whose key or labels change, with their entries.
    renamed: Vec<(u32, usize)>,
    kept: u32,
}

impl Cluster {
    pub(crate) fn update_nodes(&mut self, list: &[NodeSpec]) -> Result<(), SetNodesError> {
        if !self.is_running() {
            return Err(SetNodesError::Closed);
        }
        let plan = self.plan(list)?;
        let before = self.before_update();
        let removed = self.nodes.len() as u32 - plan.kept;
        self.departed.forget_past(self.now);
        // All leaving precedes all arriving.
        if removed > 0 {
            self.remove_unseen();
        }
        for &(n, _) in &plan.moved {
            self.leave_endpoint(n);
        }
        for &(n, entry) in &plan.moved {
            self.move_to(n, &list[entry]);
        }
        for &(n, entry) in &plan.renamed {
            self.rename(n, &list[entry]);
        }
        for &entry in &plan.added {
            self.add(&list[entry]);
        }
        if removed > 0 || !plan.added.is_empty() || !plan.moved.is_empty() {
            self.outputs.event(Event::ListChanged {
                added: plan.added.len() as u32,
                removed,
                kept: plan.kept,
            });
            self.fail_fast_for_any();
        }
        if let Some(before) = before {
            let differs = removed > 0 || !plan.added.is_empty();
            self.after_update(&before, differs);
        }
        self.share_setup_time();
        Ok(())
    }

    /// Finds the node of each distinct entry and marks it as seen. A key is a better reason than an
    /// endpoint, and that a better one than a connection's address, wherever they stand in the list;
    /// so what a list means does not hang on the lists before it.
    fn plan(&mut self, list: &[NodeSpec]) -> Result<Plan, SetNodesError> {
        if list.is_empty() {
            return Err(SetNodesError::Empty);
        }
        let mut entries = core::mem::take(&mut self.entries);
        let plan = self.plan_with(list, &mut entries);
        self.entries = entries;
        plan
    }

    fn plan_with(
        &mut self,
        list: &[NodeSpec],
        entries: &mut Entries,
    ) -> Result<Plan, SetNodesError> {
        entries.find_distinct(list)?;
        let (nodes, max) = (entries.distinct(), self.config.max_nodes as usize);
        if nodes > max {
            return Err(SetNodesError::TooMany { nodes, max });
        }
        self.update += 1;
        let mut plan = Plan::default();
        for same_node in [Self::same_key, Self::same_endpoint, Self::same_peer] {
            for (entry, spec) in list.iter().enumerate() {
                if entries.is_open(entry)
                    && let Some(n) = same_node(self, spec)
                {
                    entries.close(entry);
                    self.claim(n, spec, entry, &mut plan);
                }
            }
        }
        plan.added
            .extend((0..list.len()).filter(|&entry| entries.is_open(entry)));
        Ok(plan)
    }

    fn claim(&mut self, n: u32, spec: &NodeSpec, entry: usize, plan: &mut Plan) {
        let moves = !self.is_reached_at(n, spec);
        let node = &mut self.nodes[n];
        node.seen_in = self.update;
        plan.kept += 1;
        if moves {
            plan.moved.push((n, entry));
        } else if (spec.key.is_some() && node.spec.key != spec.key)
            || node.spec.labels != spec.labels
        {
            plan.renamed.push((n, entry));
        }
    }

    fn same_key(&self, spec: &NodeSpec) -> Option<u32> {
        self.node_by_key(spec.key.as_deref()?)
    }

    fn same_endpoint(&self, spec: &NodeSpec) -> Option<u32> {
        let mut named = self.nodes_by_endpoint(&spec.endpoint);
        named.find(|&n| self.is_free_for(n, spec))
    }

    fn same_peer(&self, spec: &NodeSpec) -> Option<u32> {
        let address = spec_address(spec)?;
        let mut candidates = self.by_peer.get(hash_peer(address));
        candidates.find(|&n| self.peer(n) == Some(address) && self.is_free_for(n, spec))
    }

    /// Whether a node that no entry has claimed yet may be this one: not if both have a key, which
    /// then differ.
    fn is_free_for(&self, n: u32, spec: &NodeSpec) -> bool {
        let node = &self.nodes[n];
        node.seen_in != self.update && (spec.key.is_none() || node.spec.key.is_none())
    }

    pub(crate) fn node_by_key(&self, key: &str) -> Option<u32> {
        let mut candidates = self.by_key.get(hash_key(key));
        candidates.find(|&n| self.nodes[n].spec.key.as_deref() == Some(key))
    }

    pub(crate) fn nodes_by_endpoint(&self, endpoint: &Endpoint) -> impl Iterator<Item = u32> {
        let candidates = self.by_endpoint.get(hash_endpoint(endpoint));
        candidates.filter(move |&n| self.nodes[n].spec.endpoint == *endpoint)
    }

    /// Whether the entry's endpoint is where the node is reached already.
    fn is_reached_at(&self, n: u32, spec: &NodeSpec) -> bool {
        let address = spec_address(spec);
        self.nodes[n].spec.endpoint == spec.endpoint
            || (address.is_some() && self.peer(n) == address)
    }

    /// The address of the node's established connection.
    fn peer(&self, n: u32) -> Option<core::net::SocketAddr> {
        let node = &self.nodes[n];
        match node.state {
            NodeState::Ready => self.connections[node.connection].address,
            _ => None,
        }
    }

    fn remove_unseen(&mut self) {
        let mut next = self.nodes.next_from(0);
        while let Some(n) = next {
            if self.nodes[n].seen_in != self.update {
                self.remove_node(n);
            }
            next = self.nodes.next_from(n + 1);
        }
    }

    /// The node leaves the list: no timer, no set entry, no pending action of it is left.
    fn remove_node(&mut self, n: u32) {
        let id = self.node_id(n);
        self.leave_endpoint_for(n, Cause::Removed);
        while let Some(r) = self.first_waiting_for(n) {
            self.complete_failed(r, Reason::NodeRemoved);
        }
        self.set_rejected(n, false);
        self.dialable.remove(n);
        self.resting.remove(n);
        self.wanted.remove(n);
        self.failed_last.remove(n);
        let Some(mut node) = self.nodes.remove(n) else {
            return;
        };
        self.rejected_resting -= u32::from(node.rejected_resting);
        self.timers.clear(&mut node.next_attempt_timer);
        if let Some(key) = &node.spec.key {
            self.by_key.remove(hash_key(key), n);
        }
        if let Some(sticky) = &mut self.sticky {
            sticky.node_leaves(id, &node.spec);
        }
        self.leavers.insert(id, node.spec);
    }

    /// The node parts from its endpoint, for a new one.
    fn leave_endpoint(&mut self, n: u32) {
        self.leave_endpoint_for(n, Cause::EndpointChanged);
    }

    fn leave_endpoint_for(&mut self, n: u32, cause: Cause) {
        let (state, connection) = (self.nodes[n].state, self.nodes[n].connection);
        self.departed.remember(&self.nodes[n], self.now);
        if state.is_setup() {
            self.abort_attempt(n, cause);
        } else if connection != NONE {
            self.detach(connection, cause);
        }
        for c in self.nodes[n].detached {
            // What still comes on a connection to the old endpoint says nothing of the new one.
            if let Some(connection) = self.connections.at_mut(c) {
                connection.reply_resets_node = false;
            }
        }
        self.throttled.remove(n);
        let node = &mut self.nodes[n];
        self.timers.clear(&mut node.throttle_timer);
        self.by_endpoint
            .remove(hash_endpoint(&node.spec.endpoint), n);
    }

    fn move_to(&mut self, n: u32, spec: &NodeSpec) {
        let node = &mut self.nodes[n];
        node.spec = spec.clone();
        node.start_fresh();
        self.departed.take_over(node);
        if node.state == NodeState::AuthenticationFailed {
            self.set_state(n, NodeState::Disconnected, Some(Cause::EndpointChanged));
        }
        self.set_rejected(n, false);
        self.failed_last.set((0, n), n);
        self.by_endpoint.insert(hash_endpoint(&spec.endpoint), n);
        self.update_idle(n);
    }

    /// The node stays; what the application says of it is taken over.
    fn rename(&mut self, n: u32, spec: &NodeSpec) {
        let node = &mut self.nodes[n];
        node.spec.labels.clone_from(&spec.labels);
        if let Some(key) = &spec.key
            && node.spec.key.is_none()
        {
            node.spec.key = Some(key.clone());
            self.by_key.insert(hash_key(key), n);
        }
    }

    fn add(&mut self, spec: &NodeSpec) {
        let tie = self.dial_order_rng.next_u64();
        let mut node = Node::new(spec.clone(), tie);
        node.seen_in = self.update;
        self.departed.take_over(&mut node);
        let (n, _) = self.nodes.insert(node);
        if let Some(key) = &spec.key {
            self.by_key.insert(hash_key(key), n);
        }
        self.by_endpoint.insert(hash_endpoint(&spec.endpoint), n);
        self.failed_last.set((0, n), n);
        self.update_idle(n);
    }
}

/// The address that an entry gives, or is known to stand for.
fn spec_address(spec: &NodeSpec) -> Option<core::net::SocketAddr> {
    match spec.endpoint {
        Endpoint::Address(address) => Some(address),
        _ => spec.address,
    }
}
