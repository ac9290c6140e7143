//! What becomes of a node and its connection after the handshake, and what a failure does
//! (SEMANTICS 2.1, 3.2, 3.3).

use core::time::Duration;

use super::{Ending, Phase};
use crate::{
    Action, BackoffReset, Cause, Cluster, Event, LastFailure, Limits, NodeState, Stage,
    collections::NONE, request::FlightState, servers::hash_peer, timers::Timer,
};

impl Cluster {
    /// Every change of a node's state goes through here.
    pub(crate) fn set_state(&mut self, n: u32, to: NodeState, cause: Option<Cause>) {
        let from = core::mem::replace(&mut self.nodes[n].state, to);
        self.ready_nodes += u32::from(to == NodeState::Ready);
        self.ready_nodes -= u32::from(from == NodeState::Ready);
        self.setup_nodes += u32::from(to.is_setup());
        self.setup_nodes -= u32::from(from.is_setup());
        self.note_readiness(from, to);
        debug_assert!(
            super::state::is_legal(from, to),
            "{from} to {to} is in the table"
        );
        mutant!(SkipsHandshaking => if to == NodeState::Handshaking { return self.update_idle(n) });
        self.outputs.event(Event::StateChanged {
            node: self.node_id(n),
            from,
            to,
            cause,
        });
        self.update_idle(n);
    }

    /// The handshake is done, or there is none.
    pub(crate) fn become_ready(&mut self, c: u32, limits: Limits) {
        let a = self.connections[c].attempt;
        let n = self.attempts[a].node;
        let connection = &mut self.connections[c];
        connection.phase = Phase::Ready;
        connection.attempt = NONE;
        connection.ready_at = self.now;
        connection.throttled_until = self.nodes[n].throttled_until;
        let allowed = limits.max_in_flight.unwrap_or(u32::MAX).max(1);
        connection.limit = self.config.max_in_flight.min(allowed);
        mutant!(IgnoresPeerLimit => connection.limit = self.config.max_in_flight);
        if let Some(address) = connection.address {
            self.by_peer.insert(hash_peer(address), n);
        }
        let node = &mut self.nodes[n];
        node.setup_failures = 0;
        node.aborts_in_a_row = 0;
        if self.config.backoff_reset == BackoffReset::OnReady {
            node.reset_backoff();
        }
        self.set_last_failure(n, None);
        self.set_rejected(n, false);
        self.stats.ready += 1;
        self.end_attempt(a, Stage::Established, None);
        self.set_state(n, NodeState::Ready, None);
        if self.connections[c].blocked {
            self.restart_stall_timer(c);
        }
        self.start_upkeep(c);
        self.session_begins(limits.session_timeout);
        self.update_standing(n);
        self.serve_later(n);
        self.sticky_is_ready(n);
    }

    /// A Ready connection is lost: a failure, after which everything on it is settled.
    pub(crate) fn lost(&mut self, c: u32, cause: Cause, reported: bool) {
        let is_own = self.sticks_to() == Some(self.connections[c].node.index);
        let n = self.part(c);
        self.address_lost(c, n);
        mutant!(FailsOthers => if reported { self.fail_another(cause) });
        mutant!(GivesUpOthers => if !reported { self.fail_another(cause) });
        let ending = Ending {
            stage: Stage::Established,
            cause,
        };
        self.node_failed(n, ending);
        if !is_own {
            self.rest_for_a_lap(n);
        }
        self.end_connection(c, cause, reported);
    }

