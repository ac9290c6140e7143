//! SEMANTICS 8.6: a session that the servers keep, and its end.

use redial::{
    Cause, ConfigBuilder, Deadline, DeadlineReason, Event, HandshakeError, Instant, Limits,
    NodeState, SubmitError, Warm,
};
use redial_tests::script::{Script, any, build, exact, ms};

const TWO: &[&str] = &["10.0.0.1:1", "10.0.0.2:1"];

fn session(millis: u64) -> Limits {
    Limits::NONE.with_session(ms(millis))
}

/// The first node is Ready since 0, with a session of three seconds.
fn ready(config: ConfigBuilder) -> Script {
    let mut s = Script::new(build(config), TWO);
    s.whatever().at(0).begin(0).whatever();
    s.connected(0).ready_with(0, session(3_000)).whatever();
    s
}

fn expired(s: &mut Script) -> usize {
    let expired = |event: &Event| matches!(event, Event::SessionExpired { node: None });
    s.events().iter().filter(|event| expired(event)).count()
}

/// 8.6, Z07: nothing heard for 4/3 of the timeout ends the client once.
#[test]
fn silence_for_four_thirds_of_the_session_ends_the_client() {
    let mut s = ready(exact());
    let due = Deadline {
        at: Instant::from_millis(4_000),
        reason: DeadlineReason::Session,
    };
    assert_eq!(s.cluster().poll_timeout(), Some(due));
    s.at_instant(Instant::from_nanos(3_999_999_999))
        .tick()
        .gives(&[]);
    s.at(4_000)
        .tick()
        .gives(&["close n0", "terminated"])
        .no_deadline();
    assert_eq!(expired(&mut s), 1);
    s.at(9_000).tick().gives(&[]);
    assert!(s.cluster().is_terminated());
    assert_eq!(expired(&mut s), 0);
}

/// 8.6: then as shutdown with drain 0: everything completes, nothing begins.
#[test]
fn what_is_open_fails_as_closed() {
    let mut s = ready(exact().max_in_flight(1u32));
    s.at(0)
        .submit_on(0, any())
        .written(0)
        .gives(&["write n0 r0"]);
    s.submit_on(0, any()).gives(&[]);
    s.submit_on(1, any()).gives(&["connect n1"]);
    s.at(4_000).tick().gives(&[
        "close n0",
        "abort n1",
        "r0 Closed PossiblyWritten",
        "r1 Closed NeverWritten",
        "r2 Closed NeverWritten",
        "terminated",
    ]);
    s.submit(any())
        .gives(&[&format!("error {:?}", SubmitError::Closed)]);
}

/// 8.6: the third of a third is counted in nanoseconds.
#[test]
fn four_thirds_are_exact_to_the_nanosecond() {
    let mut s = Script::new(build(exact()), &TWO[..1]);
    s.at(0)
        .begin(0)
        .whatever()
        .connected(0)
        .ready_with(0, session(1_000))
        .whatever();
    s.at_instant(Instant::from_nanos(1_333_333_332))
        .tick()
        .gives(&[]);
    s.at_instant(Instant::from_nanos(1_333_333_334))
        .tick()
        .gives(&["close n0", "terminated"]);
}

/// 8.6: any byte is heard, on whichever connection.
#[test]
fn any_byte_is_heard() {
    let mut s = ready(exact());
    s.at(1_000).received(0).gives(&[]).deadline(5_000);
    s.at(2_000).push(0).gives(&[]).deadline(6_000);
    s.submit_on(0, any()).written(0).whatever();
    s.at(3_000).reply(0).gives(&["r0 reply n0"]).deadline(7_000);
    s.establish(1);
    s.at(4_500).received(1).gives(&[]).deadline(8_500);
}

/// 8.6: what we send is not.
#[test]
fn what_we_send_is_not_heard() {
    let mut s = ready(exact());
    s.at(1_000)
        .submit_on(0, any())
        .written(0)
        .progress(0)
        .whatever();
    s.deadline(4_000);
}

/// 8.6: the session outlives its connection, and its time runs while nobody is connected.
#[test]
fn the_time_runs_while_nobody_is_connected() {
    let mut s = ready(exact());
    s.at(1_000).received(0).gives(&[]);
    s.at(2_000).closed(0).gives(&[]).deadline(5_000);
    s.at(3_000).begin(1).gives(&["connect n1"]).deadline(5_000);
    s.connected(1).gives(&["handshake n1"]).deadline(5_000);
    s.at(5_000).tick().gives(&["abort n1", "terminated"]);
    assert_eq!(expired(&mut s), 1);
}

/// 8.6: a new connection carries it on.
#[test]
fn a_new_connection_carries_the_session_on() {
    let mut s = ready(exact());
    s.at(2_000).closed(0).gives(&[]);
    s.at(3_500).begin(1).connected(1).whatever();
    s.ready_with(1, session(3_000)).gives(&[]).deadline(7_500);
    assert_eq!(expired(&mut s), 0);
}

/// 8.6: the server may lay down another time with each handshake.
#[test]
fn each_handshake_may_set_another_time() {
    let mut s = ready(exact());
    s.at(1_000).closed(0).gives(&[]);
    s.at(2_000).begin(1).connected(1).whatever();
    s.ready_with(1, session(9_000)).gives(&[]).deadline(14_000);
}

/// 8.6, 1.1: only `handle_timeout` ends it.
#[test]
fn a_late_byte_wins_if_it_comes_before_the_timeout_is_handled() {
    let mut s = ready(exact());
    s.at(60_000).received(0).gives(&[]).deadline(64_000);
}

/// 8.6: without a session nothing ends.
#[test]
fn without_a_session_nothing_ends() {
    let mut s = Script::new(build(exact().warm(Warm::None)), TWO);
    s.at(0).establish(0);
    s.no_deadline().at(10_000_000).tick().gives(&[]);
    assert_eq!(s.state(0), NodeState::Ready);
}

/// 2.1: the server may say so itself; that, too, is once.
#[test]
fn a_server_may_end_the_session() {
    let mut s = ready(exact());
    s.at(1_000).closed(0).whatever();
    s.at(1_500).begin(1).connected(1).whatever();
    s.handshake_failed(1, HandshakeError::Fatal)
        .gives(&["terminated"])
        .no_deadline();
    let node = Some(s.id(1));
    let events = s.events();
    let expired = events
        .iter()
        .filter(|event| **event == Event::SessionExpired { node });
    assert_eq!(expired.count(), 1);
    s.at(9_000).tick().gives(&[]);
}

/// 9.1: after a shutdown the session's end is nobody's concern.
#[test]
fn a_shutdown_forgets_the_session() {
    let mut s = ready(exact());
    s.submit_on(0, any()).written(0).whatever();
    s.at(1_000).shutdown(20_000).gives(&[]).deadline(21_000);
    s.at(10_000).tick().gives(&[]);
    assert_eq!(expired(&mut s), 0);
}

/// 8.6: why a connection ended with it.
#[test]
fn connections_end_as_planned_with_the_session() {
    let mut s = ready(exact());
    s.events();
    s.at(4_000).tick().whatever();
    let causes: Vec<Cause> = s
        .events()
        .into_iter()
        .filter_map(|event| match event {
            Event::Disconnected { cause, .. } => Some(cause),
            _ => None,
        })
        .collect();
    assert!(
        matches!(causes[..], [cause] if cause.is_planned()),
        "{causes:?}"
    );
}
