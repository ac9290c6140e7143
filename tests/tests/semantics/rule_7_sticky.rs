//! SEMANTICS 7.8, and 3.7, 5.1, 5.3 under `Sticky`: one node at a time, round a ring of the client's
//! own.

use std::collections::BTreeSet;

use redial::{
    Backoff, Cause, Config, ConfigBuilder, ConfigError, Event, HedgeDelay, KeepaliveOn, Limit,
    Limits, NodeState, SelectionPolicy, SetupTimeout, Stage, Why,
};
use redial_tests::script::{Script, after, any, build, exact, ms, sticky, t};

const ONE: &[&str] = &["10.0.0.1:1"];
const TWO: &[&str] = &["10.0.0.1:1", "10.0.0.2:1"];
const THREE: &[&str] = &["10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"];
const FOUR: &[&str] = &["10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1", "10.0.0.4:1"];

fn cluster(list: &[&str]) -> Script {
    Script::new(build(sticky()), list)
}

/// The node that the client is connected to since 0.
#[track_caller]
fn connect(s: &mut Script) -> usize {
    let own = s.dialled();
    s.connected(own)
        .ready(own)
        .gives(&[&format!("handshake n{own}")]);
    own
}

/// Refuses every attempt until one has to wait; who was dialled, the first included.
fn refuse_lap(s: &mut Script, first: usize) -> Vec<usize> {
    let mut lap = vec![first];
    loop {
        s.refused(*lap.last().expect("the first"));
        match s.dials()[..] {
            [] => return lap,
            [next] => lap.push(next),
            ref dials => panic!("one at a time, not {dials:?}"),
        }
    }
}

fn is_a_permutation(lap: &[usize], of: usize) -> bool {
    lap.len() == of && lap.iter().collect::<BTreeSet<_>>().len() == of
}

/// 2.2: Sticky keeps one.
#[test]
fn one_node_is_dialled_without_a_request() {
    let mut s = cluster(THREE);
    let own = connect(&mut s);
    s.no_deadline();
    s.at(10).closed(own);
    s.dialled();
    assert_eq!(s.cluster().stats().nodes_in_setup, 1);
}

/// 7.8: in a first lap each once and without delay, then always in the same order.
#[test]
fn a_client_that_was_never_connected_waits_after_each_lap() {
    let mut s = cluster(FOUR);
    let first = s.dialled();
    let lap = refuse_lap(&mut s, first);
    assert!(is_a_permutation(&lap, 4));
    for round in 1..4 {
        let due = 1_000 * round;
        s.deadline(due).at(due - 1).tick().gives(&[]);
        s.deadline(due).at(due).tick();
        let first = s.dialled();
        assert_eq!(refuse_lap(&mut s, first), lap);
    }
}

/// 7.8: a lap of one is one attempt.
#[test]
fn each_attempt_but_the_first_waits_when_there_is_one_server() {
    let mut s = cluster(ONE);
    s.gives(&["connect n0"]);
    for round in 1..5 {
        s.refused(0).gives(&[]).deadline(1_000 * round);
        s.at(1_000 * round).tick().gives(&["connect n0"]);
    }
}

/// 7.8, Z21: the pace does not change.
#[test]
fn attempts_go_on_after_ten_thousand_failures() {
    let mut s = cluster(ONE);
    s.gives(&["connect n0"]);
    for round in 1..=10_000 {
        s.refused(0).gives(&[]).deadline(1_000 * round);
        s.at(1_000 * round).tick().gives(&["connect n0"]);
    }
}

/// 7.8: the lap is measured from the server that was lost.
#[test]
fn after_a_loss_the_others_are_tried_at_once_and_the_own_after_the_delay() {
    for seed in 0..20 {
        let mut s = Script::with_seed(build(sticky()), FOUR, seed);
        // At the third of the ring.
        for _ in 0..2 {
            let refused = s.dialled();
            s.refused(refused);
        }
        let own = connect(&mut s);
        s.at(5_000).closed(own);
        let first = s.dialled();
        let others = refuse_lap(&mut s, first);
        assert!(is_a_permutation(&others, 3) && !others.contains(&own));
        s.deadline(6_000).at(6_000).tick();
        assert_eq!(s.dialled(), own);
        let lap = refuse_lap(&mut s, own);
        assert!(is_a_permutation(&lap, 4));
        assert_eq!(lap[1..], others);
    }
}