    /// A failure of a node, of whatever stage: counted once, and backed off from now (3.2).
    pub(crate) fn node_failed(&mut self, n: u32, ending: Ending) {
        let number = self.next_sequence();
        let counter = match ending.stage {
            Stage::Resolve => &mut self.stats.failures_resolve,
            Stage::Connect => &mut self.stats.failures_connect,
            Stage::Handshake => &mut self.stats.failures_handshake,
            Stage::Authenticate => &mut self.stats.failures_authenticate,
            Stage::Established => &mut self.stats.failures_established,
        };
        *counter += 1;
        let node = &mut self.nodes[n];
        node.failures = node.failures.saturating_add(1);
        mutant!(CountsFailureTwice => node.failures += 1);
        let rest = node.draw_backoff(&self.config, self.seed);
        node.next_attempt = Some(self.now + rest);
        node.last_attempt = Some(self.now);
        let failure = LastFailure {
            stage: ending.stage,
            cause: ending.cause,
            at: self.now,
        };
        self.set_last_failure(n, Some(failure));
        self.count_failure(ending.stage);
        self.last_failure = Some((self.node_id(n), ending));
        if ending.stage != Stage::Established {
            self.failed_last.set((number, n), n);
        }
        let rejected = ending.stage == Stage::Authenticate;
        self.set_rejected(n, rejected);
        let state = match rejected {
            true => NodeState::AuthenticationFailed,
            false => NodeState::Disconnected,
        };
        self.set_state(n, state, Some(ending.cause));
        if rejected {
            self.credentials_rejected(n);
        }
        if ending.stage != Stage::Established {
            self.fail_fast_after_failure(n);
        }
    }

    /// Keeps count of the nodes whose last ended attempt was a rejection.
    pub(crate) fn set_rejected(&mut self, n: u32, rejected: bool) {
        let was = core::mem::replace(&mut self.nodes[n].last_ended_rejected, rejected);
        self.rejected_nodes += u32::from(rejected);
        self.rejected_nodes -= u32::from(was);
    }

    /// A Ready connection parts from its node without a failure, and drains.
    pub(crate) fn detach(&mut self, c: u32, cause: Cause) {
        let n = self.part(c);
        self.part_in_peace(n, cause);
        self.drain(c, n, cause);
    }

    fn part_in_peace(&mut self, n: u32, cause: Cause) {
        self.nodes[n].last_attempt = Some(self.now);
        mutant!(CountsPlannedClose => self.nodes[n].failures += 1);
        self.set_state(n, NodeState::Disconnected, Some(cause));
    }

    /// The address of an established connection is not tried first again.
    fn address_lost(&mut self, c: u32, n: u32) {
        if let Some(address) = self.connections[c].address {
            self.nodes[n].addresses().lost(address);
        }
    }

    /// The peer said that it will close this connection (2.1).
    pub(crate) fn peer_draining(&mut self, c: u32) {
        let cause = Cause::PeerDraining;
        match self.connections[c].phase {
            Phase::Connecting => {
                let connection = self.connection_id(c);
                self.outputs.action(Action::Abort { connection });
                self.connect_failed(c, cause);
            }
            Phase::Handshaking => {
                let a = self.connections[c].attempt;
                let stage = Stage::Handshake;
                self.attempt_failed(a, Ending { stage, cause });
            }
            Phase::Ready if mutant!(IgnoresGoodbye) => {}
            Phase::Ready => {
                let connection = &self.connections[c];
                let useful = connection.replied
                    || self.now - connection.ready_at >= self.config.reconnect_backoff.max;
                let n = self.part(c);
                self.address_lost(c, n);
                if useful {
                    self.part_in_peace(n, cause);
                } else {
                    self.connections[c].reply_resets_node = true;
                    let stage = Stage::Established;
                    self.node_failed(n, Ending { stage, cause });
                }
                self.drain(c, n, cause);
            }
            Phase::Draining(_) => {}
        }
    }

    /// Takes the connection away from its node, which has none then.
    fn part(&mut self, c: u32) -> u32 {
        let n = self.connections[c].node.index;
        self.reset_backoff_if_stable(c, n);
        self.stop_upkeep(c, false);
        self.nodes[n].connection = NONE;
        self.ready.set(n, None);
        if let Some(address) = self.connections[c].address {
            self.by_peer.remove(hash_peer(address), n);
        }
        self.release_staying(n);
        self.sticky_parted(n);
        n
    }

