//! The client's side of the example: a steady load, what became of it, and what the client saw and
//! decided. It is written once, over [`Runtime`]: a test runs it among simulated servers on virtual
//! time.

mod load;
mod schedule;
mod summary;
mod tasks;
mod timeline;

use std::{error::Error, sync::Arc, time::Duration};

use redial::{
    NodeSpec,
    client::length_prefixed::LengthPrefixed,
    driver::{Handle, Runtime},
};

use load::Ledger;
pub(crate) use schedule::{Mode, Schedule};
pub(crate) use summary::Summary;
use tasks::{sleep_until, timeout};
use timeline::Timeline;

/// What is to happen.
pub(crate) struct Scenario {
    /// Draws the schedule and the client's choices.
    pub(crate) seed: u64,
    /// How long requests are sent.
    pub(crate) seconds: u64,
    /// Whether to print a timeline.
    pub(crate) prints: bool,
    pub(crate) schedule: Schedule,
    /// Of the servers, in the schedule's order; the client was built with them.
    pub(crate) servers: Vec<NodeSpec>,
}

/// Sends requests while servers die and come back, as `set` makes them. The client ends with it.
pub(crate) async fn run<R: Runtime>(
    scenario: Scenario,
    client: Handle<LengthPrefixed, R>,
    runtime: R,
    set: impl AsyncFn(usize, Mode),
) -> Result<Summary, Box<dyn Error>> {
    let timeline = Timeline::start(&client, &runtime, &scenario.servers, scenario.prints);
    for (node, mode) in scenario.schedule.start.iter().enumerate() {
        timeline.world(node, mode.at_start());
    }

    let ledger = Arc::new(Ledger::new());
    let length = Duration::from_secs(scenario.seconds);
    let load = load::start(&client, &runtime, &ledger, length);
    let start = runtime.now();
    for step in &scenario.schedule.steps {
        sleep_until(&runtime, start + step.after).await;
        timeline.world(step.node, step.mode.announcement());
        set(step.node, step.mode).await;
    }
    let mut requests = load.join().await;

    // Those still open may finish; then the client ends, which completes what is left.
    let second = Duration::from_secs(1);
    let _ = timeout(&runtime, second, requests.wait()).await;
    client.shutdown(second).await?;
    let _ = timeout(&runtime, second, requests.wait()).await;

    let nodes = timeline.finish().await;
    Ok(Summary::new(&scenario, &ledger, &client.stats(), nodes))
}
