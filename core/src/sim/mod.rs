//! The simulator: outages on virtual time. Feature `sim`.

pub mod checkers;
mod fault;
mod schedule;
mod trace;
mod watch;

pub use {
    checkers::{Checker, Violation},
    fault::{Fault, Target, Way},
    schedule::{Occurrence, Schedule},
    trace::{Difference, Line, Trace, What},
    watch::{Broken, Watch},
};
