//! What a replay says of a recording that was changed, cut short or made elsewhere.

use std::{io, time::Duration};

use redial::{
    Candidate, Config, ConnectError, Instant, Limit, RequestOptions, Select, SelectionPolicy,
    record::{RecordError, Recorder, ReplayError, replay},
};
use redial_tests::{
    recording::{Sheet, record},
    world::{Accept, Answer, Fault, Op, Plan, World},
};

/// A run with a bit of everything: names, refusals, retries, cancels, another list.
fn recording() -> String {
    let options = RequestOptions::new().idempotent();
    let config = Config::builder().request_timeout(Limit::After(Duration::from_millis(300)));
    let mut plan = Plan::new(config.build().unwrap(), 2)
        .seed(5)
        .load(40, 30, options)
        .fault(0, Fault::Accept(0, Accept::No(ConnectError::Refused)))
        .fault(0, Fault::Name("db.example".into(), Answer::Fails))
        .fault(300, Fault::Crash(1))
        .fault(600, Fault::Revive(0))
        .at(310, Op::Cancel(0))
        .until(2_000);
    plan.list.push("db.example:9092".parse().unwrap());
    plan = plan.clone().at(900, Op::SetNodes(plan.list[1..].to_vec()));
    let run = World::run(&plan).unwrap_or_else(|wrong| panic!("{wrong}"));
    record(&plan, &run.trace).text
}

fn error(text: &str) -> ReplayError {
    replay(text.as_bytes()).expect_err("it is not as recorded")
}

fn with_line(text: &str, line: usize, other: &str) -> String {
    let lines = text.lines().enumerate();
    let changed = lines.map(|(n, old)| if n + 1 == line { other } else { old });
    changed.flat_map(|line| [line, "\n"]).collect()
}

/// The first refresh comes out before there is a call.
#[test]
fn what_the_construction_gives_is_recorded_whenever_it_is_drained() {
    let config = Config::builder().source(redial::Source::primary());
    let config = config.build().unwrap();
    let start = Instant::from_millis(7);
    for drained_first in [false, true] {
        let sheet = Sheet::default();
        let mut recorder = Recorder::start(config.clone(), 1, start, sheet.clone()).unwrap();
        if drained_first {
            recorder.poll_output().unwrap();
        }
        recorder.handle_timeout(start);
        while recorder.poll_output().is_some() {}
        let hash = recorder.finish().unwrap();
        let run = replay(sheet.text().as_bytes()).unwrap();
        assert_eq!((run.calls, run.outputs, run.hash), (1, 1, hash));
    }
}

#[test]
fn the_recording_is_replayed() {
    let run = replay(recording().as_bytes()).unwrap();
    assert!(run.calls > 100, "{}", run.calls);
    assert!(run.cluster.is_terminated());
}

#[test]
fn one_changed_input_is_found_at_its_line() {
    let text = recording();
    let mut found = 0;
    for (line, old) in (1..).zip(text.lines()) {
        let other = [
            ("\"Refused\"", "\"Reset\""),
            ("\"idempotent\":true", "\"idempotent\":false"),
            ("db.example", "db.example.com"),
            ("ResolveFailed", "Nonsense"),
        ];
        for (from, to) in other {
            if line > 1 && old.contains(from) {
                let changed = with_line(&text, line, &old.replacen(from, to, 1));
                match error(&changed) {
                    ReplayError::Malformed { line: at, what } if to == "Nonsense" => {
                        assert!(at == line && what.contains("Nonsense"), "{what}");
                    }
                    error => assert_eq!(error, ReplayError::Diverged { line }),
                }
                found += 1;
            }
        }
    }
    assert!(found > 30, "only {found} lines could be changed");
}

#[test]
fn a_call_at_another_time_is_found_at_its_line() {
    let text = recording();
    for (line, old) in (1..).zip(text.lines()) {
        let mut value: serde_json::Value = serde_json::from_str(old).unwrap();
        let Some(at) = value.pointer_mut("/call/at") else {
            continue;
        };
        *at = (at.as_u64().unwrap() + 1).into();
        let changed = with_line(&text, line, &value.to_string());
        assert_eq!(error(&changed), ReplayError::Diverged { line });
    }
}

#[test]
fn another_seed_or_configuration_is_found_at_the_start() {
    let text = recording();
    let first = text.lines().next().unwrap();
    for (from, to) in [
        ("\"seed\":5", "\"seed\":6"),
        ("\"max_in_flight\":1024", "\"max_in_flight\":1023"),
    ] {
        let other = first.replace(from, to);
        assert_ne!(other, first);
        let changed = with_line(&text, 1, &other);
        assert_eq!(error(&changed), ReplayError::Diverged { line: 1 });
    }
}

#[test]
fn an_output_that_was_not_drained_then_is_found() {
    let text = recording();
    let (line, old) = (1..)
        .zip(text.lines())
        .find(|(_, line)| line.contains("\"gave\":{\"outputs\":2,"))
        .unwrap();
    for outputs in ["1", "3", "18446744073709551615"] {
        let other = old.replace("\"outputs\":2", &format!("\"outputs\":{outputs}"));
        let changed = with_line(&text, line, &other);
        assert_eq!(error(&changed), ReplayError::Diverged { line: line - 1 });
    }
}

