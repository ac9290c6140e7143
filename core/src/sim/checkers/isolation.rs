//! What happens to one node leaves the requests of the others alone.

use alloc::vec::Vec;

use super::{Rule, Seen, Violation, ensure, ledger::Ledger};
use crate::{
    Action, Completion, ConnectionId, Event, HandshakeError, Input, NodeId, Output, Reason,
    RequestId,
    record::{Call, Step},
};

/// DESIGN 4.13; SEMANTICS 4.5, 6.1.
#[derive(Clone, Default)]
pub(super) struct Isolation {
    /// The node whose failure this step tells.
    failing: Option<NodeId>,
    /// Requests that were disconnected in this step, and where they were.
    disconnected: Vec<(RequestId, ConnectionId)>,
}

pub(super) const OTHERS: &str = "no failure of a node touches a request of another (DESIGN 4.13)";
pub(super) const CAUSE: &str =
    "a request is disconnected only with its own connection (DESIGN 4.13)";

impl Rule for Isolation {
    fn before_call(&mut self, step: &Step, ledger: &Ledger) {
        self.failing = failing(step, ledger);
        self.disconnected.clear();
    }

    fn on_output(
        &mut self,
        output: &Output,
        _seen: &Seen<'_>,
        ledger: &Ledger,
    ) -> Result<(), Violation> {
        match *output {
            Output::Completion(Completion {
                request,
                result: Err(error),
            }) => {
                let Some(entry) = ledger.requests.get(&request) else {
                    return Ok(());
                };
                let place = entry.place.map(|place| place.0);
                let bound = entry.bound_to();
                if let Some(node) = self.failing {
                    ensure!(
                        place.is_none_or(|place| node_of(place, ledger) == Some(node))
                            && bound.is_none_or(|bound| bound == node),
                        OTHERS,
                        "{node} failed; {request}, bound to {bound:?}, at {place:?}, ended as {error}"
                    );
                }
                if matches!(error.reason, Reason::Disconnected(_)) {
                    self.disconnected
                        .extend(place.map(|place| (request, place)));
                }
            }
            Output::Action(Action::Withdraw {
                connection,
                request,
                ..
            }) => {
                ensure!(
                    self.failing
                        .is_none_or(|node| node_of(connection, ledger) == Some(node)),
                    OTHERS,
                    "{:?} failed; {request} was withdrawn from {connection}",
                    self.failing
                );
            }
            _ => {}
        }
        Ok(())
    }

    fn after_step(&mut self, _seen: &Seen<'_>, ledger: &Ledger) -> Result<(), Violation> {
        for (request, connection) in &self.disconnected {
            ensure!(
                !ledger.connections.contains_key(connection),
                CAUSE,
                "{request} was disconnected from {connection}, which lives"
            );
        }
        Ok(())
    }
}

/// The node whose failure this step tells, unless that is the end of the client.
fn failing(step: &Step, ledger: &Ledger) -> Option<NodeId> {
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
    node_of(connection, ledger)
}

fn node_of(connection: ConnectionId, ledger: &Ledger) -> Option<NodeId> {
    let live = ledger.connections.get(&connection);
    live.or_else(|| ledger.ended.get(&connection))
        .map(|entry| entry.node)
}
