//! The simulator: outages on virtual time. Feature `sim`.

mod fault;
mod rng;
mod schedule;
#[cfg(feature = "sim-proptest")]
pub mod strategies;
mod trace;

pub use {
    fault::{Fault, Target, Way},
    schedule::{Expected, Occurrence, Schedule, ScheduleError, Swarm, shrink},
    trace::{Difference, Line, Trace, What},
};
