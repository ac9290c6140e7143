//! An attempt: from the dial to Ready or a failure (SEMANTICS 2.1, 2.5, 3.1).

use core::{cmp::Reverse, net::SocketAddr, time::Duration};

use super::{Connection, Ending, Phase, dial::DialFor};
use crate::{
    Action, Cause, Cluster, Endpoint, Event, Instant, Limit, NodeState, SetupTimeout, Stage,
    cluster::Digest,
    collections::{List, NONE},
    timers::{Timer, TimerSlot},
};

/// One try to bring a node to Ready.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    pub(crate) node: u32,
    started: Instant,
    /// When it began to resolve and connect, or to shake hands.
    stage_began: Instant,
    pub(crate) for_any: bool,
    /// Its transports that are being brought up.
    dialling: List,
    last_address: Option<SocketAddr>,
    setup_timer: TimerSlot,
    next_address_timer: TimerSlot,
    /// The setup timer stands for the handshake's own deadline.
    pub(crate) handshake_deadline: bool,
}

impl Attempt {
    pub(crate) fn digest(&self, to: &mut Digest<'_>) {
        let Self {
            node,
            started,
            stage_began,
            for_any,
            dialling,
            last_address,
            setup_timer: _,
            next_address_timer: _,
            handshake_deadline,
        } = self;
        to.add((node, for_any, last_address, handshake_deadline));
        // The event of its end says how long it took.
        to.exact(*started);
        to.exact(*stage_began);
        to.all(dialling.iter(&to.cluster.connection_links), |to, c| {
            to.add(c);
        });
    }
}

impl Cluster {
    /// Begins an attempt. The node is idle and its next-attempt time is reached.
    pub(crate) fn dial(&mut self, n: u32, dial_for: DialFor) {
        let (hedge, for_any) = match dial_for {
            DialFor::Itself => (false, false),
            DialFor::Any { hedge } => (hedge, true),
        };
        let node = &mut self.nodes[n];
        let timeout = match self.config.connection_setup_timeout {
            SetupTimeout::Growing(growth) => {
                node.draw_setup_timeout(&growth, self.config.jitter, self.seed)
            }
            SetupTimeout::SessionShare { session_timeout } => self.session_share(session_timeout),
        };
        let node = &mut self.nodes[n];
        node.last_attempt = Some(self.now);
        node.next_attempt = None;
        let resolve = matches!(node.spec.endpoint, Endpoint::Name { .. })
            && node.addresses().is_stale(self.now, self.config.dns_max_age);
        let (a, _) = self.attempts.insert(Attempt {
            node: n,
            started: self.now,
            stage_began: self.now,
            for_any,
            dialling: List::EMPTY,
            last_address: None,
            setup_timer: TimerSlot::UNARMED,
            next_address_timer: TimerSlot::UNARMED,
            handshake_deadline: false,
        });
        node.attempt = a;
        self.governor.begins(a, self.now);
        let slot = &mut self.attempts[a].setup_timer;
        self.timers
            .set(slot, self.now + timeout, Timer::Setup { attempt: a });
        self.any_attempts += u32::from(for_any);
        self.stats.attempts += 1;
        self.stats.hedges += u64::from(hedge);
        if for_any {
            self.take_turn(n);
        }
        let (node, attempt) = (self.node_id(n), self.attempt_id(a));
        self.outputs.event(Event::AttemptStarted {
            node,
            attempt,
            hedge,
        });
        if resolve {
            self.set_state(n, NodeState::Resolving, None);
            self.outputs.action(Action::Resolve { attempt, node });
        } else {
            self.set_state(n, NodeState::Connecting, None);
            self.begin_connecting(a);
        }
        self.update_serving(n);
    }

    /// Whether the node's attempt could serve a request for any node when it is Ready.
    pub(crate) fn update_serving(&mut self, n: u32) {
        let a = self.nodes[n].attempt;
        if a == NONE {
            return;
        }
        if self.throttled.contains(n) {
            self.setups.remove(a);
        } else if !self.setups.contains(a) {
            let (started, number) = (self.attempts[a].started, self.next_sequence());
            self.setups.set(Reverse((started, number)), a);
        }
    }

    pub(crate) fn resolved_to(&mut self, a: u32, answer: &[SocketAddr]) {
        let n = self.attempts[a].node;
        if self.nodes[n].addresses().answered(self.now, answer) {
            self.set_state(n, NodeState::Connecting, None);
            self.begin_connecting(a);
        } else {
            let ending = Ending {
                stage: Stage::Resolve,
                cause: Cause::NoAddress,
            };
            self.attempt_failed(a, ending);
        }
    }

    fn begin_connecting(&mut self, a: u32) {
        let races = self.config.address_attempt_delay != Limit::Never;
        let node = &mut self.nodes[self.attempts[a].node];
        match &node.spec.endpoint {
            Endpoint::Address(address) => {
                let address = Some(*address);
                self.connect(a, address);
            }
            Endpoint::Opaque(_) => self.connect(a, None),
            Endpoint::Name { .. } if races => {
                node.addresses().begin_race();
                self.dial_next_address(a);
            }
            Endpoint::Name { .. } => {
                let address = node.addresses().next();
                self.connect(a, address);
            }
        }
    }

