//! A reply reaches only the request that it answers.

use super::{Rule, Seen, Violation, ensure, ledger::Ledger};
use crate::{
    Completion, Input, Output, RequestId, Success, SuccessKind,
    record::{Call, Step},
};

/// DESIGN 4.2; SEMANTICS 4.4.
#[derive(Clone, Default)]
pub(super) struct Replies {
    /// The open request that the reply in this step answers.
    answered: Option<RequestId>,
}

pub(super) const RULE: &str = "a reply reaches only the request it answers (DESIGN 4.2)";

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
}

fn answered(step: &Step, ledger: &Ledger) -> Option<RequestId> {
    let Call::Input(Input::Reply { connection, to, .. }) = step.call else {
        return None;
    };
    let serial = ledger.answered_by(connection, to)?;
    let frame = ledger.connections.get(&connection)?.frames.get(&serial)?;
    frame.open.then_some(frame.request)
}
