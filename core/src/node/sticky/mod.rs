//! One node at a time, in an order of the client's own (SEMANTICS 7.7, 7.8; 3.7 under `Sticky`).
//!
//! The order is a ring: a node's place in it was drawn when the node came, and the next to be tried is
//! the one after the last that was tried or connected. A move to another server (7.7) tries its
//! servers first; then the ring goes on.

use alloc::{string::String, vec::Vec};

mod moves;
#[cfg(test)]
mod tests;

pub(crate) use moves::BeforeUpdate;

use super::{Ending, dial::DialFor};
use crate::{
    Cause, Cluster, Config, Instant, NodeId, NodeSpec, NodeState, SelectionPolicy,
    cluster::Digest,
    collections::NONE,
    rng::{Purpose, Rng},
    timers::TimerSlot,
};

/// Where a client under `Sticky` is.
#[derive(Clone, Debug)]
pub(crate) struct Sticky {
    /// The node that gets the requests that name none.
    connected: Option<NodeId>,
    /// The node that was dialled last for these.
    trying: Option<NodeId>,
    /// The node that was connected last, and its entry if it has left.
    last: Option<NodeId>,
    last_left: Option<NodeSpec>,
    /// Tried before the ring goes on, taken from the end: the server to stay with, or those of a
    /// move.
    first: Vec<NodeId>,
    /// All nodes by their places.
    ring: Vec<(u64, u32)>,
    /// The place of the node that was tried or connected last.
    place: u64,
    /// With `make_before_break`: `connected` is kept until a move has found another.
    leaves: bool,
    /// When it is kept for good instead.
    move_timer: TimerSlot,
    /// How many had their turn since the lap began.
    tried: u32,
    /// No attempt begins before: the end of the lap's delay and of the start delay.
    not_before: Instant,
    /// A transport was up once.
    was_up: bool,
    delays: Rng,
    decisions: Rng,
}

impl Sticky {
    pub(crate) fn new(config: &Config, seed: u64, now: Instant) -> Option<Self> {
        (config.selection == SelectionPolicy::Sticky).then(|| Self {
            connected: None,
            trying: None,
            last: None,
            last_left: None,
            first: Vec::new(),
            ring: Vec::new(),
            place: 0,
            leaves: false,
            move_timer: TimerSlot::UNARMED,
            tried: 0,
            not_before: now,
            was_up: false,
            delays: Rng::new(seed, Purpose::StartDelay, 0),
            decisions: Rng::new(seed, Purpose::Decision, 0),
        })
    }

    pub(crate) fn digest(&self, to: &mut Digest<'_>) {
        let Self {
            connected,
            trying,
            last,
            last_left,
            first,
            ring,
            place,
            leaves,
            move_timer: _,
            tried,
            not_before,
            was_up,
            delays,
            decisions,
        } = self;
        for id in [connected, trying, last] {
            to.add(id.is_some());
            id.map(|id| to.node(id));
        }
        to.all(first.iter(), |to, id| to.node(*id));
        to.add((last_left, ring, place, leaves, tried, was_up));
        to.deadline(*not_before);
        to.add((delays, decisions));
    }

    /// Where in the ring the next turn is.
    fn next_in_ring(&self) -> usize {
        self.ring.partition_point(|&(place, _)| place <= self.place)
    }

    /// A node leaves. The one that was connected last is known by its entry if it comes back.
    pub(crate) fn node_leaves(&mut self, id: NodeId, spec: &NodeSpec) {
        if self.last == Some(id) {
            self.last_left = Some(spec.clone());
        }
    }
}

impl Cluster {
    /// Who alone may get a request that names no node, under `Sticky`.
    pub(crate) fn sticks_to(&self) -> Option<u32> {
        let connected = self.sticky.as_ref()?.connected?;
        Some(connected.index)
    }

    /// Whether a move goes on beside the old connection, and its next server is to be dialled.
    pub(crate) fn move_wants_a_node(&self) -> bool {
        self.move_is_timed() && self.trying().is_none()
    }

    /// Before this no node is dialled for requests that name none.
    pub(crate) fn dials_not_before(&self) -> Instant {
        self.sticky
            .as_ref()
            .map_or(Instant::ORIGIN, |sticky| sticky.not_before)
    }

