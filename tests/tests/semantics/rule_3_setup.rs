//! SEMANTICS 3.1 to 3.5: setup timeout, backoff, and what never dials too early.

use std::{collections::BTreeSet, time::Duration};

use redial::{
    Backoff, BackoffReset, Config, ConfigBuilder, HandshakeError, Jitter, Limit, NodeState,
    SetupTimeout, Warm,
};
use redial_tests::script::{Script, after, any, build, exact, ms, t};

const ONE: &[&str] = &["10.0.0.1:1"];

/// A node that is kept warm, so that each rest is followed by an attempt.
fn warm(config: ConfigBuilder) -> Script {
    let mut s = Script::new(build(config.warm(Warm::All)), ONE);
    s.whatever();
    s
}

/// Fails now; the next attempt begins after exactly this rest.
#[track_caller]
fn rests(s: &mut Script, rest: u64) {
    let now = s.cluster().now();
    assert_eq!(
        s.rests_until(0),
        Some(now + ms(rest)),
        "after {} failures",
        s.view(0).failures
    );
    s.at((now + ms(rest)).as_nanos() / 1_000_000)
        .tick()
        .whatever();
    assert!(s.state(0).is_setup());
}

/// 3.1: from the start of the attempt to Ready, doubling with consecutive failures in setup.
#[test]
fn the_setup_timeout_doubles_up_to_its_maximum() {
    let mut s = warm(exact());
    for timeout in [10_000, 20_000, 30_000, 30_000] {
        let start = s.cluster().now();
        assert_eq!(s.view(0).setup_deadline, Some(start + ms(timeout)));
        s.deadline((start + ms(timeout)).as_nanos() / 1_000_000);
        s.at((start + ms(timeout)).as_nanos() / 1_000_000)
            .tick()
            .gives(&["abort n0"]);
        let next = s.rests_until(0).expect("it rests").as_nanos() / 1_000_000;
        s.at(next).tick().gives(&["connect n0"]);
    }
}

/// 3.1, R005: every stage spends from one budget.
#[test]
fn resolving_connecting_and_the_handshake_share_one_deadline() {
    let mut s = Script::new(build(exact()), &["db.example:1"]);
    s.at(1_000)
        .submit(any())
        .gives(&["resolve n0"])
        .deadline(11_000);
    s.at(4_000)
        .resolved(0, &["10.0.0.1:1"])
        .whatever()
        .deadline(11_000);
    s.at(8_000)
        .connected(0)
        .gives(&["handshake n0"])
        .deadline(11_000);
    s.at(11_000).tick().gives(&["abort n0"]);
}

/// 3.1: only Ready resets the growth, and failures after Ready do not grow it.
#[test]
fn failures_of_established_connections_do_not_grow_the_setup_timeout() {
    let mut s = warm(exact());
    for rest in [100, 200, 400] {
        s.connected(0).ready(0).closed(0).whatever();
        rests(&mut s, rest);
        assert_eq!(
            s.view(0).setup_deadline,
            Some(s.cluster().now() + ms(10_000))
        );
    }
    s.refused(0).gives(&[]);
    rests(&mut s, 800);
    assert_eq!(
        s.view(0).setup_deadline,
        Some(s.cluster().now() + ms(20_000))
    );
    s.connected(0).ready(0).closed(0).whatever();
    rests(&mut s, 1_600);
    assert_eq!(
        s.view(0).setup_deadline,
        Some(s.cluster().now() + ms(10_000))
    );
}

/// 3.1: jittered by a fifth, cut at the maximum, from the seed.
#[test]
fn the_setup_timeout_is_jittered_by_a_fifth() {
    let config = exact().jitter(Jitter::Equal);
    let (mut low, mut high) = (false, false);
    for seed in 0..200 {
        let mut s = Script::with_seed(build(config.clone()), ONE, seed);
        s.at(0).submit(any()).whatever();
        let deadline = s.view(0).setup_deadline.expect("in setup");
        assert!((t(8_000)..t(12_000)).contains(&deadline), "{deadline}");
        low |= deadline < t(8_400);
        high |= deadline >= t(11_600);
    }
    assert!(low && high, "the whole range is used");
}

