//! [`Watch`]: all checkers at once, over one core.

use alloc::{boxed::Box, collections::VecDeque, sync::Arc, vec::Vec};
use core::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::checkers::{self, Checker, Violation};
use crate::{
    Cluster, Instant,
    record::{Observer, Step},
};

/// How much of the past is told.
const REMEMBERED: usize = 20;

/// Checks every step of one core: by all [`checkers`](super::checkers), those of the user and the
/// core's own audit of its books, until one finds fault. A clone is another handle to the same watch:
/// one is the observer, as of [`Recorder::observe`](crate::record::Recorder::observe), another asks
/// what was found.
#[derive(Clone)]
pub struct Watch(Arc<Mutex<State>>);

struct State {
    /// Those of the core come with the first step.
    checkers: Vec<Box<dyn Checker>>,
    recent: VecDeque<Step>,
    checks: u64,
    broken: Option<Violation>,
}

/// A rule was broken: what, and what came before.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Broken {
    /// What was found.
    pub violation: Violation,
    /// The last steps; in the last of them it was found.
    pub steps: Vec<Step>,
}

impl Watch {
    /// Of the checkers in `extra` each sees every step too.
    #[must_use]
    pub fn new(extra: Vec<Box<dyn Checker>>) -> Self {
        Self(Arc::new(Mutex::new(State {
            checkers: extra,
            recent: VecDeque::new(),
            checks: 0,
            broken: None,
        })))
    }

    /// What was found, if anything was. After that nothing more is looked at.
    #[must_use]
    pub fn broken(&self) -> Option<Broken> {
        let state = self.state();
        state.broken.clone().map(|violation| Broken {
            violation,
            steps: state.recent.iter().cloned().collect(),
        })
    }

    /// How many times a rule has looked at a step.
    pub(super) fn checks(&self) -> u64 {
        self.state().checks
    }

    /// The last steps.
    pub(super) fn recent(&self) -> Vec<Step> {
        self.state().recent.iter().cloned().collect()
    }

    /// Looks, when the run is over, for what has not come to its end: [`Checker::at_end`].
    pub fn end(&self, now: Instant, cluster: &Cluster) {
        self.state()
            .check(|checker| checker.at_end(now, cluster), cluster);
    }

    /// A checker of the user's may have panicked; what was found before stands.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Watch {
    fn observe(&mut self, step: &Step, cluster: &Cluster) {
        let mut state = self.state();
        if state.broken.is_none() {
            // A client changes its configuration to what its protocol says.
            if state.recent.is_empty() {
                let all = checkers::all(cluster.config());
                state.checkers.insert(0, Box::new(all));
            }
            if state.recent.len() == REMEMBERED {
                state.recent.pop_front();
            }
            state.recent.push_back(step.clone());
            let rules = state.checkers.iter().map(|checker| checker.rules());
            state.checks += rules.sum::<usize>() as u64;
            state.check(|checker| checker.after_step(step, cluster), cluster);
        }
    }
}

impl State {
    fn check(
        &mut self,
        mut check: impl FnMut(&mut Box<dyn Checker>) -> Result<(), Violation>,
        cluster: &Cluster,
    ) {
        if self.broken.is_none() {
            let found = self.checkers.iter_mut().try_for_each(&mut check);
            // Broken cores are to be found from outside.
            let found = match cfg!(redial_mutant) {
                true => found,
                false => found.and_then(|()| audit(cluster)),
            };
            self.broken = found.err();
        }
    }
}

fn audit(cluster: &Cluster) -> Result<(), Violation> {
    let rule = "the core's own books agree (audit)";
    cluster.audit().map_err(|what| Violation { rule, what })
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("broken", &self.state().broken)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}; the last steps:", self.violation)?;
        self.steps.iter().try_for_each(|step| writeln!(f, "{step}"))
    }
}

impl core::error::Error for Broken {}