    /// Dials the next address of a race beside those that are being dialled, and sets the time for
    /// the one after it.
    pub(crate) fn dial_next_address(&mut self, a: u32) {
        let addresses = self.nodes[self.attempts[a].node].addresses();
        if let Some(address) = addresses.next_in_race() {
            let more = addresses.race_goes_on();
            self.connect(a, Some(address));
            let at = match more {
                true => self.now.after(self.config.address_attempt_delay),
                false => Instant::MAX,
            };
            let slot = &mut self.attempts[a].next_address_timer;
            self.timers.set(slot, at, Timer::NextAddress { attempt: a });
        }
    }

    fn connect(&mut self, a: u32, address: Option<SocketAddr>) {
        let attempt = &mut self.attempts[a];
        attempt.last_address = address;
        let node = self.node_id(self.attempts[a].node);
        let (c, _) = self.connections.insert(Connection::new(node, a, address));
        let dialling = &mut self.attempts[a].dialling;
        dialling.push(&mut self.connection_links, c);
        self.outputs.action(Action::Connect {
            connection: self.connection_id(c),
            attempt: self.attempt_id(a),
            node,
            address,
        });
    }

    /// One address failed; the next of the race starts at once. The attempt fails when all have.
    pub(crate) fn connect_failed(&mut self, c: u32, cause: Cause) {
        let a = self.connections[c].attempt;
        self.forget_dialled(a, c);
        self.dial_next_address_if_racing(a);
        if self.attempts[a].dialling.is_empty() {
            let ending = Ending {
                stage: Stage::Connect,
                cause,
            };
            self.attempt_failed(a, ending);
        }
    }

    fn dial_next_address_if_racing(&mut self, a: u32) {
        let node = &mut self.nodes[self.attempts[a].node];
        if node.addresses().race_goes_on() {
            self.dial_next_address(a);
        }
    }

    /// The transport is up: it has won its race, the others are aborted.
    pub(crate) fn transport_is_up(&mut self, c: u32) {
        let a = self.connections[c].attempt;
        let n = self.attempts[a].node;
        let dialling = &mut self.attempts[a].dialling;
        dialling.remove(&mut self.connection_links, c);
        self.abort_dialled(a);
        self.sticky_transport_is_up(a);
        self.connections[c].phase = Phase::Handshaking;
        let address = self.connections[c].address;
        self.attempts[a].last_address = address;
        self.nodes[n].connection = c;
        mutant!(ResetsAtConnect => self.nodes[n].reset_backoff());
        self.outputs.event(Event::Connected {
            node: self.node_id(n),
            connection: self.connection_id(c),
            address,
        });
        if !self.config.handshake {
            return self.become_ready(c, crate::Limits::NONE);
        }
        self.attempts[a].stage_began = self.now;
        self.share_setup_time_of(a);
        if self.config.handshake_timeout != Limit::Never {
            self.nodes[n].setup_failures = 0;
            let at = self.now.after(self.config.handshake_timeout);
            let attempt = &mut self.attempts[a];
            attempt.handshake_deadline = true;
            let slot = &mut attempt.setup_timer;
            self.timers.set(slot, at, Timer::Setup { attempt: a });
        }
        mutant!(ForgetsHandshakeDeadline => self.timers.clear(&mut self.attempts[a].setup_timer));
        self.set_state(n, NodeState::Handshaking, None);
        let connection = self.connection_id(c);
        self.outputs.action(Action::Handshake { connection });
    }

    pub(crate) fn setup_timed_out(&mut self, a: u32) {
        let stage = self.nodes[self.attempts[a].node].state.setup_stage();
        let cause = match self.attempts[a].handshake_deadline {
            true => Cause::HandshakeTimeout,
            false => Cause::SetupTimeout,
        };
        self.attempt_failed(a, Ending { stage, cause });
    }

    /// The transport ended during the handshake, as reported.
    pub(crate) fn setup_ended(&mut self, c: u32, stage: Stage, cause: Cause) {
        let a = self.connections[c].attempt;
        let n = self.attempts[a].node;
        self.nodes[n].connection = NONE;
        self.end_transport(c, cause, true);
        self.attempt_failed(a, Ending { stage, cause });
    }

    /// A failure of the attempt, at any stage but Established.
    pub(crate) fn attempt_failed(&mut self, a: u32, ending: Ending) {
        let Attempt {
            node: n, for_any, ..
        } = self.attempts[a];
        self.take_down(a, ending);
        let node = &mut self.nodes[n];
        let setup_is_over = self.config.handshake_timeout != Limit::Never
            && matches!(ending.stage, Stage::Handshake | Stage::Authenticate);
        if !setup_is_over {
            node.setup_failures = node.setup_failures.saturating_add(1);
        }
        node.aborts_in_a_row = 0;
        self.setup_failures_now += 1;
        self.node_failed(n, ending);
        match for_any {
            true => self.sticky_ended(),
            false => self.rest_for_a_lap(n),
        }
    }

