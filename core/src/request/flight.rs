//! What is on a connection: hand-over, acceptance, replies, throttles (SEMANTICS 4.3, 4.4, 4.6).

use super::Place;
use crate::{
    Action, Cause, Cluster, Event, Instant, Limit, Next, ReplyTo, Stage, Success, SuccessKind,
    Verdict,
    cluster::Digest,
    collections::NONE,
    node::{Ending, Phase},
    timers::Timer,
};

/// One slot of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Flight {
    /// The request, or `NONE` once that is complete or elsewhere.
    pub(crate) request: u32,
    pub(crate) connection: u32,
    pub(crate) serial: u32,
    pub(crate) state: FlightState,
    pub(crate) expects_reply: bool,
    /// The transport has accepted the whole frame.
    pub(crate) accepted: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum FlightState {
    /// The Write is emitted; no byte has left.
    Emitted,
    /// Handed over, and its request is open.
    Open,
    /// Handed over, and given up; keeps its place until its reply or its attempt deadline.
    Tombstone,
    /// Over but for the rest of its frame.
    Trailing,
}

impl Flight {
    pub(crate) fn digest(&self, to: &mut Digest<'_>) {
        let Self {
            request,
            connection,
            serial,
            state,
            expects_reply,
            accepted,
        } = self;
        to.add((request, state, expects_reply, accepted));
        to.serial(*connection, *serial);
    }
}

impl Cluster {
    /// Hands a request to a node that can take it.
    pub(crate) fn emit(&mut self, r: u32, n: u32) {
        let c = self.nodes[n].connection;
        let mut serial = self.connections[c].next_serial;
        while self.flight_of(c, serial).is_some() {
            serial = serial.wrapping_add(1);
        }
        let connection = &mut self.connections[c];
        connection.next_serial = serial.wrapping_add(1 + u32::from(mutant!(SkipsSerial)));
        connection.issued += 1;
        connection.in_flight += 1;
        connection.open += 1;
        connection.unaccepted += 1;
        let starts_to_wait = connection.unaccepted == 1 && !connection.blocked;
        let (in_flight, limit) = (connection.in_flight, connection.limit);
        let request = &mut self.requests[r];
        let (f, _) = self.flights.insert(Flight {
            request: r,
            connection: c,
            serial,
            state: FlightState::Emitted,
            expects_reply: request.expects_reply,
            accepted: false,
        });
        request.set_place(Place::Flight(f));
        let flights = &self.flights;
        connection.serials.insert(f, |f| flights[f].serial);
        connection.flights.push(&mut self.flight_links, f);
        self.in_flight += 1;
        if starts_to_wait {
            self.restart_stall_timer(c);
        }
        match in_flight < limit {
            true => self.ready.set_load(n, in_flight),
            false => self.ready.set(n, None),
        }
        if in_flight == 1 {
            self.update_limit(c);
        }
        self.outputs.action(Action::Write {
            connection: self.connection_id(c),
            request: self.request_id(r),
            serial,
        });
    }

    /// The flight with this serial.
    #[inline]
    pub(crate) fn flight_of(&self, c: u32, serial: u32) -> Option<u32> {
        let serials = &self.connections[c].serials;
        serials.get(serial, |f| self.flights[f].serial)
    }

    pub(crate) fn write_started(&mut self, c: u32, serial: u32) {
        match self.flight_of(c, serial) {
            Some(f) if self.flights[f].state == FlightState::Emitted => self.handed_over(f),
            _ => self.stats.stale_facts += 1,
        }
    }

    /// The first byte leaves: the attempt begins (4.5).
    fn handed_over(&mut self, f: u32) {
        let flight = &mut self.flights[f];
        flight.state = FlightState::Open;
        let (r, c) = (flight.request, flight.connection);
        let request = &mut self.requests[r];
        request.attempts = request.attempts.saturating_add(1);
        let own = match request.extra {
            NONE => None,
            extra => {
                let extra = &mut self.extras[extra];
                extra.answered = false;
                extra.own_timeout
            }
        };
        let connection = &mut self.connections[c];
        connection.partial += 1;
        connection.upkeep.note_written(self.now);
        self.arm_attempt(f, own);
    }

