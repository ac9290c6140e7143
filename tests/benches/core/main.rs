//! The core alone: time, instructions and memory of requests, picks, deadlines and list updates.
//!
//! ```text
//! cargo bench -p redial-tests --bench core
//! ```
//!
//! It prints its tables, writes them to `BENCHMARKS.md`, and succeeds if every aim holds or its miss
//! is in `known-misses.toml`. Times are medians of interleaved runs on a virtual clock.

mod cycle;
mod instructions;
mod memory;
mod parts;
#[path = "../support/mod.rs"]
mod support;
mod tower;

use std::{env, hint::black_box, process::ExitCode, time::Instant};

use cycle::Cycle;
use support::{Report, Subject, interleave, median, ratio};

const IN_FLIGHT: [usize; 4] = [1, 100, 10_000, 1_000_000];
const NODES: [usize; 3] = [3, 1_000, 100_000];

/// What one node takes at most.
const MAX_A_NODE: usize = 65_536;

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    if arguments.next().as_deref() == Some(instructions::ARGUMENT) {
        instructions::run_counted(arguments);
        return ExitCode::SUCCESS;
    }
    let mut report = Report::new("core");
    against_tower(&mut report);
    cycles(&mut report);
    instruction_counts(&mut report);
    parts::run(&mut report);
    memory_use(&mut report);
    report.finish()
}

/// Nanoseconds for one of `count`.
pub(crate) fn time(count: u64, work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_nanos() as f64 / count as f64
}

fn against_tower(report: &mut Report) {
    const COUNT: u64 = 100_000;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    let (mut stack, mut cycle) = (tower::stack(), Cycle::new(3));
    let figures = interleave(&mut [
        Box::new(|| time(COUNT, || cycle.run(COUNT))),
        Box::new(|| {
            time(COUNT, || {
                runtime.block_on(tower::run(black_box(&mut stack), COUNT));
            })
        }),
    ]);
    let (redial, tower) = (&figures[0], &figures[1]);
    report.table(&["one request, 3 nodes, 1 in flight", "ns"]);
    report.row(&[
        "redial's cycle".to_owned(),
        format!("{:.0}", median(redial)),
    ]);
    report.row(&["tower's stack".to_owned(), format!("{:.0}", median(tower))]);
    report.below("cycle / tower's stack", ratio(redial, tower), 0.5);
}

fn cycles(report: &mut Report) {
    report.table(&["ns a cycle", "3 nodes", "1,000 nodes", "100,000 nodes"]);
    for in_flight in IN_FLIGHT {
        let mut subjects: Vec<Subject<'_>> = Vec::new();
        for nodes in NODES {
            if in_flight > nodes * MAX_A_NODE {
                continue;
            }
            let mut cycle = Cycle::new(nodes).with_in_flight(in_flight - 1);
            // Once around, so that every place has been used.
            cycle.run(in_flight as u64);
            const COUNT: u64 = 50_000;
            subjects.push(Box::new(move || time(COUNT, || cycle.run(COUNT))));
        }
        let figures = interleave(&mut subjects);
        let mut cells: Vec<_> = figures
            .iter()
            .map(|figures| format!("{:.0}", median(figures)))
            .collect();
        while cells.len() < NODES.len() {
            cells.insert(0, "over the limit".to_owned());
        }
        cells.insert(0, format!("{in_flight} in flight"));
        report.row(&cells);
    }
}

fn instruction_counts(report: &mut Report) {
    report.table(&[
        "instructions a cycle",
        "3 nodes",
        "1,000 nodes",
        "100,000 nodes",
    ]);
    for in_flight in [1, 100] {
        let counts = NODES.map(|nodes| instructions::per_cycle(nodes, in_flight));
        let [Some(few), Some(more), Some(many)] = counts else {
            return report.line("\nSkipped: valgrind is missing.");
        };
        let mut cells = vec![format!("{in_flight} in flight")];
        cells.extend([few, more, many].map(|count| format!("{count:.0}")));
        report.row(&cells);
        let name = format!("instructions at {in_flight} in flight, 3 to 100,000 nodes, % apart");
        report.below(name, (many / few - 1.0).abs() * 100.0, 10.0);
    }
}

fn memory_use(report: &mut Report) {
    let (node, request) = (memory::per_idle_node(), memory::per_request());
    report.table(&["memory", "bytes"]);
    report.row(&["an idle node".to_owned(), format!("{node:.0}")]);
    report.row(&["a request in flight".to_owned(), format!("{request:.0}")]);
    report.below("bytes an idle node", node, 512.0);
    report.below("bytes a request in flight", request, 128.0);
    for in_flight in [1, 100, 10_000] {
        let allocations = memory::allocations_per_cycle(in_flight);
        let name = format!("allocations a cycle at {in_flight} in flight");
        // That is none at all.
        report.below(name, allocations, 0.00001);
    }
}
