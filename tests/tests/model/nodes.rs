//! Nodes: attempts, failures, lists, and who is dialled (SEMANTICS 2.1, 2.2, 3, 5.1, 6, 7.6).

use redial::{Cause, NodeState, Reason, Stage};

use crate::{
    rules::{Micros, Reset, Warm},
    state::{Attempt, C, Connection, Ending, Model, N, Node, Out, Phase, Place, R, Run, Written},
};

/// The life of an attempt and of its connection.
impl Model {
    fn set_state(&mut self, n: N, to: NodeState, cause: Option<Cause>) {
        let from = std::mem::replace(&mut self.nodes[n].state, to);
        self.out.push(Out::State(n, from, to, cause));
    }

    /// 3.1: the setup deadline is armed, and has grown with the failures in setup.
    fn dial(&mut self, n: N, for_any: bool) {
        let (now, armed) = (self.now, self.number());
        let node = &mut self.nodes[n];
        node.attempt = Some(Attempt {
            started: now,
            armed,
            for_any,
            deadline: now + self.rules.setup.after(node.setup_failures),
            has_handshake_deadline: false,
        });
        (node.last_attempt, node.next_attempt) = (Some(now), None);
        let c = (n, node.dialled);
        node.dialled += 1;
        self.connections.insert(c, Connection::new());
        self.out.push(Out::Connect(c));
        self.set_state(n, NodeState::Connecting, None);
    }

    pub(crate) fn transport_is_up(&mut self, c: C) {
        if !self.rules.handshake {
            return self.become_ready(c, usize::MAX);
        }
        self.connection(c).phase = Phase::Handshaking;
        // 3.1: the handshake has a deadline of its own, and the growth of the setup timeout resets.
        if let Some(timeout) = self.rules.handshake_timeout {
            let (now, armed) = (self.now, self.number());
            let node = &mut self.nodes[c.0];
            node.setup_failures = 0;
            let attempt = node.attempt.as_mut().expect("it is under way");
            (attempt.deadline, attempt.armed) = (now + timeout, armed);
            attempt.has_handshake_deadline = true;
        }
        self.out.push(Out::Handshake(c));
        self.set_state(c.0, NodeState::Handshaking, None);
    }

    pub(crate) fn become_ready(&mut self, c: C, peers_limit: usize) {
        let limit = self.rules.max_in_flight.min(peers_limit.max(1));
        let (now, node) = (self.now, &mut self.nodes[c.0]);
        (node.attempt, node.setup_failures) = (None, 0);
        (node.last_failure, node.rejected) = (None, false);
        if self.rules.reset == Reset::OnReady {
            node.failures = 0;
        }
        // 4.6: a throttle outlives a reconnect.
        let throttled_until = node.throttled_until;
        let connection = self.connection(c);
        connection.phase = Phase::Ready;
        (connection.ready_at, connection.limit) = (now, limit);
        connection.throttled_until = throttled_until;
        self.note_stall(c);
        self.set_state(c.0, NodeState::Ready, None);
    }

    /// The attempt ends in a failure; `reported` if the embedder said so and the transport is no more.
    pub(crate) fn attempt_failed(&mut self, c: C, (stage, cause): Ending, reported: bool) {
        self.connections.remove(&c);
        if !reported {
            self.out.push(Out::Abort(c));
        }
        self.nodes[c.0].attempt = None;
        // 3.1: with a handshake timeout, setup is over when the transport is up.
        let in_handshake = matches!(stage, Stage::Handshake | Stage::Authenticate);
        if !(in_handshake && self.rules.handshake_timeout.is_some()) {
            self.nodes[c.0].setup_failures += 1;
        }
        self.failures_now += 1;
        self.node_failed(c.0, (stage, cause));
    }

