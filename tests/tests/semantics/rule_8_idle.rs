//! SEMANTICS 8.1: connections on which nothing is said are closed.

use redial::{Cause, Config, ConfigBuilder, Event, Instant, Limit, Limits, NodeState, Warm};
use redial_tests::script::{Script, after, any, build, exact, ms};

const TWO: &[&str] = &["10.0.0.1:1", "10.0.0.2:1"];

fn idle() -> ConfigBuilder {
    exact().max_idle(after(1_000))
}

/// The first node is Ready since 0.
fn ready(config: ConfigBuilder) -> Script {
    let mut s = Script::new(build(config), &TWO[..1]);
    s.whatever().establish(0);
    s
}

/// 8.1, R079: counted from Ready, also where nothing was ever said.
#[test]
fn a_connection_that_is_never_used_is_closed() {
    let mut s = ready(idle());
    s.deadline(1_000);
    s.at_instant(Instant::from_nanos(999_999_999))
        .tick()
        .gives(&[]);
    s.at(1_000).tick().gives(&["close n0"]).no_deadline();
}

/// 8.1: from Ready, not from the dial, the transport's connection or what comes before Ready.
#[test]
fn the_time_of_setup_does_not_count() {
    let mut s = Script::new(build(idle()), &TWO[..1]);
    s.at(0).begin(0).whatever();
    s.at(900).connected(0).whatever();
    s.at(1_000).push(0).gives(&[]).deadline(10_000);
    s.at(2_500).ready(0).gives(&[]).deadline(3_500);
}

/// 8.1, 3.2, R111: it is planned: no failure, no rest, no health state.
#[test]
fn an_idle_close_is_no_failure() {
    let mut s = ready(idle());
    s.events();
    s.at(1_000).tick().gives(&["close n0"]);
    let view = s.view(0);
    assert_eq!((view.state, view.failures), (NodeState::Disconnected, 0));
    assert_eq!((view.next_attempt, view.last_failure), (None, None));
    let idle = |event: &Event| {
        matches!(
            event,
            Event::Disconnected {
                cause: Cause::Idle,
                ..
            }
        )
    };
    assert_eq!(s.events().iter().filter(|event| idle(event)).count(), 1);
    s.submit(any()).gives(&["connect n0"]);
}

/// 8.1: a written frame and a reply start the time anew.
#[test]
fn a_request_and_its_reply_start_the_time_anew() {
    let mut s = ready(idle());
    s.at(600).submit(any()).written(0).whatever();
    s.at(900).reply(0).gives(&["r0 reply n0"]).deadline(1_900);
    s.at(1_900).tick().gives(&["close n0"]);
}

/// 8.1: not while something is in flight.
#[test]
fn a_connection_with_a_request_in_flight_is_not_idle() {
    let mut s = ready(idle());
    s.at(0)
        .submit(any())
        .written(0)
        .gives(&["write n0 r0"])
        .deadline(30_000);
    s.at(20_000).tick().gives(&[]);
    s.reply(0).gives(&["r0 reply n0"]).deadline(21_000);
}

/// 8.1, 4.9: a tombstone is in flight, too.
#[test]
fn a_tombstone_is_in_flight() {
    let mut s = ready(idle());
    s.at(0).submit(any()).written(0).whatever();
    s.at(500).cancel(0).whatever().deadline(30_000);
    s.at(29_000).reply(0).gives(&[]).deadline(30_000);
    s.at(30_000).tick().gives(&["close n0"]);
}

/// 8.1: a push starts the time anew.
#[test]
fn a_push_starts_the_time_anew() {
    let mut s = ready(idle());
    s.at(700).push(0).gives(&[]).deadline(1_700);
}

/// 8.1, 4.4: so does a reply that comes late.
#[test]
fn a_late_reply_starts_the_time_anew() {
    let mut s = ready(idle().request_timeout(after(300)));
    s.at(0).submit(any()).written(0).whatever();
    s.at(300)
        .tick()
        .gives(&["r0 Timeout PossiblyWritten"])
        .deadline(1_000);
    s.at(800).reply(0).gives(&[]).deadline(1_800);
}

/// 8.1: a frame without a reply is written when the transport has accepted it.
#[test]
fn a_one_way_frame_starts_the_time_anew_when_it_is_written() {
    let mut s = ready(idle());
    s.at(0).submit(any().without_reply()).started(0).whatever();
    s.at(800).done(0).gives(&["r0 sent n0"]).deadline(1_800);
}

/// 8.1: a request that was given up before a byte of it left was not written.
#[test]
fn a_withdrawn_write_does_not_start_the_time_anew() {
    let mut s = ready(idle());
    s.at(400).submit(any()).gives(&["write n0 r0"]);
    s.at(600)
        .cancel(0)
        .gives(&["r0 Cancelled NeverWritten"])
        .deadline(1_000);
}

