//! SEMANTICS 1: time and deadlines.

use std::time::Duration;

use redial::{Instant, Limit, NodeState, Reason, Warm};
use redial_tests::script::{Script, after, any, build, exact, ms, t};

const ONE: &[&str] = &["10.0.0.1:1"];

const NANO: Duration = Duration::from_nanos(1);

/// 1.1: due means at or before now.
#[test]
fn a_deadline_is_due_at_its_time_and_not_a_nanosecond_before() {
    let mut s = Script::new(build(exact()), ONE);
    s.at(0)
        .submit(any())
        .gives(&["connect n0"])
        .deadline(10_000);
    s.at_instant(Instant::from_nanos(t(10_000).as_nanos() - 1))
        .tick()
        .gives(&[]);
    s.at(10_000).tick().gives(&["abort n0"]);
}

/// 1.1: inputs never fire deadlines, so what is handed in before the timeout wins.
#[test]
fn a_late_reply_wins_if_it_is_handed_in_before_the_timeout() {
    let mut s = Script::new(build(exact()), ONE);
    s.establish(0);
    s.at(0).submit(any()).gives(&["write n0 r0"]);
    s.at(1).written(0).gives(&[]).deadline(30_001);
    s.at(40_000).reply(0).gives(&["r0 reply n0"]);
}

/// 1.1: the same during setup.
#[test]
fn a_late_handshake_wins_if_it_is_handed_in_before_the_timeout() {
    let mut s = Script::new(build(exact()), ONE);
    s.at(0).submit(any()).gives(&["connect n0"]);
    s.at(15_000).connected(0).gives(&["handshake n0"]);
    s.at(16_000).ready(0).gives(&["write n0 r0"]);
    s.tick().gives(&[]);
    assert_eq!(s.state(0), NodeState::Ready);
}

/// 1.1, R061: a request whose deadline has passed is never handed over.
#[test]
fn an_overdue_request_is_not_handed_over_and_completes_at_the_next_timeout() {
    let mut s = Script::new(build(exact()), ONE);
    s.at(0)
        .submit(any().timeout(ms(1_000)))
        .gives(&["connect n0"])
        .deadline(1_000);
    s.at(1_000).connected(0).gives(&["handshake n0"]);
    s.at(1_000).ready(0).gives(&[]);
    s.at(1_500).tick().gives(&["r0 Timeout NeverWritten"]);
    assert_eq!(s.error(0).elapsed, ms(1_500));
}

/// 1.1: nor may a Write that is already emitted be started after it.
#[test]
fn an_emitted_write_may_not_start_after_its_deadline() {
    let mut s = Script::new(build(exact()), ONE);
    s.establish(0);
    s.at(0)
        .submit(any().timeout(ms(1_000)))
        .gives(&["write n0 r0"]);
    let (connection, serial) = (s.connection(0), s.serial(0));
    let may = |s: &Script, millis| s.cluster().may_write(t(millis), connection, serial);
    assert!(may(&s, 999));
    assert!(!may(&s, 1_000));
    s.at(1_000).tick().gives(&["r0 Timeout NeverWritten"]);
    assert!(!may(&s, 1_000));
}

/// 1.1: eligibility is judged by the now of any call.
#[test]
fn a_submit_dials_a_node_whose_rest_is_over_without_a_timeout_before() {
    let mut s = Script::new(build(exact()), ONE);
    s.at(0).begin(0).whatever();
    s.at(0).refused(0).gives(&[]);
    assert_eq!(s.rests_until(0), Some(t(100)));
    s.at(100).submit(any()).gives(&["connect n0"]);
}

/// 1.2, R095: an earlier now counts as the last one.
#[test]
fn a_clock_that_goes_back_stands_still() {
    let mut s = Script::new(build(exact()), ONE);
    s.at(1_000)
        .submit(any().timeout(ms(500)))
        .gives(&["connect n0"]);
    assert_eq!(s.cluster().stats().backward_clocks, 0);
    s.at(200).submit(any().timeout(ms(100))).gives(&[]);
    assert_eq!(s.cluster().now(), t(1_000));
    assert_eq!(s.cluster().stats().backward_clocks, 1);
    s.deadline(1_100);
    s.at(900).tick().gives(&[]);
    s.at(1_100).tick().gives(&["r1 Timeout NeverWritten"]);
    assert_eq!(s.error(1).elapsed, ms(100));
}