    /// No failure: the node leaves, or the client ends.
    pub(crate) fn abort_attempt(&mut self, n: N, cause: Cause) {
        let c = (n, self.nodes[n].dialled - 1);
        self.connections.remove(&c);
        self.out.push(Out::Abort(c));
        self.nodes[n].attempt = None;
        self.nodes[n].last_attempt = Some(self.now);
        self.set_state(n, NodeState::Disconnected, Some(cause));
    }

    /// 3.2: counted once, and backed off from now.
    fn node_failed(&mut self, n: N, ending: Ending) {
        let (now, number) = (self.now, self.number());
        let node = &mut self.nodes[n];
        node.failures += 1;
        node.next_attempt = Some(now + self.rules.reconnect.after(node.failures - 1));
        node.last_attempt = Some(now);
        node.last_failure = Some((ending, now));
        self.last_failure = Some((n, ending));
        let (stage, cause) = ending;
        node.rejected = stage == Stage::Authenticate;
        let to = match node.rejected {
            true => NodeState::AuthenticationFailed,
            false => NodeState::Disconnected,
        };
        self.set_state(n, to, Some(cause));
        if stage == Stage::Established {
            return;
        }
        self.nodes[n].failed_at = number;
        // 6.1: a rejection fails who waits for the node, and who waits for any after the last of all.
        let listed = self.listed();
        let all_rejected = listed.iter().all(|&n| self.nodes[n].rejected);
        for r in self.waiting() {
            let for_it = match self.requests[r].asked.bound_to {
                Some(node) => node == n,
                None => all_rejected,
            };
            if for_it && stage == Stage::Authenticate {
                self.fail_with(r, n, ending);
            }
        }
        // 4.1: fail fast.
        for r in self.waiting() {
            if self.requests[r].asked.bound_to == Some(n) && self.requests[r].asked.fail_fast {
                self.fail_with(r, n, ending);
            }
        }
        self.fail_fast_for_any();
    }

    /// 4.1: with the last failure, as soon as every node has failed an attempt since the submit.
    fn fail_fast_for_any(&mut self) {
        for r in self.waiting() {
            let asked = self.requests[r].asked;
            if asked.bound_to.is_none() && asked.fail_fast && self.is_hopeless(r) {
                let (n, ending) = self.last_failure.expect("every node has failed");
                self.fail_with(r, n, ending);
            }
        }
    }

    /// Whether every node that the request could go to has failed an attempt since its submit.
    pub(crate) fn is_hopeless(&self, r: R) -> bool {
        let targets = match self.requests[r].asked.bound_to {
            Some(n) => vec![n],
            None => self.listed(),
        };
        let failed_since = |&n: &N| self.nodes[n].failed_at > self.requests[r].age;
        !targets.is_empty() && targets.iter().all(failed_since)
    }

    /// 3.3: whether the connection has been Ready for long enough to have proved useful.
    pub(crate) fn is_stable(&self, c: C) -> bool {
        let enough = match self.rules.reset {
            Reset::OnFirstReply => self.rules.reconnect.max,
            Reset::OnReady => 0,
            Reset::StableFor(enough) => enough,
        };
        self.now - self.connections[&c].ready_at >= enough
    }

    /// An established connection breaks: a failure of its node, if it is the node's.
    pub(crate) fn broken(&mut self, c: C, cause: Cause, reported: bool) {
        if self.connections[&c].phase == Phase::Ready {
            self.part(c);
            self.node_failed(c.0, (Stage::Established, cause));
        }
        self.end_connection(c, cause, reported);
    }

    fn part(&mut self, c: C) {
        if self.is_stable(c) {
            self.nodes[c.0].failures = 0;
        }
        let number = self.number();
        let connection = self.connection(c);
        (connection.probe_at, connection.probe_waits) = (None, None);
        connection.unhealthy = false;
        (connection.phase, connection.detached) = (Phase::Draining(Cause::Io, None), number);
    }

