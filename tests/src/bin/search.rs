//! Searches all states of small clusters: `search --nodes 2 --requests 2`.
//!
//! Prints what each search found, and a shortest path if something is wrong; exits 0 only if nothing is and
//! no state is left.

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
    /// With so many faults: a search for each choice of them.
    #[arg(long, default_value_t = 0)]
    faults: usize,
    /// Only with choices that have all of these, such as `Throttle,List`.
    #[arg(long, value_delimiter = ',')]
    with: Vec<String>,
    /// At most so many states a search.
    #[arg(long, default_value_t = 1_000_000)]
    states: usize,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let mut done = ExitCode::SUCCESS;
    for faults in choices(options.faults.max(options.with.len())) {
        let names: Vec<_> = faults.iter().map(|fault| format!("{fault:?}")).collect();
        if !options.with.iter().all(|wanted| names.contains(wanted)) {
            continue;
        }
        let report = search(&Bounds {
            warm: options.warm,
            faults,
            states: options.states,
            ..Bounds::new(options.nodes, options.requests)
        });
        println!("{report}");
        if !matches!(report.end, End::Exhausted) {
            done = ExitCode::FAILURE;
        }
    }
    done
}

/// All choices of so many faults.
fn choices(count: usize) -> Vec<Vec<Fault>> {
    let all = 0_u32..1 << Fault::ALL.len();
    let chosen = all.filter(|chosen| chosen.count_ones() as usize == count);
    let faults = |chosen: u32| {
        let all = (0..).zip(Fault::ALL);
        let chosen = all.filter(|(bit, _)| chosen >> bit & 1 != 0);
        chosen.map(|(_, fault)| fault).collect()
    };
    chosen.map(faults).collect()
}
