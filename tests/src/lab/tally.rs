//! What was seen in many runs.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use redial::{
    Cluster, Completion, Event, Output,
    record::Step,
    sim::{Checker, Violation},
};

/// How often what was seen, by the enum and its variant: `("Reason", "Timeout")`.
pub type Tallies = BTreeMap<(&'static str, String), u64>;

/// Counts what it sees, and finds no fault. Clones count together.
#[derive(Clone, Debug, Default)]
pub struct Tally(Arc<Mutex<Tallies>>);

impl Tally {
    /// What was seen.
    #[must_use]
    pub fn seen(&self) -> Tallies {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Checker for Tally {
    fn after_step(&mut self, step: &Step, _: &Cluster) -> Result<(), Violation> {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut count = |of, what: &dyn std::fmt::Debug| {
            let name = format!("{what:?}");
            let end = name.find(|c: char| !c.is_alphanumeric());
            let name = name[..end.unwrap_or(name.len())].to_owned();
            *seen.entry((of, name)).or_default() += 1;
        };
        if let Some(deadline) = step.deadline {
            count("DeadlineReason", &deadline.reason);
        }
        for output in &step.outputs {
            match output {
                Output::Action(action) => count("Action", action),
                Output::Completion(Completion {
                    result: Err(error), ..
                }) => count("Reason", &error.reason),
                Output::Completion(_) | Output::Terminated => {}
                Output::Event(event) => {
                    count("Event", event);
                    match event {
                        Event::StateChanged {
                            cause: Some(cause), ..
                        }
                        | Event::AttemptEnded {
                            cause: Some(cause), ..
                        }
                        | Event::Disconnected { cause, .. } => count("Cause", cause),
                        Event::Refreshed { result, .. } => count("RefreshResult", result),
                        _ => {}
                    }
                }
            }
        }
        Ok(())
    }
}
