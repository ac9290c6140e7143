//! What a client under `Sticky` does about a new list (SEMANTICS 7.7).

use alloc::vec::Vec;

use crate::{Cause, Cluster, Decision, Event, NodeId, Plan, collections::NONE, timers::Timer};

/// What must be known before a new list is taken over.
pub(crate) struct BeforeUpdate {
    listed: Vec<NodeId>,
    own: Option<NodeId>,
    connected: Option<NodeId>,
    /// The own is connected or in setup.
    is_active: bool,
}

impl Cluster {
    pub(crate) fn before_update(&self) -> Option<BeforeUpdate> {
        let sticky = self.sticky.as_ref()?;
        let (connected, trying) = (sticky.connected, self.trying());
        let active = match sticky.leaves {
            true => trying.or(connected),
            false => connected.or(trying),
        };
        Some(BeforeUpdate {
            listed: self.listed(),
            own: active.or(sticky.last),
            connected,
            is_active: active.is_some(),
        })
    }

    fn listed(&self) -> Vec<NodeId> {
        self.nodes.iter().map(|(n, _)| self.node_id(n)).collect()
    }

    /// The list differs, or only where its nodes are.
    pub(crate) fn after_update(&mut self, before: &BeforeUpdate, differs: bool) {
        let own = before.own.map(|own| self.own_that_came_back(own));
        if differs {
            self.close_ring();
        }
        match own {
            None if differs => self.reshuffle(),
            Some(own) if differs => self.rebalance(before, own),
            // It may have a new endpoint, and is tried there first.
            Some(own) if before.is_active => self.try_first(own),
            _ => {}
        }
        let is_listed = own.is_some_and(|own| self.is_listed(own));
        if let Some(sticky) = &mut self.sticky
            && before.connected.is_some()
            && sticky.connected.is_none()
        {
            // The move happens in the same step, and begins a lap.
            sticky.not_before = self.now;
            sticky.tried = u32::from(is_listed && sticky.first.last() != own.as_ref());
        }
    }

    /// Stays, or moves.
    fn rebalance(&mut self, before: &BeforeUpdate, own: NodeId) {
        // Both lists are by rising index.
        let mut old = before.listed.iter().copied().peekable();
        let listed = self.nodes.iter().map(|(n, _)| self.node_id(n));
        let (kept, added) = listed.partition(|id| {
            while old.next_if(|old| old < id).is_some() {}
            old.peek() == Some(id)
        });
        let Some(sticky) = &mut self.sticky else {
            return;
        };
        let seed = sticky.decisions.next_u64();
        let decision = Plan::weigh(before.listed.len(), Some(&own), kept, added).decide(seed);
        let moves = decision != Decision::Stay;
        match decision {
            Decision::Stay => {
                sticky.first.clear();
                if sticky.connected == Some(own) {
                    self.end_move();
                }
                self.try_first(own);
            }
            Decision::Move(servers) => {
                sticky.first = servers.collect();
                sticky.first.reverse();
                self.move_away();
            }
        }
        self.outputs.event(Event::Rebalanced { moves });
    }

    /// The server that was connected last may have left with an earlier list.
    fn own_that_came_back(&self, own: NodeId) -> NodeId {
        let sticky = self
            .sticky
            .as_ref()
            .filter(|sticky| sticky.last == Some(own));
        let Some(left) = sticky.and_then(|sticky| sticky.last_left.as_ref()) else {
            return own;
        };
        let by_key = left.key.as_deref().and_then(|key| self.node_by_key(key));
        let mut by_endpoint = self.nodes_by_endpoint(&left.endpoint);
        let has_no_key = |n: &u32| left.key.is_none() || self.nodes[*n].spec.key.is_none();
        let back = by_key.or_else(|| by_endpoint.find(has_no_key));
        back.map_or(own, |n| self.node_id(n))
    }

    /// Never connected: the ring is drawn anew, and nobody moves.
    fn reshuffle(&mut self) {
        let mut next = self.nodes.next_from(0);
        while let Some(n) = next {
            next = self.nodes.next_from(n + 1);
            self.nodes[n].tie = self.dial_order_rng.next_u64();
            self.update_idle(n);
        }
        self.close_ring();
    }

    fn try_first(&mut self, own: NodeId) {
        let node = self.nodes.get(own.index, own.generation);
        if let Some(sticky) = &mut self.sticky
            && node.is_some_and(|node| node.state.is_idle())
        {
            sticky.first.push(own);
        }
    }

    /// Leaves the server that is connected or tried, for those that are to be tried first.
    fn move_away(&mut self) {
        self.abort_others(NONE, Cause::Rebalanced, |_| true);
        let Some(sticky) = &mut self.sticky else {
            return;
        };
        let Some(old) = sticky.connected else {
            return;
        };
        if self.config.make_before_break {
            sticky.leaves = true;
            let at = self.now + self.config.drain_timeout;
            self.timers.set(&mut sticky.move_timer, at, Timer::MoveEnds);
        } else {
            self.detach(self.nodes[old.index].connection, Cause::Rebalanced);
        }
    }

    /// A move has come to its end, or is given up.
    pub(super) fn end_move(&mut self) {
        if let Some(sticky) = &mut self.sticky {
            sticky.first.clear();
            sticky.leaves = false;
            self.timers.clear(&mut sticky.move_timer);
        }
    }

    /// No other server has become Ready in time: the old connection is kept for good.
    pub(crate) fn move_timed_out(&mut self) {
        self.end_move();
        self.abort_others(NONE, Cause::Rebalanced, |_| true);
    }

    pub(crate) fn move_is_timed(&self) -> bool {
        self.sticky.as_ref().is_some_and(|sticky| sticky.leaves)
    }
}
