//! The simulator.
use redial::{
    RequestOptions,
    client::length_prefixed::LengthPrefixed,
    sim::{Fault, Load, Schedule, Service, Simulation, Target, Way, What},
};
use std::time::{Duration, Instant};

const fn s(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn simulation() -> Simulation<LengthPrefixed> {
    Simulation::new(LengthPrefixed::new, |_| {
        Service::echo(Duration::from_millis(1))
    })
    .workload(|_| {
        Load::every(Duration::from_millis(10), |n| format!("request {n}").into())
            .options(RequestOptions::new().idempotent())
    })
}

#[test]
fn every_fault() {
    for fault in [
        Fault::Crash,
        Fault::Pause,
        Fault::Slow(s(1)),
        Fault::Mute,
        Fault::Drain,
        Fault::Throttle(s(1)),
        Fault::RejectCredentials,
        Fault::Garble,
        Fault::Refuse,
        Fault::Unreachable,
        Fault::BlackHole,
        Fault::Reset,
        Fault::HalfOpen,
        Fault::Partition(Way::Both),
        Fault::Partition(Way::ToServer),
        Fault::Partition(Way::ToClient),
        Fault::Stall(Way::Both),
        Fault::Stall(Way::ToServer),
        Fault::Stall(Way::ToClient),
        Fault::Latency {
            by: s(1),
            jitter: s(1),
        },
        Fault::Bandwidth(100),
        Fault::Fragment,
        Fault::NameFails,
        Fault::NameHangs,
        Fault::NameIsEmpty,
        Fault::NameMoves(1),
        Fault::NotListed,
        Fault::Sleep,
    ] {
        for target in [Target::Server(0), Target::All] {
            let schedule = Schedule::new(7, 3, s(120)).fault(s(10), s(30), target, fault);
            let run = simulation().traced().run(&schedule).unwrap();
            let stats = run.stats[0];
            println!(
                "{:20} {target:?} ok {} failed {} attempts {} retries {} stale {} late {} events {} ended {}",
                fault.kind(),
                stats.succeeded,
                stats.failed,
                stats.attempts,
                stats.retries,
                stats.stale_facts,
                stats.late_replies,
                run.events,
                run.ended
            );
            let again = simulation().traced().run(&schedule).unwrap();
            assert_eq!(run.trace.diff(&again.trace), None);
            let _ = run
                .trace
                .lines
                .iter()
                .filter(|l| matches!(l.what, What::Begins(_)))
                .count();
        }
    }
}

#[test]
fn speed() {
    let sim = Simulation::new(LengthPrefixed::new, |_| {
        Service::echo(Duration::from_millis(1))
    })
    .workload(|_| Load::in_flight(64, |_| "x".into()));
    let start = Instant::now();
    let run = sim.run(&Schedule::new(1, 3, s(60))).unwrap();
    let t = start.elapsed();
    println!(
        "{} events in {t:?}: {} a second; {:?}",
        run.events,
        run.events as f64 / t.as_secs_f64(),
        run.stats[0].succeeded
    );
}