    /// What a planned close does to its node: no failure (2.1).
    pub(crate) fn detach(&mut self, c: C, cause: Cause) {
        self.part(c);
        self.nodes[c.0].last_attempt = Some(self.now);
        self.set_state(c.0, NodeState::Disconnected, Some(cause));
        self.drain(c, cause);
    }

    /// 2.1: it takes nothing new and ends with what is handed over; at most two a node.
    fn drain(&mut self, c: C, cause: Cause) {
        // A shutdown has its own end, for all.
        let until = (cause != Cause::Shutdown).then_some(self.now + self.rules.drain_timeout);
        self.connection(c).phase = Phase::Draining(cause, until);
        for (serial, r) in self.emitted(c) {
            self.free(c, serial);
            self.out.push(Out::Withdraw(c, serial, r));
            self.requests[r].last_node = Some(c.0);
            self.rejoin(r);
        }
        let of_node = self.connections.range((c.0, 0)..=(c.0, usize::MAX));
        let drains = |(_, connection): &(&C, &Connection)| {
            matches!(connection.phase, Phase::Draining(_, Some(_)))
        };
        let mut draining: Vec<_> = of_node.filter(drains).map(|(&c, _)| c).collect();
        draining.sort_by_key(|c| self.connections[c].detached);
        if until.is_some() && draining.len() > 2 {
            self.drain_is_over(draining[0]);
        }
        self.close_if_drained(c);
    }

    pub(crate) fn drain_is_over(&mut self, c: C) {
        if let Phase::Draining(cause, _) = self.connections[&c].phase {
            self.end_connection(c, cause, false);
        }
    }

    pub(crate) fn close_if_drained(&mut self, c: C) {
        if self.connections.get(&c).is_some_and(Connection::is_drained) {
            self.drain_is_over(c);
        }
    }

    pub(crate) fn end_connection(&mut self, c: C, cause: Cause, reported: bool) {
        self.settle_all(c, cause);
        self.connections.remove(&c);
        if !reported {
            self.out.push(Out::Close(c));
        }
    }

    /// 2.1: the peer says that it will close.
    pub(crate) fn peer_drains(&mut self, c: C) {
        let (cause, connection) = (Cause::PeerDraining, &self.connections[&c]);
        match connection.phase {
            Phase::Connecting => self.attempt_failed(c, (Stage::Connect, cause), false),
            Phase::Handshaking => self.attempt_failed(c, (Stage::Handshake, cause), false),
            Phase::Ready => {
                let ready_for = self.now - connection.ready_at;
                if connection.replied || ready_for >= self.rules.reconnect.max {
                    return self.detach(c, cause);
                }
                self.part(c);
                self.connection(c).reply_resets_node = true;
                self.node_failed(c.0, (Stage::Established, cause));
                self.drain(c, cause);
            }
            Phase::Draining(..) => {}
        }
    }
}

/// The list (7.6).
impl Model {
    pub(crate) fn set_nodes(&mut self, names: &[usize]) {
        if names.is_empty() || self.run != Run::Running {
            return self.out.push(Out::NoList);
        }
        let listed = self.listed();
        let leaving: Vec<N> = listed
            .iter()
            .copied()
            .filter(|&n| !names.contains(&self.nodes[n].name))
            .collect();
        for &n in &leaving {
            // Nobody is hopeless before the new ones are there.
            self.nodes[n].failed_at = 0;
            self.remove(n);
        }
        let mut changed = !leaving.is_empty();
        for &name in names {
            if !listed.iter().any(|&n| self.nodes[n].name == name) {
                self.add(name);
                changed = true;
            }
        }
        if changed {
            self.fail_fast_for_any();
        }
    }

    fn remove(&mut self, n: N) {
        let node = &self.nodes[n];
        // 3.5: its counter and time are kept until that time.
        if let Some(at) = node.next_attempt.filter(|&at| at > self.now) {
            self.departed.insert(node.name, (at, node.failures));
        }
        if node.attempt.is_some() {
            self.abort_attempt(n, Cause::Removed);
        } else if let Some(c) = self.ready(n) {
            self.detach(c, Cause::Removed);
        }
        for r in self.waiting() {
            if self.requests[r].asked.bound_to == Some(n) {
                self.fail(r, Reason::NodeRemoved);
            }
        }
        self.nodes[n].listed = false;
    }