    pub(crate) fn write_done(&mut self, c: u32, serial: u32) {
        if self.frame_accepted(c, serial) {
            self.write_progress(c);
        }
    }

    /// False if there is no such frame, or it was accepted before.
    pub(crate) fn frame_accepted(&mut self, c: u32, serial: u32) -> bool {
        let flight = self.flight_of(c, serial);
        let Some(f) = flight.filter(|&f| !self.flights[f].accepted) else {
            self.stats.stale_facts += 1;
            return false;
        };
        if self.flights[f].state == FlightState::Emitted {
            self.handed_over(f);
        }
        let flight = &mut self.flights[f];
        flight.accepted = true;
        let (state, expects_reply) = (flight.state, flight.expects_reply);
        let connection = &mut self.connections[c];
        connection.partial -= 1;
        connection.unaccepted -= 1;
        connection.upkeep.note_written(self.now);
        match state {
            FlightState::Open if !expects_reply => {
                let r = self.flights[f].request;
                self.free_flight(f);
                self.complete_ok(r, c, SuccessKind::Sent);
            }
            FlightState::Tombstone if !expects_reply => self.free_flight(f),
            FlightState::Trailing => self.free_flight(f),
            _ => {}
        }
        true
    }

    pub(crate) fn write_rejected(&mut self, c: u32, serial: u32) {
        match self.flight_of(c, serial) {
            Some(f) if self.flights[f].state == FlightState::Emitted => {
                let r = self.flights[f].request;
                self.note_where_it_was(f);
                self.free_flight(f);
                self.complete_failed(r, crate::Reason::Rejected);
                self.close_if_drained(c);
            }
            _ => self.stats.stale_facts += 1,
        }
    }

    pub(crate) fn write_blocked(&mut self, c: u32) {
        let connection = &mut self.connections[c];
        if connection.phase == Phase::Connecting {
            self.stats.stale_facts += 1;
            return;
        }
        let starts = !connection.blocked && connection.unaccepted == 0;
        connection.blocked = true;
        // During the handshake the setup deadline watches.
        if starts && connection.is_established() {
            self.restart_stall_timer(c);
        }
        self.update_connection_standing(c);
    }

    /// The transport accepted bytes: the stall's time starts anew, if there is more to write (8.3).
    pub(crate) fn write_progress(&mut self, c: u32) {
        let connection = &mut self.connections[c];
        let was_blocked = core::mem::replace(&mut connection.blocked, false);
        if !connection.is_established() {
            return;
        }
        let unaccepted = connection.unaccepted;
        self.sent_to(c);
        if unaccepted > 0 {
            self.restart_stall_timer(c);
        } else {
            self.stop_stall_timer(c);
        }
        if was_blocked {
            self.update_connection_standing(c);
        }
        self.close_if_drained(c);
    }

    pub(crate) fn restart_stall_timer(&mut self, c: u32) {
        if let Limit::After(timeout) = self.config.write_timeout {
            let (links, timers) = (&mut self.stall_links, &mut self.timers);
            let timer = |_| Timer::WriteStall;
            self.stalls.remove(links, timers, c);
            self.stalls
                .push(links, timers, (c, self.now, timeout), timer);
        }
    }

    pub(crate) fn stop_stall_timer(&mut self, c: u32) {
        let (links, timers) = (&mut self.stall_links, &mut self.timers);
        self.stalls.remove(links, timers, c);
    }

    /// Takes a request's frame back before its first byte left; the request is picked again.
    pub(crate) fn withdraw(&mut self, f: u32) {
        let (r, serial) = (self.flights[f].request, self.flights[f].serial);
        self.outputs.action(Action::Withdraw {
            connection: self.connection_id(self.flights[f].connection),
            request: self.request_id(r),
            serial,
        });
        self.note_where_it_was(f);
        self.free_flight(f);
        self.requeue(r);
    }

