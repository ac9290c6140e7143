//! SEMANTICS 8.5: what the application knows from elsewhere.

use redial::{Backoff, Cause, ConfigBuilder, Hint, Instant, NodeState};
use redial_tests::script::{Script, any, build, exact, ms, t};

const TWO: &[&str] = &["10.0.0.1:1", "10.0.0.2:1"];

/// The first rest lasts 100 ms, the second 10 s.
fn steep() -> ConfigBuilder {
    exact().reconnect_backoff(Backoff::new(ms(100), ms(10_000), 100))
}

/// Each of the nodes has failed twice: they rest until 10,100 ms, and it is 100 ms.
fn resting(config: ConfigBuilder, seed: u64) -> Script {
    let mut s = Script::with_seed(build(config), TWO, seed);
    for round in 0..2 {
        for node in 0..2 {
            s.at(100 * round).begin(node).refused(node).whatever();
        }
    }
    assert_eq!(s.rests_until(0), Some(t(10_100)));
    s
}

/// 8.5: all nodes may be dialled within the base backoff, at a time that is drawn.
#[test]
fn a_change_of_network_lets_all_nodes_be_dialled_soon() {
    for hint in [Hint::NetworkChanged, Hint::Resumed] {
        let mut waits = Vec::new();
        for seed in 0..500 {
            let mut s = resting(steep(), seed);
            s.at(1_000).hint(hint).gives(&[]);
            for node in 0..2 {
                let soon = s.rests_until(node).expect("it rests");
                assert!((t(1_000)..=t(1_100)).contains(&soon), "{soon}");
                waits.push(soon.since(t(1_000)).as_nanos());
            }
        }
        let below = waits.iter().filter(|wait| **wait < 50_000_000).count();
        // Five standard deviations of a half of 1,000.
        assert!(below.abs_diff(500) < 80, "{below}");
        assert!(waits.iter().any(|wait| *wait < 2_000_000));
        assert!(waits.iter().any(|wait| *wait > 98_000_000));
    }
}

/// 8.5: only then, and only once.
#[test]
fn a_node_is_dialled_when_the_shortened_rest_is_over() {
    let mut s = resting(steep(), 3);
    s.at(1_000).submit_on(0, any()).gives(&[]).deadline(10_100);
    s.hint(Hint::NetworkChanged).gives(&[]);
    let soon = s.rests_until(0).expect("it rests");
    assert!(soon > t(1_000));
    s.at_instant(Instant::from_nanos(soon.as_nanos() - 1))
        .tick()
        .gives(&[]);
    s.at_instant(soon).tick().gives(&["connect n0"]);
}

/// 8.5: a request for any node is told of it as well.
#[test]
fn a_request_for_any_node_goes_to_a_node_that_may_be_dialled_soon() {
    let mut s = resting(steep(), 5);
    s.at(1_000).submit(any()).gives(&[]).deadline(10_100);
    s.node_up(1).gives(&[]);
    let soon = s.rests_until(1).expect("it rests");
    s.at_instant(soon).tick().gives(&["connect n1"]);
}

/// 8.5: a rest is never made longer.
#[test]
fn a_hint_never_makes_a_rest_longer() {
    for seed in 0..200 {
        let mut s = resting(steep(), seed);
        s.at(10_099).hint(Hint::NetworkChanged).gives(&[]);
        assert!(s.rests_until(0).expect("it rests") <= t(10_100));
    }
}

/// 8.5: the count of failures stays, so that the next failure rests as long as it would have.
#[test]
fn a_hint_does_not_forget_failures() {
    let mut s = resting(steep(), 0);
    s.at(1_000).hint(Hint::Resumed).gives(&[]);
    assert_eq!((s.view(0).failures, s.view(1).failures), (2, 2));
    s.at(1_100).begin(0).refused(0).whatever();
    assert_eq!(s.rests_until(0), Some(t(11_100)));
}

/// 8.5: said of one node, it concerns that one.
#[test]
fn node_up_concerns_that_node() {
    let mut s = resting(steep(), 0);
    s.at(1_000).node_up(0).gives(&[]);
    assert!(s.rests_until(0).expect("it rests") <= t(1_100));
    assert_eq!(s.rests_until(1), Some(t(10_100)));
}

