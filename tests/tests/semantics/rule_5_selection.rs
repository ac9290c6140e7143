//! SEMANTICS 5: who gets a request that names no node.

use redial::{ConfigBuilder, Event, Limits, SelectionPolicy, Warm};
use redial_tests::script::{Script, after, any, build, exact, ms};

const THREE: &[&str] = &["10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"];

/// These nodes are Ready, the others were never tried.
fn ready(config: ConfigBuilder, nodes: &[usize]) -> Script {
    let mut s = Script::new(build(config), THREE);
    s.whatever();
    for node in nodes {
        s.establish(*node);
    }
    s
}

/// The node that got the next request.
#[track_caller]
fn picked(s: &mut Script) -> usize {
    s.submit(any());
    let lines = s.take();
    let [line] = &lines[..] else {
        panic!("one write is expected, came {lines:?}")
    };
    let node = line
        .strip_prefix("write n")
        .and_then(|rest| rest.split(' ').next());
    node.and_then(|node| node.parse().ok()).expect("a write")
}

/// 5.1: Ready before anything else.
#[test]
fn a_ready_node_is_preferred_to_any_other() {
    let mut s = ready(exact(), &[1]);
    for _ in 0..10 {
        assert_eq!(picked(&mut s), 1);
    }
}

/// 5.1: a node in setup is awaited before another is dialled.
#[test]
fn a_node_in_setup_is_preferred_to_a_dial() {
    let mut s = Script::new(build(exact()), THREE);
    s.submit_on(2, any()).gives(&["connect n2"]);
    s.submit(any()).gives(&[]);
    s.connected(2)
        .ready(2)
        .gives(&["handshake n2", "write n2 r0", "write n2 r1"]);
}

/// 5.1: never tried goes first, then the oldest last attempt.
#[test]
fn nodes_are_dialled_never_tried_first_then_by_their_last_attempt() {
    let mut s = Script::new(build(exact()), THREE);
    s.at(0).begin(1).refused(1).whatever();
    s.at(10).begin(0).refused(0).whatever();
    s.at(1_000).submit(any()).gives(&["connect n2"]);
    s.at(1_010).refused(2).gives(&["connect n1"]);
    s.at(1_020).refused(1).gives(&["connect n0"]);
    s.at(1_030).refused(0).gives(&[]).deadline(1_110);
    s.at(1_110).tick().gives(&["connect n2"]);
}

/// 5.1: the last attempt is the later of its start and its end.
#[test]
fn an_attempt_that_took_long_is_as_young_as_its_end() {
    let mut s = Script::new(build(exact()), &THREE[..2]);
    s.at(0).begin(0).whatever();
    s.at(50).begin(1).refused(1).whatever();
    s.at(100).refused(0).whatever();
    s.at(1_000).submit(any()).gives(&["connect n1"]);
}

/// 5.1: for an established connection it is the connection's end.
#[test]
fn a_node_whose_connection_ended_late_is_dialled_late() {
    let mut s = Script::new(build(exact()), &THREE[..2]);
    s.at(0).establish(0);
    s.at(50).begin(1).refused(1).whatever();
    s.at(70).closed(0).gives(&[]);
    s.at(1_000).submit(any()).gives(&["connect n1"]);
}

/// 5.1: the dial order of nodes never tried is not the list's for every client.
#[test]
fn clients_with_different_seeds_begin_with_different_nodes() {
    let first = |seed| {
        let mut s = Script::with_seed(build(exact()), THREE, seed);
        s.submit(any()).take()
    };
    let firsts: std::collections::BTreeSet<_> = (0..40).map(first).collect();
    assert_eq!(firsts.len(), 3, "{firsts:?}");
}

/// 5.1, K15: full nodes are passed over, and another is dialled when they are all there is.
#[test]
fn a_full_node_is_passed_over() {
    let mut s = ready(exact().max_in_flight(1u32), &[0, 1]);
    let first = picked(&mut s);
    assert_eq!(picked(&mut s), 1 - first);
    s.submit(any()).gives(&["connect n2"]);
    s.written(0).reply(0);
    s.gives(&[&format!("r0 reply n{first}"), &format!("write n{first} r2")]);
}

/// 5.1, K15, 4.6: so are throttled ones; they are busy, not failed.
#[test]
fn a_throttled_node_is_passed_over() {
    let mut s = ready(exact(), &[0, 1]);
    s.at(0).throttled(0, 5_000).gives(&[]);
    for _ in 0..10 {
        assert_eq!(picked(&mut s), 1);
    }
    s.throttled(1, 9_000).gives(&[]);
    s.submit(any()).gives(&["connect n2"]);
    assert_eq!(
        (s.view(0).failures, s.view(0).throttled_until.is_some()),
        (0, true)
    );
    s.at(5_000).tick().gives(&["write n0 r10"]);
}

