//! Connections are kept honest: probed once at a time, closed when silent, not used when stale.

use std::collections::BTreeMap;

use redial::{
    Action, Cluster, Config, ConnectionId, Input, Instant, KeepaliveOn, Limit, Output,
    SelectionPolicy, Warm,
};

use super::{Checker, Violation, ensure, ledger::Ledger};
use crate::step::{Call, Step};

/// SEMANTICS 4.10, 8.1, 8.2, 8.4; R079, R081, R087.
pub(super) struct Upkeep {
    config: Config,
    /// Idle connections are closed, whatever their number.
    closes_idle: bool,
    ledger: Ledger,
    connections: BTreeMap<ConnectionId, Times>,
}

/// Of a connection that is Ready, or was.
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
            ledger: Ledger::new(config),
            connections: BTreeMap::new(),
        }
    }
}

impl Checker for Upkeep {
    fn after_step(&mut self, step: &Step, cluster: &Cluster) -> Result<(), Violation> {
        self.ledger.begin(step, cluster);
        self.note(step);
        for output in &step.outputs {
            match *output {
                Output::Action(Action::Probe { connection }) => {
                    self.check_probe(connection, step.now)?;
                }
                Output::Action(Action::Write { connection, .. }) => {
                    self.check_write(connection, step.now)?;
                }
                _ => {}
            }
            self.ledger.output(output);
        }
        let live = &self.ledger.connections;
        self.connections.retain(|id, _| live.contains_key(id));
        for (id, times) in &mut self.connections {
            times.busy = !live[id].frames.is_empty();
        }
        if step.is_timeout() {
            self.check_times(step.now, cluster)?;
        }
        Ok(())
    }
}

impl Upkeep {
    fn note(&mut self, step: &Step) {
        let now = step.now;
        let ready = self.ledger.connections.iter().filter(|entry| entry.1.ready);
        for (id, _) in ready {
            self.connections.entry(*id).or_insert(Times {
                ready: now,
                received: now,
                active: now,
                probed: None,
                busy: false,
            });
        }
        let Call::Input(input) = step.call else {
            return;
        };
        let (connection, received, active) = match input {
            Input::Received { connection } => (connection, true, false),
            Input::Push { connection } | Input::Reply { connection, .. } => {
                (connection, true, true)
            }
            Input::WriteStarted { connection, .. } | Input::WriteDone { connection, .. } => {
                (connection, false, true)
            }
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

    fn check_probe(&mut self, connection: ConnectionId, now: Instant) -> Result<(), Violation> {
        let shut_down = self.ledger.shut_down;
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

    fn check_times(&self, now: Instant, cluster: &Cluster) -> Result<(), Violation> {
        for (id, times) in &self.connections {
            let timeout = self.config.keepalive_timeout();
            ensure!(
                times.probed.is_none_or(|at| !is_due(at + timeout, now)),
                ANSWER,
                "{id} was probed at {:?} and lives at {now}",
                times.probed
            );
            let draining = cluster.connection(*id).is_none_or(|view| view.draining);
            if draining || self.ledger.shut_down {
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
            let silent = is_due(times.received.after(self.config.keepalive_interval()), now);
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

/// Nothing is ever due at the end of time (SEMANTICS 1.3).
fn is_due(at: Instant, now: Instant) -> bool {
    at <= now && at < Instant::MAX
}
