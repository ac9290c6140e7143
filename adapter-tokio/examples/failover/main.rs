//! A client that fails over, in one process: real TCP servers on loopback that die and come back,
//! a steady load, and what the client saw and decided.
//!
//! ```text
//! cargo run --release -p redial-tokio --example failover -- --seed 7
//! ```
//!
//! It starts with one node that swallows connections (a full accept queue) and one that accepts and
//! says nothing; later nodes are killed and revived, on a schedule drawn from the seed, one at least
//! living at any time. The client has its default configuration. The exit code is 0 only if every
//! accepted request completed exactly once.

mod client;
mod servers;

use std::{process::ExitCode, time::Duration};

use clap::Parser;
use redial::{NodeSpec, client::length_prefixed::LengthPrefixed};
use redial_tokio::{Client, Tokio};

use client::{Scenario, Schedule};
use servers::Servers;

/// A client fails over between servers that die and come back.
#[derive(Parser)]
struct Options {
    /// Draws the schedule and the client's choices. The default dials both dead nodes first.
    #[arg(long, default_value_t = 3)]
    seed: u64,
    /// How many servers; of three or more two are dead at the start, of two one is.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=26))]
    nodes: u8,
    /// How long requests are sent.
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u64).range(1..=16))]
    seconds: u64,
    /// Print the summary as JSON, and no timeline.
    #[arg(long)]
    json: bool,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let options = Options::parse();
    let length = Duration::from_secs(options.seconds);
    let schedule = Schedule::draw(options.seed, options.nodes.into(), length);
    let servers = Servers::start(&schedule.start).await?;

    let list: Vec<_> = servers.addresses().map(NodeSpec::from).collect();

    let runtime = Tokio::new(tokio::runtime::Handle::current());
    let client = Client::builder(LengthPrefixed::new())
        .nodes(list.clone())
        .runtime(runtime.clone())
        .seed(options.seed)
        .build()?;
    let scenario = Scenario {
        seed: options.seed,
        seconds: options.seconds,
        prints: !options.json,
        schedule,
        servers: list,
    };
    let set = async |node, mode| servers.set(node, mode).await;
    let summary = client::run(scenario, client, runtime, set).await?;
    match options.json {
        true => println!("{}", summary.to_json()),
        false => print!("{summary}"),
    }
    Ok(match summary.exactly_once() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}
