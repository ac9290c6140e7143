//! SEMANTICS 3.6: how many attempts are under way, and how many begin a second, in the whole
//! cluster.

use redial::{Backoff, ConfigBuilder, Instant, NodeState, Warm};
use redial_tests::script::{Script, after, any, build, exact, ms, t};

const THREE: &[&str] = &["10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"];
const FIVE: &[&str] = &[
    "10.0.0.1:1",
    "10.0.0.2:1",
    "10.0.0.3:1",
    "10.0.0.4:1",
    "10.0.0.5:1",
];

fn warm() -> ConfigBuilder {
    exact().warm(Warm::All)
}

/// The nodes that were dialled since the last comparison.
fn dialled(s: &mut Script) -> Vec<usize> {
    let node = |line: String| line.strip_prefix("connect n")?.parse().ok();
    s.take().into_iter().filter_map(node).collect()
}

/// The one that was not.
fn missing(nodes: &[usize]) -> usize {
    let mut all = (0..THREE.len()).filter(|node| !nodes.contains(node));
    all.next().expect("one is missing")
}

/// 3.6: an attempt counts until its node is Ready, the handshake included.
#[test]
fn a_node_waits_until_an_attempt_has_made_its_node_ready() {
    let mut s = Script::new(build(warm().max_concurrent_attempts(2)), THREE);
    let first = dialled(&mut s);
    assert_eq!(first.len(), 2);
    let last = missing(&first);
    s.deadline(10_000);
    s.at(5)
        .connected(first[0])
        .gives(&[&format!("handshake n{}", first[0])]);
    s.at(9)
        .ready(first[0])
        .gives(&[&format!("connect n{last}")]);
}

/// 3.6: or has failed.
#[test]
fn a_failure_lets_the_next_node_be_dialled_in_the_same_step() {
    let mut s = Script::new(build(warm().max_concurrent_attempts(2)), THREE);
    let first = dialled(&mut s);
    let last = missing(&first);
    s.at(5)
        .refused(first[0])
        .gives(&[&format!("connect n{last}")]);
    // The one that failed has rested, and waits for a slot without a timer of its own.
    s.at(105).tick().gives(&[]).deadline(10_000);
    s.at(300)
        .refused(last)
        .gives(&[&format!("connect n{}", first[0])]);
}

/// 3.6: or its node has left.
#[test]
fn a_removal_gives_its_slot_to_the_next_node() {
    let mut s = Script::new(build(warm().max_concurrent_attempts(1)), &THREE[..2]);
    let first = dialled(&mut s)[0];
    let other = 1 - first;
    s.at(5).set_nodes(&[THREE[other]]);
    s.gives(&[&format!("abort n{first}"), &format!("connect n{other}")]);
}

/// 3.6: an attempt that is older than `hedge_delay` no longer counts.
#[test]
fn an_attempt_older_than_the_hedge_delay_does_not_count() {
    let config = warm().max_concurrent_attempts(1).hedge_delay(after(250));
    let mut s = Script::new(build(config), THREE);
    let first = dialled(&mut s);
    assert_eq!(first.len(), 1);
    s.deadline(250)
        .at_instant(Instant::from_nanos(249_999_999))
        .tick()
        .gives(&[]);
    s.at(250).tick();
    let second = dialled(&mut s);
    assert_eq!(second.len(), 1);
    s.deadline(500).at(500).tick();
    let third = dialled(&mut s);
    assert_eq!(third, [missing(&[first[0], second[0]])]);
    s.deadline(10_000);
}

/// 3.6: the end of an attempt that no longer counts opens nothing.
#[test]
fn the_end_of_an_old_attempt_gives_no_slot() {
    let config = warm().max_concurrent_attempts(1).hedge_delay(after(250));
    let mut s = Script::new(build(config), THREE);
    let first = dialled(&mut s)[0];
    s.at(250).tick();
    let second = dialled(&mut s)[0];
    let third = missing(&[first, second]);
    s.at(300).refused(first).gives(&[]);
    s.run_to(400).gives(&[]).deadline(500);
    s.at(310)
        .refused(second)
        .gives(&[&format!("connect n{third}")]);
}

