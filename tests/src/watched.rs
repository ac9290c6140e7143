//! A cluster under the eyes of all checkers.

use std::fmt;

use redial::{
    Cluster, Config, Instant,
    record::{Call, Observer, Step},
    sim::{Broken, Checker, Watch},
};

/// A cluster whose every step is checked.
pub struct Watched {
    cluster: Cluster,
    watch: Watch,
    seed: u64,
}

/// A rule was broken: the seed, what broke, and what came before.
#[derive(Debug)]
pub struct Failure {
    seed: u64,
    broken: Broken,
}

impl Watched {
    /// An empty cluster.
    #[must_use]
    pub fn new(config: &Config, seed: u64, now: Instant) -> Self {
        Self::with(config, seed, now, Vec::new())
    }

    /// The same, with more checkers.
    #[must_use]
    pub fn with(config: &Config, seed: u64, now: Instant, more: Vec<Box<dyn Checker>>) -> Self {
        Self {
            cluster: Cluster::new(config.clone(), seed, now),
            watch: Watch::new(more),
            seed,
        }
    }

    /// Makes the call, drains, and checks everything.
    ///
    /// # Errors
    ///
    /// A rule was broken.
    pub fn call(&mut self, now: Instant, call: Call) -> Result<Step, Failure> {
        let step = Step::take(&mut self.cluster, now, call);
        self.watch.observe(&step, &self.cluster);
        match self.watch.broken() {
            Some(broken) => Err(Failure {
                seed: self.seed,
                broken,
            }),
            None => Ok(step),
        }
    }

    /// The cluster, to read its getters.
    #[must_use]
    pub const fn cluster(&self) -> &Cluster {
        &self.cluster
    }
}

impl Failure {
    /// What broke.
    #[must_use]
    pub const fn rule(&self) -> &'static str {
        self.broken.violation.rule
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
        write!(f, "seed {}: {}", self.seed, self.broken)
    }
}

impl std::error::Error for Failure {}
