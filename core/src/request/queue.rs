//! Who gets a free slot (SEMANTICS 4.2, 5.1).

use alloc::vec::Vec;

use super::Place;
use crate::{Cluster, ConnectionId, collections::NONE, node::Phase, select::Standing};

impl Cluster {
    /// Tells selection what it must know of a node after its connection changed.
    pub(crate) fn update_standing(&mut self, n: u32) {
        let c = self.nodes[n].connection;
        let can_take = c != NONE && {
            let connection = &self.connections[c];
            connection.phase == Phase::Ready
                && connection.in_flight < connection.limit
                && !connection.blocked
                && (!connection.upkeep.past_limit || mutant!(UsesStale))
                && !self.throttled.contains(n)
        };
        let standing = can_take.then(|| Standing {
            healthy: !self.connections[c].unhealthy,
            load: self.connections[c].in_flight,
        });
        self.ready.set(n, standing);
    }

    /// The same by connection; a node that can take more is served before the call ends.
    pub(crate) fn update_connection_standing(&mut self, c: u32) {
        if self.connections[c].phase == Phase::Ready {
            let n = self.connections[c].node.index;
            self.update_standing(n);
            self.serve_later(n);
        }
    }

    pub(crate) fn serve_later(&mut self, n: u32) {
        let node = &mut self.nodes[n];
        if !node.queue.is_empty() && !core::mem::replace(&mut node.to_serve, true) {
            self.to_serve.push(n);
        }
    }

    /// Hands waiting requests to the nodes that can take them, the oldest submit first.
    pub(crate) fn hand_over(&mut self) {
        for i in 0..self.to_serve.len() {
            let n = self.to_serve[i];
            if let Some(node) = self.nodes.at_mut(n) {
                node.to_serve = false;
                self.serve(n);
            }
        }
        self.to_serve.clear();
        while let Some((_, r)) = self.next_any()
            && !self.ready.is_empty()
        {
            self.place_any(r);
        }
        self.put_back();
    }

    /// Fills the node's slots from its own queue, older requests for any node first.
    fn serve(&mut self, n: u32) {
        while self.ready.standing(n).is_some()
            && let Some((seq, r)) = self.nodes[n].queue.peek()
        {
            match self.next_any() {
                Some((any_seq, any)) if any_seq < seq => self.place_any(any),
                _ => self.place_bound(r, n),
            }
        }
    }

    /// The head of the queue for any node, unless the user's policy wants no node that there is: it is
    /// asked again when these change, not in every call and for every request.
    fn next_any(&self) -> Option<(u64, u32)> {
        self.any_queue.peek().filter(|_| !self.any_is_refused())
    }

    pub(crate) fn any_is_refused(&self) -> bool {
        self.refused_at == Some(self.ready.version())
    }

    /// The usual case: nobody waits, and the new request is for any node. It goes where it would go
    /// from the queue.
    pub(crate) fn place_at_once(&mut self, r: u32) -> bool {
        let usual = self.any_queue.is_empty()
            && self.can_take_any()
            && self.requests[r].target().is_none()
            && self.probe_by_request.is_empty()
            && !self.any_is_refused();
        if !usual {
            return false;
        }
        let Some(n) = self.pick_for_any(None, &[]) else {
            self.refused_at = Some(self.ready.version());
            return false;
        };
        // Who is bound to it is older.
        if !self.nodes[n].queue.is_empty() {
            return false;
        }
        self.wants_another |= self.connections[self.nodes[n].connection].unhealthy;
        self.ready.chosen(n);
        self.emit(r, n);
        true
    }

    /// Whether there is a node that can take a request for any node now.
    pub(crate) fn can_take_any(&self) -> bool {
        match self.sticky {
            None => !self.ready.is_empty(),
            Some(_) => {
                let own = self.sticks_to();
                own.is_some_and(|own| self.ready.standing(own).is_some())
            }
        }
    }

    /// The policy's choice among the nodes that can take a request.
    fn pick_for_any(&mut self, avoided: Option<u32>, barred: &[u32]) -> Option<u32> {
        if self.sticky.is_some() {
            let own = self.sticks_to().filter(|own| !barred.contains(own));
            return own.filter(|&own| self.ready.standing(own).is_some());
        }
        let rng = &mut self.selection_rng;
        self.ready.pick(rng, &self.nodes, avoided, barred)
    }

    /// The head of the queue for any node goes where the policy says.
    fn place_any(&mut self, r: u32) {
        if self.is_overdue(r) {
            return self.set_overdue(r);
        }
        let request = &self.requests[r];
        let extra = self.extra(r);
        let elsewhere = extra.is_some_and(|extra| extra.elsewhere);
        let avoided = extra.and_then(|extra| extra.avoid);
        let alive = |node: &crate::NodeId| self.nodes.get(node.index, node.generation).is_some();
        let avoided = avoided.filter(alive).map(|node| node.index);
        let barred = self.barred_nodes(r);
        let probes = match request.idempotent && self.sticky.is_none() {
            true => self.node_to_probe().filter(|n| !barred.contains(n)),
            false => None,
        };
        let Some(n) = probes.or_else(|| self.pick_for_any(avoided, &barred)) else {
            self.refused_at = barred.is_empty().then(|| self.ready.version());
            return self.put_aside(r);
        };
        let seq = self.requests[r].seq;
        if let Some((bound_seq, bound)) = self.nodes[n].queue.peek()
            && bound_seq < seq
        {
            return self.place_bound(bound, n);
        }
        self.any_queue.remove(&mut self.queue_positions, r);
        self.stop_waiting(r);
        let unhealthy = self.connections[self.nodes[n].connection].unhealthy;
        let last_resort = elsewhere && avoided == Some(n);
        self.wants_another |= last_resort || (unhealthy && probes != Some(n));
        match probes {
            Some(_) => {
                self.probe_by_request.remove(n);
            }
            None => self.ready.chosen(n),
        }
        self.emit(r, n);
    }