    fn add(&mut self, name: usize) {
        let rests = self.departed.get(&name).filter(|(at, _)| *at > self.now);
        let (next_attempt, failures) = rests.map_or((None, 0), |&(at, k)| (Some(at), k));
        self.nodes.push(Node {
            name,
            listed: true,
            state: NodeState::Disconnected,
            failures,
            setup_failures: 0,
            next_attempt,
            last_attempt: None,
            last_failure: None,
            failed_at: 0,
            rejected: false,
            throttled_until: 0,
            attempt: None,
            dialled: 0,
            turn: 0,
        });
    }
}

/// Who is dialled (2.2, 3.5, 3.7, 5.1).
impl Model {
    /// The last thing of every step.
    pub(crate) fn dial_who_is_wanted(&mut self) {
        while let Some((n, for_any)) = self.next_to_dial() {
            if for_any && !self.serving().is_empty() {
                self.failures_now = self.failures_now.saturating_sub(1);
            }
            self.dial(n, for_any);
        }
        (self.failures_now, self.wants_another) = (0, false);
    }

    /// 3.6: nodes that requests wait for come first, an Any-request counting for the one that 5.1
    /// would dial; all of these by next-attempt time.
    fn next_to_dial(&self) -> Option<(N, bool)> {
        let by_time = |n: N| {
            (
                self.nodes[n].next_attempt.unwrap_or(0),
                self.rules.lots[n],
                n,
            )
        };
        let dialable = self.dialable();
        let queued = |n: &N| !self.queue(Some(*n)).is_empty();
        let own = dialable.iter().copied().filter(queued);
        let own = own.map(|n| (by_time(n), false));
        let for_any = self.next_of_all().filter(|_| self.any_is_due());
        let first = own.chain(for_any.map(|n| (by_time(n), true))).min();
        if let Some(((_, _, n), for_any)) = first {
            return Some((n, for_any));
        }
        let in_setup = self.in_setup();
        let connected = self
            .listed()
            .into_iter()
            .filter(|&n| self.ready(n).is_some());
        let up = connected.count() + in_setup.len();
        match self.rules.warm {
            Warm::All if !dialable.is_empty() => {
                let first = dialable.into_iter().min_by_key(|&n| by_time(n));
                first.map(|n| (n, false))
            }
            _ if self.wants_another && in_setup.is_empty() => Some((self.next_of_all()?, true)),
            Warm::AtLeast(least) if up < least => Some((self.next_of_all()?, false)),
            _ => None,
        }
    }

    /// 3.5: nothing dials before the next-attempt time.
    fn dialable(&self) -> Vec<N> {
        let mut idle = self.idle();
        idle.retain(|&(_, at)| at <= self.now);
        idle.into_iter().map(|(n, _)| n).collect()
    }

    /// Nodes without connection or attempt, and when they may be dialled.
    fn idle(&self) -> Vec<(N, Micros)> {
        let mut listed = self.listed();
        listed.retain(|&n| self.nodes[n].state.is_idle());
        let at = |n: N| self.nodes[n].next_attempt.unwrap_or(0).max(self.now);
        listed.into_iter().map(|n| (n, at(n))).collect()
    }

    /// 5.1: throttled ones last; never tried first, then the oldest last attempt.
    fn next_of_all(&self) -> Option<N> {
        let order = |&n: &N| {
            (
                self.is_throttled(n),
                self.nodes[n].last_attempt,
                self.rules.lots[n],
            )
        };
        self.dialable().into_iter().min_by_key(order)
    }

