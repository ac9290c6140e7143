//! A reply reaches only the request that it answers.

use redial::{Cluster, Completion, Config, Input, Output, RequestId, Success, SuccessKind};

use super::{Checker, Violation, ensure, ledger::Ledger};
use crate::step::{Call, Step};

/// DESIGN 4.2; SEMANTICS 4.4.
pub(super) struct Replies {
    ledger: Ledger,
}

pub(super) const RULE: &str = "a reply reaches only the request it answers (DESIGN 4.2)";

impl Replies {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            ledger: Ledger::new(config),
        }
    }

    /// The open request that the reply in this step answers.
    fn answered(&self, step: &Step) -> Option<RequestId> {
        let Call::Input(Input::Reply { connection, to, .. }) = step.call else {
            return None;
        };
        let serial = self.ledger.answered_by(connection, to)?;
        let frame = self
            .ledger
            .connections
            .get(&connection)?
            .frames
            .get(&serial)?;
        let entry = self.ledger.requests.get(&frame.request)?;
        (entry.place == Some((connection, serial))).then_some(frame.request)
    }
}

impl Checker for Replies {
    fn after_step(&mut self, step: &Step, cluster: &Cluster) -> Result<(), Violation> {
        let answered = self.answered(step);
        for output in &step.outputs {
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
                    Some(*request) == answered,
                    RULE,
                    "{request} got the reply to {answered:?}"
                );
            }
        }
        self.ledger.apply(step, cluster);
        Ok(())
    }
}
