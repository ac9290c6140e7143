//! One step of the model: what is called, and what is due (SEMANTICS 1, 9).

use std::cmp::Reverse;

use redial::{Cause, Reason, Stage};

use crate::{
    frames::Verdict,
    rules::Micros,
    state::{C, Model, N, Out, Phase, Place, R, Run, Submit},
};

/// A call at a time.
#[derive(Clone, Debug)]
pub(crate) struct Transition {
    pub(crate) at: Micros,
    pub(crate) act: Act,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Act {
    Timeout,
    /// A new list, by names.
    Nodes(Vec<usize>),
    Submit(Submit),
    Cancel(R),
    Shutdown(Micros),
    Connected(C),
    Refused(C),
    /// With the peer's limit of requests in flight.
    HandshakeDone(C, usize),
    HandshakeRejected(C),
    HandshakeClosed(C),
    WriteStarted(C, u32),
    WriteDone(C, u32),
    WriteRejected(C, u32),
    Blocked(C),
    Progress(C),
    /// To a serial, or to the oldest.
    Reply(C, Option<u32>, Verdict),
    Throttled(C, Micros),
    PeerDrains(C),
    Closed(C),
}

/// What has a deadline that ends something.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Due {
    Setup(u64, C),
    Request(R),
    GiveUp(C, u32),
    Attempt(C, u32),
    Retry(R),
    Stall(C),
    Probe(C),
    Drain(u64, C),
    Shutdown,
}

/// In which deadlines are handled that are due in one call.
#[derive(Clone, Copy, Debug)]
enum Order {
    Time,
    Kind,
    /// Other kinds first, and of one kind at one time the others.
    Reversed,
}

impl Due {
    const fn kind(self) -> u8 {
        match self {
            Self::Setup(..) => 0,
            Self::Request(_) => 1,
            Self::GiveUp(..) => 2,
            Self::Attempt(..) => 3,
            Self::Retry(_) => 4,
            Self::Stall(_) => 5,
            Self::Probe(_) => 6,
            Self::Drain(..) => 7,
            Self::Shutdown => 8,
        }
    }
}

impl Model {
    pub(crate) fn step(&mut self, transition: &Transition) {
        self.step_in(Order::Time, transition);
    }

    /// Whether the step comes to the same in whatever order the deadlines are handled that are due. The
    /// order is said nowhere, and shows only in a call that comes late.
    pub(crate) fn is_clear(&self, transition: &Transition) -> bool {
        let ends_in = |order| {
            let mut end = self.clone();
            end.step_in(order, transition);
            end.without_order(self.count)
        };
        transition.act != Act::Timeout || {
            let end = ends_in(Order::Time);
            let others = [Order::Kind, Order::Reversed];
            let clear = others.into_iter().all(|order| ends_in(order) == end);
            clear && self.probes_due(transition.at) <= 1
        }
    }

    /// All that it is, as text, but for the order of what was put out and numbered after the number
    /// `before`.
    fn without_order(mut self, before: u64) -> String {
        let mut out: Vec<_> = self.out.drain(..).map(|out| format!("{out:?}")).collect();
        out.sort();
        self.count = before;
        let later = before + 1;
        for node in &mut self.nodes {
            node.failed_at = node.failed_at.min(later);
            if let Some(attempt) = &mut node.attempt {
                attempt.armed = attempt.armed.min(later);
            }
        }
        for connection in self.connections.values_mut() {
            connection.detached = connection.detached.min(later);
        }
        let mut turns: Vec<_> = self.nodes.iter().map(|node| node.turn).collect();
        turns.sort_unstable();
        for node in &mut self.nodes {
            node.turn = turns.partition_point(|turn| *turn < node.turn) as u64;
        }
        format!("{self:?} {out:?}")
    }

    /// Of several that come due in one call, which is made first hangs on the order.
    fn probes_due(&self, now: Micros) -> usize {
        let connections = self.connections.values();
        let due = connections.filter(|connection| connection.probe_at.is_some_and(|at| at <= now));
        due.count()
    }

    fn step_in(&mut self, order: Order, Transition { at, act }: &Transition) {
        // 1.2: an earlier time counts as the last one.
        self.now = self.now.max(*at);
        self.out.clear();
        match act {
            Act::Timeout => {
                self.handle_timeout(order);
            }
            Act::Nodes(names) => self.set_nodes(names),
            Act::Submit(asked) => self.submit(*asked),
            Act::Cancel(r) => self.cancel(*r),
            Act::Shutdown(drain) => self.shutdown(*drain),
            fact => self.fact(fact),
        }
        self.finish();
        // What became due by what was done just now.
        while *act == Act::Timeout && self.handle_timeout(order) {
            self.finish();
        }
    }

