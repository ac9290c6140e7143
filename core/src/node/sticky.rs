//! One node at a time, in an order of the client's own (SEMANTICS 7.7, 7.8; 3.7 under `Sticky`).
//!
//! The order is a ring: a node's place in it was drawn when the node came. Whoever has been tried has
//! its next turn a lap later. A move to another server (7.7) tries its servers first; then the ring
//! goes on.

use alloc::vec::Vec;

use super::{Ending, Phase, dial::DialFor};
use crate::{
    Cause, Cluster, Config, Decision, Event, Instant, Moving, NodeId, NodeSpec, NodeState, Plan,
    SelectionPolicy, Stage,
    collections::NONE,
    rng::{Purpose, Rng},
    timers::{Timer, TimerSlot},
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
    /// Tried before the ring goes on: the server to stay with, or the next of a move.
    front: Option<NodeId>,
    moving: Option<Moving<NodeId>>,
    /// Lap and place of the node that was tried last.
    cursor: (u64, u64),
    /// How many nodes had their turn since the lap began.
    tried: u32,
    /// No attempt begins before: the end of the lap's delay and of the start delay.
    not_before: Instant,
    /// A transport was up once.
    was_up: bool,
    delays: Rng,
    decisions: Rng,
    /// When a move with the old connection kept is given up.
    move_timer: TimerSlot,
}

impl Sticky {
    pub(crate) fn new(config: &Config, seed: u64, now: Instant) -> Option<Self> {
        (config.selection == SelectionPolicy::Sticky).then(|| Self {
            connected: None,
            trying: None,
            last: None,
            last_left: None,
            front: None,
            moving: None,
            cursor: (0, 0),
            tried: 0,
            not_before: now,
            was_up: false,
            delays: Rng::new(seed, Purpose::StartDelay, 0),
            decisions: Rng::new(seed, Purpose::Decision, 0),
            move_timer: TimerSlot::UNARMED,
        })
    }

    /// In which lap a new node has its first turn.
    pub(crate) fn first_lap(&self, place: u64) -> u64 {
        let (lap, last) = self.cursor;
        lap + u64::from(place <= last && self.cursor != (0, 0))
    }

    /// The old connection is kept until the move has found another.
    fn keeps_old(&self) -> bool {
        self.connected.is_some() && self.moving.is_some()
    }
}

/// What must be known before a new list is taken over.
pub(crate) struct BeforeUpdate {
    listed: Vec<NodeId>,
    own: Option<NodeId>,
    was_connected: bool,
}

impl Cluster {
    /// Who alone may get a request that names no node, under `Sticky`.
    pub(crate) fn sticks_to(&self) -> Option<u32> {
        let connected = self.sticky.as_ref()?.connected?;
        Some(connected.index)
    }

    /// Whether a move goes on beside the old connection, and its next server is to be dialled.
    pub(crate) fn move_wants_a_node(&self) -> bool {
        let sticky = self.sticky.as_ref();
        sticky.is_some_and(Sticky::keeps_old) && self.trying().is_none()
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
        node.state.is_setup().then_some(id)
    }

    /// The node to be dialled next: who has precedence if it can be dialled now, else the ring's.
    pub(crate) fn next_dialable(&mut self) -> Option<u32> {
        while let Some(sticky) = &mut self.sticky
            && let Some(front) = sticky.front
        {
            let is_alive = self.nodes.get(front.index, front.generation).is_some();
            if is_alive && self.dialable.contains(front.index) {
                return Some(front.index);
            }
            sticky.front = sticky.moving.as_mut().and_then(Iterator::next);
        }
        let (_, next) = self.dialable.peek()?;
        Some(next)
    }

