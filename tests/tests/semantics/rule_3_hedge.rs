//! SEMANTICS 3.7: while a request for any node waits for slow attempts, more nodes are dialled.

use redial::{ConfigBuilder, Event, Limit, NodeState};
use redial_tests::script::{Script, after, any, build, exact, ms};

fn hedging() -> ConfigBuilder {
    exact().hedge_delay(after(250))
}

fn nodes(count: usize) -> Vec<String> {
    (1..=count).map(|host| format!("10.0.0.{host}:1")).collect()
}

fn cluster(config: ConfigBuilder, count: usize) -> Script {
    let list = nodes(count);
    Script::new(
        build(config),
        &list.iter().map(String::as_str).collect::<Vec<_>>(),
    )
}

/// The one node that was dialled.
#[track_caller]
fn dialled(s: &mut Script) -> usize {
    let lines = s.take();
    let [line] = &lines[..] else {
        panic!("one dial is expected, came {lines:?}")
    };
    line.strip_prefix("connect n")
        .and_then(|node| node.parse().ok())
        .expect("a dial")
}

fn hedges(s: &mut Script) -> Vec<bool> {
    let hedge = |event| match event {
        Event::AttemptStarted { hedge, .. } => Some(hedge),
        _ => None,
    };
    s.events().into_iter().filter_map(hedge).collect()
}

/// 3.7, R001, R121.
#[test]
fn one_more_node_is_dialled_on_each_further_delay() {
    let mut s = cluster(hedging(), 4);
    s.at(0).submit(any()).deadline(250);
    let mut seen = vec![dialled(&mut s)];
    for round in 1..4 {
        s.at(250 * round - 1).tick().gives(&[]);
        s.deadline(250 * round).at(250 * round).tick();
        seen.push(dialled(&mut s));
    }
    seen.sort_unstable();
    assert_eq!(seen, [0, 1, 2, 3]);
    s.deadline(10_000);
    assert_eq!(hedges(&mut s), [false, true, true, true]);
    assert_eq!(s.cluster().stats().hedges, 3);
}

/// 3.7: the first Ready node serves, whichever it is; losers are kept.
#[test]
fn the_first_ready_node_serves_and_the_losers_go_on() {
    let mut s = cluster(hedging(), 2);
    s.at(0).submit(any());
    let first = dialled(&mut s);
    s.at(250).tick();
    let hedge = dialled(&mut s);
    s.at(260).connected(hedge).whatever();
    s.at(270)
        .ready(hedge)
        .gives(&[&format!("write n{hedge} r0")]);
    s.at(280).tick().gives(&[]);
    assert_eq!(s.state(first), NodeState::Connecting);
    s.at(290)
        .connected(first)
        .whatever()
        .ready(first)
        .gives(&[]);
    assert_eq!(s.state(first), NodeState::Ready);
}

/// 3.7: any failure of one starts the next at once.
#[test]
fn a_failure_starts_the_next_node_at_once() {
    let mut s = cluster(hedging(), 4);
    s.at(0).submit(any());
    let first = dialled(&mut s);
    s.at(250).tick();
    let second = dialled(&mut s);
    s.at(300).refused(second);
    let third = dialled(&mut s);
    s.at(320).refused(first);
    let fourth = dialled(&mut s);
    let mut seen = [first, second, third, fourth];
    seen.sort_unstable();
    assert_eq!(seen, [0, 1, 2, 3]);
}

/// 3.7: `max_hedges` counts the hedges in setup beside the first.
#[test]
fn no_more_than_max_hedges_are_in_setup() {
    let mut s = cluster(hedging().max_hedges(2u32), 6);
    s.at(0).submit(any()).whatever();
    s.at(250).tick().whatever();
    s.at(500).tick().whatever();
    s.deadline(10_000).at(750).tick().gives(&[]);
    assert_eq!(s.cluster().stats().nodes_in_setup, 3);
}

/// 3.7: of one cluster, not of one request.
#[test]
fn hedges_are_counted_for_the_whole_cluster() {
    let mut s = cluster(hedging().max_hedges(1u32), 6);
    s.at(0).submit(any()).submit(any()).submit(any()).whatever();
    s.at(250).tick().whatever();
    s.at(2_000).submit(any()).tick().gives(&[]);
    assert_eq!(s.cluster().stats().nodes_in_setup, 2);
}

/// 3.7: the delay counts from the youngest attempt that could serve the request.
#[test]
fn a_young_attempt_is_waited_for() {
    let mut s = cluster(hedging(), 3);
    s.at(0).submit_on(0, any()).gives(&["connect n0"]);
    s.at(200).submit_on(1, any()).gives(&["connect n1"]);
    s.at(300).submit(any()).gives(&[]).deadline(450);
    s.at(450).tick().gives(&["connect n2"]);
}