/// 3.6: a race counts as one.
#[test]
fn a_race_of_addresses_counts_as_one() {
    let config = exact()
        .max_concurrent_attempts(2)
        .address_attempt_delay(after(250));
    let mut s = Script::new(build(config), &["db.example:1", "10.0.0.2:1", "10.0.0.3:1"]);
    s.at(0).submit_on(0, any()).gives(&["resolve n0"]);
    s.resolved(0, &["10.0.1.1:1", "10.0.1.2:1"])
        .gives(&["connect n0 10.0.1.1:1"]);
    s.at(250).tick().gives(&["connect n0 10.0.1.2:1"]);
    s.submit_on(1, any()).gives(&["connect n1"]);
    s.submit_on(2, any()).gives(&[]);
    s.at(300).refused(1).gives(&["connect n2"]);
}

/// 3.6: a token bucket that starts full and counts fractions of nanoseconds.
#[test]
fn tokens_come_at_their_rate_to_the_nanosecond() {
    let mut s = Script::new(build(warm().attempts_per_second(3)), FIVE);
    assert_eq!(dialled(&mut s).len(), 3);
    for due in [333_333_334, 666_666_667] {
        let due = Instant::from_nanos(due);
        assert_eq!(
            s.cluster().poll_timeout().map(|deadline| deadline.at),
            Some(due)
        );
        s.at_instant(Instant::from_nanos(due.as_nanos() - 1))
            .tick()
            .gives(&[]);
        s.at_instant(due).tick();
        assert_eq!(dialled(&mut s).len(), 1);
    }
    s.deadline(10_000);
}

/// 3.6: it holds no more than a second's tokens, however long nothing was dialled.
#[test]
fn the_bucket_holds_the_tokens_of_one_second() {
    let mut s = Script::new(build(exact().attempts_per_second(2)), FIVE);
    s.at(1_000_000);
    for node in 0..5 {
        s.submit_on(node, any());
    }
    assert_eq!(dialled(&mut s), [0, 1]);
    s.deadline(1_000_500).at(1_000_500).tick();
    assert_eq!(dialled(&mut s).len(), 1);
    s.deadline(1_001_000);
}

/// 3.6: nodes that requests wait for come before those that are only kept warm.
#[test]
fn a_node_that_a_request_waits_for_comes_before_warm_ones() {
    for wanted in 0..3 {
        let mut s = Script::new(build(warm().attempts_per_second(1)), THREE);
        let first = dialled(&mut s)[0];
        if first == wanted {
            continue;
        }
        s.at(10).submit_on(wanted, any()).gives(&[]).deadline(1_000);
        s.at(1_000).tick().gives(&[&format!("connect n{wanted}")]);
    }
}

/// 3.6: a request that is gone gives its node no precedence any more.
#[test]
fn a_cancelled_request_gives_its_node_no_precedence() {
    let order = |meddle: bool| {
        let mut s = Script::new(build(warm().attempts_per_second(1)), THREE);
        let mut order = dialled(&mut s);
        for node in 0..3 {
            if meddle && node != order[0] {
                let request = node - usize::from(node > order[0]);
                s.at(10).submit_on(node, any()).cancel(request).whatever();
            }
        }
        for second in [1_000, 2_000] {
            s.at(second).tick();
            order.extend(dialled(&mut s));
        }
        order
    };
    assert_eq!(order(true), order(false));
}

/// 3.6: of the nodes that requests wait for, the one goes first whose rest ended first.
#[test]
fn waiting_nodes_are_dialled_by_their_next_attempt_time() {
    let mut s = Script::new(build(exact().max_concurrent_attempts(1)), THREE);
    s.at(0).submit_on(1, any()).gives(&["connect n1"]);
    s.at(10).refused(1).gives(&[]);
    s.submit_on(0, any()).gives(&["connect n0"]);
    s.at(20).refused(0).gives(&[]);
    s.submit_on(2, any()).gives(&["connect n2"]);
    s.at(110).tick().gives(&[]);
    s.at(120).tick().gives(&[]);
    s.at(200).refused(2).gives(&["connect n1"]);
    s.at(210).connected(1).gives(&["handshake n1"]);
    s.ready(1).gives(&["write n1 r0", "connect n0"]);
    s.at(300).tick().gives(&[]);
    s.at(310).refused(0).gives(&["connect n2"]);
}

