//! A [`Schedule`]: a run from outside, as data.

use core::time::Duration;
use std::vec::Vec;

use serde::{Deserialize, Serialize};

use super::fault::{Fault, Target};
use crate::Instant;

/// What happens to a simulation from outside: the same schedule gives the same run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Schedule {
    /// All chance of the run follows from it: the clients' and the network's.
    pub seed: u64,
    /// How many servers there are.
    pub servers: u32,
    /// For how long the run goes on. Then the clients are shut down.
    pub lasts: Duration,
    /// What goes wrong, in any order.
    pub faults: Vec<Occurrence>,
}

/// A fault, when and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Occurrence {
    /// When it begins.
    pub at: Instant,
    /// For how long it lasts. Of no meaning for a fault that is [instant](Fault::is_instant).
    pub lasts: Duration,
    /// Whom it strikes.
    pub target: Target,
    /// What goes wrong.
    pub fault: Fault,
}

impl Occurrence {
    /// When it is over.
    #[must_use]
    pub fn ends(&self) -> Instant {
        match self.fault.is_instant() {
            true => self.at,
            false => self.at + self.lasts,
        }
    }
}

impl Schedule {
    /// So many servers, and nothing that goes wrong.
    #[must_use]
    pub const fn new(seed: u64, servers: u32, lasts: Duration) -> Self {
        Self {
            seed,
            servers,
            lasts,
            faults: Vec::new(),
        }
    }

    /// The same with a fault that begins so long after the start.
    #[must_use]
    pub fn fault(mut self, after: Duration, lasts: Duration, target: Target, fault: Fault) -> Self {
        self.faults.push(Occurrence {
            at: Instant::ORIGIN + after,
            lasts,
            target,
            fault,
        });
        self
    }
}

impl core::fmt::Display for Occurrence {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:?} {}", self.target, self.fault.kind())
    }
}

impl core::fmt::Display for Schedule {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{self:?}")
    }
}
