//! A list that is refused changes nothing; a node that has left is left alone.

use std::collections::BTreeSet;

use redial::{Action, Cluster, ConnectionId, NodeId, Output};

use super::{Checker, Violation, ensure};
use crate::step::{Answer, Step};

/// DESIGN 4.12, 4.16; SEMANTICS 2.1, 7.5, 7.6.
#[derive(Default)]
pub(super) struct Lists {
    nodes: BTreeSet<NodeId>,
    /// Whose they are.
    connections: std::collections::BTreeMap<ConnectionId, NodeId>,
}

pub(super) const SAFE: &str = "a list that is refused changes nothing (DESIGN 4.16)";
pub(super) const GONE: &str = "a removed node is left alone (DESIGN 4.12)";

impl Checker for Lists {
    fn after_step(&mut self, step: &Step, cluster: &Cluster) -> Result<(), Violation> {
        let nodes: BTreeSet<NodeId> = cluster.nodes().map(|view| view.id).collect();
        if step.answer == Answer::SetNodes(Ok(())) {
            ensure!(!nodes.is_empty(), SAFE, "the list is empty");
        } else {
            ensure!(
                nodes == self.nodes,
                SAFE,
                "{:?} became {nodes:?} by {}",
                self.nodes,
                step.call
            );
        }
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
                Output::Action(Action::Write { connection, .. }) => {
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
