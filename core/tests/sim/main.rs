//! The simulator.

mod faults;
mod golden;
mod own_logic;
#[cfg(feature = "sim-svg")]
mod picture;
mod runs;
mod runtime;

use std::time::Duration;

use redial::{
    RequestOptions,
    client::length_prefixed::LengthPrefixed,
    sim::{Load, Run, Schedule, Service, Simulation},
};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A request every 10 ms, echoed after a millisecond.
fn simulation() -> Simulation<LengthPrefixed> {
    Simulation::new(LengthPrefixed::new, |_| Service::echo(ms(1))).workload(|_| {
        Load::every(ms(10), |n| format!("request {n}").into())
            .options(RequestOptions::new().idempotent())
    })
}

#[track_caller]
fn run(simulation: &Simulation<LengthPrefixed>, schedule: &Schedule) -> Run {
    match simulation.run(schedule) {
        Ok(run) => run,
        Err(failure) => panic!("{failure}"),
    }
}