/// 3.7: an attempt that is old already when the request comes has had its delay.
#[test]
fn an_old_attempt_is_not_waited_for() {
    let mut s = cluster(hedging(), 2);
    s.at(0).submit_on(0, any()).gives(&["connect n0"]);
    s.at(1_000).submit(any()).tick().gives(&["connect n1"]);
}

/// 3.7: a request that is bound to a node waits for that node.
#[test]
fn a_bound_request_is_not_hedged() {
    let mut s = cluster(hedging(), 3);
    s.at(0)
        .submit_on(0, any())
        .gives(&["connect n0"])
        .deadline(10_000);
    s.at(5_000).tick().gives(&[]);
}

/// 3.7, 2.2: with no node that could be dialled there is no hedge and no deadline for one.
#[test]
fn a_resting_node_is_no_hedge_before_its_time() {
    let mut s = cluster(hedging(), 2);
    s.at(0).begin(0).refused(0).whatever();
    s.at(10).submit(any()).gives(&["connect n1"]);
    // Its rest ends at 100, the delay at 260: the later of the two.
    s.deadline(260).at(260).tick().gives(&["connect n0"]);
    s.deadline(10_010);
}

/// 2.2: the later of the hedge time and the earliest next-attempt time.
#[test]
fn a_hedge_waits_for_a_rest_that_is_longer_than_the_delay() {
    let long = redial::Backoff::constant(ms(1_000));
    let mut s = cluster(hedging().reconnect_backoff(long), 2);
    s.at(0).begin(0).refused(0).whatever();
    s.at(10)
        .submit(any())
        .gives(&["connect n1"])
        .deadline(1_000);
    s.at(260).tick().gives(&[]);
    s.at(1_000).tick().gives(&["connect n0"]);
}

/// 3.7: nothing is hedged when no request waits any more.
#[test]
fn without_a_waiting_request_nothing_is_hedged() {
    let mut s = cluster(hedging(), 2);
    s.at(0)
        .submit(any())
        .whatever()
        .cancel(0)
        .gives(&["r0 Cancelled NeverWritten"]);
    s.deadline(10_000).at(300).tick().gives(&[]);
}

/// 3.7: never, if so configured.
#[test]
fn without_a_hedge_delay_the_first_attempt_is_waited_for() {
    let mut s = cluster(exact().hedge_delay(Limit::Never), 3);
    s.at(0).submit(any()).whatever().deadline(10_000);
    s.at(9_999).tick().gives(&[]);
}

/// 3.7: with k nodes dead the first answer takes k delays, not k timeouts.
#[test]
fn k_black_holes_cost_k_delays() {
    for dead in 1..=8 {
        let mut s = cluster(hedging(), 9);
        s.at(0).submit(any()).whatever();
        for round in 1..=dead {
            s.at(250 * round).tick();
            let node = dialled(&mut s);
            if round == dead {
                s.connected(node)
                    .ready(node)
                    .gives(&[&format!("handshake n{node}"), &format!("write n{node} r0")]);
            }
        }
    }
}

/// 4.1, R009: however many nodes fail or hang, the first usable one is awaited no longer than the
/// caller's own time.
#[test]
fn waiting_for_the_first_node_ends_at_the_callers_deadline() {
    for failing in 0..=8 {
        let mut s = cluster(hedging(), 8);
        s.at(0).submit(any().timeout(ms(1_000)));
        refuse_first(&mut s, failing);
        for tenth in 1..100 {
            s.at(10 * tenth).tick();
            refuse_first(&mut s, failing);
        }
        assert!(s.cluster().is_open(s.request(0)));
        s.at(1_000).tick();
        assert!(s.take().contains(&"r0 Timeout NeverWritten".to_owned()));
    }
}

/// The first `failing` nodes refuse, again and again; the others are silent.
fn refuse_first(s: &mut Script, failing: usize) {
    loop {
        let lines = s.take();
        for line in &lines {
            let node = line.strip_prefix("connect n").expect("only dials");
            let node: usize = node.parse().expect("a node");
            if node < failing {
                s.refused(node);
            }
        }
        if lines.is_empty() {
            return;
        }
    }
}

/// 2.1, 4.1, K23, Z09: a name that cannot be looked up is tried again until the request's time ends.
#[test]
fn an_unresolvable_name_is_tried_until_the_requests_deadline() {
    let mut s = Script::new(build(hedging()), &["db.example:1"]);
    let (mut now, mut tries) = (0, 0);
    s.at(0)
        .submit(any().timeout(ms(20_000)))
        .gives(&["resolve n0"]);
    for rest in [100, 200, 400, 800, 1_600, 3_200, 6_400] {
        s.resolve_failed(0).gives(&[]).deadline(now + rest);
        now += rest;
        s.at(now).tick().gives(&["resolve n0"]);
        tries += 1;
    }
    s.resolve_failed(0).gives(&[]).deadline(20_000);
    s.at(20_000)
        .tick()
        .gives(&["r0 Timeout NeverWritten"])
        .no_deadline();
    assert_eq!((tries, s.view(0).failures), (7, 8));
}
