//! SEMANTICS 8.4: connections are replaced when they have been Ready for long.

use redial::{Cause, ConfigBuilder, Deadline, DeadlineReason, Event, Instant, NodeState, Warm};
use redial_tests::script::{Script, after, any, build, exact, old, t};

const ONE: &[&str] = &["10.0.0.1:1"];

fn aging() -> ConfigBuilder {
    exact().max_age(after(10_000))
}

fn ready(config: ConfigBuilder, seed: u64) -> Script {
    let mut s = Script::with_seed(build(config), ONE, seed);
    s.whatever().establish(0);
    s
}

fn limit(s: &Script) -> Instant {
    match s.cluster().poll_timeout() {
        Some(Deadline {
            at,
            reason: DeadlineReason::Limit,
        }) => at,
        other => panic!("a limit is expected, came {other:?}"),
    }
}

/// 8.4: the limit times a factor that is uniform in [0.9, 1] and drawn for each connection.
#[test]
fn the_limit_is_drawn_between_nine_tenths_and_all_of_it() {
    let limits: Vec<u64> = (0..2_000)
        .map(|seed| limit(&ready(aging(), seed)).as_nanos())
        .collect();
    let (least, most) = (
        limits.iter().min().expect("some"),
        limits.iter().max().expect("some"),
    );
    assert!((9_000_000_000..9_010_000_000).contains(least), "{least}");
    assert!((9_990_000_000..=10_000_000_000).contains(most), "{most}");
    let below = limits.iter().filter(|at| **at < 9_500_000_000).count();
    // Five standard deviations of a half of 2,000.
    assert!(below.abs_diff(1_000) < 112, "{below}");
}

/// 8.4: a connection of the same node draws its own.
#[test]
fn each_connection_draws_its_own_limit() {
    let mut s = ready(aging(), 0);
    let first = limit(&s);
    s.at_instant(first).tick().gives(&["close n0"]);
    s.establish(0);
    assert_ne!(limit(&s).since(first), first.since(t(0)));
}

/// 8.4, R111: it is closed at that time, as planned.
#[test]
fn an_old_connection_is_closed_and_that_is_no_failure() {
    let mut s = ready(aging(), 0);
    s.events();
    let at = limit(&s);
    s.at_instant(Instant::from_nanos(at.as_nanos() - 1))
        .tick()
        .gives(&[]);
    s.at_instant(at).tick().gives(&["close n0"]);
    let view = s.view(0);
    assert_eq!((view.state, view.failures), (NodeState::Disconnected, 0));
    assert_eq!(view.next_attempt, None);
    let aged = |event: &Event| {
        matches!(
            event,
            Event::Disconnected {
                cause: Cause::MaxAge,
                ..
            }
        )
    };
    assert_eq!(s.events().iter().filter(|event| aged(event)).count(), 1);
}

/// 8.4: use does not make it younger.
#[test]
fn a_busy_connection_grows_old_as_well() {
    let mut s = ready(aging(), 0);
    let at = limit(&s);
    for request in 0..8 {
        s.at(1_000 * request as u64)
            .submit(any())
            .written(request)
            .reply(request)
            .whatever();
    }
    assert_eq!(limit(&s), at);
}

/// 8.4, 2.1: what is in flight on it may finish, while a new connection takes the new requests.
#[test]
fn what_is_in_flight_finishes_on_the_old_connection() {
    let mut s = ready(aging(), 0);
    s.at(8_000).submit(any()).written(0).gives(&["write n0 r0"]);
    s.run_to(10_000).gives(&[]);
    assert_eq!(s.state(0), NodeState::Disconnected);
    s.submit(any()).gives(&["connect n0"]);
    s.connected(0)
        .ready(0)
        .gives(&["handshake n0", "write n0 r1"]);
    s.at(10_500).reply(0).gives(&["r0 reply n0", "close n0-1"]);
}

/// 2.1: but no longer than the drain timeout.
#[test]
fn an_old_connection_drains_no_longer_than_the_drain_timeout() {
    let mut s = ready(aging().drain_timeout(after_ms(500)), 0);
    let at = limit(&s);
    s.at(8_000).submit(any()).written(0).gives(&["write n0 r0"]);
    s.at_instant(at).tick().gives(&[]);
    s.at_instant(at + after_ms(500))
        .tick()
        .gives(&["close n0", "r0 Disconnected(MaxAge) PossiblyWritten"]);
}

const fn after_ms(millis: u64) -> std::time::Duration {
    std::time::Duration::from_millis(millis)
}

/// 8.4, 2.1: a Write that was not handed over is withdrawn and picked again.
#[test]
fn what_was_not_handed_over_is_written_elsewhere() {
    let mut s = ready(aging(), 0);
    s.at(8_000).submit(any()).gives(&["write n0 r0"]);
    s.run_to(10_000)
        .gives(&["withdraw n0 r0", "close n0", "connect n0"]);
    s.connected(0)
        .ready(0)
        .gives(&["handshake n0", "write n0 r0"]);
}

/// 8.1, 8.4, R081: past the limit it is never handed out.
#[test]
fn a_connection_past_its_age_is_not_handed_out() {
    let mut s = ready(aging(), 0);
    s.at(10_000).submit(any()).gives(&[]);
    s.tick().gives(&["close n0", "connect n0"]);
}

/// 8.4: one that `warm` keeps is replaced at once.
#[test]
fn a_warm_connection_is_replaced() {
    let mut s = ready(aging().warm(Warm::All), 0);
    let at = limit(&s);
    s.at_instant(at).tick().gives(&["close n0", "connect n0"]);
    s.connected(0).ready(0).gives(&["handshake n0"]);
    assert!(s.cluster().connection(s.connection(old(0))).is_none());
    assert!(limit(&s) > at);
}

/// 8.4, 8.1: whichever limit comes first.
#[test]
fn the_earlier_of_the_two_limits_holds() {
    let mut s = ready(aging().max_idle(after(2_000)), 0);
    s.deadline(2_000);
    s.at(1_900).push(0).gives(&[]).deadline(3_900);
    let mut s = ready(aging().max_idle(after(60_000)), 0);
    let at = limit(&s);
    s.at_instant(at).tick().gives(&["close n0"]);
}
