//! A new list replaces the old one (SEMANTICS 7.5, 7.6).

use alloc::vec::Vec;

use super::{ListId, hash_endpoint, hash_key, hash_peer};
use crate::{
    Cause, Cluster, Endpoint, Event, NodeSpec, NodeState, Reason, SetNodesError,
    collections::NONE,
    node::{BeforeUpdate, Node},
};

/// What a new list does, found out before anything is changed.
#[derive(Default)]
struct Plan {
    /// Entries that are new nodes, by index in the list.
    added: Vec<usize>,
    /// Nodes that keep their key and move to a new endpoint, with their entries.
    moved: Vec<(u32, usize)>,
    /// Nodes that stay where they are and whose entries say another key or other labels.
    renamed: Vec<(u32, usize)>,
    /// Nodes that this list did not name before.
    gained: Vec<u32>,
    /// How many nodes it names as before.
    named_still: u32,
}

impl Cluster {
    /// A list is new (7.5, 7.6). Of the nodes that no entry names, those leave that no other list
    /// in force names either. Whether the union of the lists differs.
    pub(crate) fn update_list(
        &mut self,
        id: ListId,
        list: &[NodeSpec],
    ) -> Result<bool, SetNodesError> {
        if !self.is_running() {
            return Err(SetNodesError::Closed);
        }
        let plan = self.plan(id, list)?;
        let is_primary = !self.sources.is_fallback(id);
        let rejoins = self.fallback_rejoins(&plan);
        let leaves = is_primary && self.sources.fallback_joined && !rejoins;
        let fallback = if leaves {
            self.sources.fallback_lists()
        } else {
            0
        };
        let taken = id.bit() | fallback;
        // Where other lists name a node that moves, they name its old place.
        let left_behind = plan.moved.iter().map(|&(n, _)| {
            let node = &self.nodes[n];
            (node.lists & !taken, node.spec.endpoint.clone())
        });
        let left_behind: Vec<_> = left_behind.filter(|(lists, _)| *lists != 0).collect();
        let added = (plan.added.len() + left_behind.len()) as u32;
        // Nobody leaves, as a rule; then there is no need to look.
        let some_leave = leaves || self.sources.named(id) > plan.named_still;
        self.check_union(taken, added)?;
        let sticky = self.before_update();
        self.departed.forget_past(self.now);
        // All leaving precedes all arriving.
        let before = self.nodes.len() as u32;
        if some_leave {
            self.take_from_all(taken, Some(id));
        }
        if is_primary {
            self.fallback_is_judged(rejoins);
        }
        let removed = before - self.nodes.len() as u32;
        for &(n, _) in &plan.moved {
            self.leave_endpoint(n);
        }
        for &(n, entry) in &plan.moved {
            self.set_lists(n, id.bit());
            self.move_to(n, &list[entry]);
        }
        for &(n, entry) in &plan.renamed {
            self.rename(n, id, &list[entry]);
        }
        for n in plan.gained {
            self.set_lists(n, self.nodes[n].lists | id.bit());
        }
        for &entry in &plan.added {
            self.add(&list[entry], id.bit());
        }
        for (lists, endpoint) in left_behind {
            self.add(&NodeSpec::new(endpoint), lists);
        }
        let changed = removed > 0 || added > 0 || !plan.moved.is_empty();
        if changed || mutant!(RebalancesForEqual) {
            self.list_changed(added, removed, before - removed, sticky);
        }
        Ok(changed)
    }

    /// A primary list is the same as before: the fallback nodes leave.
    pub(super) fn fallback_leaves(&mut self) {
        let rejoins = self.fallback_rejoins(&Plan::default());
        if self.sources.fallback_joined && !rejoins {
            let before = self.nodes.len() as u32;
            let sticky = self.before_update();
            self.departed.forget_past(self.now);
            self.take_from_all(self.sources.fallback_lists(), None);
            let kept = self.nodes.len() as u32;
            if kept < before {
                self.list_changed(0, before - kept, kept, sticky);
            }
        }
        self.fallback_is_judged(rejoins);
    }