    /// What has become possible is done at the end of every call.
    fn finish(&mut self) {
        match self.run {
            Run::Running => {
                self.hand_over();
                self.dial_who_is_wanted();
            }
            // 9.1: then closes; then Terminated.
            Run::Draining(_) if self.connections.is_empty() => {
                self.run = Run::Terminated;
                self.out.push(Out::Terminated);
            }
            _ => {}
        }
    }

    fn fact(&mut self, fact: &Act) {
        // 2.3: a stale one is ignored.
        let Some(connection) = fact.names().and_then(|c| self.connections.get(&c)) else {
            return;
        };
        let phase = connection.phase;
        match *fact {
            Act::Connected(c) if phase == Phase::Connecting => self.transport_is_up(c),
            Act::Refused(c) if phase == Phase::Connecting => {
                self.attempt_failed(c, (Stage::Connect, Cause::Refused), true);
            }
            Act::HandshakeDone(c, limit) if phase == Phase::Handshaking => {
                self.become_ready(c, limit);
            }
            Act::HandshakeRejected(c) if phase == Phase::Handshaking => {
                let ending = (Stage::Authenticate, Cause::CredentialsRejected);
                self.attempt_failed(c, ending, true);
            }
            Act::HandshakeClosed(c) if phase == Phase::Handshaking => {
                self.attempt_failed(c, (Stage::Handshake, Cause::PeerClosed), true);
            }
            Act::WriteStarted(c, serial) => self.write_started(c, serial),
            Act::WriteDone(c, serial) => self.write_done(c, serial),
            Act::WriteRejected(c, serial) => self.write_rejected(c, serial),
            Act::Blocked(c) => self.write_blocked(c),
            Act::Progress(c) => self.write_progress(c),
            Act::Reply(c, serial, verdict) => self.reply(c, serial, verdict),
            Act::Throttled(c, until) => self.throttle(c, until),
            Act::PeerDrains(c) => self.peer_drains(c),
            Act::Closed(c) => match phase {
                Phase::Connecting => {
                    self.attempt_failed(c, (Stage::Connect, Cause::PeerClosed), true);
                }
                Phase::Handshaking => {
                    self.attempt_failed(c, (Stage::Handshake, Cause::PeerClosed), true);
                }
                Phase::Ready | Phase::Draining(..) => self.broken(c, Cause::PeerClosed, true),
            },
            _ => {}
        }
    }

    /// 1.1: due when `at <= now`. Whether there was anything.
    fn handle_timeout(&mut self, order: Order) -> bool {
        let mut any = false;
        while let Some(due) = self.first_due(order) {
            any = true;
            self.ends(due);
        }
        any
    }

    fn first_due(&self, order: Order) -> Option<Due> {
        let mut due = self.deadlines();
        due.retain(|(at, _)| *at <= self.now);
        match order {
            Order::Time => due.sort(),
            Order::Kind => due.sort_by_key(|&(at, due)| (due.kind(), at, due)),
            Order::Reversed => due.sort_by_key(|&(at, due)| (9 - due.kind(), at, Reverse(due))),
        }
        due.first().map(|(_, due)| *due)
    }

    fn ends(&mut self, due: Due) {
        match due {
            // 2.1: a failure of the stage that it had reached.
            Due::Setup(_, c) => {
                let own = self.nodes[c.0]
                    .attempt
                    .is_some_and(|a| a.has_handshake_deadline);
                let cause = match own {
                    true => Cause::HandshakeTimeout,
                    false => Cause::SetupTimeout,
                };
                let stage = match self.connections[&c].phase {
                    Phase::Handshaking => Stage::Handshake,
                    _ => Stage::Connect,
                };
                self.attempt_failed(c, (stage, cause), false);
            }
            Due::Request(r) => {
                let homeless = self.requests[r].asked.bound_to.is_none();
                self.give_up(
                    r,
                    match homeless && self.listed().is_empty() {
                        true => Reason::NoNodes,
                        false => Reason::Timeout,
                    },
                );
            }
            Due::GiveUp(c, serial) => {
                let open = self.connections[&c].frames[&serial].request;
                self.give_up(open.expect("only an open one is given up"), Reason::Timeout);
            }
            Due::Attempt(c, serial) => self.attempt_times_out(c, serial),
            Due::Retry(r) => self.rejoin(r),
            Due::Stall(c) => self.broken(c, Cause::WriteStall, false),
            Due::Probe(c) => self.probe_is_due(c),
            Due::Drain(_, c) => self.drain_is_over(c),
            Due::Shutdown => self.close_everything(),
        }
    }