/// 7.8: the last failure ends the lap, not the first.
#[test]
fn the_delay_counts_from_the_failure_that_ends_the_lap() {
    let mut s = cluster(TWO);
    let first = s.dialled();
    s.at(300).refused(first);
    let second = s.dialled();
    s.at(700).refused(second).gives(&[]).deadline(1_700);
}

/// 7.8.
#[test]
fn to_connect_and_lose_at_one_server_after_the_other_is_no_lap() {
    let mut s = cluster(THREE);
    let mut seen = Vec::new();
    for round in 0..9 {
        seen.push(connect(&mut s));
        s.closed(seen[round]);
    }
    assert!(is_a_permutation(&seen[..3], 3));
    assert_eq!((&seen[..3], &seen[..3]), (&seen[3..6], &seen[6..]));
}

/// 7.8, Z25: the transport coming up resets no lap.
#[test]
fn a_connection_that_is_accepted_and_dropped_before_ready_is_a_failure() {
    let mut s = cluster(THREE);
    for round in 0..5 {
        let mut lap = BTreeSet::new();
        for _ in 0..3 {
            let node = s.dialled();
            s.connected(node).gives(&[&format!("handshake n{node}")]);
            s.closed(node);
            lap.insert(node);
            assert_eq!(
                s.view(node).last_failure.expect("it failed").stage,
                Stage::Handshake
            );
        }
        assert_eq!(lap.len(), 3);
        s.deadline(1_000 * (round + 1))
            .at(1_000 * (round + 1))
            .tick();
    }
    assert_eq!(s.cluster().stats().failures_handshake, 15);
}

/// 7.8: besides each node's own backoff.
#[test]
fn both_the_lap_and_the_backoff_are_waited_for() {
    for (backoff, due) in [(400, 1_000), (2_500, 2_500)] {
        let backoff = Backoff::constant(ms(backoff));
        let mut s = Script::new(build(sticky().reconnect_backoff(backoff)), TWO);
        let first = s.dialled();
        s.refused(first);
        let second = s.dialled();
        s.refused(second).gives(&[]).deadline(due);
        s.at(due - 1).submit(any()).gives(&[]).deadline(due);
        s.at(due).tick();
        assert_eq!(s.dialled(), first);
    }
}

/// 2.2, 3.6: nor before the governor lets it.
#[test]
fn the_governor_is_waited_for_too() {
    let mut s = Script::new(build(sticky().attempts_per_second(Some(1))), TWO);
    let first = s.dialled();
    s.at(300).refused(first).gives(&[]).deadline(1_000);
    s.at(1_000).tick();
    let second = s.dialled();
    s.at(1_500).refused(second).gives(&[]).deadline(2_500);
}

/// 8.1: `warm` keeps it.
#[test]
fn the_one_node_is_not_closed_for_idleness() {
    let mut s = Script::new(build(sticky().max_idle(after(1_000))), TWO);
    let own = connect(&mut s);
    s.run_to(10_000).gives(&[]);
    assert_eq!(s.state(own), NodeState::Ready);
}

/// 7.8: a node that rests is passed over, and has its turn when it comes round again.
#[test]
fn a_node_that_rests_is_passed_over() {
    let config = sticky()
        .reconnect_backoff(Backoff::constant(ms(100)))
        .lap_delay(ms(0));
    let mut s = Script::new(build(config), TWO);
    let first = s.dialled();
    s.at(60).refused(first);
    let second = s.dialled();
    s.at(90).refused(second).gives(&[]).deadline(160);
    s.at(160).tick();
    assert_eq!(s.dialled(), first);
}