    /// Whether the fallback nodes, which have to leave, would join again at once, because the list
    /// names nobody but nodes that have failed. Then they just stay.
    fn fallback_rejoins(&self, plan: &Plan) -> bool {
        let failed = |n: &u32| self.nodes[*n].last_failure.is_some();
        let names_nobody_else =
            plan.added.is_empty() && plan.moved.is_empty() && plan.gained.iter().all(failed);
        names_nobody_else && self.fallback_would_join()
    }

    fn list_changed(&mut self, added: u32, removed: u32, kept: u32, sticky: Option<BeforeUpdate>) {
        self.outputs.event(Event::ListChanged {
            added,
            removed,
            kept,
        });
        self.fail_fast_for_any();
        if let Some(before) = sticky {
            self.after_update(&before, added + removed > 0 || mutant!(RebalancesForEqual));
        }
        self.share_setup_time();
    }

    /// Takes these lists from all nodes; those that the last update named have the list `kept`. A
    /// node leaves with its last list.
    fn take_from_all(&mut self, taken: u64, kept: Option<ListId>) {
        let mut next = self.nodes.next_from(0);
        while let Some(n) = next {
            let node = &self.nodes[n];
            let named_by = kept.filter(|_| node.seen_in == self.update);
            match node.lists & !taken | named_by.map_or(0, ListId::bit) {
                0 if !mutant!(KeepsLeaver) => self.remove_node(n),
                lists => self.set_lists(n, lists),
            }
            next = self.nodes.next_from(n + 1);
        }
    }

    /// Finds the node of each distinct entry and marks it as seen. A key is a better reason than an
    /// endpoint, and that a better one than a connection's address, wherever they stand in the list;
    /// so what a list means does not hang on the lists before it.
    fn plan(&mut self, id: ListId, list: &[NodeSpec]) -> Result<Plan, SetNodesError> {
        self.check_list(list)?;
        let mut entries = core::mem::take(&mut self.entries);
        self.update += 1;
        let mut plan = Plan::default();
        for same_node in [Self::same_key, Self::same_endpoint, Self::same_peer] {
            for (entry, spec) in list.iter().enumerate() {
                if entries.is_open(entry)
                    && let Some(n) = same_node(self, spec)
                    && self.may_claim(n, id, spec)
                {
                    entries.close(entry);
                    self.claim(n, id, spec, entry, &mut plan);
                }
            }
        }
        plan.added
            .extend((0..list.len()).filter(|&entry| entries.is_open(entry)));
        mutant!(OverlooksEntry => if list.len() > 1 { plan.added.pop(); });
        self.entries = entries;
        Ok(plan)
    }

    /// Whether the list makes sense by itself; which of its entries are distinct is known then.
    pub(super) fn check_list(&mut self, list: &[NodeSpec]) -> Result<(), SetNodesError> {
        if list.is_empty() && !mutant!(TakesEmptyList) {
            return Err(SetNodesError::Empty);
        }
        self.entries.find_distinct(list)?;
        self.check_size(self.entries.distinct())
    }

    /// The limit holds for the union of the lists.
    fn check_union(&self, taken: u64, added: u32) -> Result<(), SetNodesError> {
        let nodes = self.nodes.len() + added as usize;
        // Who leaves is counted only where that decides.
        if self.check_size(nodes).is_ok() {
            return Ok(());
        }
        let leaves = |node: &Node| node.seen_in != self.update && node.lists & !taken == 0;
        let leaving = self.nodes.iter().filter(|(_, node)| leaves(node)).count();
        self.check_size(nodes - leaving)
    }

    const fn check_size(&self, nodes: usize) -> Result<(), SetNodesError> {
        let max = self.config.max_nodes as usize;
        match nodes > max {
            true => Err(SetNodesError::TooMany { nodes, max }),
            false => Ok(()),
        }
    }

