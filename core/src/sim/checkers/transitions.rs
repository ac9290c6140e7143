//! The states of a node follow the table.

use alloc::collections::BTreeMap;

use super::{Rule, Seen, Violation, ensure, ledger::Ledger};
use crate::{Config, Event, EventMask, NodeId, NodeState, Output};

/// SEMANTICS 2.1.
#[derive(Clone)]
pub(super) struct Transitions {
    enabled: bool,
    states: BTreeMap<NodeId, NodeState>,
}

pub(super) const RULE: &str = "a node changes its state as the table says (SEMANTICS 2.1)";

impl Transitions {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            enabled: config.events().contains(EventMask::STATES),
            states: BTreeMap::new(),
        }
    }
}

impl Rule for Transitions {
    fn after_step(&mut self, seen: &Seen<'_>, _ledger: &Ledger) -> Result<(), Violation> {
        if !self.enabled || seen.stats.dropped_events > 0 {
            return Ok(());
        }
        for output in &seen.step.outputs {
            let Output::Event(Event::StateChanged {
                node,
                from,
                to,
                cause,
            }) = *output
            else {
                continue;
            };
            let was = self
                .states
                .insert(node, to)
                .unwrap_or(NodeState::Disconnected);
            ensure!(was == from, RULE, "{node} was {was} and leaves {from}");
            let planned = cause.is_some_and(|cause| cause.is_planned());
            ensure!(
                is_allowed(from, to, planned),
                RULE,
                "{node} went from {from} to {to}"
            );
        }
        self.states
            .retain(|node, _| seen.cluster.node(*node).is_some());
        for view in &seen.nodes {
            let known = self
                .states
                .get(&view.id)
                .copied()
                .unwrap_or(NodeState::Disconnected);
            ensure!(
                known == view.state,
                RULE,
                "{} is {}, events say {known}",
                view.id,
                view.state
            );
            ensure!(
                view.state.is_setup() == view.attempt.is_some(),
                RULE,
                "{} is {} with attempt {:?}",
                view.id,
                view.state,
                view.attempt
            );
        }
        Ok(())
    }
}

const fn is_allowed(from: NodeState, to: NodeState, planned: bool) -> bool {
    use NodeState::{
        AuthenticationFailed, Connecting, Disconnected, Handshaking, Ready, Resolving,
    };
    match from {
        Disconnected => matches!(to, Resolving | Connecting),
        Resolving => matches!(to, Connecting | Disconnected),
        Connecting => matches!(to, Handshaking | Ready | Disconnected),
        Handshaking => matches!(to, Ready | AuthenticationFailed | Disconnected),
        Ready => matches!(to, Disconnected),
        AuthenticationFailed => {
            matches!(to, Resolving | Connecting) || planned && matches!(to, Disconnected)
        }
    }
}
