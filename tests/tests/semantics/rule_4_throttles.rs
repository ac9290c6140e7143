//! SEMANTICS 4.6: throttles.

use redial::{Limit, OnRequestTimeout, SelectionPolicy, Warm};
use redial_tests::script::{Script, any, build, exact, ms, t};

fn ready(config: redial::ConfigBuilder) -> Script {
    let mut s = Script::new(build(config), &["10.0.0.1:1"]);
    s.establish(0);
    s
}

/// 4.6: no new requests until then; the end is a deadline.
#[test]
fn a_throttled_node_gets_no_new_request_until_the_end() {
    let mut s = ready(exact());
    s.at(0).throttled(0, 2_000).gives(&[]);
    s.at(10)
        .submit(any())
        .submit_on(0, any())
        .gives(&[])
        .deadline(2_000);
    s.at(1_999).tick().gives(&[]);
    s.at(2_000).tick().gives(&["write n0 r0", "write n0 r1"]);
    assert_eq!((s.view(0).failures, s.view(0).throttled_until), (0, None));
}

/// 4.6: it never regresses.
#[test]
fn a_throttle_is_never_shortened() {
    let mut s = ready(exact());
    s.at(0).throttled(0, 2_000).throttled(0, 500).gives(&[]);
    assert_eq!(s.view(0).throttled_until, Some(t(2_000)));
    s.throttled(0, 3_000).gives(&[]);
    assert_eq!(s.view(0).throttled_until, Some(t(3_000)));
}

/// 4.6: it outlives a reconnect.
#[test]
fn a_throttle_outlives_a_reconnect() {
    let mut s = ready(exact());
    s.at(0).throttled(0, 2_000).closed(0).gives(&[]);
    s.at(100).establish(0);
    s.at(110).submit(any()).gives(&[]).deadline(2_000);
    s.at(2_000).tick().gives(&["write n0 r0"]);
}

/// 4.6, R049, K17: each attempt deadline moves by the new end minus the later of now and the old
/// end.
#[test]
fn a_throttle_moves_the_attempt_deadlines() {
    let mut s = ready(exact().delivery_timeout(Limit::Never));
    s.at(0)
        .submit(any())
        .written(0)
        .gives(&["write n0 r0"])
        .deadline(30_000);
    s.at(1_000).throttled(0, 6_000).gives(&[]);
    s.at(2_000).throttled(0, 8_000).gives(&[]);
    s.at(3_000).throttled(0, 4_000).gives(&[]);
    s.run_to(36_999).gives(&[]).deadline(37_000);
    s.at(37_000).tick().gives(&["r0 Timeout PossiblyWritten"]);
}

/// 4.5, 4.6: where a timeout ends the connection, it ends all that was timed on it.
#[test]
fn a_timeout_after_a_throttle_may_end_the_connection() {
    let config = exact().delivery_timeout(Limit::Never);
    let mut s = ready(config.on_request_timeout(OnRequestTimeout::Disconnect));
    s.at(0).submit(any()).written(0).gives(&["write n0 r0"]);
    s.at(1_000).submit(any()).written(1).gives(&["write n0 r1"]);
    s.throttled(0, 2_000).gives(&[]).deadline(2_000);
    s.at(31_000).tick().gives(&[
        "close n0",
        "r0 Timeout PossiblyWritten",
        "r1 Disconnected(RequestTimeout) PossiblyWritten",
    ]);
    s.no_deadline();
}

/// 4.6: a request's own deadline never moves.
#[test]
fn a_throttle_does_not_move_a_requests_own_deadline() {
    let mut s = ready(exact());
    s.at(0)
        .submit(any().timeout(ms(5_000)))
        .written(0)
        .gives(&["write n0 r0"])
        .deadline(5_000);
    s.at(10).throttled(0, 60_000).gives(&[]).deadline(5_000);
    s.at(5_000).tick().gives(&["r0 Timeout PossiblyWritten"]);
}

/// 4.5, 4.6: so do the requests' own timeouts, whichever ends first.
#[test]
fn a_throttle_moves_the_deadlines_of_requests_with_shorter_timeouts() {
    let mut s = ready(exact().delivery_timeout(Limit::Never));
    s.at(0).submit(any().request_timeout(ms(9_000))).written(0);
    s.gives(&["write n0 r0"]);
    s.at(1_000)
        .submit(any().request_timeout(ms(2_000)))
        .written(1);
    s.gives(&["write n0 r1"]);
    s.at(1_500).throttled(0, 2_500).gives(&[]).deadline(2_500);
    s.at(2_500).tick().gives(&[]).deadline(4_000);
    s.at(4_000).tick().gives(&["r1 Timeout PossiblyWritten"]);
    s.deadline(10_000);
    s.at(10_000).tick().gives(&["r0 Timeout PossiblyWritten"]);
}

/// 4.6: the time between the end of a throttle and now is not given again.
#[test]
fn a_throttle_after_a_throttle_that_is_over_counts_from_now() {
    let mut s = ready(exact().delivery_timeout(Limit::Never));
    s.at(0).submit(any()).written(0).gives(&["write n0 r0"]);
    s.at(0).throttled(0, 1_000).gives(&[]);
    s.run_to(5_000).gives(&[]).deadline(31_000);
    s.throttled(0, 7_000).gives(&[]);
    s.run_to(32_999).gives(&[]).deadline(33_000);
}

/// 4.2, 4.6: the oldest is written first, also where two nodes are free in the same moment.
#[test]
fn the_ends_of_two_throttles_leave_requests_in_their_order() {
    let config = exact()
        .selection(SelectionPolicy::RoundRobin)
        .warm(Warm::None);
    let mut s = Script::new(build(config), &["10.0.0.1:1", "10.0.0.2:1"]);
    s.establish(0).establish(1);
    s.submit(any()).whatever();
    let turn = usize::from(s.written_on(0) == s.connection(0));
    s.throttled(0, 1_000).throttled(1, 1_000);
    s.submit_on(1 - turn, any()).submit(any()).gives(&[]);
    s.at(1_000).tick();
    let writes = [(1 - turn, 1), (turn, 2)].map(|(n, r)| format!("write n{n} r{r}"));
    assert_eq!(s.take(), writes);
}

/// 4.2: so it is where one for any node would go where an older one waits.
#[test]
fn an_older_request_keeps_its_place_before_one_for_any_node() {
    let config = exact()
        .selection(SelectionPolicy::RoundRobin)
        .warm(Warm::None);
    let mut s = Script::new(build(config), &["10.0.0.1:1", "10.0.0.2:1"]);
    s.establish(0).establish(1);
    s.submit(any()).whatever();
    let turn = usize::from(s.written_on(0) == s.connection(0));
    s.throttled(1 - turn, 1_000).throttled(turn, 1_000);
    s.submit_on(turn, any())
        .submit(any())
        .submit_on(1 - turn, any());
    s.gives(&[]).at(1_000).tick();
    let writes = s.take();
    let place = |r: usize| {
        writes
            .iter()
            .position(|line| line.ends_with(&format!(" r{r}")))
    };
    assert!(place(1) < place(2), "{writes:?}");
}

/// 4.6: the end of a throttle is a deadline.
#[test]
fn the_end_of_a_throttle_is_a_deadline() {
    let mut s = ready(exact());
    s.at(0).throttled(0, 1_000).gives(&[]).deadline(1_000);
    s.at(1_000).tick().gives(&[]).no_deadline();
}
