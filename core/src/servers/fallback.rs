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

    /// After a good answer of a primary source that names nobody new: whether the fallback nodes,
    /// which would have to leave, would join again at once. Then they just stay.
    pub(super) fn fallback_stays(&mut self) -> bool {
        let stays = self.config.rebootstrap && self.rebootstrap_time() <= self.now;
        if stays {
            self.sources.joined_at = Some(self.now);
        }
        stays
    }

    pub(super) const fn fallback_has_left(&mut self) {
        self.sources.fallback_joined = false;
        self.sources.changed = true;
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
