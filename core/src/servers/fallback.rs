//! Nodes that join the list when the others are of no use (SEMANTICS 7.9; KIP-899, KIP-1102).

use super::ListId;
use crate::{Cluster, Instant, Limit, NodeSpec, SetNodesError, timers::Timer};

impl Cluster {
    /// Keeps what a fallback list says; it is in force only while fallback nodes have joined.
    /// Whether it differs from before.
    pub(crate) fn keep_fallback(
        &mut self,
        id: ListId,
        list: &[NodeSpec],
    ) -> Result<bool, SetNodesError> {
        if !self.is_running() {
            return Err(SetNodesError::Closed);
        }
        self.check_list(list)?;
        if self
            .sources
            .fallback
            .get(&id)
            .is_some_and(|kept| kept == list)
        {
            return Ok(false);
        }
        if self.sources.fallback_joined {
            self.update_list(id, list)?;
        }
        self.sources.fallback.insert(id, list.to_vec());
        self.sources.changed = true;
        Ok(true)
    }

    /// Lets the fallback nodes join when every node of the primary lists has failed, or when a
    /// discovery has been due for too long; not twice within the longest backoff.
    pub(super) fn tend_fallback(&mut self) {
        let at = match self.fallback_may_join() {
            true => self.rebootstrap_time(),
            false => Instant::MAX,
        };
        let slot = &mut self.sources.rebootstrap_timer;
        if at > self.now || at == Instant::MAX {
            return self.timers.set(slot, at, Timer::Rebootstrap);
        }
        self.timers.clear(slot);
        self.sources.fallback_joined = true;
        self.sources.joined_at = Some(self.now);
        for state in &mut self.sources.all {
            state.due.restart(self.now);
        }
        let lists = core::mem::take(&mut self.sources.fallback);
        for (id, list) in &lists {
            // One that is too long together with the others stays out.
            let _ = self.update_list(*id, list);
        }
        self.sources.fallback = lists;
        self.sources.changed = true;
    }

    fn fallback_may_join(&self) -> bool {
        let sources = &self.sources;
        self.config.rebootstrap && !sources.fallback_joined && !sources.fallback.is_empty()
    }

    /// Whether fallback nodes that leave now would join again in the same call.
    pub(super) fn fallback_would_join(&self) -> bool {
        self.config.rebootstrap && self.rebootstrap_time() <= self.now
    }

    /// A primary source has given a good answer: the fallback nodes have left, or joined again.
    pub(super) fn fallback_is_judged(&mut self, rejoins: bool) {
        let sources = &mut self.sources;
        match sources.fallback_joined && rejoins {
            true => sources.joined_at = Some(self.now),
            false => {
                sources.changed |= sources.fallback_joined;
                sources.fallback_joined = false;
            }
        }
    }

    fn rebootstrap_time(&self) -> Instant {
        let sources = &self.sources;
        let all_failed = sources.failed_nodes == sources.primary_nodes;
        let overdue = match self.config.rebootstrap_after {
            Limit::Never => None,
            Limit::After(time) => {
                let discoveries = sources.all.iter().filter_map(|s| s.due.reaches(time));
                discoveries.min()
            }
        };
        let wish = match all_failed {
            true => self.now,
            false => overdue.unwrap_or(Instant::MAX),
        };
        let longest = self.config.reconnect_backoff.max;
        let last = sources.joined_at.map(|at| at + longest);
        wish.max(last.unwrap_or(Instant::ORIGIN))
    }

    pub(crate) fn rebootstrap_timer_fired(&mut self) {
        self.timers.clear(&mut self.sources.rebootstrap_timer);
        self.sources.changed = true;
    }
}
