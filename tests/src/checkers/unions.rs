//! The list in force is the union of what the primary sources say.

use std::collections::BTreeMap;

use redial::{
    Cluster, Config, Endpoint, Event, EventMask, NodeSpec, NodeView, Output, RefreshResult,
    SourceId,
};

use super::{Checker, Violation, ensure};
use crate::step::{Answer, Call, Step};

/// SEMANTICS 7.2, 7.5, 7.9; DESIGN 4.16.
pub(super) struct Unions {
    config: Config,
    told: bool,
    /// The last good answers. The application's own list has no number.
    lists: BTreeMap<Option<SourceId>, Vec<NodeSpec>>,
    configured: Vec<NodeSpec>,
}

pub(super) const NAMED: &str = "a node is in the list because a source names it (SEMANTICS 7.2)";
pub(super) const MISSING: &str = "whoever a primary source names is in the list (SEMANTICS 7.2)";

impl Unions {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            told: config.events().contains(EventMask::REFRESHES),
            config: config.clone(),
            lists: BTreeMap::new(),
            configured: Vec::new(),
        }
    }

    fn note(&mut self, step: &Step) {
        match (&step.call, step.answer) {
            (Call::SetNodes(list), Answer::SetNodes(Ok(()))) => {
                self.lists.insert(None, list.clone());
            }
            (Call::SetFallback(list), Answer::SetFallback(Ok(()))) => {
                self.configured.clone_from(list);
            }
            (Call::Refreshed(_, _, list), _) => {
                for output in &step.outputs {
                    if let Output::Event(Event::Refreshed {
                        source,
                        result: RefreshResult::Changed | RefreshResult::Unchanged,
                    }) = *output
                    {
                        self.lists.insert(Some(source), list.clone());
                    }
                }
            }
            _ => {}
        }
    }

    fn is_primary(&self, source: Option<SourceId>) -> bool {
        source.is_none_or(|source| self.config.sources()[source.index()].is_primary())
    }
}

impl Checker for Unions {
    fn after_step(&mut self, step: &Step, cluster: &Cluster) -> Result<(), Violation> {
        self.told &= cluster.stats().dropped_events == 0;
        if !self.told {
            return Ok(());
        }
        self.note(step);
        for view in cluster.nodes() {
            // A fallback list may be in force.
            let mut entries = self.lists.values().flatten().chain(&self.configured);
            ensure!(
                entries.any(|entry| may_be(entry, &view)),
                NAMED,
                "nobody names {} {:?}",
                view.id,
                view.spec
            );
        }
        for (source, list) in &self.lists {
            if self.is_primary(*source) {
                for entry in list {
                    ensure!(
                        cluster.nodes().any(|view| may_be(entry, &view)),
                        MISSING,
                        "{source:?} names {entry:?}"
                    );
                }
            }
        }
        Ok(())
    }
}

/// Whether the entry may name the node: by key, by endpoint, or because a connection of the node led
/// to the entry's address when the list came.
fn may_be(entry: &NodeSpec, view: &NodeView<'_>) -> bool {
    let address = match entry.endpoint {
        Endpoint::Address(address) => Some(address),
        _ => entry.address,
    };
    let by_peer = match view.spec.endpoint {
        Endpoint::Address(node) => address == Some(node),
        _ => address.is_some(),
    };
    let by_key = entry.key.is_some() && entry.key == view.spec.key;
    by_key || entry.endpoint == view.spec.endpoint || by_peer
}
