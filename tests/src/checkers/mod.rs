//! The invariants of the core, each as a small checker that sees every step.
//!
//! A checker keeps its own books, from what went in and what came out; of the core it reads the
//! public getters only. Each cites the rule that it checks, and the tests below show that each can
//! fail.

mod completions;
mod connections;
mod deadlines;
mod failures;
mod frames;
mod governor;
mod isolation;
mod ledger;
mod lists;
mod progress;
mod refreshes;
mod replies;
mod shutdown;
mod slots;
mod transitions;
mod unions;
mod upkeep;

#[cfg(test)]
mod bite;

use std::fmt;

use redial::{Cluster, Config};

use crate::step::Step;

/// Looks at every step of a run.
pub trait Checker {
    /// Called after each step, when its outputs have been drained.
    ///
    /// # Errors
    ///
    /// What does not hold.
    fn after_step(&mut self, step: &Step, cluster: &Cluster) -> Result<(), Violation>;
}

/// A rule that does not hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Which rule.
    pub rule: &'static str,
    /// What was seen.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.what)
    }
}

/// All of them, for a cluster with this configuration.
#[must_use]
pub fn all(config: &Config) -> Vec<Box<dyn Checker>> {
    vec![
        Box::new(completions::Completions::new(config)),
        Box::new(replies::Replies::new(config)),
        Box::new(slots::Slots::new(config)),
        Box::new(frames::Frames::new(config)),
        Box::new(isolation::Isolation::new(config)),
        Box::new(connections::Connections::new(config)),
        Box::new(transitions::Transitions::new(config)),
        Box::new(failures::Failures::new(config)),
        Box::new(governor::Governor::new(config)),
        Box::new(upkeep::Upkeep::new(config)),
        Box::new(progress::Progress::new(config)),
        Box::new(deadlines::Deadlines::new(config)),
        Box::new(lists::Lists::new(config)),
        Box::new(refreshes::Refreshes::new(config)),
        Box::new(unions::Unions::new(config)),
        Box::new(shutdown::Shutdown::default()),
    ]
}

/// `Err` with the rule and what was seen, unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $rule:expr, $($what:tt)+) => {
        if !$condition {
            return Err(crate::checkers::Violation { rule: $rule, what: format!($($what)+) });
        }
    };
}
use ensure;