    /// The node is being dialled for requests that name none: it has had its turn.
    pub(crate) fn take_turn(&mut self, n: u32) {
        let id = self.node_id(n);
        let Some(sticky) = &mut self.sticky else {
            return;
        };
        let node = &mut self.nodes[n];
        if sticky.front == Some(id) {
            sticky.front = sticky.moving.as_mut().and_then(Iterator::next);
        } else {
            sticky.cursor = (node.lap, node.tie);
        }
        node.lap += 1;
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

    /// A transport is up. At most one connection is ever in Handshaking: the one that is gives way.
    pub(crate) fn sticky_transport_is_up(&mut self, a: u32) {
        let Some(sticky) = &mut self.sticky else {
            return;
        };
        sticky.was_up = true;
        if self.attempts[a].for_any {
            self.abort_losers(self.attempts[a].node, |state| {
                state == NodeState::Handshaking
            });
        }
    }

    /// A node is Ready. If the client has none, or was moving, this is its node now.
    pub(crate) fn sticky_is_ready(&mut self, n: u32) {
        let id = self.node_id(n);
        let Some(sticky) = &mut self.sticky else {
            return;
        };
        let arrives = sticky.trying == Some(id);
        if sticky.connected.is_some() && !(arrives && sticky.moving.is_some()) {
            return;
        }
        let old = sticky.connected.replace(id);
        self.end_move();
        let Some(sticky) = &mut self.sticky else {
            return;
        };
        (sticky.last, sticky.last_left) = (Some(id), None);
        sticky.tried = 1;
        self.abort_losers(n, |_| true);
        if let Some(old) = old {
            self.detach(self.nodes[old.index].connection, Cause::Rebalanced);
        }
    }

    /// A node has parted from its Ready connection. If it was the client's, another that is Ready for
    /// requests bound to it takes its place.
    pub(crate) fn sticky_parted(&mut self, n: u32) {
        let id = self.node_id(n);
        let Some(sticky) = &mut self.sticky else {
            return;
        };
        if sticky.connected != Some(id) {
            return;
        }
        sticky.connected = None;
        self.timers.clear(&mut sticky.move_timer);
        let rng = &mut self.selection_rng;
        match self.ready.pick(rng, &self.nodes, None, None) {
            Some(other) => self.sticky_is_ready(other),
            None => self.sticky_ended(),
        }
    }

    /// Aborts the other attempts that were begun for requests that name no node.
    fn abort_losers(&mut self, winner: u32, which: impl Fn(NodeState) -> bool) {
        let mut next = self.attempts.next_from(0);
        while let Some(a) = next {
            next = self.attempts.next_from(a + 1);
            let n = self.attempts[a].node;
            if self.attempts[a].for_any && n != winner && which(self.nodes[n].state) {
                self.abort_loser(n, Cause::LostHedge);
            }
        }
    }

    /// That is no failure, but two in a row for a node are one.
    fn abort_loser(&mut self, n: u32, cause: Cause) {
        let node = &mut self.nodes[n];
        node.aborts_in_a_row += 1;
        if node.aborts_in_a_row < 2 {
            return self.abort_attempt(n, cause);
        }
        let stage = match node.state {
            NodeState::Resolving => Stage::Resolve,
            NodeState::Handshaking => Stage::Handshake,
            _ => Stage::Connect,
        };
        let a = node.attempt;
        self.attempt_failed(a, Ending { stage, cause });
    }

    // A new list (7.7).

    pub(crate) fn before_update(&self) -> Option<BeforeUpdate> {
        let sticky = self.sticky.as_ref()?;
        let listed = self.nodes.iter().map(|(n, _)| self.node_id(n)).collect();
        let own = sticky.connected.or(self.trying()).or(sticky.last);
        Some(BeforeUpdate {
            listed,
            own,
            was_connected: sticky.connected.is_some(),
        })
    }

    /// The list differs, or only where its nodes are.
    pub(crate) fn after_update(&mut self, before: &BeforeUpdate, differs: bool) {
        if differs {
            return self.rebalance(before);
        }
        // The client's own may have a new endpoint, and is tried there first.
        if let (Some(own), Some(sticky)) = (before.own, &self.sticky)
            && sticky.front.is_none()
            && sticky.moving.is_none()
            && before.was_connected
        {
            self.stay_with(own);
        }
    }

    /// Stays, or moves.
    fn rebalance(&mut self, before: &BeforeUpdate) {
        let own = before.own.map(|own| self.own_that_came_back(own));
        let Some(own) = own else {
            return self.reshuffle();
        };
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
        match Plan::weigh(before.listed.len(), Some(&own), kept, added).decide(seed) {
            Decision::Stay => {
                self.end_move();
                self.stay_with(own);
            }
            Decision::Move(moving) => self.begin_move(own, moving),
        }
        let is_listed = self.nodes.get(own.index, own.generation).is_some();
        if let Some(sticky) = &mut self.sticky {
            let moves = sticky.moving.is_some();
            self.outputs.event(Event::Rebalanced { moves });
            if !is_listed && sticky.last == Some(own) && sticky.last_left.is_none() {
                sticky.last_left = self.leavers.get(&own).cloned();
            }
        }
    }

    /// The last connected server may have left with an earlier list: it is known by its entry then.
    fn own_that_came_back(&self, own: NodeId) -> NodeId {
        let sticky = self.sticky.as_ref();
        let left = sticky.and_then(|sticky| sticky.last_left.as_ref());
        let Some(left) = left.filter(|_| sticky.is_some_and(|sticky| sticky.last == Some(own)))
        else {
            return own;
        };
        let by_key = left.key.as_deref().and_then(|key| self.node_by_key(key));
        let back = by_key.or_else(|| self.nodes_by_endpoint(&left.endpoint).next());
        back.map_or(own, |n| self.node_id(n))
    }

    /// Never connected: the ring is drawn anew, and nobody moves.
    fn reshuffle(&mut self) {
        let mut next = self.nodes.next_from(0);
        while let Some(n) = next {
            next = self.nodes.next_from(n + 1);
            self.nodes[n].tie = self.dial_order_rng.next_u64();
            self.nodes[n].lap = 0;
            self.update_idle(n);
        }
        if let Some(sticky) = &mut self.sticky {
            sticky.cursor = (0, 0);
        }
    }

    fn stay_with(&mut self, own: NodeId) {
        let is_idle = self.nodes.get(own.index, own.generation);
        let is_idle = is_idle.is_some_and(|node| node.state.is_idle());
        if let Some(sticky) = &mut self.sticky {
            sticky.front = Some(own).filter(|_| is_idle && sticky.connected.is_none());
        }
    }

    fn begin_move(&mut self, own: NodeId, mut moving: Moving<NodeId>) {
        let keeps_old = self.config.make_before_break;
        let is_listed = self.nodes.get(own.index, own.generation).is_some();
        self.abort_losers(NONE, |_| true);
        self.end_move();
        let Some(sticky) = &mut self.sticky else {
            return;
        };
        sticky.front = moving.next();
        sticky.moving = Some(moving);
        sticky.not_before = self.now;
        sticky.tried = u32::from(is_listed);
        let Some(old) = sticky.connected else {
            return;
        };
        if keeps_old && old == own {
            let at = self.now + self.config.drain_timeout;
            self.timers.set(&mut sticky.move_timer, at, Timer::MoveEnds);
            return;
        }
        sticky.connected = None;
        let c = self.nodes[old.index].connection;
        if old == own && self.connections[c].phase == Phase::Ready {
            self.detach(c, Cause::Rebalanced);
            // The move happens in the same step.
            if let Some(sticky) = &mut self.sticky {
                sticky.not_before = self.now;
            }
        }
    }

    /// A move has come to its end, or is given up.
    fn end_move(&mut self) {
        if let Some(sticky) = &mut self.sticky {
            (sticky.moving, sticky.front) = (None, None);
            self.timers.clear(&mut sticky.move_timer);
        }
    }

    /// No other server has become Ready in time: the old connection is kept for good.
    pub(crate) fn move_timed_out(&mut self) {
        self.end_move();
        self.abort_losers(NONE, |_| true);
    }

    pub(crate) fn move_is_timed(&self) -> bool {
        self.sticky.as_ref().is_some_and(Sticky::keeps_old)
    }

    pub(crate) fn stop_sticking(&mut self) {
        self.end_move();
        if let Some(sticky) = &mut self.sticky {
            sticky.connected = None;
        }
    }

    /// For whom a node is dialled that no request is bound to.
    pub(crate) fn dial_for_warm(&self) -> DialFor {
        match self.sticky {
            Some(_) => DialFor::Any { hedge: false },
            None => DialFor::Itself,
        }
    }
}
