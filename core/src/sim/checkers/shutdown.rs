//! After shutdown nothing new begins, and it ends in time.

use super::{Rule, Seen, Violation, ensure, ledger::Ledger};
use crate::{
    Action, Cluster, Completion, Event, Instant, Output, Reason, RequestError, SubmitError,
    record::{Answer, Call},
};

/// DESIGN 4.19; SEMANTICS 9.
#[derive(Clone, Default)]
pub(super) struct Shutdown {
    /// When the drain ends.
    deadline: Option<Instant>,
    terminated: bool,
}

pub(super) const NOTHING_NEW: &str = "after shutdown nothing new begins (SEMANTICS 9.2)";
pub(super) const BOUNDED: &str = "a shutdown ends with its drain (SEMANTICS 9.1)";
pub(super) const SILENT: &str = "after Terminated there is nothing (SEMANTICS 9.2)";

impl Rule for Shutdown {
    fn after_step(&mut self, seen: &Seen<'_>, _ledger: &Ledger) -> Result<(), Violation> {
        let step = seen.step;
        if self.terminated {
            ensure!(
                step.outputs.is_empty() && step.deadline.is_none(),
                SILENT,
                "{:?}, {:?}",
                step.outputs,
                step.deadline
            );
        }
        if self.deadline.is_some()
            && let Call::Submit(_) = step.call
        {
            let refused = step.answer == Answer::Submit(Err(SubmitError::Closed));
            ensure!(refused, NOTHING_NEW, "a submit gave {:?}", step.answer);
        }
        if let (Call::Shutdown(drain), Answer::Shutdown(Ok(()))) = (&step.call, step.answer) {
            self.shorten(step.now + *drain);
        }
        // The session's end is a shutdown with drain 0 (SEMANTICS 2.1).
        let expired =
            |output: &Output| matches!(output, Output::Event(Event::SessionExpired { .. }));
        if step.outputs.iter().any(expired) {
            self.shorten(step.now);
        }
        for output in &step.outputs {
            self.check_output(output)?;
        }
        ensure!(
            seen.cluster.is_terminated() == self.terminated,
            SILENT,
            "the getter disagrees"
        );
        if let Some(deadline) = self.deadline.filter(|_| step.is_timeout()) {
            ensure!(
                self.terminated || deadline > step.now,
                BOUNDED,
                "the drain ended at {deadline}, it is {}",
                step.now
            );
        }
        Ok(())
    }

    fn at_end(&mut self, cluster: &Cluster, _ledger: &Ledger) -> Result<(), Violation> {
        ensure!(
            cluster.is_terminated(),
            BOUNDED,
            "at the end it is not terminated"
        );
        Ok(())
    }
}

impl Shutdown {
    fn check_output(&mut self, output: &Output) -> Result<(), Violation> {
        ensure!(!self.terminated, SILENT, "{output:?}");
        match output {
            Output::Terminated => {
                ensure!(
                    self.deadline.is_some(),
                    SILENT,
                    "terminated without a shutdown"
                );
                self.terminated = true;
            }
            Output::Completion(Completion {
                result:
                    Err(RequestError {
                        reason: Reason::Closed,
                        ..
                    }),
                ..
            }) => {
                ensure!(
                    self.deadline.is_some(),
                    NOTHING_NEW,
                    "Closed without a shutdown"
                );
            }
            Output::Action(
                Action::Resolve { .. }
                | Action::Connect { .. }
                | Action::Write { .. }
                | Action::Discover { .. },
            )
            | Output::Event(Event::AttemptStarted { .. }) => {
                ensure!(self.deadline.is_none(), NOTHING_NEW, "{output:?}");
            }
            // The first comes with the construction, which may be drained late.
            Output::Action(Action::Refresh { refresh, .. }) if refresh.generation() > 0 => {
                ensure!(self.deadline.is_none(), NOTHING_NEW, "{output:?}");
            }
            _ => {}
        }
        Ok(())
    }

    fn shorten(&mut self, deadline: Instant) {
        self.deadline = Some(self.deadline.map_or(deadline, |old| old.min(deadline)));
    }
}
