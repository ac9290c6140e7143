//! The example `failover` of redial-tokio on virtual time: the very code of its client's side, among
//! simulated servers that do what the example's real ones do.

#[path = "../../adapter-tokio/examples/failover/client/mod.rs"]
mod client;

use std::{collections::BTreeMap, time::Duration};

use redial::{
    client::length_prefixed::LengthPrefixed,
    sim::{self, Fault, Target, VirtualClient, VirtualWorld},
};
use serde_json::Value;

use client::{Mode, Scenario, Schedule, Summary};

const NODES: usize = 3;

/// As in the example, unless it is told otherwise.
const SECONDS: u64 = 12;

/// How long a server works on what has come, as in the example.
const WORK: Duration = Duration::from_millis(10);

#[test]
fn with_two_of_three_dead_at_the_start_the_first_answer_takes_two_hedge_delays_at_most() {
    // Of the default configuration.
    let hedges = 2.0 * 250.0;
    // Of a look-up, a dial, a greeting and a request.
    let way = 25.0;
    let mut slowest: f64 = 0.0;
    for seed in 1..=20 {
        let first = summary(seed, 1).to_json()["first_answer_ms"]
            .as_f64()
            .unwrap();
        assert!(first <= hedges + way, "seed {seed}: {first} ms");
        slowest = slowest.max(first);
    }
    assert!(slowest > hedges, "no seed needs two hedges: {slowest} ms");
}

#[test]
fn while_servers_die_and_come_back_every_request_is_answered_once_and_without_a_long_gap() {
    for seed in 1..=20 {
        let summary = summary(seed, SECONDS);
        let json = summary.to_json();
        assert!(summary.exactly_once(), "seed {seed}: {summary}");
        assert_eq!(json["sent"], 200 * SECONDS, "seed {seed}: {summary}");
        assert_eq!(json["answered"], json["sent"], "seed {seed}: {summary}");
        let gap = json["longest_gap_ms"].as_f64().unwrap();
        assert!(gap < 50.0, "seed {seed}: {summary}");
    }
}

#[test]
fn the_summary_of_a_seed_is_the_same_again_and_names_what_the_client_did() {
    let (first, second) = (summary(3, SECONDS), summary(3, SECONDS));
    assert_eq!(first.to_string(), second.to_string());
    let json = first.to_json();
    let attempts = |node: &Value| node["attempts"].as_u64().unwrap();
    let nodes = json["nodes"].as_array().unwrap();
    assert!(nodes.iter().all(|node| attempts(node) > 0), "{first}");
    assert!(json["retries"].as_u64().unwrap() > 0, "{first}");
}

fn summary(seed: u64, seconds: u64) -> Summary {
    let schedule = Schedule::draw(seed, NODES, Duration::from_secs(seconds));
    let service = |_| sim::Service::echo(WORK);
    let world = VirtualWorld::new(&faults(seed, &schedule), service);
    let client = VirtualClient::builder(LengthPrefixed::new())
        .nodes(world.servers())
        .runtime(world.runtime())
        .observe(world.observer())
        .seed(seed)
        .build()
        .unwrap();
    let scenario = Scenario {
        seed,
        seconds,
        prints: false,
        schedule,
        servers: world.servers(),
    };
    // The world changes the servers itself, by its schedule.
    let run = client::run(scenario, client, world.runtime(), async |_, _| ());
    let summary = world.block_on(run).unwrap().unwrap();
    assert!(world.broken().is_none(), "{}", world.broken().unwrap());
    summary
}

/// The same as faults of the world.
fn faults(seed: u64, schedule: &Schedule) -> sim::Schedule {
    let end = Duration::from_secs(2 * SECONDS);
    let mut faults = sim::Schedule::new(seed, NODES as u32, end);
    let mut modes: BTreeMap<usize, (Duration, Mode)> = BTreeMap::new();
    let at_start = schedule.start.iter().enumerate();
    let steps = schedule.steps.iter();
    let changes = at_start
        .map(|(node, mode)| (node, Duration::ZERO, *mode))
        .chain(steps.map(|step| (step.node, step.after, step.mode)))
        .chain((0..NODES).map(|node| (node, end, Mode::Live)));
    for (node, at, mode) in changes {
        let Some((since, before)) = modes.insert(node, (at, mode)) else {
            continue;
        };
        let fault = match before {
            Mode::Live => continue,
            Mode::Dead => Fault::Crash,
            Mode::Mute => Fault::Mute,
            Mode::BlackHole => Fault::BlackHole,
        };
        faults = faults.fault(since, at - since, Target::Server(node as u32), fault);
    }
    faults
}
