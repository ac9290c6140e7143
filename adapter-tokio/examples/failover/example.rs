//! The example on any runtime.

use std::{error::Error, process::ExitCode, time::Duration};

use clap::Parser;
use redial::{
    NodeSpec,
    client::length_prefixed::LengthPrefixed,
    driver::{Handle, Runtime},
};

use crate::{
    client::{self, Scenario, Schedule},
    servers::Servers,
};

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

/// Succeeds only if every accepted request completed exactly once.
pub(crate) async fn run<R: Runtime>(runtime: R) -> Result<ExitCode, Box<dyn Error>> {
    let options = Options::parse();
    let length = Duration::from_secs(options.seconds);
    let schedule = Schedule::draw(options.seed, options.nodes.into(), length);
    let servers = Servers::start(&schedule.start)?;

    let list: Vec<_> = servers
        .addresses()
        .into_iter()
        .map(NodeSpec::from)
        .collect();

    let client = Handle::builder(LengthPrefixed::new())
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
    let set = async |node, mode| servers.set(node, mode).expect("loopback works");
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
