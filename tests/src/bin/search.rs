//! Searches all states of small clusters: `search --nodes 2 --requests 2 --free none --faults all`.
//!
//! Prints what it found, and a path if something is wrong; exits 0 only if nothing is, no state is left
//! and every goal within the bounds was reached.

use std::process::ExitCode;

use clap::Parser;
use redial_tests::search::{Bounds, End, Fault, search};

/// Searches all states of small clusters.
#[derive(Parser)]
struct Options {
    /// Nodes in a list, 1 or 2.
    #[arg(long, default_value_t = 1)]
    nodes: u8,
    /// Requests, 1 to 3.
    #[arg(long, default_value_t = 1)]
    requests: u8,
    /// Nodes are connected whether a request waits or not.
    #[arg(long)]
    warm: bool,
    /// What disturbs any number of times: names such as `Close`, `everyday`, `all` or `none`. `all` is
    /// without `Expire`, with which no request lives until it fails for want of a node.
    #[arg(long, value_delimiter = ',', default_value = "everyday")]
    free: Vec<String>,
    /// What else disturbs, within the budget.
    #[arg(long, value_delimiter = ',', default_value = "none")]
    faults: Vec<String>,
    /// How many of these at most are on one path.
    #[arg(long, default_value_t = 1)]
    budget: u8,
    /// At most so many states.
    #[arg(long, default_value_t = 1_000_000)]
    states: usize,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let bounds = Bounds {
        warm: options.warm,
        free: faults(&options.free),
        faults: faults(&options.faults),
        budget: options.budget,
        states: options.states,
        ..Bounds::new(options.nodes, options.requests)
    };
    let report = search(&bounds);
    println!("{report}");
    let missed: Vec<_> = report.goals.missed(&bounds).collect();
    if !missed.is_empty() {
        println!("goals missed: {missed:?}");
    }
    let done = matches!(report.end, End::Exhausted) && missed.is_empty();
    ExitCode::from(u8::from(!done))
}

fn faults(names: &[String]) -> Vec<Fault> {
    let named = |fault: Fault, name: &str| match name {
        "everyday" => Fault::EVERYDAY.contains(&fault),
        "all" => fault != Fault::Expire,
        name => name == format!("{fault:?}"),
    };
    let wanted = |fault: &Fault| names.iter().any(|name| named(*fault, name));
    Fault::all().filter(wanted).collect()
}
