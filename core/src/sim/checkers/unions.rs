//! The list in force is the union of what the primary sources say.

use alloc::{collections::BTreeMap, vec::Vec};

use super::{Rule, Seen, Violation, ensure, ledger::Ledger};
use crate::{
    Config, Endpoint, Event, EventMask, NodeSpec, Output, RefreshResult, SourceId,
    record::{Answer, Call, Step},
};

/// SEMANTICS 7.2, 7.5, 7.9; DESIGN 4.16.
#[derive(Clone)]
pub(super) struct Unions {
    config: Config,
    told: bool,
    /// The last good answers. The application's own list has no number.
    lists: BTreeMap<Option<SourceId>, Vec<NodeSpec>>,
    configured: Vec<NodeSpec>,
    /// The nodes that were compared with these lists, and found right.
    compared: Option<Vec<NodeSpec>>,
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
            compared: None,
        }
    }

    fn note(&mut self, step: &Step) {
        match (&step.call, step.answer) {
            (Call::SetNodes(list), Answer::List(Ok(()))) => {
                self.compared = None;
                self.lists.insert(None, list.clone());
            }
            (Call::SetFallback(list), Answer::List(Ok(()))) => {
                self.compared = None;
                self.configured.clone_from(list);
            }
            (Call::Refreshed(_, _, list), _) => {
                for output in &step.outputs {
                    if let Output::Event(Event::Refreshed {
                        source,
                        result: RefreshResult::Changed | RefreshResult::Unchanged,
                    }) = *output
                    {
                        self.compared = None;
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

impl Rule for Unions {
    fn after_step(&mut self, seen: &Seen<'_>, _ledger: &Ledger) -> Result<(), Violation> {
        self.told &= seen.stats.dropped_events == 0;
        if !self.told {
            return Ok(());
        }
        self.note(seen.step);
        let specs = || seen.nodes.iter().map(|view| view.spec);
        if let Some(compared) = &self.compared
            && specs().eq(compared)
        {
            return Ok(());
        }
        for spec in specs() {
            // A fallback list may be in force.
            let mut entries = self.lists.values().flatten().chain(&self.configured);
            ensure!(
                entries.any(|entry| may_be(entry, spec)),
                NAMED,
                "nobody names {spec:?}"
            );
        }
        for (source, list) in &self.lists {
            if self.is_primary(*source) {
                for entry in list {
                    ensure!(
                        specs().any(|spec| may_be(entry, spec)),
                        MISSING,
                        "{source:?} names {entry:?}"
                    );
                }
            }
        }
        self.compared = Some(specs().cloned().collect());
        Ok(())
    }
}

/// Whether the entry may name the node: by key, by endpoint, or because a connection of the node led
/// to the entry's address when the list came.
fn may_be(entry: &NodeSpec, node: &NodeSpec) -> bool {
    let address = match entry.endpoint {
        Endpoint::Address(address) => Some(address),
        _ => entry.address,
    };
    let by_peer = match node.endpoint {
        Endpoint::Address(own) => address == Some(own),
        _ => address.is_some(),
    };
    let by_key = entry.key.is_some() && entry.key == node.key;
    by_key || entry.endpoint == node.endpoint || by_peer
}