#[test]
fn a_call_that_is_missing_is_found() {
    let text = recording();
    let without = |from: usize, count: usize| -> String {
        let lines = text.lines().enumerate();
        let kept = lines.filter(|(n, _)| !(from..from + count).contains(&(n + 1)));
        kept.flat_map(|(_, line)| [line, "\n"]).collect()
    };
    assert_eq!(error(&without(9, 2)), ReplayError::Diverged { line: 9 });
    let malformed = |line, what: &str| ReplayError::Malformed {
        line,
        what: what.into(),
    };
    assert_eq!(error(&without(9, 1)), malformed(9, "the call is missing"));
    assert_eq!(
        error(&without(10, 1)),
        malformed(10, "what came of the call is missing")
    );
    let last = text.lines().count();
    assert_eq!(
        error(&without(last - 2, 2)),
        malformed(last - 2, "calls are missing")
    );
    let twice = text.clone() + &text;
    assert_eq!(
        error(&twice),
        malformed(last + 1, "nothing comes after the end")
    );
}

#[test]
fn a_recording_that_is_cut_short_is_called_that() {
    let text = recording();
    let mut start = 0;
    for (line, whole) in (1..).zip(text.split_inclusive('\n')) {
        for cut in [0, 1, whole.len() / 2, whole.len() - 1] {
            let error = error(&text[..start + cut]);
            assert_eq!(error, ReplayError::Truncated { line }, "after {cut} bytes");
        }
        start += whole.len();
    }
}

#[test]
fn a_recording_of_another_version_is_refused() {
    let text = recording();
    let first = text.lines().next().unwrap();
    let ours = format!("\"redial\":\"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(first.contains(&ours));
    // Whose settings we need not know.
    let other = first.replace(&ours, "\"redial\":\"0.0.9\"");
    let other = other.replace("\"max_hedges\"", "\"hedges\"");
    let recorded = "0.0.9".to_owned();
    assert_eq!(
        error(&with_line(&text, 1, &other)),
        ReplayError::Version { recorded }
    );
}

#[test]
fn a_recorder_that_is_dropped_has_written_the_end() {
    let sheet = Sheet::default();
    let recorder = Recorder::start(Config::default(), 1, Instant::ORIGIN, sheet.clone());
    let mut recorder = recorder.unwrap();
    assert!(!recorder.cancel(Instant::ORIGIN, some_request()));
    drop(recorder);
    assert_eq!(replay(sheet.text().as_bytes()).unwrap().calls, 1);
}

fn some_request() -> redial::RequestId {
    let mut cluster = redial::Cluster::new(Config::default(), 1, Instant::ORIGIN);
    let request = cluster.submit(Instant::ORIGIN, RequestOptions::new());
    request.unwrap()
}

#[test]
fn events_that_were_dropped_because_nobody_drained_are_dropped_again() {
    let sheet = Sheet::default();
    let config = Config::builder().max_pending_events(2u32).build().unwrap();
    let mut recorder = Recorder::start(config, 1, Instant::ORIGIN, sheet.clone()).unwrap();
    let lists = [["10.0.0.1:1"], ["10.0.0.2:1"], ["10.0.0.3:1"]];
    let lists = lists.map(|list| list.map(|text| text.parse().unwrap()));
    for (drained, list) in [0, 1, 0, 0, 2, 0].into_iter().zip(lists.iter().cycle()) {
        recorder.set_nodes(Instant::ORIGIN, list).unwrap();
        let node = recorder.nodes().next().unwrap().id;
        let options = RequestOptions::new().on(node);
        recorder.submit(Instant::ORIGIN, options).unwrap();
        for _ in 0..drained {
            assert!(recorder.poll_output().is_some());
        }
    }
    let stats = recorder.stats();
    assert!(stats.dropped_events > 0);
    let hash = recorder.finish().unwrap();
    let run = replay(sheet.text().as_bytes()).unwrap();
    assert_eq!((run.hash, run.cluster.stats()), (hash, stats));
}

#[test]
fn a_policy_of_the_users_own_cannot_be_recorded() {
    #[derive(Debug)]
    struct First;
    impl Select for First {
        fn select(&self, _: &[Candidate<'_>], _: u64) -> Option<usize> {
            Some(0)
        }
    }
    let config = Config::builder().selection(SelectionPolicy::custom(First));
    let recorder = Recorder::start(config.build().unwrap(), 1, Instant::ORIGIN, io::sink());
    assert_eq!(recorder.err(), Some(RecordError::CustomPolicy));
}

/// A disk with room for some lines.
struct Disk(usize);

impl io::Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(1).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_ends_the_recording_and_not_the_cluster() {
    let full = Recorder::start(Config::default(), 1, Instant::ORIGIN, Disk(0));
    let expected = RecordError::Io(io::ErrorKind::StorageFull);
    assert_eq!(full.err(), Some(expected));

    let recorder = Recorder::start(Config::default(), 1, Instant::ORIGIN, Disk(3));
    let mut recorder = recorder.unwrap();
    for _ in 0..9 {
        assert!(
            recorder
                .submit(Instant::ORIGIN, RequestOptions::new())
                .is_ok()
        );
    }
    assert_eq!(recorder.stats().requests, 9);
    let error = recorder.finish().unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
}