/// 5.1, 4.3: a connection whose writing is blocked is full.
#[test]
fn a_blocked_node_is_passed_over() {
    let mut s = ready(exact(), &[0, 1]);
    s.blocked(0).gives(&[]);
    for _ in 0..10 {
        assert_eq!(picked(&mut s), 1);
    }
    s.progress(0).gives(&[]);
    assert_eq!(picked(&mut s), 0, "it has fewer in flight");
}

/// 5.1: when all are busy and there is nobody to dial, the first to be free serves.
#[test]
fn the_first_node_to_be_free_serves() {
    let mut s = ready(exact().max_in_flight(1u32), &[0, 1, 2]);
    s.submit_on(0, any())
        .submit_on(1, any())
        .submit_on(2, any())
        .whatever();
    s.submit(any())
        .gives(&[])
        .written(1)
        .reply(1)
        .gives(&["r1 reply n1", "write n1 r3"]);
}

/// 5.2: the fewest in flight.
#[test]
fn least_loaded_picks_the_fewest_in_flight() {
    let mut s = ready(exact(), &[0, 1, 2]);
    s.submit_on(0, any())
        .submit_on(0, any())
        .submit_on(1, any())
        .whatever();
    assert_eq!(picked(&mut s), 2);
    let second = picked(&mut s);
    assert!(second == 1 || second == 2);
    assert_eq!(picked(&mut s), 3 - second);
    s.written(0).reply(0).written(1).reply(1).whatever();
    assert_eq!(picked(&mut s), 0);
}

/// 5.2, K33: ties are drawn from the seed, uniformly, and not always the same.
#[test]
fn least_loaded_draws_among_equals() {
    let mut s = ready(exact(), &[0, 1, 2]);
    let mut counts = [0; 3];
    for request in 0..3_000 {
        counts[picked(&mut s)] += 1;
        s.written(request).reply(request).whatever();
    }
    // Five standard deviations of a third of 3,000.
    assert!(
        counts.iter().all(|count| (870..=1_130).contains(count)),
        "{counts:?}"
    );
}

/// 5.2: one after another.
#[test]
fn round_robin_takes_turns() {
    let config = exact()
        .selection(SelectionPolicy::RoundRobin)
        .warm(Warm::None);
    let mut s = ready(config, &[0, 1, 2]);
    let turns: Vec<usize> = (0..9).map(|_| picked(&mut s)).collect();
    for turn in 0..6 {
        assert_eq!(turns[turn], turns[turn + 3]);
    }
    let mut first: Vec<usize> = turns[..3].to_vec();
    first.sort_unstable();
    assert_eq!(first, [0, 1, 2]);
}

/// 5.2, 5.1: round robin passes over the busy.
#[test]
fn round_robin_passes_over_busy_nodes() {
    let config = exact()
        .selection(SelectionPolicy::RoundRobin)
        .warm(Warm::None);
    let mut s = ready(config, &[0, 1, 2]);
    s.throttled(1, 60_000).whatever();
    let turns: Vec<usize> = (0..6).map(|_| picked(&mut s)).collect();
    assert!(!turns.contains(&1));
    assert!(turns.windows(2).all(|pair| pair[0] != pair[1]), "{turns:?}");
}

/// 5.2: a turn is for a request that names no node; who is bound takes none.
#[test]
fn a_node_that_first_serves_an_older_request_of_its_own_keeps_its_turn() {
    let config = exact()
        .selection(SelectionPolicy::RoundRobin)
        .warm(Warm::None);
    let mut s = ready(config, &[0, 1]);
    assert_eq!([picked(&mut s), picked(&mut s)], [0, 1]);
    s.throttled(0, 100).submit_on(0, any()).gives(&[]);
    let lines = s.at(100).submit(any()).take();
    let nodes: Vec<_> = lines.iter().map(|line| &line[..8]).collect();
    assert_eq!(nodes, ["write n0", "write n0"]);
    assert_eq!(picked(&mut s), 1);
}

/// 5.1: a connection's own limit makes it full.
#[test]
fn the_peers_limit_makes_a_node_full() {
    let mut s = Script::new(build(exact()), &THREE[..1]);
    s.submit(any()).submit(any()).submit(any()).whatever();
    s.connected(0).whatever();
    s.ready_with(0, Limits::in_flight(2))
        .gives(&["write n0 r0", "write n0 r1"]);
    s.written(0).reply(0).gives(&["r0 reply n0", "write n0 r2"]);
}

/// The connection of this node has this many attempt timeouts in a row.
fn time_out(s: &mut Script, node: usize, times: usize, now: u64) {
    for _ in 0..times {
        s.submit_on(node, any());
        let request = s.take()[0]
            .rsplit('r')
            .next()
            .and_then(|n| n.parse().ok())
            .expect("a write");
        s.written(request).whatever();
    }
    s.at(now).tick().whatever();
}

