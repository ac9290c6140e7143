//! A new list replaces the old one (SEMANTICS 7.5, 7.6).

use alloc::vec::Vec;

use super::{Index, hash_endpoint, hash_key, hash_peer};
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
        Ok(())
    }

    /// Finds the node of each entry and marks it as seen.
    fn plan(&mut self, list: &[NodeSpec]) -> Result<Plan, SetNodesError> {
        if list.is_empty() {
            return Err(SetNodesError::Empty);
        }
        self.update += 1;
        let mut plan = Plan::default();
        let mut arrivals = Arrivals::default();
        for (entry, spec) in list.iter().enumerate() {
            let Some(n) = self.same_node(spec) else {
                if !arrivals.is_known(list, entry)? {
                    plan.added.push(entry);
                }
                continue;
            };
            let moves = !self.is_reached_at(n, spec);
            if self.nodes[n].spec.key.is_none() {
                arrivals.has_key(list, entry)?;
            }
            let node = &mut self.nodes[n];
            if node.seen_in == self.update {
                // An equal entry, or another name of the same node; but a key has one endpoint.
                let first = node.seen_as as usize;
                let same_key = spec.key.is_some() && list[first].key == spec.key;
                if same_key && list[first].endpoint != spec.endpoint {
                    return Err(SetNodesError::DuplicateKey {
                        first,
                        second: entry,
                    });
                }
                continue;
            }
            node.seen_as = entry as u32;
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
        let (nodes, max) = (
            plan.kept as usize + plan.added.len(),
            self.config.max_nodes as usize,
        );
        if nodes > max {
            return Err(SetNodesError::TooMany { nodes, max });
        }
        Ok(plan)
    }

    /// The node that an entry names: by key if both have one, else by endpoint, else the one whose
    /// established connection leads to the entry's address.
    fn same_node(&self, spec: &NodeSpec) -> Option<u32> {
        if let Some(key) = &spec.key
            && let Some(n) = self.node_by_key(key)
        {
            return Some(n);
        }
        let keys_agree = |n: &u32| spec.key.is_none() || self.nodes[*n].spec.key.is_none();
        let named = self.nodes_by_endpoint(&spec.endpoint).find(keys_agree);
        named.or_else(|| {
            let address = spec_address(spec)?;
            let mut candidates = self.by_peer.get(hash_peer(address)).filter(keys_agree);
            candidates.find(|&n| self.peer(n) == Some(address))
        })
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

/// The entries of one list that bring a new node or a new key, to find equal ones among them.
#[derive(Default)]
struct Arrivals {
    by_key: Index,
    by_endpoint: Index,
}

impl Arrivals {
    /// Whether an earlier entry is the same node; if not, this one is kept.
    fn is_known(&mut self, list: &[NodeSpec], entry: usize) -> Result<bool, SetNodesError> {
        if self.has_key(list, entry)? {
            return Ok(true);
        }
        let spec = &list[entry];
        let hash = hash_endpoint(&spec.endpoint);
        let known = self.by_endpoint.get(hash).any(|first| {
            let first = &list[first as usize];
            first.endpoint == spec.endpoint && (first.key.is_none() || spec.key.is_none())
        });
        if !known {
            self.by_endpoint.insert(hash, entry as u32);
        }
        Ok(known)
    }

    /// Whether an earlier entry has given this key to the same endpoint; if not, this one does.
    fn has_key(&mut self, list: &[NodeSpec], entry: usize) -> Result<bool, SetNodesError> {
        let spec = &list[entry];
        let Some(key) = &spec.key else {
            return Ok(false);
        };
        let hash = hash_key(key);
        let earlier = |first: &u32| list[*first as usize].key == spec.key;
        let first = self.by_key.get(hash).find(earlier);
        match first.map(|first| first as usize) {
            None => {
                self.by_key.insert(hash, entry as u32);
                Ok(false)
            }
            Some(first) if list[first].endpoint == spec.endpoint => Ok(true),
            Some(first) => Err(SetNodesError::DuplicateKey {
                first,
                second: entry,
            }),
        }
    }
}
