//! Sources of server lists are asked one refresh at a time, at their times.

use alloc::collections::BTreeMap;
use core::mem;

use super::{Rule, Seen, Violation, ensure, ledger::Ledger};
use crate::{
    Action, Config, Event, EventMask, Hint, Input, Instant, Output, RefreshResult, SourceId,
    record::Call,
};

/// SEMANTICS 7.3, 7.4, 9.2; K39.
#[derive(Clone)]
pub(super) struct Refreshes {
    config: Config,
    sources: BTreeMap<SourceId, Source>,
    /// The step may have asked.
    asked_now: bool,
    handles_time: bool,
    /// The step is the construction.
    sees_start: bool,
    /// Failures of nodes, and requests in flight, after the step before.
    failures: u64,
    in_flight: usize,
}

#[derive(Clone, Copy, Default)]
struct Source {
    asked_once: bool,
    under_way: bool,
    /// When it was asked last. The first time is that of the construction, which not every run
    /// shows.
    started: Option<Instant>,
    ended: Option<Instant>,
    failed: bool,
    /// Something asked for it since its last start.
    asked: bool,
    /// A hint asked for it: it begins by then, or once more after the refresh under way.
    begins_by: Option<Instant>,
    again: bool,
}

pub(super) const ONE: &str = "one refresh of a source is under way (SEMANTICS 7.3)";
pub(super) const APART: &str = "refreshes begin the shortest interval apart (SEMANTICS 7.4)";
pub(super) const EARLY: &str = "without a trigger a refresh waits for its time (SEMANTICS 7.3)";
pub(super) const LATE: &str = "a refresh begins at its time (SEMANTICS 7.3)";
pub(super) const TOLD: &str = "a hint that a source has changed is not lost (SEMANTICS 7.4)";
pub(super) const OVERDUE: &str = "a refresh ends at its timeout (SEMANTICS 7.3)";