/// 8.5: the first hint's draw stands unless a later one comes earlier.
#[test]
fn hints_in_a_row_only_shorten() {
    let mut s = resting(steep(), 0);
    let mut last = t(10_100);
    for _ in 0..50 {
        s.at(1_000).hint(Hint::NetworkChanged).gives(&[]);
        let soon = s.rests_until(0).expect("it rests");
        assert!(soon <= last);
        last = soon;
    }
    assert!(last < t(1_010), "{last}");
}

fn ready(config: ConfigBuilder) -> Script {
    let mut s = Script::new(build(config.keepalive_timeout(ms(300))), TWO);
    s.at(0).establish(0).establish(1);
    s
}

/// 8.5: all connections are probed at once; one that says nothing is closed.
#[test]
fn a_change_of_network_probes_all_connections() {
    let mut s = ready(exact().keepalive(true));
    s.at(1_000)
        .hint(Hint::NetworkChanged)
        .gives(&["probe n0", "probe n1"])
        .deadline(1_300);
    s.at(1_200).received(1).gives(&[]);
    s.at(1_300).tick().gives(&["close n0"]);
    assert_eq!(
        s.view(0).last_failure.map(|failure| failure.cause),
        Some(Cause::KeepaliveTimeout)
    );
    assert_eq!(s.state(1), NodeState::Ready);
    s.no_deadline();
}

/// 8.5: said to be down, one connection is probed.
#[test]
fn node_down_probes_that_connection() {
    let mut s = ready(exact().keepalive(true));
    s.at(1_000)
        .node_down(1)
        .gives(&["probe n1"])
        .deadline(1_300);
    s.at(1_100).received(1).gives(&[]).no_deadline();
}

/// 8.5: "down" is no reason to dial or to close, and "up" none to probe.
#[test]
fn node_down_moves_no_rest_and_node_up_probes_nothing() {
    let mut s = resting(steep().keepalive(true), 0);
    s.at(1_000).node_down(0).gives(&[]);
    assert_eq!(s.rests_until(0), Some(t(10_100)));
    let mut s = ready(exact().keepalive(true));
    s.at(1_000).node_up(0).gives(&[]).no_deadline();
}

/// 4.10: at most one probe is out on a connection; the first one's time holds.
#[test]
fn a_second_hint_sends_no_second_probe() {
    let mut s = ready(exact().keepalive(true));
    s.at(1_000)
        .hint(Hint::Resumed)
        .gives(&["probe n0", "probe n1"]);
    s.at(1_200).hint(Hint::Resumed).gives(&[]).deadline(1_300);
}

/// 8.5: no probe where the protocol has no keepalive.
#[test]
fn without_a_keepalive_nothing_is_probed() {
    let mut s = ready(exact());
    s.at(1_000)
        .hint(Hint::NetworkChanged)
        .node_down(0)
        .gives(&[])
        .no_deadline();
}

/// 12: a node that is not in the list is ignored and counted.
#[test]
fn a_hint_about_an_unknown_node_is_counted() {
    let mut s = ready(exact().keepalive(true));
    let left = s.id(0);
    s.set_nodes(&TWO[1..]).gives(&["close n0"]);
    let before = s.cluster().stats().stale_facts;
    s.hint(Hint::NodeUp(left))
        .hint(Hint::NodeDown(left))
        .gives(&[]);
    assert_eq!(s.cluster().stats().stale_facts, before + 2);
}

/// 9.2: after a shutdown a hint does nothing.
#[test]
fn after_a_shutdown_a_hint_does_nothing() {
    let mut s = ready(exact().keepalive(true));
    s.submit_on(0, any()).written(0).whatever();
    s.at(1_000).shutdown(5_000).gives(&["close n1"]);
    s.hint(Hint::NetworkChanged).gives(&[]).deadline(6_000);
}

/// 8.5, 6.1: a node that rejected our credentials is a node like others.
#[test]
fn a_hint_lets_a_rejecting_node_be_dialled_soon() {
    let mut s = Script::new(build(steep()), &TWO[..1]);
    for round in 0..2 {
        s.at(100 * round)
            .begin(0)
            .connected(0)
            .rejected(0)
            .whatever();
    }
    assert_eq!(s.state(0), NodeState::AuthenticationFailed);
    s.at(1_000).node_up(0).gives(&[]);
    let soon = s.rests_until(0).expect("it rests");
    assert!(soon <= t(1_100));
    s.at_instant(soon)
        .submit_on(0, any())
        .gives(&["connect n0"]);
}
