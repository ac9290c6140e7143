//! Hints from outside (SEMANTICS 8.5).

use crate::{Cluster, Hint, NodeId, node::Phase, time::nanos};

impl Cluster {
    pub(super) fn take_hint(&mut self, hint: Hint) {
        if !self.is_running() {
            return;
        }
        match hint {
            Hint::NetworkChanged | Hint::Resumed => {
                self.ask_for_lists();
                let mut next = self.ready_connection_from(0);
                while let Some(c) = next {
                    self.probe_if_possible(c);
                    next = self.ready_connection_from(c + 1);
                }
                let mut next = self.nodes.next_from(0);
                while let Some(n) = next {
                    self.let_try_soon(n);
                    next = self.nodes.next_from(n + 1);
                }
            }
            Hint::NodeUp(node) => match self.is_listed(node) {
                true => {
                    self.ask_for_lists();
                    self.let_try_soon(node.index);
                }
                false => self.stats.stale_facts += 1,
            },
            Hint::NodeDown(node) => match self.is_listed(node) {
                true => {
                    self.ask_for_lists();
                    self.probe_node(node.index);
                }
                false => self.stats.stale_facts += 1,
            },
            Hint::SourceChanged(source) => match self.source_changed(source) {
                true => {}
                false => self.stats.stale_facts += 1,
            },
        }
    }

    pub(crate) fn is_listed(&self, node: NodeId) -> bool {
        self.nodes.get(node.index, node.generation).is_some()
    }

    fn probe_node(&mut self, n: u32) {
        let c = self.nodes[n].connection;
        if self.connections.contains(c) && self.connections[c].phase == Phase::Ready {
            self.probe_if_possible(c);
        }
    }

    fn probe_if_possible(&mut self, c: u32) {
        if self.config.has_keepalive() {
            self.probe(c);
        }
    }

    /// The one way in which a node's next-attempt time comes earlier: to a time within the base
    /// backoff, drawn, so that a hint to many clients does not bring them all at once.
    fn let_try_soon(&mut self, n: u32) {
        if self.resting.until(n).is_some() {
            let base = nanos(self.config.reconnect_backoff.base);
            let wait = core::time::Duration::from_nanos(self.hint_rng.between(0, base));
            let soon = self.now + wait;
            let node = &mut self.nodes[n];
            node.next_attempt = node.next_attempt.map(|at| at.min(soon));
            mutant!(LengthensRest => node.next_attempt = Some(soon));
            self.update_idle(n);
        }
    }
}