/// 5.3, R091, R093: unhealthy after three attempt timeouts in a row, and then chosen last.
#[test]
fn three_timeouts_in_a_row_make_a_connection_unhealthy() {
    let mut s = ready(exact().request_timeout(after(1_000)), &[0, 1]);
    time_out(&mut s, 0, 2, 1_000);
    assert!(!s.view(0).unhealthy);
    time_out(&mut s, 0, 1, 2_000);
    assert!(s.view(0).unhealthy);
    let event = Event::Unhealthy { node: s.id(0) };
    assert_eq!(
        s.events().into_iter().filter(|came| *came == event).count(),
        1
    );
    for _ in 0..10 {
        assert_eq!(picked(&mut s), 1);
    }
}

/// 5.3: a reply in between starts the count anew.
#[test]
fn a_reply_between_timeouts_starts_the_count_anew() {
    let mut s = ready(exact().request_timeout(after(1_000)), &[0]);
    time_out(&mut s, 0, 2, 1_000);
    s.submit_on(0, any()).written(2).reply(2).whatever();
    time_out(&mut s, 0, 2, 2_000);
    assert!(!s.view(0).unhealthy);
    time_out(&mut s, 0, 1, 3_000);
    assert!(s.view(0).unhealthy);
}

/// 5.3: any reply heals.
#[test]
fn a_reply_heals() {
    let mut s = ready(exact().request_timeout(after(1_000)), &[0]);
    time_out(&mut s, 0, 3, 1_000);
    s.events();
    s.submit_on(0, any())
        .written(3)
        .reply(3)
        .gives(&["write n0 r3", "r3 reply n0"]);
    assert!(!s.view(0).unhealthy);
    let event = Event::Healed { node: s.id(0) };
    assert_eq!(
        s.events().into_iter().filter(|came| *came == event).count(),
        1
    );
}

/// 5.1, R131, R133: an unhealthy Ready node is still used when it is the last one, and a healthy
/// node is dialled in that step.
#[test]
fn an_unhealthy_node_serves_when_it_is_the_last_and_another_is_dialled() {
    let mut s = ready(exact().request_timeout(after(1_000)), &[0]);
    time_out(&mut s, 0, 3, 1_000);
    s.submit(any());
    let lines = s.take();
    assert!(lines.contains(&"write n0 r3".to_owned()), "{lines:?}");
    let dials: Vec<_> = lines
        .iter()
        .filter(|line| line.starts_with("connect"))
        .collect();
    assert_eq!(dials.len(), 1, "{lines:?}");
    // One is in setup now, so that no other is dialled.
    s.submit(any()).gives(&["write n0 r4"]);

    let mut s = Script::new(build(exact().request_timeout(after(1_000))), &THREE[..1]);
    s.establish(0);
    time_out(&mut s, 0, 3, 1_000);
    s.submit(any()).gives(&["write n0 r3"]);
}

/// 5.3: a new connection starts healthy.
#[test]
fn a_new_connection_starts_healthy() {
    let mut s = ready(exact().request_timeout(after(1_000)), &[0]);
    time_out(&mut s, 0, 3, 1_000);
    s.closed(0).whatever();
    s.at(5_000).establish(0);
    assert!(!s.view(0).unhealthy);
}

/// 5.3: never, if so configured.
#[test]
fn without_a_limit_no_connection_is_unhealthy() {
    let config = exact().request_timeout(after(1_000)).unhealthy_after(None);
    let mut s = ready(config, &[0]);
    time_out(&mut s, 0, 20, 1_000);
    assert!(!s.view(0).unhealthy);
}

/// 4.9, 5.3: a request given up after its hand-over counts when its attempt's time is over.
#[test]
fn a_tombstone_that_is_never_answered_counts_as_an_attempt_timeout() {
    let config = exact().request_timeout(after(1_000)).unhealthy_after(1);
    let mut s = ready(config, &[0]);
    s.at(0)
        .submit_on(0, any().timeout(ms(300)))
        .written(0)
        .whatever();
    s.at(300).tick().gives(&["r0 Timeout PossiblyWritten"]);
    assert_eq!((s.view(0).in_flight, s.view(0).unhealthy), (1, false));
    s.deadline(1_000).at(1_000).tick().gives(&[]);
    assert_eq!((s.view(0).in_flight, s.view(0).unhealthy), (0, true));
}

/// R115: with nobody to choose from a request waits, and nothing panics.
#[test]
fn with_an_empty_list_a_request_waits_for_the_first_node() {
    let mut s = Script::empty(build(exact()), 0);
    s.at(0).submit(any()).gives(&[]).deadline(120_000);
    s.at(5).set_nodes(&THREE[..1]).gives(&["connect n0"]);
}
