//! When a source is asked for its list, and what its answer does (SEMANTICS 7.3 to 7.5).

use core::time::Duration;

use super::ListId;
use crate::{
    Action, Cluster, Event, Instant, NodeSpec, NodeState, RefreshAfterFailures, RefreshId,
    RefreshResult, SetNodesError, SourceId, Stage, time::nanos, timers::Timer,
};

impl Cluster {
    /// A part of the end of every call in which something changed for a source.
    pub(crate) fn tend_sources(&mut self) {
        self.sources.changed = false;
        self.sources.wants_a_node = false;
        let asked = core::mem::take(&mut self.sources.asked);
        for s in 0..self.sources.all.len() as u32 {
            let state = &mut self.sources.all[s as usize];
            state.asked |= asked && state.source.is_primary();
            self.tend_source(s);
        }
        self.tend_fallback();
    }

    fn tend_source(&mut self, s: u32) {
        let (now, ready) = (self.now, self.ready_nodes > 0);
        let earliest = self.earliest_start(s);
        let state = &mut self.sources.all[s as usize];
        if state.waits {
            self.discover(s);
        } else if !state.under_way || mutant!(RefreshesTwice) && state.asked && earliest <= now {
            let retry = state.retry.filter(|_| !ready);
            let asked = state.asked.then_some(now);
            let wishes = [Some(state.regular), retry, asked];
            let next = wishes.into_iter().flatten().min();
            let next = next.unwrap_or(Instant::MAX).max(earliest);
            let slot = &mut state.timer;
            if next > now || next == Instant::MAX {
                mutant!(LosesDeferredRefresh => state.asked = false);
                self.timers.set(slot, next, Timer::Refresh { source: s });
            } else if state.source.is_discovery() {
                self.timers.clear(slot);
                self.discover(s);
            } else {
                let (refresh, source) = (self.begin_refresh(s), SourceId(s));
                self.outputs.action(Action::Refresh { refresh, source });
            }
        }
    }

    /// Before that it is not asked again, whatever asks for it.
    fn earliest_start(&self, s: u32) -> Instant {
        mutant!(RefreshesTooOften => return Instant::ORIGIN);
        let started = self.sources.all[s as usize].started;
        started.map_or(Instant::ORIGIN, |at| at + self.config.refresh_min_interval)
    }

    pub(super) fn begin_refresh(&mut self, s: u32) -> RefreshId {
        let state = &mut self.sources.all[s as usize];
        state.under_way = true;
        state.started = Some(self.now);
        state.retry = None;
        state.asked = false;
        state.outdated = false;
        let at = self.now + self.config.refresh_timeout;
        let timer = Timer::Refresh { source: s };
        self.timers.set(&mut state.timer, at, timer);
        mutant!(AwaitsRefreshForEver => self.timers.clear(&mut state.timer));
        self.stats.refreshes += 1;
        RefreshId {
            index: s,
            generation: state.generation,
        }
    }

    /// Ends the refresh under way, and says when the next one begins.
    fn end_refresh(&mut self, s: u32, result: RefreshResult) {
        let earliest = self.earliest_start(s);
        let config = &self.config;
        let state = &mut self.sources.all[s as usize];
        state.under_way = false;
        state.generation = state.generation.wrapping_add(1);
        state.connection = None;
        // Who asked after that interval is answered, and so is who asked before it ended; but not who
        // knows of a change since the start.
        state.asked &= self.now < earliest;
        state.asked |= core::mem::take(&mut state.outdated);
        self.timers.clear(&mut state.timer);
        let jitter = state.rng.below(nanos(config.refresh_jitter));
        let jitter = Duration::from_nanos(jitter);
        state.regular = self.now.after(config.refresh_interval) + jitter;
        mutant!(RefreshesEarly => state.regular = self.now + Duration::from_millis(1));
        mutant!(RefreshesOnce => state.regular = Instant::MAX);
        if result.is_failure() {
            let (backoff, failures) = (&config.retry_backoff, state.failures);
            let wait =
                config
                    .jitter
                    .draw(backoff, failures, &mut state.last_backoff, &mut state.rng);
            state.retry = Some(self.now + wait);
            state.failures = failures.saturating_add(1);
            self.stats.refreshes_failed += 1;
        } else {
            state.failures = 0;
            state.last_backoff = 0;
        }
        self.sources.changed = true;
        let source = SourceId(s);
        self.outputs.event(Event::Refreshed { source, result });
    }

    /// The source is to be asked, or its answer is overdue.
    pub(crate) fn refresh_timer_fired(&mut self, s: u32) {
        let state = &mut self.sources.all[s as usize];
        if state.under_way {
            return self.end_refresh(s, RefreshResult::TimedOut);
        }
        self.timers.clear(&mut state.timer);
        self.sources.changed = true;
    }