    /// The head of a node's own queue goes to that node, which can take it.
    fn place_bound(&mut self, r: u32, n: u32) {
        if self.is_overdue(r) {
            self.set_overdue(r);
        } else if self.barred_nodes(r).contains(&n) {
            self.put_aside(r);
        } else {
            self.take_from_queue(r);
            self.stop_waiting(r);
            self.emit(r, n);
        }
    }

    /// A request that cannot be placed does not hold up later ones; it goes back at the end.
    fn put_aside(&mut self, r: u32) {
        match self.requests[r].place() {
            Place::NodeQueue(n) => self.nodes[n].queue.remove(&mut self.queue_positions, r),
            _ => self.any_queue.remove(&mut self.queue_positions, r),
        };
        self.set_aside.push(r);
    }

    fn put_back(&mut self) {
        while let Some(r) = self.set_aside.pop() {
            let seq = self.requests[r].seq;
            let queue = match self.requests[r].place() {
                Place::NodeQueue(n) => &mut self.nodes[n].queue,
                _ => &mut self.any_queue,
            };
            queue.push(&mut self.queue_positions, seq, r);
        }
    }

    /// The nodes where the request may not be written yet: an earlier frame of it is still under way
    /// there (4.5).
    pub(crate) fn barred_nodes(&self, r: u32) -> Vec<u32> {
        mutant!(WritesBesideItself => return Vec::new());
        let frames = self.extra(r).map_or(&[][..], |extra| &extra.barred);
        let node = |frame: &(ConnectionId, u32)| {
            let connection = &self.connections[frame.0.index];
            (connection.phase == Phase::Ready).then_some(connection.node.index)
        };
        let under_way = frames.iter().filter(|frame| self.is_under_way(frame));
        under_way.filter_map(node).collect()
    }

    /// The request leaves this frame behind.
    pub(crate) fn bar(&mut self, r: u32, frame: (ConnectionId, u32)) {
        let mut barred = core::mem::take(&mut self.extra_mut(r).barred);
        barred.retain(|frame| self.is_under_way(frame));
        barred.push(frame);
        self.extra_mut(r).barred = barred;
    }

    fn is_under_way(&self, &(id, serial): &(ConnectionId, u32)) -> bool {
        let connection = self.connections.get(id.index, id.generation);
        connection.is_some() && self.flight_of(id.index, serial).is_some()
    }

    /// A request whose deadline, or whose time in the queue, has passed is never handed over; it
    /// completes at the next `handle_timeout` (1.1).
    fn is_overdue(&self, r: u32) -> bool {
        mutant!(WritesOverdue => return false);
        !self.is_within_deadline(r, self.now) || self.is_too_old(r)
    }

    /// Whether it has reached the queue's age limit and was never handed over.
    pub(crate) fn is_too_old(&self, r: u32) -> bool {
        let request = &self.requests[r];
        let limit = self.config.queue_max_age.duration();
        let too_old = |limit| self.now - request.submitted >= limit;
        request.attempts == 0 && limit.is_some_and(too_old)
    }

    fn set_overdue(&mut self, r: u32) {
        self.take_from_queue(r);
        self.leave_fail_fast(r);
        self.requests[r].set_place(Place::Overdue);
    }

    /// Puts a waiting request where it belongs, by its age.
    pub(crate) fn enqueue(&mut self, r: u32) {
        let stay = self.extra(r).and_then(|extra| extra.stay);
        let stay = stay.and_then(|id| {
            let connection = self.connections.get(id.index, id.generation)?;
            let node = self
                .nodes
                .get(connection.node.index, connection.node.generation)?;
            // One that is being settled has parted from its node already.
            (node.connection == id.index).then_some(connection.node)
        });
        mutant!(LosesTarget => if let Some(node) = self.requests[r].target()
            && self.nodes[node.index].state == crate::NodeState::Ready
        {
            return self.queue_for_any(r);
        });
        let request = &mut self.requests[r];
        let (seq, target) = (request.seq, request.target());
        match target.or(stay) {
            Some(node) => {
                request.set_place(Place::NodeQueue(node.index));
                let stays = target.is_none();
                let node_state = &mut self.nodes[node.index];
                if stays {
                    node_state.staying.push(&mut self.delayed_links, r);
                }
                node_state.queue.push(&mut self.queue_positions, seq, r);
                self.serve_later(node.index);
                self.update_want(node.index);
            }
            None => {
                request.set_place(Place::AnyQueue);
                self.any_queue.push(&mut self.queue_positions, seq, r);
            }
        }
        self.join_fail_fast(r);
    }

    /// Takes a request out of the queue that it is in.
    pub(crate) fn take_from_queue(&mut self, r: u32) {
        let request = &self.requests[r];
        match request.place() {
            Place::AnyQueue => {
                self.any_queue.remove(&mut self.queue_positions, r);
            }
            Place::NodeQueue(n) => {
                let node = &mut self.nodes[n];
                if request.target().is_none() {
                    node.staying.remove(&mut self.delayed_links, r);
                }
                node.queue.remove(&mut self.queue_positions, r);
                self.update_want(n);
            }
            _ => {}
        }
    }

    /// The node is not Ready any more: whoever stayed with it may go anywhere (4.7).
    pub(crate) fn release_staying(&mut self, n: u32) {
        while let Some(r) = self.nodes[n].staying.first() {
            self.take_from_queue(r);
            self.extra_mut(r).stay = None;
            self.enqueue(r);
        }
    }
}
