//! Every accepted request completes exactly once, in time, and says the truth about itself.

use super::{Rule, Seen, Violation, ensure, ledger::Ledger};
use crate::{
    Certainty, Cluster, Completion, Output, RequestId,
    record::{Answer, Call, Step},
};

/// DESIGN 4.1, 4.14; SEMANTICS 4.1, 4.8, 4.9.
#[derive(Clone, Default)]
pub(super) struct Completions {
    /// Whom the step cancels, and whether it is open before.
    cancelled: Option<(RequestId, bool)>,
}

pub(super) const ONCE: &str = "every accepted request completes exactly once (DESIGN 4.1)";
pub(super) const IN_TIME: &str = "a request does not outlive its deadline (DESIGN 4.14)";
pub(super) const TRUTH: &str =
    "an outcome says how often and whether it was handed over (SEMANTICS 4.8)";

impl Rule for Completions {
    fn before_call(&mut self, step: &Step, ledger: &Ledger) {
        self.cancelled = match step.call {
            Call::Cancel(request) => Some((request, ledger.requests.contains_key(&request))),
            _ => None,
        };
    }

    fn on_output(
        &mut self,
        output: &Output,
        _seen: &Seen<'_>,
        ledger: &Ledger,
    ) -> Result<(), Violation> {
        match output {
            Output::Completion(completion) => check(completion, ledger),
            _ => Ok(()),
        }
    }

    fn after_step(&mut self, seen: &Seen<'_>, ledger: &Ledger) -> Result<(), Violation> {
        let step = seen.step;
        if let Some((request, was_open)) = self.cancelled {
            ensure!(
                step.answer == Answer::Cancel(was_open) && !ledger.requests.contains_key(&request),
                ONCE,
                "cancel of {request} returned {:?}",
                step.answer
            );
        }
        for (request, entry) in &ledger.requests {
            ensure!(
                seen.cluster.is_open(*request),
                ONCE,
                "{request} is not open and never completed"
            );
            ensure!(
                !step.is_timeout() || !entry.is_due(step.now),
                IN_TIME,
                "{request} was due at {}, it is {}",
                entry.deadline,
                step.now
            );
        }
        let came = seen.stats.open_requests;
        let count = ledger.requests.len();
        ensure!(
            came == count,
            ONCE,
            "{count} requests are open, stats say {came}"
        );
        Ok(())
    }

    fn at_end(&mut self, _cluster: &Cluster, ledger: &Ledger) -> Result<(), Violation> {
        let open = ledger.requests.keys();
        ensure!(
            ledger.requests.is_empty(),
            ONCE,
            "at the end {:?} are open",
            open
        );
        Ok(())
    }
}

fn check(completion: &Completion, ledger: &Ledger) -> Result<(), Violation> {
    let request = completion.request;
    let Some(entry) = ledger.requests.get(&request) else {
        ensure!(false, ONCE, "{request} completed and is not open");
        return Ok(());
    };
    let (attempts, elapsed) = match completion.result {
        Ok(success) => (success.attempts, success.elapsed),
        Err(error) => (error.attempts, error.elapsed),
    };
    ensure!(
        attempts == entry.hand_overs,
        TRUTH,
        "{request} was handed over {} times, its outcome says {attempts}",
        entry.hand_overs
    );
    let expected = ledger.now - entry.submitted;
    ensure!(
        elapsed == expected,
        TRUTH,
        "{request} took {expected:?}, not {elapsed:?}"
    );
    if let Err(error) = completion.result {
        let never = error.certainty == Certainty::NeverWritten;
        ensure!(
            never == (entry.hand_overs == 0),
            TRUTH,
            "{request}, handed over {} times, is {}",
            entry.hand_overs,
            error.certainty
        );
    }
    Ok(())
}
