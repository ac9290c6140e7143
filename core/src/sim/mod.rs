//! The simulator: outages on virtual time. Feature `sim`.

mod fault;
mod schedule;
pub mod timeline;
mod trace;

pub use {
    fault::{Fault, Target, Way},
    schedule::{Occurrence, Schedule},
    timeline::{Incident, Timeline},
    trace::{Difference, Line, Trace, What},
};