/// 3.1: a maximum that does not exceed the base means a constant (KIP-148's connect.timeout.ms).
#[test]
fn a_setup_timeout_whose_maximum_is_its_base_is_constant() {
    let constant = Backoff::constant(ms(5_000));
    for seed in 0..20 {
        let config = exact()
            .jitter(Jitter::Equal)
            .connection_setup_timeout(constant);
        let mut s = Script::with_seed(build(config.warm(Warm::All)), ONE, seed);
        s.gives(&["connect n0"])
            .deadline(5_000)
            .at(5_000)
            .tick()
            .gives(&["abort n0"]);
        let again = s.rests_until(0).expect("it rests");
        s.at_instant(again).tick().gives(&["connect n0"]);
        assert_eq!(s.view(0).setup_deadline, Some(again + ms(5_000)));
    }
}

/// 3.1: with `handshake_timeout` the setup budget ends, and its growth resets, with the transport.
#[test]
fn with_a_handshake_timeout_the_setup_budget_ends_with_the_transport() {
    let mut s = warm(exact().handshake_timeout(after(3_000)));
    s.at(1_000).refused(0).gives(&[]);
    rests(&mut s, 100);
    assert_eq!(s.view(0).setup_deadline, Some(t(21_100)));
    s.at(9_000)
        .connected(0)
        .gives(&["handshake n0"])
        .deadline(12_000);
    assert_eq!(s.view(0).setup_deadline, Some(t(12_000)));
    s.at(12_000).tick().gives(&["abort n0"]);
    let failure = s.view(0).last_failure.expect("it failed");
    assert_eq!(failure.cause, redial::Cause::HandshakeTimeout);
    rests(&mut s, 200);
    assert_eq!(s.view(0).setup_deadline, Some(t(22_200)));
}

/// 3.1: a handshake timeout longer than what is left of the setup budget holds all the same.
#[test]
fn the_handshake_has_its_own_deadline_beyond_the_setup_budget() {
    let mut s = warm(exact().handshake_timeout(after(30_000)));
    s.at(9_999)
        .connected(0)
        .gives(&["handshake n0"])
        .deadline(39_999);
    s.at(35_000).ready(0).tick().gives(&[]);
    assert_eq!(s.state(0), NodeState::Ready);
}

/// 3.2, 3.4, R025, K51: the k-th consecutive failure is followed by backoff(k − 1).
#[test]
fn the_rest_doubles_with_each_failure_up_to_the_maximum() {
    let mut s = warm(exact());
    for rest in [100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000] {
        s.refused(0).gives(&[]);
        rests(&mut s, rest);
    }
}

/// 3.4, R025, R027, R029: however many failures there were, and however steep the growth.
#[test]
fn the_rest_never_shrinks_and_never_overflows() {
    for (multiplier, failures) in [(2, 200u32), (1, 60), (3, 60), (u32::MAX, 60)] {
        let backoff = Backoff::new(ms(1), ms(50), multiplier);
        let mut s = warm(exact().reconnect_backoff(backoff));
        let mut last = Duration::ZERO;
        for failure in 0..failures {
            s.refused(0).gives(&[]);
            let now = s.cluster().now();
            let until = s.rests_until(0).expect("it rests");
            let rest = until.since(now);
            let expected = u64::from(multiplier)
                .checked_pow(failure)
                .map_or(50, |factor| factor.min(50));
            assert_eq!(rest, ms(expected), "after {failure} failures");
            assert!(rest >= last);
            last = rest;
            s.at_instant(until).tick().whatever();
        }
    }
}