    /// A reply (4.4). Any reply shows that the node is useful and healthy.
    pub(crate) fn reply(&mut self, c: u32, to: ReplyTo, verdict: Verdict) {
        let connection = &self.connections[c];
        let awaiting = match to {
            ReplyTo::Serial(serial) if !connection.has_issued(serial) => return self.nonsense(c),
            ReplyTo::Serial(serial) => self.flight_of(c, serial),
            ReplyTo::Oldest => {
                let mut flights = connection.flights.iter(&self.flight_links);
                let oldest = flights.find(|&f| self.awaits_reply(f));
                if oldest.is_none() {
                    drop(flights);
                    return self.nonsense(c);
                }
                oldest
            }
        };
        self.proved_useful(c);
        let is_open = |&f: &u32| self.flights[f].state != FlightState::Trailing;
        let Some(f) = awaiting.filter(is_open) else {
            self.stats.late_replies += 1;
            return;
        };
        if self.flights[f].state == FlightState::Emitted {
            self.handed_over(f);
        }
        if verdict.refresh {
            self.ask_for_lists();
        }
        let r = self.flights[f].request;
        if self.flights[f].state == FlightState::Tombstone {
            self.stats.late_replies += 1;
            self.end_flight(f);
        } else {
            self.end_flight(f);
            self.answered(r, c, verdict);
        }
        self.close_if_drained(c);
    }

    fn awaits_reply(&self, f: u32) -> bool {
        let flight = &self.flights[f];
        let is_over = flight.state == FlightState::Trailing
            || mutant!(RepliesOffByOne) && flight.state == FlightState::Tombstone;
        flight.expects_reply && !is_over
    }

    /// What a reply means for its request.
    fn answered(&mut self, r: u32, c: u32, verdict: Verdict) {
        if verdict.next == Next::Done {
            return self.complete_ok(r, c, SuccessKind::Reply);
        }
        let (connection, node) = (self.connection_id(c), self.connections[c].node);
        let request = self.requests[r];
        let (stay, avoid) = match verdict.next {
            Next::RetryElsewhere if request.target().is_some() => {
                self.extra_mut(r).retry_refused = true;
                return self.complete_ok(r, c, SuccessKind::Reply);
            }
            Next::RetryElsewhere => (None, Some(node)),
            Next::RetryHere | Next::Done => (Some(connection), None),
        };
        let extra = self.extra_mut(r);
        extra.last_node = Some(node);
        extra.answered = true;
        extra.elsewhere = verdict.next == Next::RetryElsewhere;
        extra.stay = stay;
        extra.avoid = avoid;
        let safe = request.idempotent || verdict.not_executed;
        if !(safe && self.try_again(r, verdict.after)) {
            self.extra_mut(r).retry_refused = true;
            self.complete_ok(r, c, SuccessKind::Reply);
        }
    }

    fn proved_useful(&mut self, c: u32) {
        let connection = &mut self.connections[c];
        let id = connection.node;
        let first = !core::mem::replace(&mut connection.replied, true);
        let is_ready = connection.phase == Phase::Ready;
        let resets = match is_ready {
            true => first && self.config.backoff_reset == crate::BackoffReset::OnFirstReply,
            false => core::mem::take(&mut connection.reply_resets_node),
        };
        if resets && self.nodes.get(id.index, id.generation).is_some() {
            self.nodes[id.index].reset_backoff();
        }
        self.reply_heals(c);
        self.note_activity(c);
        self.heard_from(c);
    }

    /// The peer broke the protocol: its connection is closed.
    fn nonsense(&mut self, c: u32) {
        let cause = Cause::ProtocolError;
        match self.connections[c].phase {
            Phase::Connecting => self.stats.stale_facts += 1,
            Phase::Handshaking => {
                let a = self.connections[c].attempt;
                let stage = Stage::Handshake;
                self.attempt_failed(a, Ending { stage, cause });
            }
            Phase::Ready => self.lost(c, cause, false),
            Phase::Draining(_) => self.end_connection(c, cause, false),
        }
    }

