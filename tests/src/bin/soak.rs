//! Many random worlds, each for hours: `cargo run --release -p redial-tests --bin soak -- --seeds 0..100
//! --hours 1`.

use std::{ops::Range, process::ExitCode, time::Duration, time::Instant as Clock};

use clap::Parser;
use redial::{
    Instant,
    sim::{Explored, Run, Schedule},
};
use redial_tests::lab;

/// Runs random worlds, one a seed, and checks every step.
#[derive(Debug, Parser)]
struct Options {
    /// The seeds, as in `0..100`.
    #[arg(long, value_parser = seeds, default_value = "0..100")]
    seeds: Range<u64>,
    /// How many hours of the world's time each runs.
    #[arg(long, default_value_t = 1.0)]
    hours: f64,
}

fn seeds(text: &str) -> Result<Range<u64>, String> {
    let (from, to) = text.split_once("..").ok_or("as in 0..100")?;
    let number = |text: &str| text.parse::<u64>().map_err(|error| error.to_string());
    Ok(number(from)?..number(to)?)
}

/// An hour with fewer events, or fewer pairs of faults that overlap, shows too little.
const EVENTS_AN_HOUR: f64 = 10_000.0;
const OVERLAPS_AN_HOUR: f64 = 5.0;

fn main() -> ExitCode {
    let options = Options::parse();
    let lasts = Duration::from_secs_f64(options.hours * 3600.0);
    let (start, mut explored) = (Clock::now(), Explored::default());
    let (mut passed, mut failed) = (0, 0);
    for seed in options.seeds {
        let (simulation, schedule) = (lab::simulation(seed), lab::schedule(seed, lasts));
        let result = simulation.run(&schedule);
        let wrong = match result {
            Ok(run) => {
                explored.add(&schedule, &run);
                too_quiet(&schedule, &run)
            }
            Err(failure) => Some(simulation.shrink(*failure).to_string()),
        };
        match wrong {
            None => passed += 1,
            Some(wrong) => {
                failed += 1;
                let hours = options.hours;
                let seeds = format!("{seed}..{}", seed + 1);
                println!("seed {seed} failed: {wrong}");
                println!(
                    "again: cargo run --release -p redial-tests --bin soak -- --seeds {seeds} --hours {hours}\n"
                );
            }
        }
    }
    print(&explored, start.elapsed());
    println!("{passed} passed, {failed} failed");
    match failed {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// Whether it shows too little.
fn too_quiet(schedule: &Schedule, run: &Run) -> Option<String> {
    let hours = (run.ended - Instant::ORIGIN).as_secs_f64() / 3600.0;
    let events = run.events as f64 / hours;
    let overlaps = schedule.overlaps() as f64 / hours;
    let is_quiet = events < EVENTS_AN_HOUR || overlaps < OVERLAPS_AN_HOUR;
    is_quiet.then(|| format!("too quiet: {events:.0} events and {overlaps:.0} overlaps an hour"))
}

fn print(explored: &Explored, took: Duration) {
    let Explored {
        simulated,
        events,
        checks,
        faults,
        overlaps,
        ..
    } = explored;
    let seconds = took.as_secs_f64();
    println!(
        "{:.1} hours simulated in {seconds:.1} s",
        simulated.as_secs_f64() / 3600.0
    );
    println!("{events} events, {:.0} a second", *events as f64 / seconds);
    println!("{checks} checks made");
    println!("faults:");
    for (kind, count) in faults {
        println!("  {count:>8} {kind}");
    }
    println!("{overlaps} pairs of faults overlapped");
}