/// 3.2, K09: it counts from the failure, not from the attempt.
#[test]
fn the_rest_counts_from_the_failure() {
    let mut s = warm(exact());
    s.at(7_777).refused(0).gives(&[]);
    assert_eq!(s.rests_until(0), Some(t(7_877)));
    s.at(7_877).tick().gives(&["connect n0"]);
    s.at(7_900).connected(0).ready(0).gives(&["handshake n0"]);
    s.at(500_000).closed(0).gives(&[]);
    assert_eq!(s.rests_until(0), Some(t(500_100)));
}

/// 3.2: failures of every stage advance one counter, each once.
#[test]
fn failures_of_every_stage_advance_one_counter() {
    let mut s = Script::new(build(exact().warm(Warm::All)), &["db.example:1"]);
    s.gives(&["resolve n0"]).resolve_failed(0);
    rests(&mut s, 100);
    s.resolved(0, &["10.0.0.1:1"]).refused(0).whatever();
    rests(&mut s, 200);
    s.resolved(0, &["10.0.0.1:1"])
        .connected(0)
        .closed(0)
        .whatever();
    rests(&mut s, 400);
    s.resolved(0, &["10.0.0.1:1"])
        .connected(0)
        .rejected(0)
        .whatever();
    rests(&mut s, 800);
    s.resolved(0, &["10.0.0.1:1"])
        .connected(0)
        .ready(0)
        .closed(0)
        .whatever();
    rests(&mut s, 1_600);
    assert_eq!(s.view(0).failures, 5);
    let stats = s.cluster().stats();
    assert_eq!((stats.failures_resolve, stats.failures_connect), (1, 1));
    assert_eq!(
        (stats.failures_handshake, stats.failures_authenticate),
        (1, 1)
    );
    assert_eq!(stats.failures_established, 1);
}

/// 3.2, 2.3: a double report counts once.
#[test]
fn a_failure_that_is_reported_twice_counts_once() {
    let mut s = warm(exact());
    s.connected(0).gives(&["handshake n0"]);
    s.handshake_failed(0, HandshakeError::Closed)
        .closed(0)
        .refused(0)
        .closed(0)
        .gives(&[]);
    assert_eq!((s.view(0).failures, s.rests_until(0)), (1, Some(t(100))));
}

/// 3.3, R039, Z25: by default the counter resets with the first reply, not with Ready.
#[test]
fn the_counter_resets_with_the_first_reply() {
    let mut s = warm(exact());
    s.connected(0).ready(0).closed(0).whatever();
    rests(&mut s, 100);
    s.connected(0).ready(0).whatever();
    assert_eq!(s.view(0).failures, 1);
    s.submit(any()).written(0).reply(0).whatever();
    assert_eq!(s.view(0).failures, 0);
    s.closed(0).gives(&[]);
    rests(&mut s, 100);
}

/// 3.3: or when the connection has been Ready for the maximum backoff.
#[test]
fn the_counter_resets_when_ready_for_the_maximum_backoff() {
    for (ready_for, failures, rest) in [(9_999, 4, 800), (10_000, 1, 100)] {
        let mut s = warm(exact());
        for rest in [100, 200, 400] {
            s.refused(0).gives(&[]);
            rests(&mut s, rest);
        }
        s.connected(0).ready(0).gives(&["handshake n0"]);
        let end = s.cluster().now() + ms(ready_for);
        s.at_instant(end).closed(0).gives(&[]);
        assert_eq!(s.view(0).failures, failures, "Ready for {ready_for} ms");
        assert_eq!(s.rests_until(0), Some(end + ms(rest)));
    }
}

/// 3.3: `OnReady`, as in the presets.
#[test]
fn the_counter_resets_at_ready_if_so_configured() {
    let mut s = warm(exact().backoff_reset(BackoffReset::OnReady));
    s.refused(0).gives(&[]);
    rests(&mut s, 100);
    s.connected(0).gives(&["handshake n0"]);
    assert_eq!(s.view(0).failures, 1, "the transport resets nothing");
    s.ready(0).gives(&[]);
    assert_eq!(s.view(0).failures, 0);
    s.closed(0).gives(&[]);
    rests(&mut s, 100);
}

