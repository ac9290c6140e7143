//! A list that is refused changes nothing; a node that has left is left alone.

use std::collections::{BTreeMap, BTreeSet};

use redial::{
    Action, Cluster, Config, ConnectionId, Event, EventMask, NodeId, Output, RefreshResult,
};

use super::{Checker, Violation, ensure};
use crate::step::{Answer, Call, Step};

/// DESIGN 4.12, 4.16; SEMANTICS 2.1, 7.5, 7.6, 7.9.
pub(super) struct Lists {
    /// Refreshes are told.
    told: bool,
    /// There may be nodes that join when others fail.
    fallback: bool,
    nodes: BTreeSet<NodeId>,
    /// Whose they are.
    connections: BTreeMap<ConnectionId, NodeId>,
}

pub(super) const SAFE: &str = "a list that is refused changes nothing (DESIGN 4.16)";
pub(super) const GONE: &str = "a removed node is left alone (DESIGN 4.12)";

impl Lists {
    pub(super) fn new(config: &Config) -> Self {
        let mut sources = config.sources().into_iter();
        Self {
            told: config.events().contains(EventMask::REFRESHES),
            fallback: config.rebootstrap() && sources.any(|source| !source.is_primary()),
            nodes: BTreeSet::new(),
            connections: BTreeMap::new(),
        }
    }

    /// Whether the step brought a list that counts.
    fn has_good_list(&self, step: &Step, cluster: &Cluster) -> bool {
        let result = |output: &Output| match *output {
            Output::Event(Event::Refreshed { result, .. }) => Some(result),
            _ => None,
        };
        let mut results = step.outputs.iter().filter_map(result);
        match step.call {
            Call::SetNodes(_) => step.answer == Answer::SetNodes(Ok(())),
            Call::SetFallback(_) => step.answer == Answer::SetFallback(Ok(())),
            Call::Refreshed(..) if self.told && cluster.stats().dropped_events == 0 => {
                results.any(|r| matches!(r, RefreshResult::Changed | RefreshResult::Older))
            }
            Call::Refreshed(..) => true,
            _ => false,
        }
    }
}

impl Checker for Lists {
    fn after_step(&mut self, step: &Step, cluster: &Cluster) -> Result<(), Violation> {
        let nodes: BTreeSet<NodeId> = cluster.nodes().map(|view| view.id).collect();
        self.fallback |=
            matches!(step.call, Call::SetFallback(_)) && cluster.config().rebootstrap();
        let good = self.has_good_list(step, cluster);
        ensure!(
            good || nodes.is_superset(&self.nodes),
            SAFE,
            "{:?} became {nodes:?} by {}",
            self.nodes,
            step.call
        );
        ensure!(
            good || self.fallback || nodes == self.nodes,
            SAFE,
            "{:?} became {nodes:?} by {}",
            self.nodes,
            step.call
        );
        let set = step.answer == Answer::SetNodes(Ok(()));
        ensure!(
            !nodes.is_empty() || (self.nodes.is_empty() && !set),
            SAFE,
            "the list is empty"
        );
        ensure!(
            cluster.stats().nodes == nodes.len(),
            SAFE,
            "stats count {}",
            cluster.stats().nodes
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
                nodes.contains(&node),
                GONE,
                "{node} is not in the list: {output:?}"
            );
        }
        self.nodes = nodes;
        Ok(())
    }
}
