//! Every accepted request completes exactly once, in time, and says the truth about itself.

use redial::{Certainty, Cluster, Completion, Config, Output, RequestId};

use super::{Checker, Violation, ensure, ledger::Ledger};
use crate::step::{Answer, Call, Step};

/// DESIGN 4.1, 4.14; SEMANTICS 4.1, 4.8, 4.9.
pub(super) struct Completions {
    ledger: Ledger,
}

pub(super) const ONCE: &str = "every accepted request completes exactly once (DESIGN 4.1)";
pub(super) const IN_TIME: &str = "a request does not outlive its deadline (DESIGN 4.14)";
pub(super) const TRUTH: &str =
    "an outcome says how often and whether it was handed over (SEMANTICS 4.8)";

impl Completions {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            ledger: Ledger::new(config),
        }
    }
}

impl Checker for Completions {
    fn after_step(&mut self, step: &Step, cluster: &Cluster) -> Result<(), Violation> {
        let cancelled = match step.call {
            Call::Cancel(request) => Some((request, self.ledger.requests.contains_key(&request))),
            _ => None,
        };
        self.ledger.begin(step, cluster);
        for output in &step.outputs {
            if let Output::Completion(completion) = output {
                self.check(completion)?;
            }
            self.ledger.output(output);
        }

        let open = |request: &RequestId| self.ledger.requests.contains_key(request);
        if let Some((request, was_open)) = cancelled {
            ensure!(
                step.answer == Answer::Cancel(was_open) && !open(&request),
                ONCE,
                "cancel of {request} returned {:?}",
                step.answer
            );
        }
        for request in self.ledger.requests.keys() {
            ensure!(
                cluster.is_open(*request),
                ONCE,
                "{request} is not open and never completed"
            );
        }
        let came = cluster.stats().open_requests;
        let count = self.ledger.requests.len();
        ensure!(
            came == count,
            ONCE,
            "{count} requests are open, stats say {came}"
        );
        if step.is_timeout() {
            for (request, entry) in &self.ledger.requests {
                ensure!(
                    !entry.is_due(step.now),
                    IN_TIME,
                    "{request} was due at {}, it is {}",
                    entry.deadline,
                    step.now
                );
            }
        }
        Ok(())
    }
}

impl Completions {
    fn check(&self, completion: &Completion) -> Result<(), Violation> {
        let request = completion.request;
        let Some(entry) = self.ledger.requests.get(&request) else {
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
        let expected = self.ledger.now - entry.submitted;
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
}