impl Refreshes {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            config: config.clone(),
            sources: BTreeMap::new(),
            asked_now: false,
            handles_time: false,
            sees_start: false,
            failures: 0,
            in_flight: 0,
        }
    }

    /// Whether the step may have asked for a refresh.
    fn asks(&mut self, seen: &Seen<'_>) -> bool {
        let (step, stats) = (seen.step, &seen.stats);
        let failures = stats.failures_resolve
            + stats.failures_connect
            + stats.failures_handshake
            + stats.failures_authenticate
            + stats.failures_established;
        let failed = failures > mem::replace(&mut self.failures, failures);
        let may_time_out = mem::replace(&mut self.in_flight, stats.in_flight) > 0;
        let told = match &step.call {
            Call::Hint(_) => true,
            Call::Input(Input::Reply { verdict, .. }) => verdict.refresh,
            _ => false,
        };
        told || failed || (step.is_timeout() && may_time_out)
    }

    fn ends(&mut self, now: Instant, id: SourceId, result: RefreshResult) -> Result<(), Violation> {
        let timeout = self.config.refresh_timeout();
        let apart = self.config.refresh_min_interval();
        let source = self.sources.entry(id).or_default();
        ensure!(source.under_way, ONE, "{id} ended without a start");
        let due = source.started.is_none_or(|at| at + timeout <= now);
        ensure!(
            due || result != RefreshResult::TimedOut,
            OVERDUE,
            "{id} timed out too early"
        );
        source.under_way = false;
        source.ended = Some(now);
        source.failed = result.is_failure();
        if mem::take(&mut source.again) {
            source.begins_by = source.started.map(|at| now.max(at + apart));
        }
        Ok(())
    }

    fn begins(&mut self, now: Instant, id: SourceId) -> Result<(), Violation> {
        let apart = self.config.refresh_min_interval();
        let interval = self.config.refresh_interval();
        let source = self.sources.entry(id).or_default();
        ensure!(!source.under_way, ONE, "{id} is asked twice");
        ensure!(
            source.started.is_none_or(|at| now >= at + apart),
            APART,
            "{id} began at {:?} and begins at {now}",
            source.started
        );
        let regular = source.ended.map(|at| at.after(interval));
        ensure!(
            source.asked || source.failed || regular.is_none_or(|at| at <= now),
            EARLY,
            "{id} was to begin at {regular:?}"
        );
        source.begins_by = None;
        source.under_way = true;
        source.started = (source.asked_once || self.sees_start).then_some(now);
        // What the first step asks comes after the construction. Where time is handled, attempts may
        // end after a start, when fallback nodes that join take their time.
        source.asked = self.asked_now && (self.handles_time || !source.asked_once);
        source.asked_once = true;
        Ok(())
    }

    /// A hint asks all primary sources, or the one that has changed. (A discovery waits for a node.)
    fn note_hint(&mut self, now: Instant, hint: Hint, seen: &Seen<'_>) {
        let apart = self.config.refresh_min_interval();
        let kinds = self.config.sources();
        for (id, source) in &mut self.sources {
            let kind = kinds[id.index()];
            let asks = match hint {
                Hint::SourceChanged(changed) => changed == *id,
                Hint::NetworkChanged | Hint::Resumed => kind.is_primary(),
                Hint::NodeUp(node) | Hint::NodeDown(node) => {
                    kind.is_primary() && seen.cluster.node(node).is_some()
                }
            };
            let Some(started) = source.started.filter(|_| asks && !kind.is_discovery()) else {
                continue;
            };
            match source.under_way {
                true => source.again |= matches!(hint, Hint::SourceChanged(_)),
                false => source.begins_by = Some(now.max(started + apart)),
            }
        }
    }

    /// What must have happened by now.
    fn nothing_is_late(&self, now: Instant) -> Result<(), Violation> {
        let config = &self.config;
        for (id, source) in &self.sources {
            let Some(started) = source.started else {
                continue;
            };
            let end = started + config.refresh_timeout();
            ensure!(
                !source.under_way || end > now || end == Instant::MAX,
                OVERDUE,
                "{id} is under way since {started}"
            );
            let ended = source.ended.unwrap_or(now);
            let latest = ended.after(config.refresh_interval()) + config.refresh_jitter();
            let latest = latest.max(started + config.refresh_min_interval());
            let is_discovery = config.sources()[id.index()].is_discovery();
            ensure!(
                source.begins_by.is_none_or(|at| at > now),
                TOLD,
                "{id} was to begin at {:?}",
                source.begins_by
            );
            ensure!(
                source.under_way || is_discovery || latest > now || latest == Instant::MAX,
                LATE,
                "{id} was to begin until {latest}"
            );
        }
        Ok(())
    }
}

impl Rule for Refreshes {
    fn after_step(&mut self, seen: &Seen<'_>, ledger: &Ledger) -> Result<(), Violation> {
        let step = seen.step;
        let told = self.config.events().contains(EventMask::REFRESHES);
        if self.config.sources().is_empty() || !told || seen.stats.dropped_events > 0 {
            return Ok(());
        }
        self.asked_now = self.asks(seen);
        self.handles_time = step.is_timeout();
        self.sees_start = step.call == Call::Start;
        if self.asked_now {
            self.sources
                .values_mut()
                .for_each(|source| source.asked = true);
        }
        if let Call::Hint(hint) = step.call
            && !ledger.shut_down
        {
            self.note_hint(step.now, hint, seen);
        }
        for output in &step.outputs {
            match *output {
                Output::Event(Event::Refreshed { source, result }) => {
                    self.ends(step.now, source, result)?;
                }
                Output::Action(
                    Action::Refresh { source, .. } | Action::Discover { source, .. },
                ) => self.begins(step.now, source)?,
                Output::Event(Event::SessionExpired { .. }) | Output::Terminated => {
                    self.sources.clear();
                }
                _ => {}
            }
        }
        if let Call::Shutdown(_) = step.call {
            self.sources.clear();
        }
        match step.is_timeout() {
            true => self.nothing_is_late(step.now),
            false => Ok(()),
        }
    }
}