    fn deadlines(&self) -> Vec<(Micros, Due)> {
        let mut all = Vec::new();
        for (n, node) in self.nodes.iter().enumerate() {
            let attempt = node.attempt.iter();
            all.extend(attempt.map(|a| (a.deadline, Due::Setup(a.armed, (n, node.dialled - 1)))));
        }
        for (r, request) in self.requests.iter().enumerate() {
            let open = request.place != Place::Complete;
            all.extend(
                request
                    .deadline
                    .filter(|_| open)
                    .map(|at| (at, Due::Request(r))),
            );
            if let Place::Until(at) = request.place {
                all.push((at, Due::Retry(r)));
            }
        }
        for (&c, connection) in &self.connections {
            for (&serial, frame) in &connection.frames {
                all.extend(frame.attempt_ends.map(|at| (at, Due::Attempt(c, serial))));
                all.extend(frame.give_up_at.map(|at| (at, Due::GiveUp(c, serial))));
            }
            let stall = connection.stalled_since.zip(self.rules.write_timeout);
            all.extend(stall.map(|(since, timeout)| (since + timeout, Due::Stall(c))));
            all.extend(connection.probe_at.map(|at| (at, Due::Probe(c))));
            if let Phase::Draining(_, Some(until)) = connection.phase {
                all.push((until, Due::Drain(connection.detached, c)));
            }
        }
        if let Run::Draining(until) = self.run
            && !self.connections.is_empty()
        {
            all.push((until, Due::Shutdown));
        }
        all
    }

    /// When to call next (DESIGN 4.10).
    pub(crate) fn next_deadline(&self) -> Option<Micros> {
        let ends = self.deadlines().into_iter().map(|(at, _)| at);
        ends.chain(self.eligible_times()).min()
    }

    /// All that is to come.
    pub(crate) fn times_to_come(&self) -> Vec<Micros> {
        let ends = self.deadlines().into_iter().map(|(at, _)| at);
        ends.chain(self.eligible_times()).collect()
    }

    /// 9.1.
    fn shutdown(&mut self, drain: Micros) {
        let until = self.now + drain;
        match self.run {
            Run::Terminated => return,
            Run::Draining(earlier) => self.run = Run::Draining(until.min(earlier)),
            Run::Running => {
                self.run = Run::Draining(until);
                self.stop();
            }
        }
        if matches!(self.run, Run::Draining(until) if until <= self.now) {
            self.close_everything();
        }
    }

    /// What is not handed over fails, what is in setup is given up, what is Ready drains.
    fn stop(&mut self) {
        for r in [self.waiting(), self.overdue()].concat() {
            self.fail(r, Reason::Closed);
        }
        for n in 0..self.nodes.len() {
            if self.nodes[n].attempt.is_some() {
                self.abort_attempt(n, Cause::Shutdown);
            }
        }
        let connections: Vec<C> = self.connections.keys().copied().collect();
        for c in connections {
            for (serial, r) in self.emitted(c) {
                self.free(c, serial);
                self.fail(r, Reason::Closed);
            }
            match self.connections[&c].phase {
                Phase::Ready => self.detach(c, Cause::Shutdown),
                _ => self.close_if_drained(c),
            }
        }
    }

    fn close_everything(&mut self) {
        let connections: Vec<C> = self.connections.keys().copied().collect();
        for c in connections {
            self.end_connection(c, Cause::Shutdown, false);
        }
    }
}

impl Act {
    /// The connection that it is a fact about.
    pub(crate) fn names(&self) -> Option<C> {
        match *self {
            Self::Connected(c)
            | Self::Refused(c)
            | Self::HandshakeDone(c, _)
            | Self::HandshakeRejected(c)
            | Self::HandshakeClosed(c)
            | Self::WriteStarted(c, _)
            | Self::WriteDone(c, _)
            | Self::WriteRejected(c, _)
            | Self::Blocked(c)
            | Self::Progress(c)
            | Self::Reply(c, ..)
            | Self::Throttled(c, _)
            | Self::PeerDrains(c)
            | Self::Closed(c) => Some(c),
            _ => None,
        }
    }

    /// The node that it names otherwise.
    pub(crate) fn target(&self) -> Option<N> {
        match self {
            Self::Submit(asked) => asked.bound_to,
            _ => None,
        }
    }
}