/// 7.8, 2.2: drawn when an attempt or a connection has ended; the deadline says when it is over.
#[test]
fn each_attempt_after_the_first_connection_waits_for_a_start_delay() {
    let config = || build(sticky().start_delay(ms(1_000)));
    let mut delays = BTreeSet::new();
    for seed in 0..200 {
        let mut s = Script::with_seed(config(), THREE, seed);
        // There was no connection yet.
        let refused = s.dialled();
        s.refused(refused);
        let own = connect(&mut s);
        s.at(100).closed(own).gives(&[]);
        let due = s.cluster().poll_timeout().expect("a dial").at;
        assert!((t(100)..t(1_100)).contains(&due));
        s.at_instant(due).submit(any());
        let next = s.dialled();
        s.refused(next).gives(&[]);
        let again = s.cluster().poll_timeout().expect("a dial").at;
        assert!(again > due && again < due + ms(1_000));
        delays.extend([due - t(100), again - due]);
    }
    assert!(delays.len() > 390, "they are drawn");
    let mean = delays.iter().map(|delay| delay.as_millis()).sum::<u128>() / delays.len() as u128;
    assert!(
        (428..572).contains(&mean),
        "{mean}: five standard deviations"
    );
}

/// 7.8: from the seed.
#[test]
fn each_order_is_as_likely() {
    let mut orders = std::collections::BTreeMap::<_, u32>::new();
    for seed in 0..1_200 {
        let mut s = Script::with_seed(build(sticky()), THREE, seed);
        let first = s.dialled();
        *orders.entry(refuse_lap(&mut s, first)).or_default() += 1;
    }
    assert_eq!(orders.len(), 6);
    // 200 ± 5 × 12.9.
    assert!(
        orders.values().all(|count| (136..265).contains(count)),
        "{orders:?}"
    );
}

/// 5.1: whatever keeps it from taking one.
#[test]
fn a_request_waits_for_the_one_node_when_it_is_full_throttled_or_blocked() {
    type MakeBusy = fn(&mut Script, usize);
    let busy: [(&str, MakeBusy); 3] = [
        ("full", |s, own| {
            s.submit(any()).gives(&[&format!("write n{own} r0")]);
        }),
        ("throttled", |s, own| {
            s.throttled(own, 60_000).gives(&[]).submit(any()).gives(&[]);
        }),
        ("blocked", |s, own| {
            s.blocked(own).gives(&[]).submit(any()).gives(&[]);
        }),
    ];
    for (why, make_busy) in busy {
        let mut s = Script::new(build(sticky().max_in_flight(1u32)), THREE);
        let own = connect(&mut s);
        make_busy(&mut s, own);
        s.submit(any()).gives(&[]);
        s.at(20_000).tick().gives(&[]);
        assert_eq!(s.cluster().stats().attempts, 1, "{why}");
    }
}

/// 5.1: whosever turn it is.
#[test]
fn a_throttled_node_is_dialled_only_where_no_other_can_be() {
    let config = sticky().reconnect_backoff(Backoff::constant(ms(900)));
    let mut s = Script::new(build(config), TWO);
    let own = connect(&mut s);
    let other = 1 - own;
    s.throttled(own, 60_000).closed(own);
    assert_eq!(s.dialled(), other);
    s.at(10).refused(other).gives(&[]).deadline(1_010);
    s.at(1_010).tick();
    assert_eq!(s.dialled(), other, "though it is the turn of its own");
    s.refused(other);
    assert_eq!(s.dialled(), own, "as the other rests");
}

/// 5.3: Sticky ignores health until the connection is closed.
#[test]
fn an_unhealthy_node_stays_the_one() {
    let config = sticky().unhealthy_after(1u32).max_attempts(1u32);
    let mut s = Script::new(build(config), THREE);
    let own = connect(&mut s);
    let write = |r| format!("write n{own} r{r}");
    s.submit(any()).written(0).gives(&[&write(0)]);
    s.at(30_000).tick().gives(&["r0 Timeout PossiblyWritten"]);
    let unhealthy = |event| matches!(event, Event::Unhealthy { .. });
    assert!(s.events().into_iter().any(unhealthy));
    s.submit(any()).gives(&[&write(1)]);
    assert_eq!(s.cluster().stats().attempts, 1);
}