    /// A connection that has been Ready for long enough has proved useful (3.3).
    fn reset_backoff_if_stable(&mut self, c: u32, n: u32) {
        if self.is_stable(c) {
            self.nodes[n].reset_backoff();
        }
    }

    pub(crate) fn is_stable(&self, c: u32) -> bool {
        let ready_for = self.now - self.connections[c].ready_at;
        let enough: Duration = match self.config.backoff_reset {
            BackoffReset::OnFirstReply => self.config.reconnect_backoff.max,
            BackoffReset::OnReady => Duration::ZERO,
            BackoffReset::StableFor(enough) => enough,
        };
        ready_for >= enough
    }

    /// Lets a connection that has parted from its node finish what was handed over. What was not
    /// is withdrawn and picked again.
    fn drain(&mut self, c: u32, n: u32, cause: Cause) {
        let connection = &mut self.connections[c];
        connection.phase = Phase::Draining(cause);
        let mut next = connection.flights.first();
        while let Some(f) = next {
            next = self.flight_links.next(f);
            mutant!(WithdrawsBegun => if self.flights[f].state == FlightState::Open {
                self.withdraw(f);
                continue;
            });
            if self.flights[f].state == FlightState::Emitted {
                self.withdraw(f);
            }
        }
        // A shutdown has its own end, for all connections.
        if cause != Cause::Shutdown {
            let at = self.now + self.config.drain_timeout;
            let slot = &mut self.connections[c].drain_timer;
            self.timers.set(slot, at, Timer::Drain { connection: c });
            let [older, newer] = self.nodes[n].detached;
            self.nodes[n].detached = [newer, c];
            if older != NONE && !mutant!(LetsManyDrain) {
                self.end_connection(older, self.drain_cause(older), false);
            }
        }
        self.close_if_drained(c);
    }

    /// Closes a detached connection whose last open request has ended. Tombstones do not hold it; a
    /// partly written frame does.
    pub(crate) fn close_if_drained(&mut self, c: u32) {
        let connection = &self.connections[c];
        mutant!(LetsManyDrain => if self.is_running() { return });
        if let Phase::Draining(cause) = connection.phase
            && connection.open == 0
            && connection.partial == 0
        {
            self.end_connection(c, cause, false);
        }
    }

    pub(crate) fn drain_timed_out(&mut self, c: u32) {
        mutant!(DrainsForEver => return self.timers.clear(&mut self.connections[c].drain_timer));
        self.end_connection(c, self.drain_cause(c), false);
    }

    /// Why the connection drains.
    fn drain_cause(&self, c: u32) -> Cause {
        match self.connections[c].phase {
            Phase::Draining(cause) => cause,
            _ => Cause::Shutdown,
        }
    }

    /// Ends a connection that has parted from its node: settles what is on it, in the order in
    /// which it was written.
    pub(crate) fn end_connection(&mut self, c: u32, cause: Cause, reported: bool) {
        let id = self.connections[c].node;
        if let Some(node) = self.nodes.at_mut(id.index)
            && let Some(place) = node.detached.iter().position(|&detached| detached == c)
        {
            node.detached = [NONE, node.detached[1 - place]];
        }
        self.settle_all(c, cause);
        self.end_transport(c, cause, reported);
    }

    /// The end of a transport that was up.
    pub(crate) fn end_transport(&mut self, c: u32, cause: Cause, reported: bool) {
        let id = self.connection_id(c);
        self.stop_upkeep(c, true);
        self.stop_stall_timer(c);
        let Some(mut connection) = self.connections.remove(c) else {
            return;
        };
        self.timers.clear(&mut connection.drain_timer);
        if !reported && !mutant!(ForgetsToClose) {
            self.outputs.action(match connection.phase {
                Phase::Connecting | Phase::Handshaking => Action::Abort { connection: id },
                Phase::Ready | Phase::Draining(_) => Action::Close { connection: id },
            });
        }
        self.discovery_lost(id);
        mutant!(ForgetsDisconnected => return);
        self.outputs.event(Event::Disconnected {
            node: connection.node,
            connection: id,
            cause,
        });
    }
}
