//! Each fault does what its name says.

use std::collections::BTreeSet;

use redial::{
    Cause, Config, Event, Instant, Output, Warm,
    sim::{Fault, Load, Run, Schedule, Target, Timeline, Way, timeline::State},
};

use super::{ms, run, s, simulation};

/// The causes for which nodes left a state while the fault lasted.
fn causes(run: &Run) -> BTreeSet<String> {
    let cause = |(_, _, output): (Instant, u32, &Output)| match output {
        Output::Event(Event::StateChanged {
            cause: Some(cause), ..
        }) if *cause != Cause::Shutdown => Some(format!("{cause:?}")),
        _ => None,
    };
    run.trace.outputs().filter_map(cause).collect()
}

/// Two servers that are both dialled from the start; the fault strikes the first before and after it
/// is Ready.
fn struck_by(fault: Fault) -> Run {
    let config = Config::builder().warm(Warm::All).request_timeout(s(1));
    let simulation = simulation().config(config.build().unwrap()).traced();
    let schedule = Schedule::new(3, 2, s(120))
        .fault(s(0), s(30), Target::Server(0), fault)
        .fault(s(60), s(40), Target::Server(0), fault);
    run(&simulation, &schedule)
}

#[test]
fn each_fault_is_seen_for_what_it_is() {
    for (fault, expected) in [
        (Fault::Crash, &["Refused", "Io"][..]),
        (Fault::Pause, &["SetupTimeout"]),
        (Fault::Mute, &["SetupTimeout"]),
        (Fault::Drain, &["PeerDraining", "Refused"]),
        (Fault::RejectCredentials, &["CredentialsRejected"]),
        (Fault::Garble, &["ProtocolError"]),
        (Fault::Refuse, &["Refused"]),
        (Fault::Unreachable, &["Unreachable"]),
        (Fault::BlackHole, &["SetupTimeout"]),
        (Fault::Reset, &["Io"]),
        (Fault::Partition(Way::Both), &["SetupTimeout"]),
        (Fault::Partition(Way::ToServer), &["SetupTimeout"]),
        (Fault::Partition(Way::ToClient), &["SetupTimeout"]),
        (Fault::Stall(Way::ToServer), &["SetupTimeout"]),
        (Fault::Stall(Way::ToClient), &["SetupTimeout"]),
        (Fault::NameFails, &["ResolveFailed"]),
        (Fault::NameHangs, &["SetupTimeout"]),
        (Fault::NameIsEmpty, &["NoAddress"]),
        (Fault::NotListed, &["Removed"]),
    ] {
        let run = struck_by(fault);
        let came = causes(&run);
        for cause in expected {
            assert!(came.contains(*cause), "{fault:?} gave {came:?}");
        }
        assert_eq!(run.faults[fault.kind()], 2);
        assert_eq!(run.stats[0].failed, 0, "{fault:?}");
    }
}

#[test]
fn a_fault_that_only_slows_is_survived_without_a_failure() {
    for fault in [
        Fault::Slow(ms(100)),
        Fault::Throttle(ms(100)),
        Fault::Latency {
            by: ms(50),
            jitter: ms(50),
        },
        Fault::Bandwidth(100_000),
        Fault::Fragment,
        Fault::NameMoves(1),
        Fault::ListFails,
    ] {
        let run = struck_by(fault);
        assert_eq!(causes(&run), BTreeSet::new(), "{fault:?}");
        assert_eq!(run.stats[0].failed, 0, "{fault:?}");
        assert!(run.stats[0].succeeded > 1_000, "{fault:?}");
    }
}

#[test]
fn a_half_open_connection_is_found_by_its_silence() {
    let run = struck_by(Fault::HalfOpen);
    let unhealthy = |output: &Output| matches!(output, Output::Event(Event::Unhealthy { .. }));
    let mut outputs = run.trace.outputs();
    let (at, ..) = outputs.find(|(_, _, output)| unhealthy(output)).unwrap();
    // The first ones time out after a second; a few more say that it is no accident.
    assert!(
        at > Instant::ORIGIN + s(61) && at < Instant::ORIGIN + s(65),
        "{at}"
    );
}

