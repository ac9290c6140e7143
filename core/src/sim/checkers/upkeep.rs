//! Connections are kept honest: probed once at a time, closed when silent, not used when stale.

use alloc::collections::BTreeMap;
use core::time::Duration;

use super::{Rule, Seen, Violation, ensure, ledger::Ledger};
use crate::{
    Action, Cluster, Config, ConnectionId, Event, Input, Instant, KeepaliveOn, Limit, NodeState,
    Output, SelectionPolicy, Warm,
    record::{Call, Step},
};

/// SEMANTICS 4.10, 8.1, 8.2, 8.4; R079, R081, R087.
#[derive(Clone)]
pub(super) struct Upkeep {
    config: Config,
    /// Idle connections are closed, whatever their number.
    closes_idle: bool,
    /// A third of the session's timeout, which a handshake gave: when a silent peer is asked, and how
    /// long its answer may take (SEMANTICS 8.6).
    third: Option<Duration>,
    connections: BTreeMap<ConnectionId, Times>,
}

/// Of a connection that is Ready, or was.
#[derive(Clone)]
struct Times {
    ready: Instant,
    received: Instant,
    active: Instant,
    /// A probe is out since then.
    probed: Option<Instant>,
    /// Something is in flight.
    busy: bool,
}

pub(super) const ONE_PROBE: &str = "at most one probe is out on a connection (SEMANTICS 4.10)";
pub(super) const ANSWER: &str =
    "a probe that nothing answers closes its connection in time (SEMANTICS 8.2)";
pub(super) const SILENCE: &str = "a silent peer is asked (SEMANTICS 8.2)";
pub(super) const STALE: &str = "a connection past a limit is not handed out (SEMANTICS 8.1)";
pub(super) const AGE: &str = "an old connection is replaced (SEMANTICS 8.4)";

impl Upkeep {
    pub(super) fn new(config: &Config) -> Self {
        let warm = config.warm();
        let least_loaded = config.selection() == SelectionPolicy::LeastLoaded;
        Self {
            closes_idle: warm == Warm::None || warm == Warm::ByPolicy && least_loaded,
            config: config.clone(),
            third: None,
            connections: BTreeMap::new(),
        }
    }
}

impl Rule for Upkeep {
    fn after_call(&mut self, seen: &Seen<'_>, ledger: &Ledger) -> Result<(), Violation> {
        self.note(seen.step, ledger);
        Ok(())
    }

    fn on_output(
        &mut self,
        output: &Output,
        seen: &Seen<'_>,
        ledger: &Ledger,
    ) -> Result<(), Violation> {
        let now = seen.step.now;
        match *output {
            Output::Action(Action::Probe { connection }) => {
                self.check_probe(connection, now, ledger.shut_down)
            }
            Output::Action(Action::Write { connection, .. }) => self.check_write(connection, now),
            _ => Ok(()),
        }
    }

    fn after_step(&mut self, seen: &Seen<'_>, ledger: &Ledger) -> Result<(), Violation> {
        self.connections.retain(|id, times| {
            let live = ledger.connections.get(id);
            times.busy = live.is_some_and(|entry| !entry.frames.is_empty());
            live.is_some()
        });
        match seen.step.is_timeout() {
            true => self.check_times(seen.step.now, seen.cluster, ledger.shut_down),
            false => Ok(()),
        }
    }
}

impl Upkeep {
    fn note(&mut self, step: &Step, ledger: &Ledger) {
        let now = step.now;
        if let Call::Input(Input::HandshakeDone { limits, .. }) = step.call
            && let Some(session) = limits.session_timeout
            && self.config.keepalive_interval() != Limit::Never
            && step.outputs.iter().any(is_ready)
        {
            self.third = Some(session / 3);
        }
        let ready = ledger.connections.iter().filter(|entry| entry.1.ready);
        for (id, _) in ready {
            self.connections.entry(*id).or_insert(Times {
                ready: now,
                received: now,
                active: now,
                probed: None,
                busy: false,
            });
        }
        let (connection, received, active) = match step.call {
            Call::Input(Input::Received { connection }) => (connection, true, false),
            Call::Input(Input::Push { connection } | Input::Reply { connection, .. }) => {
                (connection, true, true)
            }
            Call::Input(
                Input::WriteStarted { connection, .. } | Input::WriteDone { connection, .. },
            ) => (connection, false, true),
            Call::WritesStarted(connection, ref serials)
            | Call::WritesDone(connection, ref serials) => (connection, false, !serials.is_empty()),
            _ => return,
        };
        let max_idle = match self.closes_idle {
            true => self.config.max_idle(),
            false => Limit::Never,
        };
        if let Some(times) = self.connections.get_mut(&connection) {
            if received {
                times.received = now;
                times.probed = None;
            }
            // Too late for one that has reached its limit.
            if active && (times.busy || !is_due(times.active.after(max_idle), now)) {
                times.active = now;
            }
        }
    }

    fn check_probe(
        &mut self,
        connection: ConnectionId,
        now: Instant,
        shut_down: bool,
    ) -> Result<(), Violation> {
        let times = self.connections.get_mut(&connection);
        ensure!(
            times.as_ref().is_some_and(|times| times.probed.is_none()) && !shut_down,
            ONE_PROBE,
            "{connection} is probed"
        );
        if let Some(times) = times {
            times.probed = Some(now);
        }
        Ok(())
    }

    fn check_write(&self, connection: ConnectionId, now: Instant) -> Result<(), Violation> {
        let Some(times) = self.connections.get(&connection) else {
            return Ok(());
        };
        ensure!(
            times.busy
                || !self.closes_idle
                || !is_due(times.active.after(self.config.max_idle()), now),
            STALE,
            "{connection} is written to, it was active last at {}",
            times.active
        );
        ensure!(
            !is_due(times.ready.after(self.config.max_age()), now),
            STALE,
            "{connection} is written to, it is Ready since {}",
            times.ready
        );
        Ok(())
    }

    fn check_times(
        &self,
        now: Instant,
        cluster: &Cluster,
        shut_down: bool,
    ) -> Result<(), Violation> {
        for (id, times) in &self.connections {
            let timeout = self.third.unwrap_or(self.config.keepalive_timeout());
            ensure!(
                times.probed.is_none_or(|at| !is_due(at + timeout, now)),
                ANSWER,
                "{id} was probed at {:?} and lives at {now}",
                times.probed
            );
            let draining = cluster.connection(*id).is_none_or(|view| view.draining);
            if draining || shut_down {
                continue;
            }
            ensure!(
                !is_due(times.ready.after(self.config.max_age()), now),
                AGE,
                "{id} is Ready since {}",
                times.ready
            );
            let asks = self.config.keepalive_interval() != Limit::Never
                && self.config.keepalive_on() == KeepaliveOn::Received;
            let interval = self
                .third
                .map_or(self.config.keepalive_interval(), Limit::After);
            let silent = is_due(times.received.after(interval), now);
            ensure!(
                !asks || !silent || times.probed.is_some(),
                SILENCE,
                "{id} is silent since {}",
                times.received
            );
        }
        Ok(())
    }
}

const fn is_ready(output: &Output) -> bool {
    matches!(
        output,
        Output::Event(Event::StateChanged {
            to: NodeState::Ready,
            ..
        })
    )
}

/// Nothing is ever due at the end of time (SEMANTICS 1.3).
fn is_due(at: Instant, now: Instant) -> bool {
    at <= now && at < Instant::MAX
}
