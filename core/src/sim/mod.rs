//! The simulator: outages on virtual time. Feature `sim`.

mod fault;
mod schedule;
mod trace;

pub use {
    fault::{Fault, Target, Way},
    schedule::{Occurrence, Schedule},
    trace::{Difference, Line, Trace, What},
};