    fn in_setup(&self) -> Vec<Attempt> {
        let listed = self.listed().into_iter();
        listed.filter_map(|n| self.nodes[n].attempt).collect()
    }

    /// 3.7, 5.1: attempts that could serve an Any-request; not of a throttled node.
    fn serving(&self) -> Vec<Attempt> {
        let listed = self.listed().into_iter();
        let fresh = listed.filter(|&n| !self.is_throttled(n));
        fresh.filter_map(|n| self.nodes[n].attempt).collect()
    }

    fn any_is_due(&self) -> bool {
        // 3.7: any failure of one starts the next at once.
        let replaces = self.failures_now > 0
            && self.hedge_time().is_some()
            && !self.queue(None).is_empty()
            && self.next_of_all().is_some_and(|n| !self.is_throttled(n));
        replaces || self.any_dial_time().is_some_and(|at| at <= self.now)
    }

    /// 2.2: when a node is dialled for who waits for any.
    fn any_dial_time(&self) -> Option<Micros> {
        if self.queue(None).is_empty() {
            return None;
        }
        let earliest = |throttled_too: bool| {
            let mut idle = self.idle();
            idle.retain(|&(n, _)| throttled_too || !self.is_throttled(n));
            idle.into_iter().map(|(_, at)| at).min()
        };
        if self.in_setup().is_empty() {
            return earliest(true);
        }
        let fresh = earliest(false)?;
        match self.serving().is_empty() {
            true => Some(fresh),
            false => Some(self.hedge_time()?.max(fresh)),
        }
    }

    /// 3.7: when every attempt that could serve has been in setup for the hedge delay.
    fn hedge_time(&self) -> Option<Micros> {
        let serving = self.serving();
        let newest = serving.iter().map(|attempt| attempt.started).max()?;
        let for_any = self.in_setup().iter().filter(|a| a.for_any).count();
        let first_is_another = serving.len() > for_any;
        let hedges = (for_any + usize::from(first_is_another)).saturating_sub(1);
        let delay = self.rules.hedge_delay?;
        (hedges < self.rules.max_hedges).then_some(newest + delay)
    }

    /// When something may begin, if nothing else happens before.
    pub(crate) fn eligible_times(&self) -> Vec<Micros> {
        if self.run != Run::Running {
            return Vec::new();
        }
        let mut times: Vec<Micros> = self.any_dial_time().into_iter().collect();
        let idle = self.idle();
        let wanted = |n: N| self.rules.warm == Warm::All || !self.queue(Some(n)).is_empty();
        times.extend(idle.iter().filter(|(n, _)| wanted(*n)).map(|(_, at)| *at));
        let listed = self.listed();
        let up = listed.iter().filter(|&&n| !self.nodes[n].state.is_idle());
        if let Warm::AtLeast(least) = self.rules.warm
            && up.count() < least
        {
            times.extend(idle.iter().map(|(_, at)| *at).min());
        }
        let throttled = listed.iter().filter(|&&n| self.is_throttled(n));
        times.extend(throttled.map(|&n| self.nodes[n].throttled_until));
        times
    }

    /// Requests that wait for a node or for their retry, the oldest first.
    pub(crate) fn waiting(&self) -> Vec<R> {
        let waits = |r: &R| matches!(self.requests[*r].place, Place::Waiting | Place::Until(_));
        (0..self.requests.len()).filter(waits).collect()
    }

    pub(crate) fn overdue(&self) -> Vec<R> {
        let all = 0..self.requests.len();
        all.filter(|&r| self.requests[r].place == Place::Overdue)
            .collect()
    }

    /// Writes on the connection that are not handed over.
    pub(crate) fn emitted(&self, c: C) -> Vec<(u32, R)> {
        let frames = self.connections[&c].frames.iter();
        let emitted = frames.filter(|(_, frame)| frame.state == Written::Emitted);
        emitted
            .map(|(&serial, frame)| (serial, frame.request.expect("it is open")))
            .collect()
    }
}