/// 3.3: `StableFor(d)`; a reply does not count.
#[test]
fn the_counter_resets_when_stable_if_so_configured() {
    for (ready_for, rest) in [(2_999, 200), (3_000, 100)] {
        let mut s = warm(exact().backoff_reset(BackoffReset::StableFor(ms(3_000))));
        s.refused(0).gives(&[]);
        rests(&mut s, 100);
        s.connected(0)
            .ready(0)
            .submit(any())
            .written(0)
            .reply(0)
            .whatever();
        let end = s.cluster().now() + ms(ready_for);
        s.at_instant(end).closed(0).gives(&[]);
        assert_eq!(
            s.rests_until(0),
            Some(end + ms(rest)),
            "Ready for {ready_for} ms"
        );
    }
}

/// 3.4: a base above the maximum means the maximum; a base of 0 means no rest.
#[test]
fn odd_backoffs_are_accepted() {
    let mut s = warm(exact().reconnect_backoff(Backoff::new(ms(900), ms(300), 2)));
    for _ in 0..3 {
        s.refused(0).gives(&[]);
        rests(&mut s, 300);
    }
    let mut s = warm(exact().reconnect_backoff(Backoff::new(ms(0), ms(300), 2)));
    for _ in 0..3 {
        s.refused(0).tick().gives(&["connect n0"]);
    }
    let mut s = warm(exact().reconnect_backoff(Backoff::new(ms(100), ms(10_000), 10)));
    for rest in [100, 1_000, 10_000, 10_000] {
        s.refused(0).gives(&[]);
        rests(&mut s, rest);
    }
}

/// The rest after this many failures, over many seeds: the shortest and the longest.
fn spread(config: &Config, failures: u32) -> (Duration, Duration) {
    let rests = (0..400).map(|seed| {
        let mut s = Script::with_seed(config.clone(), ONE, seed);
        s.whatever();
        let mut rest = Duration::ZERO;
        for _ in 0..failures {
            s.refused(0).whatever();
            let until = s.rests_until(0).expect("it rests");
            rest = until - s.cluster().now();
            s.at_instant(until).tick().whatever();
        }
        rest
    });
    let rests: Vec<Duration> = rests.collect();
    (
        *rests.iter().min().expect("400"),
        *rests.iter().max().expect("400"),
    )
}

#[track_caller]
fn spreads_over(jitter: Jitter, failures: u32, low: u64, high: u64) {
    let backoff = Backoff::new(ms(100), ms(1_000), 2);
    let config = build(
        exact()
            .warm(Warm::All)
            .jitter(jitter)
            .reconnect_backoff(backoff),
    );
    let (shortest, longest) = spread(&config, failures);
    let part = ms(high - low) / 20;
    assert!(
        shortest >= ms(low) && shortest <= ms(low) + part,
        "{jitter:?} from {shortest:?}"
    );
    assert!(
        longest <= ms(high) && longest >= ms(high) - part,
        "{jitter:?} to {longest:?}"
    );
}

/// 3.4, R031: each kind of jitter covers its range and never leaves it.
#[test]
fn jitter_covers_its_range() {
    spreads_over(Jitter::Equal, 1, 50, 100);
    spreads_over(Jitter::Equal, 3, 200, 400);
    spreads_over(Jitter::Equal, 9, 500, 1_000);
    spreads_over(Jitter::Full, 3, 0, 400);
    spreads_over(Jitter::None, 3, 400, 400);
    spreads_over(Jitter::Band(250), 3, 300, 500);
    // Never above the maximum, never collapsed onto it, the same width there.
    spreads_over(Jitter::Band(250), 9, 500, 1_000);
    spreads_over(Jitter::Clipped(200), 3, 320, 480);
    spreads_over(Jitter::Clipped(200), 9, 800, 1_000);
}