    /// No new requests to the node until then; the attempt deadlines on this connection move along
    /// (4.6). The node's throttle outlives its connection; on a detached one it is that one's alone.
    pub(crate) fn throttle(&mut self, c: u32, until: Instant) {
        let connection = &mut self.connections[c];
        let (node, n) = (connection.node, connection.node.index);
        let attached = match connection.phase {
            Phase::Connecting => {
                self.stats.stale_facts += 1;
                return;
            }
            Phase::Handshaking | Phase::Ready => true,
            Phase::Draining(_) => false,
        };
        let old = match attached {
            true => self.nodes[n].throttled_until,
            false => connection.throttled_until,
        };
        mutant!(ShortensThrottle => if attached && old > self.now {
            return self.halve_throttle(n);
        });
        let by = until - old.max(self.now);
        if by.is_zero() {
            return;
        }
        connection.throttled_until = until;
        self.shift_deadlines(c, by);
        if attached {
            self.nodes[n].throttled_until = until;
            self.throttled.set(until, n);
            let slot = &mut self.nodes[n].throttle_timer;
            self.timers.set(slot, until, Timer::ThrottleEnd { node: n });
            self.update_standing(n);
            self.update_serving(n);
            self.outputs.event(Event::Throttled { node, until });
        }
    }

    pub(crate) fn end_throttle(&mut self, n: u32) {
        self.throttled.remove(n);
        let slot = &mut self.nodes[n].throttle_timer;
        self.timers.clear(slot);
        self.update_idle(n);
        self.update_serving(n);
        self.update_standing(n);
        self.serve_later(n);
    }

    /// The flight's business is over; its slot is free once its frame is accepted.
    pub(crate) fn end_flight(&mut self, f: u32) {
        if self.flights[f].accepted {
            return self.free_flight(f);
        }
        self.close_request_of(f);
        self.flights[f].state = FlightState::Trailing;
        self.disarm_attempt(f);
    }

    /// The request is about to leave its slot without success.
    pub(crate) fn note_where_it_was(&mut self, f: u32) {
        let flight = &self.flights[f];
        if flight.request != NONE {
            let node = self.connections[flight.connection].node;
            self.extra_mut(flight.request).last_node = Some(node);
        }
    }

    /// The request leaves its slot, which stays taken.
    pub(crate) fn close_request_of(&mut self, f: u32) {
        let flight = &mut self.flights[f];
        if core::mem::replace(&mut flight.request, NONE) != NONE {
            self.connections[flight.connection].open -= 1;
            self.tombstones += 1;
        }
    }

    /// The slot is free.
    pub(crate) fn free_flight(&mut self, f: u32) {
        self.disarm_attempt(f);
        let connection = &mut self.connections[self.flights[f].connection];
        connection.flights.remove(&mut self.flight_links, f);
        let flights = &self.flights;
        connection.serials.remove(f, |f| flights[f].serial);
        let flight = self.flights.remove(f).expect("the flight is live");
        connection.in_flight -= u32::from(!mutant!(LeaksSlot));
        self.in_flight -= 1;
        match flight.request {
            NONE => self.tombstones -= 1,
            _ => connection.open -= 1,
        }
        if !flight.accepted {
            connection.unaccepted -= 1;
            connection.partial -= u32::from(flight.state != FlightState::Emitted);
            if connection.unaccepted == 0 && !connection.blocked {
                self.stop_stall_timer(flight.connection);
            }
        }
        self.slot_is_free(flight.connection);
    }

    fn slot_is_free(&mut self, c: u32) {
        let connection = &self.connections[c];
        let (n, in_flight) = (connection.node.index, connection.in_flight);
        if connection.phase != Phase::Ready {
            return;
        }
        if in_flight == 0 {
            self.update_limit(c);
        }
        match self.ready.standing(n) {
            Some(_) => self.ready.set_load(n, in_flight),
            None => self.update_standing(n),
        }
        mutant!(ForgetsWaiting => return);
        self.serve_later(n);
    }

    fn complete_ok(&mut self, r: u32, c: u32, kind: SuccessKind) {
        let id = self.request_id(r);
        let (request, extra) = self.take_request(r);
        self.stats.succeeded += 1;
        self.outputs.completion(crate::Completion {
            request: id,
            result: Ok(Success {
                kind,
                node: self.connections[c].node,
                attempts: request.attempts,
                elapsed: self.now - request.submitted,
                retry_refused: extra.as_ref().is_some_and(|extra| extra.retry_refused),
                budget_exhausted: extra.is_some_and(|extra| extra.budget_exhausted),
            }),
        });
    }
}
