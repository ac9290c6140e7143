//! An outage on virtual time: hours in seconds, seen and replayed.
//!
//! A client sends a request every 200 milliseconds to some servers, while a schedule of faults strikes
//! them: one drawn from the seed, one that has a name, or one in a file. The timeline and what the
//! client did about each fault are printed.
//!
//! ```console
//! cargo run --release -p redial --features sim-svg --example outage -- --seed 7 --hours 1 --svg out.svg
//! ```

mod scenario;

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use clap::Parser;
use redial::sim::{Run, Schedule, Swarm, Timeline};

use scenario::simulation;

/// Simulates a client during an outage, and shows what it did.
#[derive(Parser)]
struct Options {
    /// From which everything follows that is left to chance. With a schedule from a file: instead of
    /// the one that is written there.
    #[arg(long)]
    seed: Option<u64>,
    /// How many servers there are. Default: as the seed says, or 3.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    nodes: Option<u32>,
    /// What goes wrong: a file with a schedule, or one of the names that --list shows. Default: drawn
    /// from the seed.
    #[arg(long)]
    schedule: Option<String>,
    /// How long it goes on, in simulated hours. Not with a schedule from a file.
    #[arg(long, default_value = "1", value_parser = hours)]
    hours: Duration,
    /// Writes the picture there.
    #[arg(long)]
    svg: Option<PathBuf>,
    /// A request that takes longer, in seconds, makes the run fail.
    #[arg(long, value_parser = seconds)]
    within: Option<Duration>,
    /// If the run fails: looks for the simplest schedule that fails too.
    #[arg(long)]
    shrink: bool,
    /// How many columns the timeline has.
    #[arg(long, default_value_t = 100)]
    columns: usize,
    /// Writes the trace there, a line of JSON an event.
    #[arg(long)]
    trace: Option<PathBuf>,
    /// Shows the schedules that have a name, and ends.
    #[arg(long)]
    list: bool,
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let options = Options::parse();
    if options.list {
        for (name, what) in Schedule::NAMED {
            println!("{name:20} {what}");
        }
        return Ok(ExitCode::SUCCESS);
    }
    let schedule = schedule(&options)?;
    let simulation = simulation(options.within);
    #[expect(clippy::disallowed_types, reason = "it shows how long a run takes")]
    let began = std::time::Instant::now();
    let run = match simulation.run(&schedule) {
        Ok(run) => run,
        Err(failure) if options.shrink => {
            println!("{}", simulation.shrink(*failure));
            return Ok(ExitCode::FAILURE);
        }
        Err(failure) => {
            println!("{failure}");
            return Ok(ExitCode::FAILURE);
        }
    };
    let took = began.elapsed();
    println!("{schedule}");
    show(&options, &run)?;
    let stats = run.stats[0];
    println!(
        "{} requests: {} answered, {} failed, {} retries; {} attempts to connect, {} hedges",
        stats.requests, stats.succeeded, stats.failed, stats.retries, stats.attempts, stats.hedges,
    );
    println!(
        "{:.0?} simulated in {took:.1?}: {} events, every step checked",
        run.ended - redial::Instant::ORIGIN,
        run.events
    );
    Ok(ExitCode::SUCCESS)
}

fn schedule(options: &Options) -> Result<Schedule, Box<dyn Error>> {
    let seed = options.seed.unwrap_or(1);
    let Some(name) = &options.schedule else {
        let mut swarm = Swarm {
            lasts: options.hours,
            ..Swarm::default()
        };
        if let Some(nodes) = options.nodes {
            swarm.servers = nodes..=nodes;
        }
        return Ok(Schedule::draw(seed, &swarm));
    };
    let nodes = options.nodes.unwrap_or(3);
    if let Some(schedule) = Schedule::named(name, seed, nodes, options.hours) {
        return Ok(schedule);
    }
    let text = fs::read_to_string(name).map_err(|error| {
        format!("{name} is no schedule's name (see --list), and cannot be read: {error}")
    })?;
    let mut schedule: Schedule = text.parse().map_err(|error| format!("{name}: {error}"))?;
    schedule.seed = options.seed.unwrap_or(schedule.seed);
    schedule.servers = options.nodes.unwrap_or(schedule.servers);
    Ok(schedule)
}

fn show(options: &Options, run: &Run) -> Result<(), Box<dyn Error>> {
    let timeline = Timeline::of(&run.trace, 0).titled(title(options));
    println!("{}", timeline.text(options.columns));
    for incident in timeline.incidents() {
        println!("{incident}");
    }
    if let Some(path) = &options.svg {
        write(path, timeline.svg())?;
    }
    if let Some(path) = &options.trace {
        let mut lines = Vec::new();
        run.trace.write_json(&mut lines)?;
        write(path, lines)?;
    }
    Ok(())
}

fn title(options: &Options) -> String {
    match (&options.schedule, options.seed) {
        (Some(name), None) => name.clone(),
        (Some(name), Some(seed)) => format!("{name}, seed {seed}"),
        (None, seed) => format!("seed {}", seed.unwrap_or(1)),
    }
}

fn write(path: &Path, contents: impl AsRef<[u8]>) -> Result<(), String> {
    fs::write(path, contents).map_err(|error| format!("{}: {error}", path.display()))?;
    println!("wrote {}", path.display());
    Ok(())
}

fn hours(text: &str) -> Result<Duration, String> {
    duration(text, 3_600.0)
}

fn seconds(text: &str) -> Result<Duration, String> {
    duration(text, 1.0)
}

fn duration(text: &str, unit: f64) -> Result<Duration, String> {
    let number: f64 = text.parse().map_err(|_| "expected a number".to_owned())?;
    Duration::try_from_secs_f64(number * unit).map_err(|error| error.to_string())
}