/// 3.4: `Decorrelated` begins with the base, then draws from the base to three times the last.
#[test]
fn decorrelated_jitter_begins_with_the_base() {
    let backoff = Backoff::new(ms(100), ms(100_000), 2);
    let config = exact()
        .warm(Warm::All)
        .jitter(Jitter::Decorrelated)
        .reconnect_backoff(backoff);
    assert_eq!(spread(&build(config.clone()), 1), (ms(100), ms(100)));
    let (shortest, longest) = spread(&build(config), 2);
    assert!(shortest >= ms(100) && shortest < ms(110) && longest <= ms(300) && longest > ms(290));
}

/// 3.4: each rest is drawn anew, and each node draws its own, though all have one seed.
#[test]
fn no_two_rests_are_alike() {
    let config = exact().warm(Warm::All).jitter(Jitter::Full);
    let config = build(config.reconnect_backoff(Backoff::constant(ms(1_000))));
    let mut s = Script::new(config, &["10.0.0.1:1", "10.0.0.2:1"]);
    let mut rests = BTreeSet::new();
    for _ in 0..10 {
        s.whatever();
        for node in 0..2 {
            s.refused(node).whatever();
            rests.insert(s.rests_until(node).expect("it rests") - s.cluster().now());
        }
        let later = s.cluster().now() + ms(1_000);
        s.at_instant(later).tick();
    }
    assert_eq!(rests.len(), 20);
}

/// 3.1, 3.4: so is each setup timeout.
#[test]
fn no_two_setup_timeouts_are_alike() {
    let timeout = SetupTimeout::Growing(Backoff::new(ms(1_000), ms(9_000), 1));
    let config = exact().warm(Warm::All).jitter(Jitter::Full);
    let mut s = Script::new(build(config.connection_setup_timeout(timeout)), ONE);
    let mut timeouts = BTreeSet::new();
    for _ in 0..10 {
        s.whatever();
        let began = s.cluster().now();
        let deadline = s.cluster().poll_timeout().expect("of the setup").at;
        timeouts.insert(deadline - began);
        s.refused(0).whatever();
        let rested = s.rests_until(0).expect("it rests");
        s.at_instant(rested).tick();
    }
    assert_eq!(timeouts.len(), 10);
}

/// 3.4: one node's failures do not shift another's times.
#[test]
fn a_nodes_rests_do_not_depend_on_other_nodes() {
    let config = build(exact().warm(Warm::All).jitter(Jitter::Equal));
    let rest = |list: &[&str], others: &[usize]| {
        let mut s = Script::with_seed(config.clone(), list, 7);
        s.whatever();
        for node in others {
            s.refused(*node).whatever();
        }
        s.refused(0).whatever();
        s.rests_until(0)
    };
    let three = ["10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"];
    assert_eq!(rest(&three[..1], &[]), rest(&three, &[1, 2, 1]));
}

/// 3.5, R037: nothing dials before the next-attempt time.
#[test]
fn nothing_dials_a_resting_node() {
    let mut s = Script::new(build(exact()), ONE);
    s.at(0).begin(0).refused(0).whatever();
    s.at(40)
        .submit_on(0, any())
        .submit(any())
        .gives(&[])
        .deadline(100);
    s.at(60).set_nodes(ONE).tick().gives(&[]);
    assert_eq!((s.view(0).failures, s.rests_until(0)), (1, Some(t(100))));
    s.at(99).tick().gives(&[]);
    s.at(100).tick().gives(&["connect n0"]);
}

/// 3.5: a removed endpoint's rest is kept until its end.
#[test]
fn a_node_that_comes_back_before_its_rest_is_over_takes_it_over() {
    let mut s = warm(exact());
    for rest in [100, 200] {
        s.refused(0).whatever();
        rests(&mut s, rest);
    }
    s.refused(0).gives(&[]);
    assert_eq!(s.rests_until(0), Some(t(700)));
    s.at(400).set_nodes(&["10.0.0.2:1"]).gives(&["connect n1"]);
    s.at(500)
        .set_nodes(&["10.0.0.2:1", "10.0.0.1:1"])
        .gives(&[]);
    assert_eq!((s.view(2).failures, s.rests_until(2)), (3, Some(t(700))));
    s.at(700).tick().gives(&["connect n2"]);
}

