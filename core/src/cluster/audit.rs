//! The invariants of the data structures, by brute force, for tests.

use alloc::{format, string::String};

use super::Run;
use crate::{
    Cluster, NodeState,
    collections::NONE,
    node::{Connection, Node, Phase},
    request::{FlightState, Place},
    servers::ListId,
    timers::Timer,
};

/// `Err` with a text unless the condition holds.
macro_rules! must {
    ($condition:expr, $($what:tt)+) => {
        if !$condition {
            return Err(format!($($what)+));
        }
    };
}

impl Cluster {
    /// Checks, between two calls, that every index agrees with the objects. Visits everything.
    ///
    /// # Errors
    ///
    /// What does not agree.
    #[doc(hidden)]
    pub fn audit(&self) -> Result<(), String> {
        for (n, node) in self.nodes.iter() {
            self.audit_node(n, node)
                .map_err(|what| format!("{}: {what}", self.node_id(n)))?;
        }
        for (c, connection) in self.connections.iter() {
            let id = self.connection_id(c);
            self.audit_connection(c, connection)
                .map_err(|what| format!("{id}: {what}"))?;
        }
        self.audit_sticky()?;
        self.audit_requests()?;
        self.audit_counts()?;
        self.audit_sources()?;
        self.audit_timers()
    }

    fn audit_node(&self, n: u32, node: &Node) -> Result<(), String> {
        let state = node.state;
        must!(
            (node.attempt != NONE) == state.is_setup(),
            "attempt in {state}"
        );
        let has_connection = matches!(state, NodeState::Handshaking | NodeState::Ready);
        must!(
            (node.connection != NONE) == has_connection,
            "connection in {state}"
        );
        must!(
            state.is_idle() == (self.dialable.contains(n) || self.resting.until(n).is_some()),
            "idle set in {state}"
        );
        must!(
            !(self.dialable.contains(n) && self.resting.until(n).is_some()),
            "two idle sets"
        );
        let rests = node.next_attempt.is_some_and(|at| at > self.now);
        must!(
            !rests || !self.dialable.contains(n),
            "dialable before its next-attempt time"
        );
        let stays = node.staying.is_empty() || state == NodeState::Ready;
        must!(stays, "a request stays with it in {state}");
        let throttled = self.throttled.key(n);
        must!(
            throttled.is_none_or(|until| until > self.now),
            "an old throttle"
        );
        let can_take = state == NodeState::Ready && throttled.is_none() && {
            let connection = &self.connections[node.connection];
            connection.in_flight < connection.limit
                && !connection.blocked
                && !connection.upkeep.past_limit
        };
        must!(
            self.ready.standing(n).is_some() == can_take,
            "standing in {state}"
        );
        if let Some(standing) = self.ready.standing(n) {
            let load = self.connections[node.connection].in_flight;
            must!(standing.load == load, "load {} is {load}", standing.load);
        }
        let wanted = self.is_running() && !node.queue.is_empty();
        let timer = self.timers.deadline(&node.next_attempt_timer);
        must!(
            !(wanted && state.is_idle()) || timer == node.next_attempt.filter(|_| rests),
            "wanted and no timer for {:?}",
            node.next_attempt
        );
        must!(
            self.wanted.contains(n) || !wanted || !self.dialable.contains(n),
            "wanted, dialable and not dialled"
        );
        Ok(())
    }

    fn audit_connection(&self, c: u32, connection: &Connection) -> Result<(), String> {
        let (mut in_flight, mut open, mut partial, mut unaccepted) = (0, 0, 0, 0);
        for f in connection.flights.iter(&self.flight_links) {
            let flight = &self.flights[f];
            must!(flight.connection == c, "a flight of another connection");
            must!(
                self.flight_of(c, flight.serial) == Some(f),
                "serial {}",
                flight.serial
            );
            in_flight += 1;
            open += u32::from(flight.request != NONE);
            unaccepted += u32::from(!flight.accepted);
            partial += u32::from(!flight.accepted && flight.state != FlightState::Emitted);
            let is_open = matches!(flight.state, FlightState::Emitted | FlightState::Open);
            must!(
                is_open == (flight.request != NONE),
                "request in {:?}",
                flight.state
            );
            must!(
                flight.request == NONE || self.requests[flight.request].place() == Place::Flight(f),
                "its request is elsewhere"
            );
        }
        let counted = (in_flight, open, partial, unaccepted);
        let kept = (
            connection.in_flight,
            connection.open,
            connection.partial,
            connection.unaccepted,
        );
        must!(
            kept == counted,
            "counts are {kept:?}, should be {counted:?}"
        );
        let stalls = connection.is_established() && (unaccepted > 0 || connection.blocked);
        let armed = self.stalls.deadline(&self.stall_links, c).is_some();
        let endless = self.now.after(self.config.write_timeout) == crate::Instant::MAX;
        must!(
            armed == stalls || (stalls && endless),
            "stall timer with {unaccepted} unaccepted"
        );
        if let Phase::Draining(_) = connection.phase {
            must!(open + partial > 0, "drained and not closed");
        }
        Ok(())
    }