#[test]
fn faults_add_up_and_end_one_by_one() {
    let alone = |schedule: Schedule| run(&simulation(), &schedule).stats[0].failures_connect;
    let refused = |from, lasts| (from, lasts, Target::All, Fault::Refuse);
    let one = Schedule::new(1, 1, s(60));
    let add =
        |schedule: Schedule, (at, lasts, target, fault)| schedule.fault(at, lasts, target, fault);
    // While one of two lasts the other's end changes nothing.
    let both = add(add(one.clone(), refused(s(0), s(20))), refused(s(5), s(5)));
    let long = add(one, refused(s(0), s(20)));
    assert_eq!(alone(both), alone(long));
}

#[test]
fn a_machine_that_sleeps_hears_everything_afterwards() {
    let schedule = Schedule::new(1, 1, s(100)).fault(s(10), s(60), Target::All, Fault::Sleep);
    let run = run(&simulation().traced(), &schedule);
    let asleep = Instant::ORIGIN + s(10)..Instant::ORIGIN + s(70);
    let awake = run.trace.outputs().all(|(at, ..)| !asleep.contains(&at));
    assert!(awake);
    assert_eq!(run.stats[0].succeeded, 4_000);
}

#[test]
fn a_partition_holds_back_what_was_sent_and_loses_nothing() {
    let partition = Fault::Partition(Way::Both);
    let schedule = Schedule::new(1, 1, s(60)).fault(s(10), s(5), Target::All, partition);
    let run = run(&simulation(), &schedule);
    assert_eq!((run.stats[0].succeeded, run.stats[0].attempts), (6_000, 1));
}

#[test]
fn the_system_gives_a_dead_connection_up_after_a_quarter_of_an_hour() {
    // Of one request a minute nothing fills, and two in a row make a node no worse.
    let config = Config::builder()
        .request_timeout(s(1))
        .unhealthy_after(None);
    let simulation = simulation()
        .config(config.build().unwrap())
        .workload(|_| Load::every(s(60), |n| format!("request {n}").into()))
        .traced();
    let schedule = Schedule::new(1, 1, s(1_200)).fault(s(10), s(0), Target::All, Fault::HalfOpen);
    let run = run(&simulation, &schedule);
    let ended = |output: &Output| {
        matches!(
            output,
            Output::Event(Event::Disconnected {
                cause: Cause::Io,
                ..
            })
        )
    };
    let mut outputs = run.trace.outputs();
    let (at, ..) = outputs.find(|(_, _, output)| ended(output)).unwrap();
    // Counted from the first request that was sent into nothing.
    assert_eq!(at, Instant::ORIGIN + s(60 + 924));
}

#[test]
fn a_narrow_line_lets_bytes_through_one_after_the_other_and_is_wide_afterwards() {
    // Echoes of 14,000 bytes, a second for each of ten packets; the fault is over after five.
    let narrow = Fault::Bandwidth(1_400);
    let schedule = Schedule::new(1, 1, s(60)).fault(s(10), s(5), Target::All, narrow);
    let simulation = simulation()
        .workload(|_| Load::every(s(11), |_| vec![0; 14_000].into()).at_most(2))
        .property("it does not outlast the fault", |request| {
            request.completed < Instant::ORIGIN + s(16)
        });
    assert_eq!(run(&simulation, &schedule).stats[0].succeeded, 2);
}

/// The account of a fault tells of what it struck, not of what came later for another reason.
#[test]
fn a_reset_of_nobody_is_not_noticed_though_the_server_crashes_soon_after() {
    let traced = simulation().traced();
    let whole = run(&traced, &Schedule::new(1, 2, s(1)));
    let used = |server| {
        let lanes = Timeline::of(&whole.trace, 0);
        let lane = lanes
            .lanes()
            .iter()
            .find(|lane| lane.server == Some(server));
        lane.is_some_and(|lane| lane.bands.iter().any(|band| band.state == State::Ready))
    };
    let idle = (0..2).find(|server| !used(*server)).unwrap();
    let schedule = Schedule::new(1, 2, s(60))
        .fault(s(10), s(0), Target::Server(idle), Fault::Reset)
        .fault(s(20), s(5), Target::Server(1 - idle), Fault::Crash)
        .fault(s(40), s(0), Target::Server(idle), Fault::Reset);
    let run = run(&traced, &schedule);
    let incidents = Timeline::of(&run.trace, 0).incidents();
    let noticed: Vec<_> = incidents
        .iter()
        .map(|incident| incident.notice.is_some())
        .collect();
    // After the crash the client has gone to the other server.
    assert_eq!(noticed, [false, true, true]);
}
