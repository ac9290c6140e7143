//! Many runs: until one fails, which is then shrunk.

use core::{fmt, time::Duration};
use std::{boxed::Box, collections::BTreeMap};

use thiserror::Error;

use super::{
    schedule::{Schedule, shrink},
    simulation::{Failure, Run, Simulation},
};
use crate::{Instant, client::Protocol};

/// How many runs shrinking may take.
const SHRINK_RUNS: usize = 500;

/// What came of many runs in which every rule held.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Explored {
    /// How many.
    pub runs: u64,
    /// How much time passed in them.
    pub simulated: Duration,
    /// Inputs and outputs of all clients' cores.
    pub events: u64,
    /// How many times a rule has looked at a step of a core.
    pub checks: u64,
    /// How many faults of each kind have begun.
    pub faults: BTreeMap<&'static str, u64>,
    /// How many pairs of faults overlapped in time.
    pub overlaps: u64,
}

/// A run that failed, and the simplest one that was found to fail in the same way. Its text ends with
/// a ready-made test; `Debug` gives it too, so that an `unwrap` shows it.
#[derive(Clone, PartialEq, Eq, Error)]
#[error(
    "{failure}\nThe same with the simplest schedule that was found, of {runs} tried:\n{shrunk}"
)]
#[non_exhaustive]
pub struct Shrunk {
    /// The run that failed.
    pub failure: Failure,
    /// The simplest one that fails so.
    pub shrunk: Failure,
    /// How many runs that took.
    pub runs: usize,
}

impl<P: Protocol + 'static> Simulation<P> {
    /// Plays these schedules, such as [`Schedule::draw`] gives, until one fails; that one is
    /// [shrunk](Self::shrink).
    ///
    /// # Errors
    ///
    /// [`Shrunk`] has the failure and the simplest one like it.
    pub fn explore(
        &self,
        schedules: impl IntoIterator<Item = Schedule>,
    ) -> Result<Explored, Box<Shrunk>> {
        let mut explored = Explored::default();
        for schedule in schedules {
            match self.run(&schedule) {
                Ok(run) => explored.add(&schedule, &run),
                Err(failure) => return Err(Box::new(self.shrink(*failure))),
            }
        }
        Ok(explored)
    }

    /// Looks for the simplest schedule that fails in the same way. Takes up to 500 runs.
    #[must_use]
    pub fn shrink(&self, failure: Failure) -> Shrunk {
        let (mut runs, mut shrunk) = (0, failure.clone());
        let fails = |schedule: &Schedule| {
            runs += 1;
            match self.run(schedule) {
                Err(other) if other.what.is_like(&failure.what) => {
                    shrunk = *other;
                    true
                }
                _ => false,
            }
        };
        let simplest = shrink(&failure.schedule, fails, SHRINK_RUNS);
        debug_assert_eq!(
            simplest, shrunk.schedule,
            "the last that failed is the simplest"
        );
        Shrunk {
            failure,
            shrunk,
            runs,
        }
    }
}

impl fmt::Debug for Shrunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Explored {
    /// Counts a run in.
    pub fn add(&mut self, schedule: &Schedule, run: &Run) {
        self.runs += 1;
        self.simulated += run.ended - Instant::ORIGIN;
        self.events += run.events;
        self.checks += run.checks;
        self.overlaps += schedule.overlaps() as u64;
        for (kind, count) in &run.faults {
            *self.faults.entry(kind).or_default() += count;
        }
    }
}
