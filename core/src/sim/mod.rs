//! The simulator: outages on virtual time. Feature `sim`.

pub mod checkers;
mod embedder;
mod explore;
mod fault;
mod rng;
mod runtime;
mod schedule;
mod server;
mod simulation;
#[cfg(feature = "sim-proptest")]
pub mod strategies;
mod tap;
pub mod timeline;
mod trace;
mod watch;
mod workload;
mod world;

pub use {
    checkers::{Checker, Violation},
    explore::{Explored, Shrunk},
    fault::{Fault, Target, Way},
    runtime::{Sleep, Stalled, Virtual, VirtualClient, VirtualStream, VirtualTimer, VirtualWorld},
    schedule::{Expected, Occurrence, Schedule, ScheduleError, Swarm, shrink},
    server::{Answers, Conduct, Reaction, Server, Service},
    simulation::{Failure, Outcome, Run, Simulation, Wrong},
    timeline::{Incident, Timeline},
    trace::{Difference, Line, Trace, What},
    watch::{Broken, Watch},
    workload::{App, Load, Workload},
    world::{listed_by_address, listed_by_name},
};