/// 5.4.
#[test]
fn explain_says_that_another_node_is_not_the_own() {
    let mut s = Script::new(build(sticky().max_in_flight(1u32)), TWO);
    let own = connect(&mut s);
    s.submit(any()).whatever().submit(any()).gives(&[]);
    let reasons = s.cluster().explain(s.request(1)).expect("it is open");
    assert_eq!(
        (reasons[own].why, reasons[1 - own].why),
        (Why::Full, Why::NotOwn)
    );
}

/// 4.1: a bound request has its node, beside the client's own; others never go there.
#[test]
fn a_bound_request_is_served_beside_the_one_node() {
    let mut s = Script::new(build(sticky().max_in_flight(1u32)), TWO);
    let own = connect(&mut s);
    let other = 1 - own;
    s.submit_on(other, any())
        .gives(&[&format!("connect n{other}")]);
    s.connected(other)
        .whatever()
        .ready(other)
        .gives(&[&format!("write n{other} r0")]);
    s.written(0)
        .reply(0)
        .gives(&[&format!("r0 reply n{other}")]);
    s.submit(any()).gives(&[&format!("write n{own} r1")]);
    s.submit(any()).gives(&[]);
    assert_eq!(s.state(other), NodeState::Ready);
}

/// 5.1: a node that is Ready already is no worse than one that must be dialled.
#[test]
fn after_a_loss_a_node_that_is_ready_for_bound_requests_is_the_one() {
    let mut s = cluster(THREE);
    let own = connect(&mut s);
    let other = (own + 1) % 3;
    s.establish(other);
    s.at(10).closed(own).gives(&[]);
    s.submit(any()).gives(&[&format!("write n{other} r0")]);
}

/// 7.8: without a backoff it would be dialled as fast as it refuses.
#[test]
fn a_node_that_requests_are_bound_to_rests_for_a_lap_delay() {
    let mut s = cluster(TWO);
    let own = connect(&mut s);
    let other = 1 - own;
    let dial = format!("connect n{other}");
    s.submit_on(other, any()).gives(&[&dial]);
    s.at(5).refused(other).gives(&[]).deadline(1_005);
    s.at(1_005).tick().gives(&[&dial]);
    s.connected(other)
        .whatever()
        .ready(other)
        .gives(&[&format!("write n{other} r0")]);
    s.at(1_010).closed(other).gives(&[]).deadline(2_010);
    s.at(2_010).tick().gives(&[&dial]);
    // The client's own does not wait for that.
    s.at(2_020).closed(own).gives(&[]);
    s.refused(other);
    assert_eq!(s.dialled(), own);
}

/// 3.7: never, by default.
#[test]
fn there_is_no_hedge_unless_it_is_asked_for() {
    let config = sticky().hedge_delay(HedgeDelay::ByPolicy);
    let mut s = Script::new(build(config), THREE);
    s.dialled();
    s.submit(any()).gives(&[]).deadline(10_000);
}

fn hedging() -> ConfigBuilder {
    sticky().hedge_delay(after(250))
}

/// 3.7.
#[test]
fn losers_are_aborted() {
    let mut s = Script::new(build(hedging()), THREE);
    let first = s.submit(any()).dialled();
    s.at(250).tick();
    let second = s.dialled();
    s.connected(second)
        .gives(&[&format!("handshake n{second}")]);
    s.at(260)
        .ready(second)
        .gives(&[&format!("abort n{first}"), &format!("write n{second} r0")]);
    assert_eq!(s.state(first), NodeState::Disconnected);
    let stats = s.cluster().stats();
    assert_eq!((stats.failures_connect, stats.nodes_in_setup), (0, 0));
    assert_eq!(s.view(first).last_failure, None);
}

/// 3.7: nor does it give way, as it is none of the attempts for Any-requests.
#[test]
fn an_attempt_for_a_bound_request_is_no_loser() {
    let mut s = cluster(TWO);
    let own = s.dialled();
    let other = 1 - own;
    s.submit_on(other, any())
        .gives(&[&format!("connect n{other}")]);
    s.connected(other).gives(&[&format!("handshake n{other}")]);
    s.connected(own).gives(&[&format!("handshake n{own}")]);
    s.ready(own).gives(&[]);
    assert_eq!(s.state(other), NodeState::Handshaking);
}

