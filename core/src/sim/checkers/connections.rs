//! Each connection begins once and ends once.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};

use super::{Rule, Seen, Violation, ensure, ledger::Ledger};
use crate::{
    Action, AttemptId, Cluster, Config, ConnectionId, Event, EventMask, Input, NodeId, Output,
    record::Call,
};

/// DESIGN 4.7; SEMANTICS 2.1.
#[derive(Clone)]
pub(super) struct Connections {
    events: bool,
    /// Connected events without their Disconnected.
    announced: BTreeMap<ConnectionId, NodeId>,
    /// Look-ups that are under way.
    resolving: BTreeSet<AttemptId>,
}

pub(super) const END: &str = "each Connect ends in one Close, Abort or reported end (DESIGN 4.7)";
pub(super) const PAIR: &str = "each Connected event pairs with one Disconnected (DESIGN 4.7)";
pub(super) const LOOK_UP: &str = "each Resolve is answered or aborted once (DESIGN 4.7)";
pub(super) const FEW: &str =
    "a node has one connection, and at most two that drain (SEMANTICS 2.1)";

impl Connections {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            events: config.events().contains(EventMask::CONNECTIONS),
            announced: BTreeMap::new(),
            resolving: BTreeSet::new(),
        }
    }
}

impl Rule for Connections {
    fn after_call(&mut self, seen: &Seen<'_>, ledger: &Ledger) -> Result<(), Violation> {
        match &seen.step.call {
            Call::Resolved(attempt, _) | Call::Input(Input::ResolveFailed { attempt }) => {
                self.resolving.remove(attempt);
            }
            Call::Input(Input::Closed { connection, .. }) => {
                let lives = ledger.connections.contains_key(connection);
                ensure!(!lives, END, "{connection} was closed and lives");
            }
            _ => {}
        }
        Ok(())
    }

    fn on_output(
        &mut self,
        output: &Output,
        _seen: &Seen<'_>,
        ledger: &Ledger,
    ) -> Result<(), Violation> {
        match *output {
            Output::Action(Action::Connect { connection, .. }) => ensure!(
                !ledger.connections.contains_key(&connection),
                END,
                "{connection} begins a second time"
            ),
            Output::Action(Action::Close { connection }) => {
                let up = ledger
                    .connections
                    .get(&connection)
                    .is_some_and(|entry| entry.up);
                ensure!(up, END, "{connection} is closed and is not up");
            }
            Output::Action(Action::Abort { connection }) => {
                let entry = ledger.connections.get(&connection);
                let in_setup = entry.is_some_and(|entry| !entry.ready);
                ensure!(in_setup, END, "{connection} is aborted and is not in setup");
            }
            Output::Action(Action::Resolve { attempt, .. }) => {
                ensure!(
                    self.resolving.insert(attempt),
                    LOOK_UP,
                    "{attempt} looks up twice"
                );
            }
            Output::Action(Action::AbortResolve { attempt }) => {
                let found = self.resolving.remove(&attempt);
                ensure!(found, LOOK_UP, "{attempt} looks up nothing");
            }
            Output::Event(Event::Connected {
                node, connection, ..
            }) => {
                let second = self.announced.insert(connection, node).is_some();
                ensure!(!second, PAIR, "{connection} connected twice");
            }
            Output::Event(Event::Disconnected {
                node, connection, ..
            }) => {
                let first = self.announced.remove(&connection);
                ensure!(
                    first == Some(node),
                    PAIR,
                    "{connection} of {node} was not connected"
                );
            }
            _ => {}
        }
        Ok(())
    }

    fn after_step(&mut self, seen: &Seen<'_>, ledger: &Ledger) -> Result<(), Violation> {
        let live = ledger.connections.len();
        let stats = &seen.stats;
        ensure!(
            stats.connections == live,
            END,
            "{live} connections live, stats say {}",
            stats.connections
        );
        let mut counts: BTreeMap<NodeId, (usize, usize)> = BTreeMap::new();
        for (id, entry) in ledger.connections.iter().filter(|(_, entry)| entry.up) {
            let view = seen.cluster.connection(*id);
            ensure!(
                view.is_some(),
                END,
                "{id} lives and the core does not know it"
            );
            let count = counts.entry(entry.node).or_default();
            if view.is_some_and(|view| view.draining) {
                count.1 += 1;
            } else {
                count.0 += 1;
            }
        }
        for (node, (own, draining)) in counts {
            // At a shutdown the node's own connection drains beside them (9.1).
            let most = 2 + usize::from(ledger.shut_down);
            ensure!(
                own <= 1 && draining <= most,
                FEW,
                "{node} has {own}, and {draining} that drain"
            );
        }
        if self.events && stats.dropped_events == 0 {
            let up: Vec<_> = ledger
                .connections
                .iter()
                .filter(|(_, entry)| entry.up)
                .collect();
            let paired = up.len() == self.announced.len()
                && up
                    .iter()
                    .all(|(id, entry)| self.announced.get(id) == Some(&entry.node));
            ensure!(
                paired,
                PAIR,
                "up are {up:?}, announced are {:?}",
                self.announced
            );
        }
        if seen.cluster.is_terminated() {
            ensure!(live == 0, END, "{live} connections outlive the client");
            let pending = &self.resolving;
            ensure!(
                pending.is_empty(),
                LOOK_UP,
                "{pending:?} outlive the client"
            );
        }
        Ok(())
    }

    fn at_end(&mut self, _cluster: &Cluster, ledger: &Ledger) -> Result<(), Violation> {
        let (live, pending) = (ledger.connections.keys(), &self.resolving);
        ensure!(
            ledger.connections.is_empty() && pending.is_empty(),
            END,
            "at the end {live:?} live, {pending:?} are looked up"
        );
        Ok(())
    }
}
