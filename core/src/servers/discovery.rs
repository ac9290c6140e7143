//! Asking the cluster itself (SEMANTICS 7.2).

use super::SourceState;
use crate::{Action, Cluster, SourceId, Warm};

impl Cluster {
    /// A discovery is due. It goes to a node that can take a request, as the policy says; without
    /// one it waits, and a node is dialled for it only if somebody needs one.
    pub(super) fn discover(&mut self, s: u32) {
        self.set_waits(s, true);
        if let Some(n) = self.pick_for_discovery(s) {
            self.set_waits(s, false);
            let connection = self.connection_id(self.nodes[n].connection);
            let refresh = self.begin_refresh(s);
            let state = &mut self.sources.all[s as usize];
            state.connection = Some(connection);
            state.due.run(self.now);
            self.outputs.action(Action::Discover {
                refresh,
                source: SourceId(s),
                connection,
            });
            return;
        }
        let needed = self.waiting > 0 || self.config.effective_warm() != Warm::None;
        let due = &mut self.sources.all[s as usize].due;
        match needed {
            true => due.run(self.now),
            false => due.pause(self.now),
        }
        self.sources.wants_a_node |= needed;
    }

    fn pick_for_discovery(&mut self, s: u32) -> Option<u32> {
        if !self.can_take_any() || self.any_is_refused() {
            return None;
        }
        if let Some(own) = self.sticks_to() {
            return Some(own);
        }
        let rng = &mut self.sources.all[s as usize].rng;
        let picked = self.ready.pick(rng, &self.nodes, None, &[]);
        match picked {
            Some(n) => self.ready.chosen(n),
            None => self.refused_at = Some(self.ready.version()),
        }
        picked
    }

    fn set_waits(&mut self, s: u32, waits: bool) {
        let SourceState { waits: waited, .. } = &mut self.sources.all[s as usize];
        self.sources.waiting += u32::from(waits);
        self.sources.waiting -= u32::from(core::mem::replace(waited, waits));
    }
}
