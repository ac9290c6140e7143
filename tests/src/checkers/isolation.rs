//! What happens to one node leaves the requests of the others alone.

use redial::{
    Action, Cluster, Completion, Config, ConnectionId, Event, HandshakeError, Input, NodeId,
    Output, Reason,
};

use super::{Checker, Violation, ensure, ledger::Ledger};
use crate::step::{Call, Step};

/// DESIGN 4.13; SEMANTICS 4.5, 6.1.
pub(super) struct Isolation {
    ledger: Ledger,
}

pub(super) const OTHERS: &str = "no failure of a node touches a request of another (DESIGN 4.13)";
pub(super) const CAUSE: &str =
    "a request is disconnected only with its own connection (DESIGN 4.13)";

impl Isolation {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            ledger: Ledger::new(config),
        }
    }
}

impl Checker for Isolation {
    fn after_step(&mut self, step: &Step, cluster: &Cluster) -> Result<(), Violation> {
        let failing = self.failing(step);
        let mut disconnected = Vec::new();
        self.ledger.begin(step, cluster);
        for output in &step.outputs {
            match *output {
                Output::Completion(Completion {
                    request,
                    result: Err(error),
                }) => {
                    let Some(entry) = self.ledger.requests.get(&request) else {
                        continue;
                    };
                    let place = entry.place.map(|place| place.0);
                    let bound = entry.bound_to();
                    if let Some(node) = failing {
                        ensure!(
                            place.is_none_or(|place| self.node_of(place) == Some(node))
                                && bound.is_none_or(|bound| bound == node),
                            OTHERS,
                            "{node} failed; {request}, bound to {bound:?}, at {place:?}, ended as \
                             {error}"
                        );
                    }
                    if matches!(error.reason, Reason::Disconnected(_)) {
                        disconnected.extend(place.map(|place| (request, place)));
                    }
                }
                Output::Action(Action::Withdraw {
                    connection,
                    request,
                    ..
                }) => {
                    ensure!(
                        failing.is_none_or(|node| self.node_of(connection) == Some(node)),
                        OTHERS,
                        "{failing:?} failed; {request} was withdrawn from {connection}"
                    );
                }
                _ => {}
            }
            self.ledger.output(output);
        }
        for (request, connection) in disconnected {
            ensure!(
                !self.ledger.connections.contains_key(&connection),
                CAUSE,
                "{request} was disconnected from {connection}, which lives"
            );
        }
        Ok(())
    }
}

impl Isolation {
    /// The node whose failure this step tells, unless that is the end of the client.
    fn failing(&self, step: &Step) -> Option<NodeId> {
        let connection = match step.call {
            Call::Input(Input::HandshakeFailed {
                error: HandshakeError::Fatal,
                ..
            }) => return None,
            Call::Input(
                Input::ConnectFailed { connection, .. }
                | Input::HandshakeFailed { connection, .. }
                | Input::Closed { connection, .. }
                | Input::PeerDraining { connection },
            ) => connection,
            _ => return None,
        };
        let ends = |output: &Output| {
            matches!(
                output,
                Output::Event(Event::SessionExpired { .. }) | Output::Terminated
            )
        };
        if step.outputs.iter().any(ends) {
            return None;
        }
        self.node_of(connection)
    }

    fn node_of(&self, connection: ConnectionId) -> Option<NodeId> {
        let live = self.ledger.connections.get(&connection);
        live.or_else(|| self.ledger.ended.get(&connection))
            .map(|entry| entry.node)
    }
}