    fn audit_requests(&self) -> Result<(), String> {
        let (mut waiting, mut bytes) = (0, 0);
        for (r, request) in self.requests.iter() {
            let id = self.request_id(r);
            must!(request.place() != Place::Nowhere, "{id} is nowhere");
            if !matches!(request.place(), Place::Flight(_)) {
                waiting += 1;
                bytes += u64::from(request.bytes);
            }
            let queued = matches!(request.place(), Place::AnyQueue | Place::NodeQueue(_));
            must!(
                queued == self.queue_positions.contains(r),
                "{id}: {:?}",
                request.place()
            );
        }
        let extras = self
            .requests
            .iter()
            .filter(|&(r, _)| self.extra(r).is_some());
        must!(
            extras.count() == self.extras.len(),
            "extras without a request"
        );
        must!(
            self.waiting == waiting,
            "{} waiting, should be {waiting}",
            self.waiting
        );
        must!(
            self.waiting_bytes == bytes,
            "{} bytes, should be {bytes}",
            self.waiting_bytes
        );
        must!(
            self.any_queue.is_empty() || !self.can_take_any() || self.any_is_barred(),
            "a request for any node waits beside a node that can take it"
        );
        Ok(())
    }

    /// Whether everything in the queue for any node has to wait: for an earlier frame of its own, or
    /// for a node that the user's policy likes.
    fn any_is_barred(&self) -> bool {
        let mut waiting = self.any_queue.iter();
        self.is_picky() || waiting.all(|(_, r)| !self.barred_nodes(r).is_empty())
    }

    const fn is_picky(&self) -> bool {
        matches!(self.config.selection, crate::SelectionPolicy::Custom(_))
    }

    fn audit_counts(&self) -> Result<(), String> {
        let count = |of: fn(&Node) -> bool| self.nodes.iter().filter(|(_, n)| of(n)).count() as u32;
        let counted = [
            count(|node| node.state == NodeState::Ready),
            count(|node| node.state.is_setup()),
            count(|node| node.last_ended_rejected),
            count(|node| node.rejected_resting),
        ];
        let kept = [
            self.ready_nodes,
            self.setup_nodes,
            self.rejected_nodes,
            self.rejected_resting,
        ];
        must!(
            kept == counted,
            "node counts are {kept:?}, should be {counted:?}"
        );
        let slots: u32 = self.connections.iter().map(|(_, c)| c.in_flight).sum();
        let open: u32 = self.connections.iter().map(|(_, c)| c.open).sum();
        must!(
            self.in_flight == slots,
            "{} in flight, should be {slots}",
            self.in_flight
        );
        must!(
            self.flights.len() as u32 == slots,
            "{} flights",
            self.flights.len()
        );
        must!(
            self.tombstones == slots - open,
            "{} tombstones",
            self.tombstones
        );
        must!(
            self.attempts.len() as u32 == self.setup_nodes,
            "attempts without a node"
        );
        must!(
            self.failed_last.len() == self.nodes.len(),
            "failures are not ranked"
        );
        must!(
            self.to_serve.is_empty() && self.set_aside.is_empty(),
            "work left over"
        );
        let opens = self.governor.opens(self.now);
        must!(
            self.wanted.is_empty() || opens.is_none_or(|at| at > self.now),
            "the governor is open and wanted nodes are not dialled"
        );
        if self.run == Run::Terminated {
            must!(
                self.connections.is_empty() && self.requests.is_empty(),
                "not at an end"
            );
        }
        Ok(())
    }