/// 4.10: bytes that are nobody's, and the keepalives that they answer, are no activity.
#[test]
fn bytes_and_keepalives_are_no_activity() {
    let config = idle().keepalive(true).keepalive_interval(after(400));
    let mut s = ready(config);
    s.deadline(400).at(400).tick().gives(&["probe n0"]);
    s.at(450).received(0).gives(&[]).deadline(850);
    s.at(850).tick().gives(&["probe n0"]);
    s.at(900).received(0).gives(&[]).deadline(1_000);
    s.at(1_000).tick().gives(&["close n0"]);
}

/// 8.1, 1.1, R081: past its limit it is never handed out, whatever the granularity of the timer.
#[test]
fn a_connection_past_its_limit_is_not_handed_out() {
    let mut s = ready(idle());
    s.at(5_000).submit(any()).gives(&[]);
    s.tick().gives(&["close n0", "connect n0"]);
    s.connected(0)
        .ready(0)
        .gives(&["handshake n0", "write n0 r0"]);
}

/// 8.1, 5.1: another node is.
#[test]
fn another_node_is_handed_out_in_place_of_one_past_its_limit() {
    let mut s = Script::new(build(idle()), TWO);
    s.at(0).establish(0);
    s.at(500).establish(1);
    for request in 0..10 {
        s.at(1_000)
            .submit(any())
            .gives(&[&format!("write n1 r{request}")]);
    }
    s.tick().gives(&["close n0"]);
}

/// 1.1: a fact never closes anything.
#[test]
fn activity_comes_too_late_when_the_limit_has_passed() {
    let mut s = ready(idle());
    s.at(1_000).push(0).gives(&[]);
    s.tick().gives(&["close n0"]);
}

/// 8.1: not for connections that `warm` keeps, though they grow old.
#[test]
fn a_warm_connection_is_never_idle() {
    let mut s = ready(idle().warm(Warm::All));
    s.no_deadline().at(100_000).tick().gives(&[]);
    assert_eq!(s.state(0), NodeState::Ready);
    let mut s = ready(idle().warm(Warm::All).max_age(after(200_000)));
    s.run_to(100_000).gives(&[]);
    assert_eq!(s.state(0), NodeState::Ready);
}

/// 8.1, 2.2: idle closing stops at the number that `warm` keeps.
#[test]
fn idle_closing_stops_at_the_warm_number() {
    let mut s = Script::new(build(idle().warm(Warm::AtLeast(1))), TWO);
    s.whatever();
    let first = (0..2)
        .find(|node| s.state(*node).is_setup())
        .expect("one is dialled");
    s.at(0).establish(first).establish(1 - first);
    s.run_to(10_000);
    let closed = s.take();
    assert_eq!(closed.len(), 1, "{closed:?}");
    assert_eq!(s.cluster().stats().nodes_ready, 1);
}

/// 8.1: never, if so configured; nine minutes by default.
#[test]
fn the_limit_is_what_is_configured() {
    let mut s = ready(exact().max_idle(Limit::Never));
    s.no_deadline();
    assert_eq!(Config::default().max_idle(), Limit::After(ms(540_000)));
    let mut s = ready(exact().max_idle(Config::default().max_idle()));
    s.deadline(540_000);
}

/// 8.1: a connection that the peer has limited is as idle as any.
#[test]
fn a_limited_connection_is_idle_after_its_last_reply() {
    let mut s = Script::new(build(idle()), &TWO[..1]);
    s.at(0).submit(any()).submit(any()).gives(&["connect n0"]);
    s.connected(0)
        .ready_with(0, Limits::in_flight(1))
        .whatever();
    s.written(0)
        .at(100)
        .reply(0)
        .gives(&["r0 reply n0", "write n0 r1"]);
    s.written(1)
        .at(700)
        .reply(1)
        .gives(&["r1 reply n0"])
        .deadline(1_700);
}

/// 9.1: nothing is idle-closed once everything is being closed.
#[test]
fn a_shutdown_does_not_wait_for_the_idle_limit() {
    let mut s = ready(idle());
    s.at(10)
        .shutdown(60_000)
        .gives(&["close n0", "terminated"])
        .no_deadline();
}

/// 9.2: nor does a limit that has passed leave anything behind.
#[test]
fn a_shutdown_of_a_connection_past_its_limit_leaves_no_deadline() {
    let mut s = ready(idle());
    s.at(5_000)
        .shutdown(0)
        .gives(&["close n0", "terminated"])
        .no_deadline();
}