    /// The node that is in setup for requests that name none.
    fn trying(&self) -> Option<NodeId> {
        let id = self.sticky.as_ref()?.trying?;
        let node = self.nodes.get(id.index, id.generation)?;
        (node.attempt != NONE && self.attempts[node.attempt].for_any).then_some(id)
    }

    /// The node to be dialled next of those that can be dialled now.
    pub(crate) fn next_dialable(&self) -> Option<u32> {
        let (key, oldest) = self.dialable.peek()?;
        let Some(sticky) = &self.sticky else {
            return Some(oldest);
        };
        let mut first = sticky.first.iter().rev();
        if let Some(first) = first.find(|id| self.is_dialable(**id)) {
            return Some(first.index);
        }
        let (passed, ahead) = sticky.ring.split_at(sticky.next_in_ring());
        let mut ring = ahead.iter().chain(passed).map(|&(_, n)| n);
        // Throttled ones only where there is no other.
        let throttled = key.is_throttled();
        ring.find(|&n| self.dialable.contains(n) && self.throttled.contains(n) == throttled)
    }

    fn is_dialable(&self, id: NodeId) -> bool {
        self.is_listed(id) && self.dialable.contains(id.index)
    }

    /// The list has changed, or the places in the ring.
    fn close_ring(&mut self) {
        if let Some(sticky) = &mut self.sticky {
            sticky.ring.clear();
            let places = self.nodes.iter().map(|(n, node)| (node.tie, n));
            sticky.ring.extend(places);
            sticky.ring.sort_unstable();
        }
    }

    /// The node is being dialled for requests that name none: it has its turn.
    pub(crate) fn take_turn(&mut self, n: u32) {
        let id = self.node_id(n);
        let Some(sticky) = &mut self.sticky else {
            return;
        };
        if let Some(turn) = sticky.first.iter().rposition(|first| *first == id) {
            sticky.first.truncate(turn);
        }
        sticky.place = self.nodes[n].tie;
        sticky.trying = Some(id);
        sticky.tried += 1;
    }

    /// An attempt or the connection of the client has ended: the next one waits for the start delay,
    /// and after a lap without success for the lap's.
    pub(crate) fn sticky_ended(&mut self) {
        let (now, servers) = (self.now, self.nodes.len() as u32);
        let Some(sticky) = &mut self.sticky else {
            return;
        };
        let mut at = now;
        if sticky.was_up {
            let range = crate::time::nanos(self.config.start_delay);
            at += core::time::Duration::from_nanos(sticky.delays.below(range));
        }
        if sticky.tried >= servers {
            sticky.tried = 0;
            at += self.config.lap_delay;
        }
        sticky.not_before = sticky.not_before.max(at);
    }

    /// A node that requests are bound to is a lap of its own: where there is no backoff, it is not
    /// dialled for them again and again.
    pub(crate) fn rest_for_a_lap(&mut self, n: u32) {
        if self.sticky.is_some() {
            let at = self.now + self.config.lap_delay;
            let next_attempt = &mut self.nodes[n].next_attempt;
            *next_attempt = (*next_attempt).max(Some(at));
            self.update_idle(n);
        }
    }

    /// A transport is up. At most one connection is ever in Handshaking: the one that is gives way.
    pub(crate) fn sticky_transport_is_up(&mut self, a: u32) {
        let Some(sticky) = &mut self.sticky else {
            return;
        };
        sticky.was_up = true;
        if self.attempts[a].for_any {
            let winner = self.attempts[a].node;
            let shakes_hands = |state| state == NodeState::Handshaking;
            self.abort_others(winner, Cause::LostHedge, shakes_hands);
        }
    }

    /// A node is Ready. If the client has none, or was moving to it, this is its node now.
    pub(crate) fn sticky_is_ready(&mut self, n: u32) {
        let id = self.node_id(n);
        let Some(sticky) = &mut self.sticky else {
            return;
        };
        let arrives = sticky.leaves && sticky.trying == Some(id);
        if sticky.connected.is_some() && !arrives {
            return;
        }
        let old = sticky.connected.replace(id);
        (sticky.last, sticky.last_left) = (Some(id), None);
        sticky.place = self.nodes[n].tie;
        self.refused_at = None;
        self.end_move();
        self.abort_others(n, Cause::LostHedge, |_| true);
        if let Some(sticky) = &mut self.sticky {
            sticky.tried = 1;
        }
        if let Some(old) = old {
            self.detach(self.nodes[old.index].connection, Cause::Rebalanced);
        }
    }