    /// A fallback list adds nodes; it does not move one that a primary list names.
    fn may_claim(&self, n: u32, id: ListId, spec: &NodeSpec) -> bool {
        let moves_primary = self.sources.is_fallback(id)
            && self.sources.has_primary(self.nodes[n].lists)
            && !self.is_reached_at(n, spec);
        !moves_primary
    }

    fn claim(&mut self, n: u32, id: ListId, spec: &NodeSpec, entry: usize, plan: &mut Plan) {
        let moves = !self.is_reached_at(n, spec);
        let node = &mut self.nodes[n];
        node.seen_in = self.update;
        match node.lists & id.bit() {
            0 => plan.gained.push(n),
            _ => plan.named_still += 1,
        }
        if moves {
            plan.moved.push((n, entry));
        } else if node.spec.key != spec.key || node.spec.labels != spec.labels {
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

    /// The node leaves the list: no timer, no set entry, no pending action of it is left.
    fn remove_node(&mut self, n: u32) {
        let id = self.node_id(n);
        self.leave_endpoint_for(n, Cause::Removed);
        mutant!(DialsLeaver => self.dial_leaver(n));
        mutant!(WaitsForLeaver => self.forget_waiting_for(n));
        while let Some(r) = self.first_waiting_for(n) {
            self.complete_failed(r, Reason::NodeRemoved);
        }
        self.set_rejected(n, false);
        self.set_lists(n, 0);
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
        // Whether every node has failed is judged when those who come have come.
        self.failed_last.set((0, n), n);
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
        self.set_last_failure(n, None);
        let node = &mut self.nodes[n];
        node.spec = spec.clone();
        node.start_fresh();
        self.departed.take_over(node);
        if node.state == NodeState::AuthenticationFailed {
            self.set_state(n, NodeState::Disconnected, Some(Cause::EndpointChanged));
        }
        self.set_rejected(n, false);
        self.by_endpoint.insert(hash_endpoint(&spec.endpoint), n);
        self.update_idle(n);
    }

    /// The node stays; what the list says of it is taken over.
    fn rename(&mut self, n: u32, id: ListId, spec: &NodeSpec) {
        let node = &mut self.nodes[n];
        if gives_labels(node, id, spec) {
            node.spec.labels.clone_from(&spec.labels);
        }
        if let Some(key) = &spec.key
            && node.spec.key.is_none()
            && self.node_by_key(key).is_none()
        {
            self.nodes[n].spec.key = Some(key.clone());
            self.by_key.insert(hash_key(key), n);
        }
    }

    fn add(&mut self, spec: &NodeSpec, lists: u64) {
        let mut spec = spec.clone();
        // A fallback entry whose key is that of a node elsewhere is a node without one.
        spec.key = spec.key.filter(|key| self.node_by_key(key).is_none());
        let key = spec.key.as_deref().map(hash_key);
        let endpoint = hash_endpoint(&spec.endpoint);
        let tie = self.dial_order_rng.next_u64();
        let mut node = Node::new(spec, tie);
        node.seen_in = self.update;
        self.departed.take_over(&mut node);
        let (n, _) = self.nodes.insert(node);
        self.set_lists(n, lists);
        if let Some(key) = key {
            self.by_key.insert(key, n);
        }
        self.by_endpoint.insert(endpoint, n);
        self.failed_last.set((0, n), n);
        self.update_idle(n);
    }
}

/// Labels that another list gives are not taken away by one that has none.
fn gives_labels(node: &Node, id: ListId, spec: &NodeSpec) -> bool {
    !spec.labels.is_empty() || node.lists & !id.bit() == 0
}

/// The address that an entry gives, or is known to stand for.
fn spec_address(spec: &NodeSpec) -> Option<core::net::SocketAddr> {
    match spec.endpoint {
        Endpoint::Address(address) => Some(address),
        _ => spec.address,
    }
}
