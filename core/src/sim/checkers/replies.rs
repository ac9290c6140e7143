//! A reply reaches only the request that it answers, and heals its connection.

use super::{Rule, Seen, Violation, ensure, ledger::Ledger};
use crate::{
    Completion, Input, Output, RequestId, Success, SuccessKind,
    record::{Call, Step},
};

/// DESIGN 4.2; SEMANTICS 4.4, 5.3.
#[derive(Clone, Default)]
pub(super) struct Replies {
    /// The open request that the reply in this step answers.
    answered: Option<RequestId>,
}

pub(super) const RULE: &str = "a reply reaches only the request it answers (DESIGN 4.2)";
pub(super) const HEALS: &str = "a reply heals its connection (SEMANTICS 5.3)";

impl Rule for Replies {
    fn before_call(&mut self, step: &Step, ledger: &Ledger) {
        self.answered = answered(step, ledger);
    }

    fn on_output(
        &mut self,
        output: &Output,
        _seen: &Seen<'_>,
        _ledger: &Ledger,
    ) -> Result<(), Violation> {
        if let Output::Completion(Completion {
            request,
            result:
                Ok(Success {
                    kind: SuccessKind::Reply,
                    ..
                }),
        }) = output
        {
            ensure!(
                Some(*request) == self.answered,
                RULE,
                "{request} got the reply to {:?}",
                self.answered
            );
        }
        Ok(())
    }

    /// Also a late one; nonsense ends the connection.
    fn after_step(&mut self, seen: &Seen<'_>, _ledger: &Ledger) -> Result<(), Violation> {
        let Call::Input(Input::Reply { connection, .. }) = seen.step.call else {
            return Ok(());
        };
        let mut nodes = seen.nodes.iter();
        let sick = nodes.find(|view| view.connection == Some(connection) && view.unhealthy);
        ensure!(
            sick.is_none(),
            HEALS,
            "{connection} is unhealthy after a reply"
        );
        Ok(())
    }
}

fn answered(step: &Step, ledger: &Ledger) -> Option<RequestId> {
    let Call::Input(Input::Reply { connection, to, .. }) = step.call else {
        return None;
    };
    let serial = ledger.answered_by(connection, to)?;
    let frame = ledger.connections.get(&connection)?.frames.get(&serial)?;
    frame.open.then_some(frame.request)
}