    fn audit_sources(&self) -> Result<(), String> {
        let sources = &self.sources;
        let fallback = sources.fallback_lists();
        let lists = [ListId::APPLICATION, ListId::CONFIGURED].into_iter();
        let of_sources = (0..sources.all.len() as u32).map(ListId::of_source);
        for list in lists.chain(of_sources) {
            let names = |node: &Node| node.lists & list.bit() != 0;
            let named = self.nodes.iter().filter(|(_, node)| names(node)).count();
            must!(
                sources.named(list) as usize == named,
                "{list:?} names {named}"
            );
        }
        let (mut primary, mut failed) = (0, 0);
        for (n, node) in self.nodes.iter() {
            let named = node
                .spec
                .key
                .as_deref()
                .and_then(|key| self.node_by_key(key));
            must!(
                node.spec.key.is_none() || named == Some(n),
                "two nodes have the key of {}",
                self.node_id(n)
            );
            let is_primary = node.lists & !fallback != 0;
            primary += u32::from(is_primary);
            failed += u32::from(is_primary && node.last_failure.is_some());
            must!(
                is_primary || (node.lists != 0 && sources.fallback_joined),
                "{} is in no list in force",
                self.node_id(n)
            );
        }
        let (kept, counted) = (
            (sources.primary_nodes, sources.failed_nodes),
            (primary, failed),
        );
        must!(kept == counted, "{kept:?} failed, should be {counted:?}");
        let tended = !sources.changed && !sources.asked;
        must!(tended || !self.is_running(), "sources left to tend");
        let mut waiting = 0;
        for state in &sources.all {
            waiting += u32::from(state.waits);
            let armed = self.timers.deadline(&state.timer);
            must!(
                armed.is_none() || (self.is_running() && !state.waits),
                "the timer of a source is armed for {armed:?}"
            );
            must!(
                state.connection.is_none() || state.under_way,
                "a discovery that is over has a connection"
            );
        }
        must!(
            sources.waiting == waiting,
            "{waiting} discoveries wait, counted are {}",
            sources.waiting
        );
        must!(
            waiting == 0 || !self.can_take_any() || self.is_picky(),
            "a discovery waits beside a node that can take it"
        );
        Ok(())
    }

    fn audit_timers(&self) -> Result<(), String> {
        let earliest = self.timers.iter().map(|(at, _)| at).min();
        let peeked = self.timers.peek().map(|(at, _)| at);
        must!(
            peeked == earliest,
            "the first timer is {peeked:?}, should be {earliest:?}"
        );
        let mut setups = 0;
        for (_, timer) in self.timers.iter() {
            let alive = match timer {
                Timer::Setup { attempt } | Timer::NextAddress { attempt } => {
                    setups += u32::from(matches!(timer, Timer::Setup { .. }));
                    self.attempts.contains(attempt)
                }
                Timer::NextAttempt { node } | Timer::ThrottleEnd { node } => {
                    self.nodes.contains(node)
                }
                Timer::Attempt { class } => self.attempt_deadlines.attempts.first(class).is_some(),
                Timer::GiveUp { class } => self.attempt_deadlines.give_ups.first(class).is_some(),
                Timer::WriteStall => self.stalls.first(0).is_some(),
                Timer::OwnAttempt { connection, .. }
                | Timer::OwnGiveUp { connection, .. }
                | Timer::Keepalive { connection }
                | Timer::Probe { connection }
                | Timer::Drain { connection } => self.connections.contains(connection),
                Timer::Retry { request } => self.requests.contains(request),
                Timer::Dial | Timer::Request { .. } | Timer::QueueAge => {
                    self.is_running() || !self.requests.is_empty()
                }
                Timer::Limit => !self.limits.is_empty() || !self.past_limit.is_empty(),
                Timer::Session => self.session.is_some(),
                Timer::MoveEnds => self.move_is_timed(),
                Timer::Refresh { source } => (source as usize) < self.sources.all.len(),
                Timer::Rebootstrap => !self.sources.fallback.is_empty(),
                Timer::Shutdown => !self.is_running(),
            };
            must!(alive, "{timer:?} has no owner");
        }
        must!(
            setups <= self.setup_nodes,
            "more setup deadlines than attempts"
        );
        Ok(())
    }
}