/// 1.2: each timer fires once however far the clock jumps; new deadlines are set from now.
#[test]
fn a_forward_jump_fires_each_timer_once() {
    let mut s = Script::new(
        build(exact().warm(Warm::All)),
        &["10.0.0.1:1", "10.0.0.2:1"],
    );
    s.gives(&["connect n0", "connect n1"]);
    s.at(0).refused(0).gives(&[]);
    s.at(0).refused(1).gives(&[]);
    s.at(3_600_000).tick().gives(&["connect n0", "connect n1"]);
    // The second attempt's setup time, doubled, from now.
    s.deadline(3_620_000);
    s.at(7_200_000).tick().gives(&["abort n0", "abort n1"]);
    assert_eq!(s.rests_until(0), Some(t(7_200_200)));
}

/// K03: any number of nodes can time out in one step.
#[test]
fn many_nodes_time_out_in_one_step() {
    let list: Vec<String> = (1..=50).map(|host| format!("10.0.0.{host}:1")).collect();
    let list: Vec<&str> = list.iter().map(String::as_str).collect();
    let mut s = Script::new(build(exact().warm(Warm::All)), &list);
    assert_eq!(s.take().len(), 50);
    s.at(10_000).tick();
    assert_eq!(
        s.take()
            .iter()
            .filter(|line| line.starts_with("abort"))
            .count(),
        50
    );
    assert_eq!(s.cluster().stats().failures_connect, 50);
}

/// 1.3, R051: no timeout is shortened, wrapped or rounded.
#[test]
fn timeouts_from_a_nanosecond_to_a_century_are_exact() {
    let day = Duration::from_secs(86_400);
    for timeout in [NANO, ms(1), 25 * day, 36_500 * day] {
        let mut s = Script::new(build(exact()), ONE);
        s.establish(0).blocked(0);
        s.at(7).submit(any().timeout(timeout)).gives(&[]);
        s.run_to(8_000_000).whatever();
        let due = t(7) + timeout;
        if due > t(8_000_000) {
            s.at_instant(Instant::from_nanos(due.as_nanos() - 1)).tick();
            assert!(s.cluster().is_open(s.request(0)), "{timeout:?}");
            s.whatever().at_instant(due).tick().whatever();
        }
        let error = s.error(0);
        assert_eq!((error.reason, error.elapsed), (Reason::Timeout, timeout));
    }
}

/// 1.3: a deadline beyond `Instant::MAX` is not armed.
#[test]
fn an_unreachable_deadline_is_not_armed() {
    for timeout in [Limit::After(Duration::MAX), Limit::Never] {
        let mut s = Script::empty(build(exact()), 0);
        s.at(5)
            .submit(any().timeout(timeout))
            .gives(&[])
            .no_deadline();
        s.at_instant(Instant::from_nanos(u64::MAX - 1))
            .tick()
            .gives(&[]);
        assert!(s.cluster().is_open(s.request(0)));
    }
}

/// 1: no value of time is magic, and the clock may start at 0 or end at the last moment.
#[test]
fn a_cluster_works_at_both_ends_of_time() {
    let nearly = Instant::from_nanos(u64::MAX - 1_000);
    for start in [Instant::ORIGIN, nearly, Instant::MAX] {
        let mut s = Script::empty(build(exact()), 0);
        s.at_instant(start)
            .set_nodes(ONE)
            .submit(any())
            .gives(&["connect n0"]);
        s.connected(0).gives(&["handshake n0"]);
        s.ready(0).gives(&["write n0 r0"]);
        s.written(0).reply(0).gives(&["r0 reply n0"]);
        s.closed(0).tick().gives(&[]);
    }
}

/// K31: with nothing possible the wait is positive.
#[test]
fn while_the_only_node_rests_the_deadline_lies_ahead() {
    let mut s = Script::new(build(exact()), ONE);
    s.at(0).submit(any()).gives(&["connect n0"]);
    s.at(10).refused(0).gives(&[]).deadline(110);
    s.at(50).tick().gives(&[]).deadline(110);
    s.at(110).tick().gives(&["connect n0"]);
}

/// R053, 1.1: a call at the deadline always makes progress (the checkers test it at every step).
#[test]
fn running_from_deadline_to_deadline_never_stands_still() {
    let config = exact()
        .request_timeout(after(777))
        .queue_max_age(after(5_000));
    let mut s = Script::new(build(config), ONE);
    s.at(0)
        .submit(any())
        .submit(any().timeout(ms(3_333)))
        .whatever();
    s.run_to(60_000).whatever();
    assert_eq!(s.error(0).reason, Reason::Expired);
    assert_eq!(s.error(1).reason, Reason::Timeout);
}
