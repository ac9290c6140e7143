//! What is simulated.

use std::time::Duration;

use redial::{
    RequestOptions,
    client::length_prefixed::LengthPrefixed,
    sim::{Load, Service, Simulation},
};

/// A request every 200 milliseconds, which servers echo after one; if it takes longer than `within`, the
/// run fails.
pub(crate) fn simulation(within: Option<Duration>) -> Simulation<LengthPrefixed> {
    let echo = |_| Service::echo(Duration::from_millis(1));
    let simulation = Simulation::new(LengthPrefixed::new, echo)
        .made_by("simulation(None)")
        .traced()
        .workload(|_| {
            Load::every(Duration::from_millis(200), |n| format!("{n}").into())
                .options(RequestOptions::new().idempotent())
        });
    match within {
        None => simulation,
        Some(within) => simulation
            .made_by(format!(
                "simulation(Some(Duration::from_nanos({})))",
                within.as_nanos()
            ))
            .property(
                format!("every request ends within {within:?}"),
                move |outcome| outcome.completed - outcome.submitted <= within,
            ),
    }
}
