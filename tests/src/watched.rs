//! A cluster under the eyes of all checkers.

use std::{collections::VecDeque, fmt};

use redial::{Cluster, Config, Instant};

use crate::{
    checkers::{self, Checker, Violation},
    step::{Call, Step},
};

/// How much of the past a failure tells.
const REMEMBERED: usize = 40;

/// A cluster whose every step is checked: by all [`checkers`] and by the core's own audit.
pub struct Watched {
    cluster: Cluster,
    checkers: Vec<Box<dyn Checker>>,
    seed: u64,
    recent: VecDeque<Step>,
}

/// A rule was broken: the seed, what broke, and what came before.
#[derive(Debug)]
pub struct Failure {
    seed: u64,
    violation: Violation,
    recent: Vec<Step>,
}

impl Watched {
    /// An empty cluster.
    #[must_use]
    pub fn new(config: &Config, seed: u64, now: Instant) -> Self {
        Self {
            cluster: Cluster::new(config.clone(), seed, now),
            checkers: checkers::all(config),
            seed,
            recent: VecDeque::new(),
        }
    }

    /// Has this checker look at every step too.
    pub fn add(&mut self, checker: impl Checker + 'static) {
        self.checkers.push(Box::new(checker));
    }

    /// Makes the call, drains, and checks everything.
    ///
    /// # Errors
    ///
    /// A rule was broken.
    pub fn call(&mut self, now: Instant, call: Call) -> Result<Step, Failure> {
        let step = Step::take(&mut self.cluster, now, call);
        if self.recent.len() == REMEMBERED {
            self.recent.pop_front();
        }
        self.recent.push_back(step.clone());
        let audit = self.cluster.audit().map_err(|what| Violation {
            rule: "the core's own books agree (audit)",
            what,
        });
        let cluster = &self.cluster;
        self.checkers
            .iter_mut()
            .try_for_each(|checker| checker.after_step(&step, cluster))
            .and(audit)
            .map_err(|violation| self.failure(violation))?;
        Ok(step)
    }

    /// The cluster, to read its getters.
    #[must_use]
    pub const fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    fn failure(&self, violation: Violation) -> Failure {
        Failure {
            seed: self.seed,
            violation,
            recent: self.recent.iter().cloned().collect(),
        }
    }
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched")
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}: {}; the last steps:", self.seed, self.violation)?;
        self.recent
            .iter()
            .try_for_each(|step| writeln!(f, "{step}"))
    }
}

impl std::error::Error for Failure {}
