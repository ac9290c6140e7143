//! SEMANTICS 5.2: two random choices, and policies of the user's own.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use redial::{Candidate, ConfigBuilder, Select, SelectionPolicy, Verdict, Warm, Why};
use redial_tests::script::{Script, after, any, build, exact, specs};

const THREE: &[&str] = &["10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"];

/// These nodes are Ready, the others were never tried.
fn ready(config: ConfigBuilder, nodes: &[usize]) -> Script {
    let mut s = Script::new(build(config.warm(Warm::None)), THREE);
    for node in nodes {
        s.establish(*node);
    }
    s
}

fn two_choices() -> ConfigBuilder {
    exact().selection(SelectionPolicy::PowerOfTwoChoices)
}

fn own(policy: impl Select + 'static) -> ConfigBuilder {
    exact().selection(SelectionPolicy::custom(policy))
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

/// 5.2: the two are distinct, so of two nodes the less loaded gets each request.
#[test]
fn of_two_nodes_the_less_loaded_is_chosen() {
    let mut s = ready(two_choices(), &[0, 1]);
    for _ in 0..7 {
        s.submit_on(0, any()).whatever();
    }
    for _ in 0..7 {
        assert_eq!(picked(&mut s), 1);
    }
}

/// 5.2: of three, the most loaded loses to whichever node it is drawn with, and the least loaded
/// wins unless it is not drawn.
#[test]
fn of_three_nodes_the_most_loaded_is_never_chosen() {
    let mut s = ready(two_choices(), &[0, 1, 2]);
    s.submit_on(2, any())
        .submit_on(2, any())
        .submit_on(1, any())
        .whatever();
    let mut counts = [0; 3];
    for request in 3..1_503 {
        counts[picked(&mut s)] += 1;
        s.written(request).reply(request).whatever();
    }
    // Five standard deviations of two thirds of 1,500.
    assert!((909..=1_091).contains(&counts[0]), "{counts:?}");
    assert_eq!(counts[2], 0);
}

/// 5.2: loads stay close together.
#[test]
fn two_choices_balance() {
    let mut s = ready(two_choices(), &[0, 1, 2]);
    for _ in 0..150 {
        picked(&mut s);
    }
    for node in 0..3 {
        let load = s.view(node).in_flight;
        assert!(load.abs_diff(50) <= 3, "{load}");
    }
}

/// 5.1, 5.2: the busy are passed over.
#[test]
fn two_choices_pass_over_the_busy() {
    let mut s = ready(two_choices().max_in_flight(4u32), &[0, 1, 2]);
    s.throttled(0, 60_000).blocked(2).gives(&[]);
    for _ in 0..4 {
        assert_eq!(picked(&mut s), 1);
    }
    s.submit(any()).gives(&[]);
    s.progress(2).gives(&["write n2 r4"]);
}

/// 5.1: healthy nodes first, in every policy.
#[test]
fn two_choices_take_healthy_nodes_first() {
    let mut s = ready(
        two_choices()
            .request_timeout(after(1_000))
            .unhealthy_after(1),
        &[0, 1],
    );
    s.at(0).submit_on(0, any()).written(0).whatever();
    s.at(1_000).tick().gives(&["r0 Timeout PossiblyWritten"]);
    for _ in 0..10 {
        assert_eq!(picked(&mut s), 1);
    }
}

/// 2.2: it keeps all nodes warm, as `RoundRobin` and the user's own do, and `LeastLoaded` does not.
#[test]
fn all_policies_but_least_loaded_keep_all_nodes_warm() {
    let all = ["connect n0", "connect n1", "connect n2"];
    for policy in [
        SelectionPolicy::PowerOfTwoChoices,
        SelectionPolicy::RoundRobin,
        SelectionPolicy::custom(Idle),
    ] {
        Script::new(build(exact().selection(policy)), THREE).gives(&all);
    }
    Script::new(
        build(exact().selection(SelectionPolicy::LeastLoaded)),
        THREE,
    )
    .gives(&[]);
}

/// The first node on which nothing is in flight.
#[derive(Debug)]
struct Idle;

impl Select for Idle {
    fn select(&self, candidates: &[Candidate<'_>], _random: u64) -> Option<usize> {
        candidates
            .iter()
            .position(|candidate| candidate.in_flight == 0)
    }
}

/// The first node of rack b.
#[derive(Debug)]
struct RackB;

impl Select for RackB {
    fn select(&self, candidates: &[Candidate<'_>], _random: u64) -> Option<usize> {
        let rack = |candidate: &Candidate<'_>| candidate.spec.labels.get("rack").cloned();
        candidates
            .iter()
            .position(|candidate| rack(candidate).as_deref() == Some("b"))
    }
}

/// Three nodes, the second and the third of rack b.
fn racks() -> Script {
    let mut s = Script::empty(build(own(RackB).warm(Warm::None)), 0);
    let racks = ["a", "b", "b"];
    let labelled = specs(THREE).into_iter().zip(racks);
    s.set_specs(
        labelled
            .map(|(spec, rack)| spec.with_label("rack", rack))
            .collect(),
    );
    s
}

/// 5.2: the user's own policy sees each node's entry of the list.
#[test]
fn an_own_policy_places_by_label() {
    let mut s = racks();
    s.establish(0).establish(1);
    for _ in 0..5 {
        assert_eq!(picked(&mut s), 1);
    }
}

/// 5.2: and what is in flight there.
#[test]
fn an_own_policy_places_by_load() {
    let mut s = ready(own(Idle), &[0, 1, 2]);
    assert_eq!([picked(&mut s), picked(&mut s), picked(&mut s)], [0, 1, 2]);
    s.written(1).reply(1).gives(&["r1 reply n1"]);
    assert_eq!(picked(&mut s), 1);
}

/// 5.2: without a choice the request waits until the policy makes one.
#[test]
fn a_request_that_its_policy_does_not_place_waits() {
    let mut s = ready(own(Idle), &[0, 1, 2]);
    for _ in 0..3 {
        picked(&mut s);
    }
    s.submit(any()).gives(&[]);
    s.written(1).reply(1).gives(&["r1 reply n1", "write n1 r3"]);
}

/// 5.4: which says why, also of nodes that could take it.
#[test]
fn a_request_that_its_policy_does_not_place_explains_that() {
    let mut s = ready(own(Idle), &[0, 1, 2]);
    for _ in 0..3 {
        picked(&mut s);
    }
    s.submit(any()).gives(&[]);
    let explained = s.cluster().explain(s.request(3)).expect("it is open");
    let why: Vec<_> = explained.iter().map(|node| node.why).collect();
    assert_eq!(why, [Why::RefusedByPolicy; 3]);
}

/// Wants no node, and counts how often it was asked.
#[derive(Debug)]
struct Nobody(Arc<AtomicU32>);

impl Select for Nobody {
    fn select(&self, _candidates: &[Candidate<'_>], _random: u64) -> Option<usize> {
        self.0.fetch_add(1, Ordering::Relaxed);
        None
    }
}

/// 5.2: a policy that wanted no node is not asked for every request, but when something has changed.
#[test]
fn a_policy_is_asked_again_when_something_has_changed() {
    let asked = Arc::new(AtomicU32::new(0));
    let mut s = ready(own(Nobody(asked.clone())), &[0]);
    s.submit(any()).submit(any()).submit(any()).whatever();
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    s.establish(1);
    assert!(asked.load(Ordering::Relaxed) > 1);
}

/// 5.1: another node is dialled for it, if there is one.
#[test]
fn another_node_is_dialled_for_a_request_that_its_policy_does_not_place() {
    let mut s = racks();
    s.establish(0);
    s.submit(any());
    let dialled = s.take();
    assert_eq!(dialled.len(), 1, "{dialled:?}");
    let node = usize::from(dialled[0] == "connect n2") + 1;
    s.connected(node).ready(node);
    s.gives(&[&format!("handshake n{node}"), &format!("write n{node} r0")]);
}

/// 4.2: it does not hold up later ones.
#[test]
fn a_request_that_its_policy_does_not_place_does_not_hold_up_later_ones() {
    let mut s = ready(own(Idle), &[0, 1, 2]);
    for _ in 0..3 {
        picked(&mut s);
    }
    s.submit(any()).gives(&[]);
    s.submit_on(2, any()).gives(&["write n2 r4"]);
    // Not idle yet: r4 is there.
    s.written(2).reply(2).gives(&["r2 reply n2"]);
    s.written(4).reply(4).gives(&["r4 reply n2", "write n2 r3"]);
}

/// 4.2: the oldest is placed first.
#[test]
fn the_oldest_request_is_placed_first() {
    let mut s = ready(own(Idle), &[0]);
    assert_eq!(picked(&mut s), 0);
    s.submit(any()).submit(any());
    s.whatever();
    s.written(0).reply(0).gives(&["r0 reply n0", "write n0 r1"]);
}

/// The candidates are never empty and in the order of their ids; what it answers is out of range.
#[derive(Debug)]
struct OutOfRange;

impl Select for OutOfRange {
    fn select(&self, candidates: &[Candidate<'_>], random: u64) -> Option<usize> {
        assert!(!candidates.is_empty());
        assert!(candidates.is_sorted_by_key(|candidate| candidate.node));
        Some(candidates.len() + usize::try_from(random % 5).expect("it is small"))
    }
}

/// 5.2, R125: an answer that is out of range is none.
#[test]
fn an_answer_out_of_range_is_no_choice() {
    let mut s = ready(own(OutOfRange), &[0, 1, 2]);
    for request in 0..50 {
        s.submit(any()).gives(&[]);
        assert!(s.cluster().is_open(s.request(request)));
    }
}

/// Draws.
#[derive(Debug)]
struct Drawn;

impl Select for Drawn {
    fn select(&self, candidates: &[Candidate<'_>], random: u64) -> Option<usize> {
        let nodes = u64::try_from(candidates.len()).ok()?;
        usize::try_from(random % nodes).ok()
    }
}

/// 5.2: randomness is handed in: uniform, and from the seed.
#[test]
fn an_own_policy_draws_from_the_seed() {
    let run = |seed| {
        let config = own(Drawn).warm(Warm::None);
        let mut s = Script::with_seed(build(config), THREE, seed);
        s.establish(0).establish(1).establish(2);
        let pick = |request| {
            let node = picked(&mut s);
            s.written(request).reply(request).whatever();
            node
        };
        (0..600).map(pick).collect::<Vec<_>>()
    };
    assert_eq!(run(4), run(4));
    assert_ne!(run(4), run(5));
    for node in 0..3 {
        // Five standard deviations of a third of 600.
        let count = run(4).iter().filter(|picked| **picked == node).count();
        assert!(count.abs_diff(200) < 58, "{count}");
    }
}

/// 4.7, 5.2: a retry avoids the node that failed it, and its policy is asked about the others only.
#[test]
fn a_retry_under_an_own_policy_avoids_the_node_that_failed_it() {
    let mut s = ready(own(Drawn), &[0, 1, 2]);
    for request in 0..20 {
        let first = picked(&mut s);
        s.written(request)
            .verdict(request, Verdict::RETRY_ELSEWHERE)
            .whatever();
        s.run_to(100 * (request as u64 + 1));
        let line = s.take().pop().expect("a write");
        assert_ne!(line, format!("write n{first} r{request}"));
        s.written(request).reply(request).whatever();
    }
}

/// 4.7: "while another Ready node could take it now": one that its policy refuses could not, and then
/// its policy decides about the node that failed it, too.
#[test]
fn a_retry_goes_to_no_node_that_its_own_policy_refuses() {
    let mut s = ready(own(Idle), &[0, 1]);
    assert_eq!(picked(&mut s), 0);
    s.written(0).verdict(0, Verdict::RETRY_ELSEWHERE).gives(&[]);
    s.submit_on(0, any()).submit_on(1, any()).whatever();
    s.at(100).tick();
    assert!(
        !s.take().contains(&"write n0 r0".to_owned()),
        "n0 is not idle"
    );
}

/// Takes a coin's word for it.
#[derive(Debug)]
struct Coin;

impl Select for Coin {
    fn select(&self, _candidates: &[Candidate<'_>], random: u64) -> Option<usize> {
        random.is_multiple_of(2).then_some(0)
    }
}

/// 5.2, DESIGN 4.11: a policy that wanted no node is asked again when something has changed, not by
/// a timeout that comes early, which must change nothing, the stream of random numbers included.
#[test]
fn an_early_timeout_does_not_ask_a_policy_again() {
    let mut s = ready(own(Coin), &[0]);
    for _ in 0..20 {
        s.submit(any()).tick().whatever();
    }
}
