//! The simulator: events a second, with and without checkers, and what a trace takes.
//!
//! ```text
//! cargo bench -p redial-tests --bench sim
//! ```
//!
//! An event is one input or output of a client's core. The clients are under load all the time, so
//! none is an idle tick. It prints its tables, writes them to `BENCHMARKS.md`, and succeeds if every
//! aim holds or its miss is in `known-misses.toml`. Figures are medians of interleaved runs, each on
//! one thread.

#[path = "../support/mod.rs"]
mod support;

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use allocation_counter::measure;
use redial::{
    RequestOptions,
    client::length_prefixed::LengthPrefixed,
    sim::{Load, Run, Schedule, Service, Simulation, Swarm},
};
use support::{Report, Subject, interleave, median};

/// The first one is that of the aims.
const SIZES: [Size; 4] = [
    Size::new(1, 3, 64),
    Size::new(1, 30, 64),
    Size::new(1, 3, 512),
    Size::new(100, 3, 4),
];

/// About so many events a run; checkers are slower.
const EVENTS: u64 = 200_000;
const EVENTS_CHECKED: u64 = 40_000;

/// How long a server takes. With its way there and back a request takes 22.2 ms.
const WORK: Duration = Duration::from_millis(20);

/// Of schedules with faults: one seed alone may strike all servers at once, or none.
const SEEDS: u64 = 4;

/// How much is simulated.
#[derive(Clone, Copy)]
struct Size {
    clients: u32,
    servers: u32,
    in_flight: u32,
}

fn main() -> ExitCode {
    let mut report = Report::new("sim");
    let without = speeds(&mut report, "events a second, no checkers", false);
    let with = speeds(&mut report, "events a second, all checkers", true);
    memory(&mut report);
    report.at_least("events a second without checkers", without, 1_000_000.0);
    report.at_least("events a second with all checkers", with, 50_000.0);
    report.finish()
}

/// The median of the first size without faults.
fn speeds(report: &mut Report, title: &str, checked: bool) -> f64 {
    let mut subjects: Vec<Subject<'_>> = Vec::new();
    for size in SIZES {
        for faults in [false, true] {
            subjects.push(Box::new(move || size.speed(checked, faults)));
        }
    }
    let medians: Vec<f64> = interleave(&mut subjects)
        .iter()
        .map(|figures| median(figures))
        .collect();
    report.table(&[title, "nothing goes wrong", "faults drawn from seeds"]);
    for (size, speeds) in SIZES.iter().zip(medians.chunks(2)) {
        report.row(&[
            size.text(),
            format!("{:.0}", speeds[0]),
            format!("{:.0}", speeds[1]),
        ]);
    }
    medians[0]
}

fn memory(report: &mut Report) {
    report.table(&["a trace", "bytes an event"]);
    for size in SIZES {
        let simulation = size.simulation(false).traced();
        let mut run = None;
        let held = measure(|| run = Some(play(&simulation, &size.calm(size.lasts(EVENTS)))));
        let events = run.map_or(0, |run| run.events);
        let bytes = held.bytes_current as f64 / events as f64;
        report.row(&[size.text(), format!("{bytes:.0}")]);
    }
}

impl Size {
    const fn new(clients: u32, servers: u32, in_flight: u32) -> Self {
        Self {
            clients,
            servers,
            in_flight,
        }
    }

    fn text(self) -> String {
        let Self {
            clients,
            servers,
            in_flight,
        } = self;
        let clients = match clients {
            1 => String::new(),
            clients => format!("{clients} clients, "),
        };
        format!("{clients}{servers} servers, {in_flight} in flight")
    }

    /// Events of all runs in a second.
    fn speed(self, checked: bool, faults: bool) -> f64 {
        let simulation = self.simulation(checked);
        let lasts = self.lasts(if checked { EVENTS_CHECKED } else { EVENTS });
        let schedules: Vec<_> = match faults {
            false => vec![self.calm(lasts)],
            true => (1..=SEEDS)
                .map(|seed| self.stormy(seed, lasts / 2))
                .collect(),
        };
        let start = Instant::now();
        let events: u64 = schedules
            .iter()
            .map(|schedule| play(&simulation, schedule).events)
            .sum();
        events as f64 / start.elapsed().as_secs_f64()
    }

    fn simulation(self, checked: bool) -> Simulation<LengthPrefixed> {
        let in_flight = self.in_flight;
        let echo = |_| Service::echo(WORK);
        let simulation = Simulation::new(LengthPrefixed::new, echo)
            .clients(self.clients)
            .workload(move |_| {
                Load::in_flight(in_flight, |n| n.to_be_bytes().to_vec().into())
                    .options(RequestOptions::new().idempotent())
            });
        match checked {
            true => simulation,
            false => simulation.unchecked(),
        }
    }

    /// How long that many events take in the world: seven a request.
    fn lasts(self, events: u64) -> Duration {
        let requests = events / 7;
        let at_once = u64::from(self.clients * self.in_flight);
        Duration::from_micros(requests * 22_200 / at_once)
    }

    fn calm(self, lasts: Duration) -> Schedule {
        Schedule::new(1, self.servers, lasts)
    }

    /// Some ten faults, which last a hundredth to a tenth of the run.
    fn stormy(self, seed: u64, lasts: Duration) -> Schedule {
        let swarm = Swarm {
            servers: self.servers..=self.servers,
            lasts,
            faults_per_hour: (36_000.0 / lasts.as_secs_f64()) as u32,
            shortest: lasts / 100,
            longest: lasts / 10,
            ..Swarm::default()
        };
        Schedule::draw(seed, &swarm)
    }
}

fn play(simulation: &Simulation<LengthPrefixed>, schedule: &Schedule) -> Run {
    match simulation.run(schedule) {
        Ok(run) => run,
        Err(failure) => panic!("{failure}"),
    }
}