    /// Gives up an attempt without a failure.
    pub(crate) fn abort_attempt(&mut self, n: u32, cause: Cause) {
        let a = self.nodes[n].attempt;
        let stage = self.nodes[n].state.setup_stage();
        self.take_down(a, Ending { stage, cause });
        self.nodes[n].last_attempt = Some(self.now);
        self.set_state(n, NodeState::Disconnected, Some(cause));
    }

    /// Ends everything that the attempt still has under way, and the attempt.
    fn take_down(&mut self, a: u32, ending: Ending) {
        let n = self.attempts[a].node;
        if self.nodes[n].state == NodeState::Resolving
            && (ending.cause != Cause::ResolveFailed || mutant!(AbortsAnsweredLookUp))
            && ending.cause != Cause::NoAddress
        {
            let attempt = self.attempt_id(a);
            self.outputs.action(Action::AbortResolve { attempt });
        }
        self.abort_dialled(a);
        let c = core::mem::replace(&mut self.nodes[n].connection, NONE);
        if c != NONE {
            self.end_transport(c, ending.cause, false);
        }
        self.end_attempt(a, ending.stage, Some(ending.cause));
    }

    /// The attempt is over; nothing of it is under way any more.
    pub(crate) fn end_attempt(&mut self, a: u32, stage: Stage, cause: Option<Cause>) {
        let id = self.attempt_id(a);
        self.setups.remove(a);
        self.governor.ends(a);
        let Some(mut attempt) = self.attempts.remove(a) else {
            return;
        };
        self.timers.clear(&mut attempt.setup_timer);
        self.timers.clear(&mut attempt.next_address_timer);
        self.any_attempts -= u32::from(attempt.for_any);
        self.nodes[attempt.node].attempt = NONE;
        self.outputs.event(Event::AttemptEnded {
            node: self.node_id(attempt.node),
            attempt: id,
            stage,
            address: attempt.last_address,
            duration: self.now - attempt.started,
            cause,
        });
    }

    /// Aborts the transports that are being brought up.
    fn abort_dialled(&mut self, a: u32) {
        let slot = &mut self.attempts[a].next_address_timer;
        self.timers.clear(slot);
        while let Some(c) = self.attempts[a].dialling.first() {
            let connection = self.connection_id(c);
            if !mutant!(ForgetsToAbort) {
                self.outputs.action(Action::Abort { connection });
            }
            self.forget_dialled(a, c);
        }
    }

    fn forget_dialled(&mut self, a: u32, c: u32) {
        let dialling = &mut self.attempts[a].dialling;
        dialling.remove(&mut self.connection_links, c);
        self.connections.remove(c);
    }

    /// The list or the session's timeout has changed, and with them each attempt's share of it (3.1).
    pub(crate) fn share_setup_time(&mut self) {
        let mut next = self.attempts.next_from(0);
        while let Some(a) = next {
            self.share_setup_time_of(a);
            next = self.attempts.next_from(a + 1);
        }
    }

    /// The handshake has a share of its own, unless it has a timeout of its own.
    fn share_setup_time_of(&mut self, a: u32) {
        let SetupTimeout::SessionShare { session_timeout } = self.config.connection_setup_timeout
        else {
            return;
        };
        let share = self.session_share(session_timeout);
        let attempt = &mut self.attempts[a];
        if !attempt.handshake_deadline {
            let at = (attempt.stage_began + share).max(self.now);
            let slot = &mut attempt.setup_timer;
            self.timers.set(slot, at, Timer::Setup { attempt: a });
        }
    }

    fn session_share(&self, configured: Duration) -> Duration {
        let session_timeout = self.session_timeout().unwrap_or(configured);
        let servers = self.nodes.len().max(1) as u32;
        (session_timeout / servers).max(Duration::from_millis(1))
    }

    /// By when the node's attempt must be further.
    pub(crate) fn setup_deadline(&self, n: u32) -> Option<Instant> {
        let a = self.nodes[n].attempt;
        if a == NONE {
            return None;
        }
        self.timers.deadline(&self.attempts[a].setup_timer)
    }
}

#[cfg(test)]
mod tests {
    use crate::cluster::tests::{assert_all_differ, dialled};

    #[test]
    fn what_is_kept_of_an_attempt_is_in_the_fingerprint() {
        let nanosecond = core::time::Duration::from_nanos(1);
        let mut driven = dialled();
        driven.wait(nanosecond);
        assert_all_differ(
            &driven.cluster,
            &[
                ("node", |c| c.attempts[0].node = 1),
                ("start", |c| c.attempts[0].started = c.now),
                ("its stage's", |c| c.attempts[0].stage_began = c.now),
                ("for whom", |c| c.attempts[0].for_any = true),
                ("transports", |c| {
                    let dialling = &mut c.attempts[0].dialling;
                    dialling.remove(&mut c.connection_links, 0);
                }),
                ("address", |c| c.attempts[0].last_address = None),
                ("for what its deadline stands", |c| {
                    c.attempts[0].handshake_deadline = true;
                }),
            ],
        );
    }
}