/// 3.7: the one in Handshaking is aborted first.
#[test]
fn at_most_one_connection_is_in_handshaking() {
    let mut s = Script::new(build(hedging()), THREE);
    let first = s.submit(any()).dialled();
    s.at(100).connected(first).whatever();
    s.at(250).tick();
    let second = s.dialled();
    let came = s.at(300).connected(second).take();
    assert_eq!(
        came,
        [format!("abort n{first}"), format!("handshake n{second}")]
    );
}

/// 3.7.
#[test]
fn two_aborts_in_a_row_are_a_failure_of_their_stage() {
    let mut s = Script::new(
        build(hedging().reconnect_backoff(Backoff::constant(ms(70)))),
        TWO,
    );
    let loser = s.submit(any()).dialled();
    let winner = 1 - loser;
    s.at(250).tick();
    assert_eq!(s.dialled(), winner);
    s.connected(winner).ready(winner).whatever();
    assert_eq!(s.view(loser).last_failure, None);
    s.closed(winner);
    assert_eq!(s.dialled(), loser);
    s.at(500).tick();
    assert_eq!(s.dialled(), winner);
    s.at(600).connected(winner).ready(winner).whatever();
    let failure = s.view(loser).last_failure.expect("a failure");
    assert_eq!(
        (failure.stage, failure.cause),
        (Stage::Connect, Cause::AbortedTwice)
    );
    assert_eq!(s.rests_until(loser), Some(t(670)));
}

/// 8.6, 3.1: a shorter session has shorter silences, from its first moment.
#[test]
fn the_keepalive_follows_the_session_that_the_handshake_gives() {
    let mut s = Script::new(build(Config::zookeeper(ms(30_000)).to_builder()), ONE);
    s.dialled();
    s.connected(0).gives(&["handshake n0"]);
    s.ready_with(0, Limits::NONE.with_session(ms(6_000)))
        .gives(&[])
        .deadline(2_000);
    s.at(2_000).tick().gives(&["probe n0"]).deadline(4_000);
    s.at(4_000).tick().gives(&["close n0"]);
}

/// 8.6: also on a connection that is Ready already.
#[test]
fn the_keepalive_of_every_connection_follows_a_new_session() {
    let config = exact()
        .keepalive_interval(after(5_000))
        .keepalive_timeout(ms(5_000));
    let mut s = Script::new(build(config), TWO);
    s.establish(0);
    s.begin(1).connected(1).whatever();
    s.ready_with(1, Limits::NONE.with_session(ms(3_000)))
        .gives(&[])
        .deadline(1_000);
    s.at(1_000).tick().gives(&["probe n0", "probe n1"]);
}

/// 11: ZooKeeper's values.
#[test]
fn the_zookeeper_preset_has_zookeepers_values() {
    let session_timeout = ms(30_000);
    let config = Config::zookeeper(session_timeout);
    assert_eq!(config.selection(), SelectionPolicy::Sticky);
    assert_eq!(
        config.connection_setup_timeout(),
        SetupTimeout::SessionShare { session_timeout }
    );
    assert_eq!(config.reconnect_backoff(), Backoff::constant(ms(0)));
    assert_eq!(
        (config.lap_delay(), config.start_delay()),
        (ms(1_000), ms(1_000))
    );
    assert_eq!(config.keepalive_on(), KeepaliveOn::Either);
    assert_eq!(config.keepalive_interval(), after(10_000));
    assert_eq!(config.keepalive_timeout(), ms(10_000));
    assert_eq!(config.effective_hedge_delay(), Limit::Never);
    assert!(config.one_session() && !config.make_before_break());
    assert!(config.to_builder().build().is_ok());
}

/// 7.7: a second connection would take the session from the first.
#[test]
fn the_old_connection_cannot_be_kept_where_there_is_one_session() {
    let config = sticky().one_session(true).make_before_break(true).build();
    assert_eq!(config, Err(ConfigError::TwoSessions));
}
