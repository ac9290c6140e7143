//! The simulator: outages on virtual time. Feature `sim`.

pub mod checkers;
mod embedder;
mod fault;
mod runtime;
mod schedule;
mod server;
mod simulation;
mod tap;
mod trace;
mod watch;
mod workload;
mod world;

pub use {
    checkers::{Checker, Violation},
    fault::{Fault, Target, Way},
    runtime::{Sleep, Stalled, Virtual, VirtualClient, VirtualStream, VirtualTimer, VirtualWorld},
    schedule::{Occurrence, Schedule},
    server::{Answers, Conduct, Reaction, Server, Service},
    simulation::{Failure, Outcome, Run, Simulation, Wrong},
    trace::{Difference, Line, Trace, What},
    watch::{Broken, Watch},
    workload::{App, Load, Workload},
};
