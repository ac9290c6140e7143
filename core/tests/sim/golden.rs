//! What a recorded run does is the same for ever, in every build and on every platform, until a change
//! means to change it.

use std::{fs, io::BufRead, path::Path};

use redial::{
    client::length_prefixed::LengthPrefixed,
    sim::{Fault, Line, Load, Run, Schedule, Service, Simulation, Swarm, Target, Trace},
};

use super::{ms, run, s, simulation};

/// Set it to write the recorded trace anew.
const RENEW: &str = "REDIAL_RENEW_GOLDEN";

/// Of the trace of an hour.
const HOUR: u64 = 8_033_839_246_087_755_861;

#[test]
fn the_recorded_trace_holds() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sim/golden.jsonl");
    let trace = golden().trace;
    #[expect(
        clippy::disallowed_methods,
        reason = "it is whoever runs the test that asks"
    )]
    let renews = std::env::var_os(RENEW).is_some();
    if renews {
        let mut lines = Vec::new();
        trace.write_json(&mut lines).unwrap();
        fs::write(&path, lines).unwrap();
    }
    let recorded = read(&fs::read(&path).unwrap());
    if let Some(difference) = recorded.diff(&trace) {
        panic!(
            "what redial does has changed, {difference}\n\nIf that is meant, run this test once more \
             with {RENEW}=1, renew the hash of the hour beside it, and say in CHANGELOG.md why it moved."
        );
    }
}

#[test]
fn the_recorded_trace_has_something_of_everything() {
    let run = golden();
    let text = run.trace.to_string();
    for what in [
        "begins: ",
        "ends: ",
        "Resolve",
        "Connect ",
        "Handshake",
        "hedge: true",
        "AttemptEnded",
        "Disconnected",
        "RetryScheduled",
        "set_nodes",
        "shutdown",
        "terminated",
    ] {
        assert!(text.contains(what), "no {what} in:\n{text}");
    }
    assert!((100..300).contains(&run.trace.lines.len()));
}

#[test]
fn an_hour_of_faults_has_the_hash_that_it_always_had() {
    let simulation = Simulation::new(LengthPrefixed::new, |_| Service::echo(ms(1)))
        .workload(|_| Load::every(s(1), |n| format!("{n}").into()))
        .unchecked()
        .traced();
    let trace = run(&simulation, &Schedule::draw(7, &Swarm::default())).trace;
    assert!(trace.lines.len() > 20_000, "{}", trace.lines.len());
    let hash = trace.hash();
    assert_eq!(
        hash, HOUR,
        "what redial does in this hour has changed; if that is meant, this is the new hash: {hash}"
    );
}

/// Two seconds of everything: the server that is dialled first does not answer, the next one dies with
/// a request in flight, and the third leaves the list.
fn golden() -> Run {
    let simulation = simulation().traced().workload(|_| {
        Load::every(ms(150), |n| format!("request {n}").into())
            .options(redial::RequestOptions::new().idempotent())
    });
    let schedule = Schedule::new(1, 3, s(2))
        .fault(s(0), ms(1_500), Target::Server(2), Fault::BlackHole)
        .fault(ms(601), ms(300), Target::Server(1), Fault::Crash)
        .fault(ms(1_200), ms(400), Target::Server(0), Fault::NotListed);
    run(&simulation, &schedule)
}

fn read(lines: &[u8]) -> Trace {
    let line = |line: std::io::Result<String>| -> Line {
        serde_json::from_str(&line.unwrap()).expect("a line of a trace")
    };
    Trace {
        lines: lines.lines().map(line).collect(),
    }
}
