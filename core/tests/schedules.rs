//! Schedules by the thousand: what is written is read, and nothing that is read does harm.

use std::time::Duration;

use proptest::{arbitrary::any, collection::vec, prelude::*, sample::select, string::string_regex};
use redial::{
    Instant,
    sim::{Fault, Occurrence, Schedule, Swarm, Target, Way, shrink, strategies},
};

#[test]
fn mute_servers() {
    let schedule = "
        seed 7
        servers 3
        lasts 1m
        at 1s for 5s all mute
        at 30s server 2 half-open
    ";
    let schedule: redial::sim::Schedule = schedule.parse().unwrap();
    assert_eq!(schedule.to_test(CALL, "mute servers"), pasted());
}

const CALL: &str = r#"assert_eq!(schedule.to_test(CALL, "mute servers"), pasted())"#;

/// The test above, as it stands here, which is how rustfmt likes it.
fn pasted() -> &'static str {
    let source = include_str!("schedules.rs");
    let (start, end) = (source.find("#[test]"), source.find("\n\nconst CALL"));
    &source[start.unwrap()..=end.unwrap()]
}

/// Any at all, not only such as are drawn.
fn duration() -> impl Strategy<Value = Duration> {
    prop_oneof![
        any::<Duration>(),
        any::<u32>().prop_map(|nanos| Duration::from_nanos(nanos.into())),
        (0..100_000u64).prop_map(Duration::from_millis),
        Just(Duration::MAX),
    ]
}

fn way() -> impl Strategy<Value = Way> {
    select(&[Way::ToServer, Way::ToClient, Way::Both][..])
}

fn fault() -> impl Strategy<Value = Fault> {
    let values = (duration(), duration(), any::<u32>(), way());
    let kind = select(&Fault::KINDS[..]);
    (kind, values).prop_map(|(kind, (by, jitter, number, way))| match kind {
        Fault::Slow(_) => Fault::Slow(by),
        Fault::Throttle(_) => Fault::Throttle(by),
        Fault::Latency { .. } => Fault::Latency { by, jitter },
        Fault::Partition(_) => Fault::Partition(way),
        Fault::Stall(_) => Fault::Stall(way),
        Fault::Bandwidth(_) => Fault::Bandwidth(number),
        Fault::NameMoves(_) => Fault::NameMoves(number),
        plain => plain,
    })
}

fn occurrence() -> impl Strategy<Value = Occurrence> {
    let target = prop_oneof![Just(Target::All), any::<u32>().prop_map(Target::Server)];
    let at = any::<u64>().prop_map(Instant::from_nanos);
    (at, duration(), target, fault()).prop_map(|(at, lasts, target, fault)| Occurrence {
        at,
        lasts,
        target,
        fault,
    })
}

fn schedule() -> impl Strategy<Value = Schedule> {
    let faults = vec(occurrence(), 0..20);
    (any::<u64>(), any::<u32>(), duration(), faults).prop_map(|(seed, servers, lasts, faults)| {
        Schedule {
            seed,
            servers,
            lasts,
            faults,
        }
    })
}

/// Words that a schedule is made of, and others, in any order.
fn nearly_a_schedule() -> impl Strategy<Value = String> {
    let words = "(seed|servers|lasts|at|for|all|server|[0-9.]{1,30}[hmnsu]{0,2}|latency|jitter|to|\
                 crash|reset|sleep|stall|both|name-moves|#|\\PC)[ \n\r\t]";
    let word = string_regex(words).expect("an expression");
    vec(word, 0..40).prop_map(|words| words.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_schedule_is_read_from_its_text_exactly(schedule in schedule()) {
        prop_assert_eq!(schedule.to_string().parse(), Ok(schedule.clone()));
        let json = serde_json::to_string(&schedule).unwrap();
        prop_assert_eq!(serde_json::from_str::<Schedule>(&json).unwrap(), schedule);
    }

    #[test]
    fn a_fault_is_read_from_its_text_exactly(fault in occurrence()) {
        prop_assert_eq!(fault.to_string().parse(), Ok(fault));
        prop_assert_eq!(fault.fault.to_string().parse(), Ok(fault.fault));
    }

    #[test]
    fn any_text_is_read_or_refused_at_a_place_in_it(text in prop_oneof![".*", nearly_a_schedule()]) {
        let _ = (text.parse::<Occurrence>(), text.parse::<Fault>());
        match text.parse::<Schedule>() {
            Ok(schedule) => prop_assert_eq!(schedule.to_string().parse(), Ok(schedule)),
            Err(error) => {
                let line = text.lines().nth(error.line - 1).unwrap_or_default();
                prop_assert!(error.column <= line.chars().count() + 1, "{}", error);
            }
        }
    }

    #[test]
    fn what_the_strategies_give_could_have_been_drawn(
        schedule in strategies::schedules(&Swarm::default()),
        fault in strategies::faults(&Swarm::default(), 0),
    ) {
        let end = Instant::ORIGIN + Duration::from_secs(3480);
        prop_assert!((3..=5).contains(&schedule.servers));
        prop_assert!(schedule.faults.len() <= 116);
        prop_assert!(schedule.faults.is_sorted_by_key(|fault| fault.at));
        prop_assert!(schedule.faults.iter().chain([&fault]).all(|fault| fault.ends() <= end));
        prop_assert!(matches!(fault.target, Target::All | Target::Server(0)));
    }

    #[test]
    fn what_is_shrunk_still_fails(schedule in schedule(), faults in 0..20usize, servers: u32) {
        let fails = |s: &Schedule| s.faults.len() >= faults && s.servers >= servers;
        prop_assume!(fails(&schedule));
        prop_assert!(fails(&shrink(&schedule, fails, 200)));
    }
}