    /// False if that refresh is not under way.
    pub(crate) fn refresh_failed(&mut self, refresh: RefreshId) -> bool {
        let source = self.source_of(refresh);
        if let Some(s) = source {
            self.end_refresh(s, RefreshResult::Failed);
        }
        source.is_some()
    }

    /// A connection has ended, and with it the discovery on it.
    pub(crate) fn discovery_lost(&mut self, connection: crate::ConnectionId) {
        for s in 0..self.sources.all.len() {
            if self.sources.all[s].connection == Some(connection) {
                self.end_refresh(s as u32, RefreshResult::Failed);
            }
        }
    }

    /// A source has answered.
    pub(crate) fn take_list(
        &mut self,
        refresh: RefreshId,
        version: Option<u64>,
        list: &[NodeSpec],
    ) {
        let Some(s) = self.source_of(refresh) else {
            self.stats.stale_facts += 1;
            return;
        };
        let state = &mut self.sources.all[s as usize];
        // The list may end the connection that it came on.
        state.connection = None;
        // With a good answer it is not overdue any more.
        let due = core::mem::take(&mut state.due);
        let result = self.judge_list(s, version, list);
        if result.is_failure() {
            self.sources.all[s as usize].due = due;
        }
        self.end_refresh(s, result);
    }

    /// The source that this refresh asks, if it is under way.
    pub(crate) fn source_of(&self, refresh: RefreshId) -> Option<u32> {
        let state = self.sources.all.get(refresh.index as usize)?;
        let known = state.under_way && state.generation == refresh.generation;
        known.then_some(refresh.index)
    }

    fn judge_list(&mut self, s: u32, version: Option<u64>, list: &[NodeSpec]) -> RefreshResult {
        let (state, id) = (&self.sources.all[s as usize], ListId::of_source(s));
        if let (Some(version), Some(last)) = (version, state.version)
            && version <= last
            && !list.is_empty()
        {
            // An equal one says that the list in force is the right one still.
            if version == last && state.source.is_primary() {
                self.fallback_leaves();
            }
            return RefreshResult::Older;
        }
        let changed = match state.source.is_primary() {
            true => self.update_list(id, list),
            false => self.keep_fallback(id, list),
        };
        match changed {
            Err(SetNodesError::Empty) => RefreshResult::Empty,
            Err(error) => RefreshResult::Malformed(error),
            Ok(changed) => {
                self.sources.all[s as usize].version = version;
                match changed {
                    true => RefreshResult::Changed,
                    false => RefreshResult::Unchanged,
                }
            }
        }
    }

    /// Something says that the list may have changed: all primary sources are asked (7.4).
    pub(crate) fn ask_for_lists(&mut self) {
        if self.is_running() {
            self.sources.asked = true;
            self.sources.changed = true;
        }
    }

    /// What this source says has changed. False if there is no such source.
    pub(crate) fn source_changed(&mut self, source: SourceId) -> bool {
        let Some(state) = self.sources.all.get_mut(source.index()) else {
            return false;
        };
        match state.under_way {
            true => state.outdated = true,
            false => state.asked = true,
        }
        self.sources.changed = true;
        true
    }

    /// A node has failed, at this stage.
    pub(crate) fn count_failure(&mut self, stage: Stage) {
        let after = self.config.refresh_after_failures;
        if stage == Stage::Established && after != RefreshAfterFailures::EveryDisconnect {
            return;
        }
        self.sources.failures += 1;
        if self.sources.failures >= after.count(self.nodes.len()) {
            self.sources.failures = 0;
            self.ask_for_lists();
        }
    }

    /// A node's state has changed. The first that is Ready, and the end of the last, change when a
    /// source that failed is asked again.
    pub(crate) fn note_readiness(&mut self, from: NodeState, to: NodeState) {
        if to == NodeState::Ready {
            self.sources.failures = 0;
        }
        let is_ready = to == NodeState::Ready;
        if (from == NodeState::Ready) != is_ready && self.ready_nodes == u32::from(is_ready) {
            self.sources.changed |= !self.sources.all.is_empty();
        }
    }

    /// After a shutdown nobody is asked for anything.
    pub(crate) fn stop_refreshing(&mut self) {
        let sources = &mut self.sources;
        for state in &mut sources.all {
            self.timers.clear(&mut state.timer);
            state.generation = state.generation.wrapping_add(u32::from(state.under_way));
            state.under_way = false;
            state.connection = None;
            state.waits = false;
        }
        self.timers.clear(&mut sources.rebootstrap_timer);
        sources.waiting = 0;
        sources.wants_a_node = false;
        sources.changed = false;
    }
}
