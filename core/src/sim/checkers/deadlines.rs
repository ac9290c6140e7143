//! The deadline is exact: never late, never idle, and something is armed wherever something waits.

use alloc::collections::BTreeMap;
use core::fmt;

use super::{Rule, Seen, Violation, ensure, ledger::Ledger};
use crate::{
    AttemptId, Config, ConnectionId, DeadlineReason, Input, Instant, Limit, NodeState, NodeView,
    SetupTimeout,
    record::{Answer, Call, Step},
};

/// DESIGN 4.4, 4.9, 4.10, 4.11; SEMANTICS 1.1; K05, Z27.
#[derive(Clone)]
pub(super) struct Deadlines {
    config: Config,
    shutdown: Instant,
    throttles: bool,
    /// Since when they have been draining.
    draining: BTreeMap<ConnectionId, Instant>,
    /// The budgets under way, and since when: an attempt's, and that of a handshake which has its
    /// own.
    budgets: BTreeMap<(AttemptId, bool), Instant>,
}

pub(super) const LATER: &str = "after a timeout the next deadline is later (DESIGN 4.9)";
pub(super) const IN_TIME: &str = "the deadline is not later than what must happen (DESIGN 4.10)";
pub(super) const EARLY: &str = "an early or repeated timeout does nothing (DESIGN 4.11)";
pub(super) const ARMED: &str = "an attempt has a deadline (DESIGN 4.4)";

impl Deadlines {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            config: config.clone(),
            shutdown: Instant::MAX,
            throttles: false,
            draining: BTreeMap::new(),
            budgets: BTreeMap::new(),
        }
    }
}

impl Rule for Deadlines {
    fn after_call(&mut self, seen: &Seen<'_>, _ledger: &Ledger) -> Result<(), Violation> {
        let (step, deadline) = (seen.step, seen.step.deadline);
        ensure!(
            deadline.is_none_or(|deadline| deadline.reason != DeadlineReason::Outputs),
            LATER,
            "outputs wait after the drain"
        );
        let later = deadline.is_none_or(|deadline| deadline.at > step.now);
        ensure!(
            !step.is_timeout() || later,
            LATER,
            "it is {}, next {deadline:?}",
            step.now
        );
        Ok(())
    }

    fn after_step(&mut self, seen: &Seen<'_>, ledger: &Ledger) -> Result<(), Violation> {
        self.note(seen, ledger);
        let step = seen.step;
        let next = step.deadline.map_or(Instant::MAX, |deadline| deadline.at);
        for view in seen.nodes.iter().filter(|view| view.state.is_setup()) {
            self.check_armed(view, step.now, next)?;
        }
        self.check_musts(ledger, next)?;
        check_early(seen)
    }
}

impl Deadlines {
    fn note(&mut self, seen: &Seen<'_>, ledger: &Ledger) {
        let step = seen.step;
        self.throttles |= matches!(step.call, Call::Input(Input::Throttled { .. }));
        if let (Call::Shutdown(drain), Answer::Shutdown(Ok(()))) = (&step.call, step.answer) {
            self.shutdown = self.shutdown.min(step.now + *drain);
        }
        if seen.cluster.is_terminated() {
            self.shutdown = Instant::MAX;
        }
        let now = step.now;
        // What drains for a shutdown has the shutdown's time (SEMANTICS 9.1).
        let since = if ledger.shut_down { Instant::MAX } else { now };
        let draining =
            |id: &&ConnectionId| seen.cluster.connection(**id).is_some_and(|c| c.draining);
        self.draining = ledger
            .connections
            .keys()
            .filter(draining)
            .map(|id| (*id, self.draining.get(id).copied().unwrap_or(since)))
            .collect();
        self.budgets = seen
            .nodes
            .iter()
            .filter_map(|view| self.budget(view))
            .map(|key| (key, self.budgets.get(&key).copied().unwrap_or(now)))
            .collect();
    }

    /// Setup ends by a deadline that lies within the configured limits.
    fn check_armed(
        &self,
        view: &NodeView<'_>,
        now: Instant,
        next: Instant,
    ) -> Result<(), Violation> {
        let Some(due) = view.setup_deadline else {
            let far = now.as_nanos() > u64::MAX / 2;
            ensure!(
                far,
                ARMED,
                "{} is {} without a deadline",
                view.id,
                view.state
            );
            return Ok(());
        };
        ensure!(
            next <= due,
            ARMED,
            "{} must be ready by {due}, the deadline is {next}",
            view.id
        );
        let budget = self.budget(view);
        let start = budget.and_then(|key| self.budgets.get(&key).copied());
        let longest = match budget {
            Some((_, true)) => self.config.handshake_timeout(),
            // Jitter moves the setup timeout up to its maximum.
            _ => match self.config.connection_setup_timeout() {
                SetupTimeout::Growing(growth) => growth.max.into(),
                // Its tests know the share; the session's timeout may have changed.
                SetupTimeout::SessionShare { .. } => Limit::Never,
            },
        };
        ensure!(
            start.is_some_and(|start| due <= start.after(longest)),
            ARMED,
            "{} began at {start:?} and may take until {due}",
            view.id
        );
        Ok(())
    }

    /// The budget that the node spends from: SEMANTICS 3.1.
    fn budget(&self, view: &NodeView<'_>) -> Option<(AttemptId, bool)> {
        let own =
            view.state == NodeState::Handshaking && self.config.handshake_timeout() != Limit::Never;
        view.attempt.map(|attempt| (attempt, own))
    }

    /// What must happen is not due before the deadline.
    fn check_musts(&self, ledger: &Ledger, next: Instant) -> Result<(), Violation> {
        let must = |due: Instant, what: &str, of: &dyn fmt::Display| {
            ensure!(
                next <= due,
                IN_TIME,
                "{what} {of} is due at {due}, the deadline is {next}"
            );
            Ok(())
        };
        must(self.shutdown, "the end of", &"the shutdown")?;
        for (id, entry) in &ledger.requests {
            must(entry.deadline, "the deadline of", id)?;
            if !entry.was_written {
                let age = entry.submitted.after(self.config.queue_max_age());
                must(age, "the age limit of", id)?;
            }
        }
        let connections = ledger.connections.values();
        for frame in connections.flat_map(|entry| entry.frames.values()) {
            if let Some(started) = frame.started.filter(|_| !self.throttles)
                && frame.open
                && frame.expects_reply
            {
                let timeout = frame.timeout.unwrap_or(self.config.request_timeout());
                must(
                    started.after(timeout),
                    "the attempt timeout of",
                    &frame.request,
                )?;
            }
        }
        for (id, since) in &self.draining {
            must(*since + self.config.drain_timeout(), "the drain of", id)?;
        }
        Ok(())
    }
}

/// Time may be given too often and too early without harm: now and, after that, at the last moment
/// before the deadline.
fn check_early(seen: &Seen<'_>) -> Result<(), Violation> {
    let (step, deadline) = (seen.step, seen.step.deadline);
    let next = deadline.map_or(Instant::MAX, |deadline| deadline.at);
    if next <= step.now {
        return Ok(());
    }
    let just_before = Instant::from_nanos(next.as_nanos() - 1);
    let mut twin = seen.cluster.clone();
    for now in [step.now, just_before] {
        let early = Step::take(&mut twin, now, Call::Timeout);
        ensure!(
            early.outputs.is_empty() && early.deadline == deadline,
            EARLY,
            "at {now} it gave {:?} and changed {deadline:?} to {:?}",
            early.outputs,
            early.deadline
        );
    }
    Ok(())
}
