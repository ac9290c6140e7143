//! A band of random worlds: the rules hold in each, and over all of them everything happens that can.

use std::{collections::BTreeSet, time::Duration};

use redial::sim::{Explored, Fault};
use redial_tests::lab::{self, Tallies, Tally};

const SEEDS: std::ops::Range<u64> = 0..150;

/// Five minutes each, of which two are calm.
const LASTS: Duration = Duration::from_secs(5 * 60);

#[test]
fn the_rules_hold_in_random_worlds_in_which_everything_happens() {
    let (tally, mut explored) = (Tally::default(), Explored::default());
    for seed in SEEDS {
        let tally = tally.clone();
        let simulation = lab::simulation(seed).checker(move || tally.clone());
        let schedule = lab::schedule(seed, LASTS);
        match simulation.run(&schedule) {
            Ok(run) => explored.add(&schedule, &run),
            Err(failure) => panic!("{}", simulation.shrink(*failure)),
        }
    }
    let kinds: BTreeSet<_> = Fault::KINDS.map(Fault::kind).into();
    assert_eq!(explored.faults.into_keys().collect::<BTreeSet<_>>(), kinds);
    let seen = tally.seen();
    let (output, error) = (
        include_str!("../../core/src/output.rs"),
        include_str!("../../core/src/error.rs"),
    );
    let mut missing = BTreeSet::new();
    for (name, source) in [
        ("Action", output),
        ("Event", output),
        ("RefreshResult", output),
        ("DeadlineReason", output),
        ("Cause", error),
        ("Reason", error),
    ] {
        missing.extend(never(name, source, &seen));
    }
    assert_eq!(missing, IMPOSSIBLE.map(str::to_owned).into(), "{seen:#?}");
}

/// What cannot happen here, and why.
const IMPOSSIBLE: [&str; 6] = [
    // A name has one address in the simulator, so that there is no race.
    "NextAddress",
    "LostRace",
    // Outputs are drained after each call.
    "Outputs",
    // A dial is refused, lost, or has no route.
    "Reset",
    // The system gives a lost dial up after two minutes; attempts are over before.
    "ConnectFailed",
    // Requests are small: those that wait do not fill the 64 KiB that a peer takes without reading.
    "WriteStall",
];

/// The variants of an enum that were never seen, by its source.
fn never(name: &str, source: &str, seen: &Tallies) -> BTreeSet<String> {
    let (_, body) = source
        .split_once(&format!("pub enum {name} {{"))
        .expect("it is there");
    let (body, _) = body.split_once("\n}").expect("its end");
    let lines = body.lines().filter_map(|line| line.strip_prefix("    "));
    let variants = lines.filter(|line| line.starts_with(char::is_uppercase));
    let variants = variants.map(|line| line.split(|c: char| !c.is_alphanumeric()).next());
    let variants: BTreeSet<_> = variants.flatten().map(str::to_owned).collect();
    assert!(variants.len() > 3, "{name}: {variants:?}");
    let count = |variant: &String| seen.keys().any(|(of, what)| *of == name && what == variant);
    variants
        .into_iter()
        .filter(|variant| !count(variant))
        .collect()
}

/// DESIGN 4.20: a seed gives the same again, and another gives another.
#[test]
fn a_random_world_can_be_repeated() {
    let run = |seed| {
        let run = lab::simulation(seed)
            .traced()
            .run(&lab::schedule(seed, LASTS));
        run.expect("the rules hold").trace.hash()
    };
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
}
