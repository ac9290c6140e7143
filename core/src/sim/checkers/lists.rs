//! A list that is refused changes nothing; a node that has left is left alone.

use alloc::{collections::BTreeMap, vec::Vec};

use super::{Rule, Seen, Violation, ensure, ledger::Ledger};
use crate::{
    Action, Config, ConnectionId, Event, EventMask, NodeId, Output, RefreshResult,
    record::{Answer, Call},
};

/// DESIGN 4.12, 4.16; SEMANTICS 2.1, 7.5, 7.6, 7.9.
#[derive(Clone)]
pub(super) struct Lists {
    /// Refreshes are told.
    told: bool,
    /// There may be nodes that join when others fail.
    fallback: bool,
    /// By rising index.
    nodes: Vec<NodeId>,
    /// Whose they are.
    connections: BTreeMap<ConnectionId, NodeId>,
}

pub(super) const SAFE: &str = "a list that is refused changes nothing (DESIGN 4.16)";
pub(super) const EQUAL: &str = "an equal list rebalances nobody (SEMANTICS 7.7)";
pub(super) const GONE: &str = "a removed node is left alone (DESIGN 4.12)";

impl Lists {
    pub(super) fn new(config: &Config) -> Self {
        let mut sources = config.sources().into_iter();
        Self {
            told: config.events().contains(EventMask::REFRESHES),
            fallback: config.rebootstrap() && sources.any(|source| !source.is_primary()),
            nodes: Vec::new(),
            connections: BTreeMap::new(),
        }
    }

    /// Whether the step brought a list that counts.
    fn has_good_list(&self, seen: &Seen<'_>) -> bool {
        let step = seen.step;
        let result = |output: &Output| match *output {
            Output::Event(Event::Refreshed { result, .. }) => Some(result),
            _ => None,
        };
        let mut results = step.outputs.iter().filter_map(result);
        match step.call {
            Call::SetNodes(_) | Call::SetFallback(_) => step.answer == Answer::List(Ok(())),
            Call::Refreshed(..) if self.told && seen.stats.dropped_events == 0 => {
                results.any(|r| matches!(r, RefreshResult::Changed | RefreshResult::Older))
            }
            Call::Refreshed(..) => true,
            _ => false,
        }
    }
}

impl Rule for Lists {
    fn after_step(&mut self, seen: &Seen<'_>, _ledger: &Ledger) -> Result<(), Violation> {
        let step = seen.step;
        self.fallback |=
            matches!(step.call, Call::SetFallback(_)) && seen.cluster.config().rebootstrap();
        let ids = || seen.nodes.iter().map(|view| view.id);
        let differs = !ids().eq(self.nodes.iter().copied());
        let is_rebalanced =
            |output: &Output| matches!(output, Output::Event(Event::Rebalanced { .. }));
        ensure!(
            differs || !step.outputs.iter().any(is_rebalanced),
            EQUAL,
            "by {} nobody came or left",
            step.call
        );
        if differs {
            let nodes: Vec<NodeId> = ids().collect();
            let grew = self.nodes.iter().all(|node| nodes.contains(node));
            ensure!(
                self.has_good_list(seen) || (self.fallback && grew),
                SAFE,
                "{:?} became {nodes:?} by {}",
                self.nodes,
                step.call
            );
            ensure!(
                !nodes.is_empty(),
                SAFE,
                "{:?} became an empty list",
                self.nodes
            );
            self.nodes = nodes;
        }
        let set = matches!(step.call, Call::SetNodes(_)) && step.answer == Answer::List(Ok(()));
        ensure!(
            !set || !self.nodes.is_empty(),
            SAFE,
            "the list is empty by {}",
            step.call
        );
        ensure!(
            seen.stats.nodes == self.nodes.len(),
            SAFE,
            "stats count {}",
            seen.stats.nodes
        );
        for output in &step.outputs {
            let node = match *output {
                Output::Action(Action::Connect {
                    connection, node, ..
                }) => {
                    self.connections.insert(connection, node);
                    node
                }
                Output::Action(Action::Resolve { node, .. }) => node,
                Output::Action(
                    Action::Write { connection, .. } | Action::Discover { connection, .. },
                ) => {
                    let Some(node) = self.connections.get(&connection) else {
                        continue;
                    };
                    *node
                }
                _ => continue,
            };
            ensure!(
                seen.cluster.node(node).is_some(),
                GONE,
                "{node} is not in the list: {output:?}"
            );
        }
        Ok(())
    }
}