    /// A node has parted from its Ready connection.
    pub(crate) fn sticky_parted(&mut self, n: u32) {
        let id = self.node_id(n);
        if let Some(sticky) = &mut self.sticky
            && sticky.connected == Some(id)
        {
            sticky.connected = None;
            sticky.leaves = false;
            self.timers.clear(&mut sticky.move_timer);
            self.sticky_ended();
        }
    }

    /// A client that has no node and tries none takes one that is Ready for requests bound to it,
    /// unless another has its turn first. The last part of a call.
    pub(crate) fn stick_to_who_is_ready(&mut self) {
        let Some(sticky) = &self.sticky else {
            return;
        };
        if self.ready_nodes == 0 || sticky.connected.is_some() || self.trying().is_some() {
            return;
        }
        let is_ready = |id: &NodeId| {
            let node = self.nodes.get(id.index, id.generation);
            node.is_some_and(|node| node.state == NodeState::Ready)
        };
        // One that rests is passed over; one that is in setup for requests bound to it is not.
        let mut first = sticky.first.iter().rev().copied();
        let next = first.find(|id| self.is_listed(*id) && self.resting.until(id.index).is_none());
        let any = || {
            self.nodes
                .iter()
                .map(|(n, _)| self.node_id(n))
                .find(is_ready)
        };
        if let Some(next) = next.or_else(any).filter(is_ready) {
            self.sticky_is_ready(next.index);
        }
    }

    /// Aborts the other attempts that were begun for requests that name no node.
    fn abort_others(&mut self, winner: u32, cause: Cause, which: impl Fn(NodeState) -> bool) {
        let mut next = self.attempts.next_from(0);
        while let Some(a) = next {
            next = self.attempts.next_from(a + 1);
            let n = self.attempts[a].node;
            if self.attempts[a].for_any && n != winner && which(self.nodes[n].state) {
                self.abort_counted(n, cause);
            }
        }
    }

    /// Aborts an attempt. That is no failure, but two in a row for a node are one.
    fn abort_counted(&mut self, n: u32, cause: Cause) {
        let node = &mut self.nodes[n];
        node.aborts_in_a_row += 1;
        if node.aborts_in_a_row < 2 {
            return self.abort_attempt(n, cause);
        }
        let (a, stage, cause) = (node.attempt, node.state.setup_stage(), Cause::AbortedTwice);
        self.attempt_failed(a, Ending { stage, cause });
    }

    /// Checks, between two calls, what is known of the client's node.
    pub(crate) fn audit_sticky(&self) -> Result<(), String> {
        let Some(sticky) = &self.sticky else {
            return Ok(());
        };
        let state = |id: NodeId| Some(self.nodes.get(id.index, id.generation)?.state);
        let must = |holds: bool, what: &str| holds.then_some(()).ok_or_else(|| what.into());
        let connected = sticky.connected.map(state);
        let is_ready = connected.is_none_or(|state| state == Some(NodeState::Ready));
        must(is_ready, "the client's node is not Ready")?;
        must(
            connected.is_some() || !sticky.leaves,
            "no node, and it is kept for a move",
        )?;
        let in_place =
            |&(place, n): &(u64, u32)| self.nodes.contains(n) && self.nodes[n].tie == place;
        must(
            sticky.ring.len() == self.nodes.len() && sticky.ring.iter().all(in_place),
            "the ring is not that of the list",
        )?;
        let waits = self.trying().is_some() || !sticky.first.is_empty();
        let has_one = connected.is_some() || self.ready_nodes == 0 || waits;
        must(
            has_one || !self.is_running(),
            "no node, and one that is Ready",
        )
    }

    /// For whom a node is dialled that no request is bound to.
    pub(crate) fn dial_for_warm(&self) -> DialFor {
        match self.sticky {
            Some(_) => DialFor::Any { hedge: false },
            None => DialFor::Itself,
        }
    }
}