/// 3.5: afterwards it starts fresh.
#[test]
fn a_node_that_comes_back_after_its_rest_starts_fresh() {
    let mut s = warm(exact());
    s.at(0).refused(0).gives(&[]);
    s.at(50).set_nodes(&["10.0.0.2:1"]).gives(&["connect n1"]);
    s.at(100)
        .set_nodes(&["10.0.0.2:1", "10.0.0.1:1"])
        .gives(&["connect n2"]);
    assert_eq!((s.view(2).failures, s.rests_until(2)), (0, None));
}

/// 3.5: each, also of several whose rests end together.
#[test]
fn endpoints_whose_rests_ended_together_start_fresh() {
    const THREE: &[&str] = &["10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"];
    let mut s = Script::new(build(exact().warm(Warm::All)), THREE);
    s.refused(0).refused(1).whatever();
    s.at(50).set_nodes(&THREE[2..]).gives(&[]);
    s.at(200).set_nodes(THREE).whatever();
    assert_eq!([s.view(3).failures, s.view(4).failures], [0, 0]);
}

/// 3.5, K13: an endpoint that a key leaves counts as removed; the new one starts fresh.
#[test]
fn a_keys_new_endpoint_starts_fresh_and_the_old_one_keeps_its_rest() {
    let mut s = Script::new(build(exact().warm(Warm::All)), &["a=10.0.0.1:1"]);
    s.whatever().at(0).refused(0).gives(&[]);
    s.at(10).set_nodes(&["a=10.0.0.2:1"]).gives(&["connect n0"]);
    assert_eq!(s.view(0).failures, 0);
    s.at(20)
        .set_nodes(&["a=10.0.0.2:1", "b=10.0.0.1:1"])
        .gives(&[]);
    assert_eq!((s.view(1).failures, s.rests_until(1)), (1, Some(t(100))));
}

/// 3.5: within one update all leaving precedes all arriving.
#[test]
fn keys_that_exchange_their_endpoints_exchange_their_rests() {
    let list = &["a=10.0.0.1:1", "b=10.0.0.2:1"];
    let mut s = Script::new(build(exact().warm(Warm::All)), list);
    s.whatever().at(0).refused(0).gives(&[]);
    s.at(10)
        .set_nodes(&["a=10.0.0.2:1", "b=10.0.0.1:1"])
        .gives(&["abort n1", "connect n0"]);
    assert_eq!((s.view(0).failures, s.rests_until(0)), (0, None));
    assert_eq!((s.view(1).failures, s.rests_until(1)), (1, Some(t(100))));
}

/// R033: with all nodes down the number of attempts is bounded whatever the request rate.
#[test]
fn attempts_while_all_is_down_are_bounded() {
    let list = ["10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"];
    let mut s = Script::new(build(Config::builder().hedge_delay(Limit::Never)), &list);
    let seconds = 600;
    for now in (0..seconds * 1_000).step_by(50) {
        s.at(now).submit(any().timeout(ms(1_000))).tick();
        while let Some(dialled) = s
            .take()
            .iter()
            .find_map(|line| line.strip_prefix("connect n"))
        {
            let node: usize = dialled.parse().expect("a number");
            s.refused(node);
        }
    }
    // nodes × (log2(cap / base) + 2T / cap + 2)
    let bound = 3 * (7 + 2 * seconds / 10 + 2);
    assert!(
        s.cluster().stats().attempts <= bound,
        "{} attempts",
        s.cluster().stats().attempts
    );
    assert!(
        s.cluster().stats().attempts >= 3 * seconds / 10,
        "and it goes on trying"
    );
}