/// 3.6: a request for any node counts for the node that 5.1 would dial.
#[test]
fn a_request_for_any_node_comes_before_warm_nodes() {
    // Two nodes keep one warm each; the one that was tried longest ago is the one that 5.1 dials.
    let config = warm()
        .attempts_per_second(1)
        .hedge_delay(after(250))
        .reconnect_backoff(Backoff::constant(ms(10)));
    let mut s = Script::new(build(config), &THREE[..2]);
    let first = dialled(&mut s)[0];
    let other = 1 - first;
    s.at(100).refused(first).gives(&[]);
    s.at(110).submit(any()).gives(&[]).deadline(1_000);
    s.at(1_000).tick().gives(&[&format!("connect n{other}")]);
}

/// 2.2, 3.6: a hedge comes no earlier than the next token.
#[test]
fn a_hedge_waits_for_a_token() {
    let config = exact().hedge_delay(after(250)).attempts_per_second(1);
    let mut s = Script::new(build(config), THREE);
    s.at(0).submit(any());
    assert_eq!(dialled(&mut s).len(), 1);
    s.deadline(1_000).at(250).tick().gives(&[]);
    s.at(1_000).tick();
    assert_eq!(dialled(&mut s).len(), 1);
    s.deadline(2_000);
}

/// 2.2, 3.6: the end of a rest that comes before the next token is no deadline for a request that
/// names no node.
#[test]
fn a_waiting_request_has_the_next_token_as_its_deadline() {
    let mut s = Script::new(build(exact().attempts_per_second(1)), &THREE[..1]);
    s.at(0).submit(any()).gives(&["connect n0"]);
    s.at(10).refused(0).gives(&[]).deadline(1_000);
    s.at(110).tick().gives(&[]).deadline(1_000);
    s.at(1_000).tick().gives(&["connect n0"]);
}

/// 3.6: without a slot in sight nothing is armed but what can end the attempt.
#[test]
fn without_a_slot_the_setup_deadline_is_the_only_one() {
    let config = exact().max_concurrent_attempts(1);
    let mut s = Script::new(build(config), THREE);
    s.at(0).submit_on(0, any()).gives(&["connect n0"]);
    s.submit_on(1, any()).gives(&[]).deadline(10_000);
    s.at(10_000).tick().gives(&["abort n0", "connect n1"]);
}

/// 3.6: a node that has left waits for nothing.
#[test]
fn a_node_that_left_does_not_wait_for_the_governor() {
    let mut s = Script::new(build(warm().attempts_per_second(1)), &THREE[..2]);
    let first = dialled(&mut s)[0];
    s.at(5)
        .set_nodes(&[THREE[first]])
        .gives(&[])
        .deadline(10_000);
}

/// 9.2: nor does anything after a shutdown.
#[test]
fn after_a_shutdown_nothing_waits_for_the_governor() {
    let mut s = Script::new(build(warm().attempts_per_second(1)), &THREE[..2]);
    let first = dialled(&mut s)[0];
    s.at(5)
        .shutdown(0)
        .gives(&[&format!("abort n{first}"), "terminated"])
        .no_deadline();
}

/// 3.6, R035: with every node down, the whole cluster dials at the governor's rate, in a fair order.
#[test]
fn an_outage_is_dialled_at_the_configured_rate() {
    let list: Vec<String> = (1..=20).map(|host| format!("10.0.0.{host}:1")).collect();
    let list: Vec<&str> = list.iter().map(String::as_str).collect();
    let config = warm()
        .attempts_per_second(10)
        .reconnect_backoff(Backoff::constant(ms(1)));
    let mut s = Script::new(build(config), &list);
    let mut counts = [0u32; 20];
    let mut refuse = |s: &mut Script| loop {
        let nodes = dialled(s);
        if nodes.is_empty() {
            break;
        }
        for node in nodes {
            assert_eq!(s.state(node), NodeState::Connecting);
            counts[node] += 1;
            s.refused(node);
        }
    };
    refuse(&mut s);
    while let Some(deadline) = s.cluster().poll_timeout()
        && deadline.at <= t(60_000)
    {
        s.at_instant(deadline.at).tick();
        refuse(&mut s);
    }
    assert_eq!(counts.iter().sum::<u32>(), 10 + 60 * 10);
    assert!(
        counts.iter().all(|count| (30..=31).contains(count)),
        "{counts:?}"
    );
}
