//! SEMANTICS 7.9: nodes that join the list when the others are of no use.

use redial::{
    Backoff, ConfigBuilder, DeadlineReason, Event, Hint, NodeState, RefreshAfterFailures, Source,
    SourceId,
};
use redial_tests::script::{
    Script, after, any, build, connected, exact, moves, ms, specs, sticky, t,
};

const A: &str = "10.0.0.1:1";
const B: &str = "10.0.0.2:1";
const SEED: &str = "10.0.0.9:1";

fn config() -> ConfigBuilder {
    exact()
        .refresh_jitter(ms(0))
        .refresh_after_failures(RefreshAfterFailures::After(1_000))
}

/// The application's list and its fallback, after both were set.
fn script(config: ConfigBuilder, list: &[&str]) -> Script {
    let mut s = Script::new(build(config), list);
    s.set_fallback(&[SEED]).whatever();
    s.events();
    s
}

fn list_changes(s: &mut Script) -> Vec<(u32, u32, u32)> {
    let change = |event| match event {
        Event::ListChanged {
            added,
            removed,
            kept,
        } => Some((added, removed, kept)),
        _ => None,
    };
    s.events().into_iter().filter_map(change).collect()
}

fn fail(s: &mut Script, node: usize) {
    s.begin(node).refused(node).whatever();
}

fn listed(s: &Script, endpoint: &str) -> bool {
    let endpoint = endpoint.parse().expect("an endpoint");
    s.cluster().find(&endpoint).is_some()
}

/// R109, Z19, K47: with every node failing, a seed is tried at once.
#[test]
fn when_every_node_has_failed_the_fallback_joins() {
    let mut s = script(config(), &[A, B]);
    s.submit(any()).gives(&["connect n0"]);
    s.refused(0).gives(&["connect n1"]);
    assert!(!listed(&s, SEED));
    s.refused(1).gives(&["connect n2"]);
    assert_eq!(list_changes(&mut s), [(1, 0, 2)], "added, not exchanged");
    s.connected(2).ready(2);
    s.gives(&["handshake n2", "write n2 r0"]);
}

/// 12, 7.9: one that is too long for any list is refused at once.
#[test]
fn a_fallback_list_that_is_too_long_is_refused() {
    let mut s = Script::empty(build(exact().max_nodes(1u32)), 0);
    s.set_fallback(&[SEED, B]);
    s.gives(&["error TooMany { nodes: 2, max: 1 }"]);
    s.set_fallback(&[SEED, SEED]).gives(&[]);
}

/// 7.9: no node at all counts as all failed.
#[test]
fn without_any_other_node_the_fallback_is_the_list() {
    let mut s = Script::empty(build(config()), 0);
    s.set_fallback(&[SEED]).gives(&[]);
    assert!(listed(&s, SEED));
    s.set_nodes(&[A]);
    assert!(!listed(&s, SEED));
    assert_eq!(list_changes(&mut s), [(1, 0, 0), (1, 1, 0)]);
}

/// 7.9: busy, throttled, draining and first tries are not failures.
#[test]
fn nodes_that_are_busy_or_tried_for_the_first_time_have_not_failed() {
    let mut s = script(config().max_in_flight(1u32), &[A, B]);
    s.submit_on(0, any()).submit_on(0, any()).whatever();
    s.connected(0).ready(0).written(0).whatever();
    fail(&mut s, 1);
    assert!(!listed(&s, SEED), "the other is full");
    s.throttled(0, 50_000).gives(&[]);
    assert!(!listed(&s, SEED), "the other is throttled");
    s.reply(0).gives(&["r0 reply n0"]);
    s.draining(0).gives(&["close n0", "connect n0"]);
    assert!(!listed(&s, SEED), "the other has announced its close");
    s.refused(0).whatever();
    assert!(listed(&s, SEED));
}

/// 7.9: a node that is tried again has failed still; one that got Ready has not.
#[test]
fn a_node_has_failed_until_it_is_ready_again() {
    let mut s = script(config(), &[A, B]);
    fail(&mut s, 0);
    s.at(5_000).begin(0).whatever();
    s.begin(1).refused(1).gives(&["connect n1"]);
    assert!(listed(&s, SEED), "the first is in setup again");

    let mut s = script(config(), &[A, B]);
    fail(&mut s, 0);
    s.at(5_000).establish(0);
    s.begin(1).refused(1).whatever();
    assert!(!listed(&s, SEED));
    s.closed(0).whatever();
    assert!(listed(&s, SEED), "a lost connection is a failure");
}

/// 7.9: with the next good primary answer.
#[test]
fn the_fallback_leaves_with_the_next_good_answer_of_a_primary() {
    let mut s = script(config().source(Source::primary()), &[A]);
    s.tick().whatever();
    fail(&mut s, 0);
    assert!(listed(&s, SEED));
    s.establish(1);
    s.refresh_fails(0).gives(&[]);
    assert!(listed(&s, SEED));
    s.at(60_000).tick().gives(&["refresh s0"]);
    s.answers(0, &[]).gives(&[]);
    assert!(listed(&s, SEED));
    s.at(120_000).tick().gives(&["refresh s0"]);
    s.answers(0, &[A, B]).gives(&["close n1"]);
    assert!(!listed(&s, SEED));
}

/// 7.9: also if it only says that nothing is new.
#[test]
fn an_answer_of_the_same_version_makes_the_fallback_leave_too() {
    let mut s = script(config().source(Source::primary()), &[A]);
    s.tick().whatever();
    s.answers_version(0, Some(4), &[A]).gives(&[]);
    fail(&mut s, 0);
    assert!(listed(&s, SEED));
    s.at(60_000).tick().gives(&["refresh s0"]);
    s.answers_version(0, Some(4), &[A]).gives(&[]);
    assert!(listed(&s, SEED), "the other has failed still");
    s.establish(0);
    s.at(120_000).tick().gives(&["refresh s0"]);
    s.answers_version(0, Some(3), &[A]).gives(&[]);
    assert!(listed(&s, SEED), "an old answer says nothing");
    s.events();
    s.at(180_000).tick().gives(&["refresh s0"]);
    s.answers_version(0, Some(4), &[A]).gives(&[]);
    assert!(!listed(&s, SEED));
    assert_eq!(list_changes(&mut s), [(0, 1, 1)]);
}

/// 10.1: what joins and leaves with them is told, but not that nobody does.
#[test]
fn a_fallback_of_nodes_that_are_there_already_changes_no_list() {
    let mut s = Script::new(build(config().source(Source::primary())), &[A]);
    s.answers_version(0, Some(4), &[A])
        .set_fallback(&[A])
        .whatever();
    s.events();
    fail(&mut s, 0);
    s.at(5_000).establish(0);
    s.hint(Hint::SourceChanged(SourceId::new(0)))
        .gives(&["refresh s0"]);
    s.answers_version(0, Some(4), &[A]).gives(&[]);
    assert!(list_changes(&mut s).is_empty());
    // It did join and leave: the next time is a maximum backoff after the first.
    s.closed(0).set_fallback(&[SEED]).gives(&[]);
    assert!(!listed(&s, SEED));
    s.at(10_000).tick().gives(&[]);
    assert!(listed(&s, SEED));
}

/// 7.9: all of them, and each leaves with its own list or when a primary answers.
#[test]
fn the_nodes_of_all_fallback_lists_join() {
    let mut s = Script::new(build(config().source(Source::fallback())), &[A]);
    s.set_fallback(&[SEED]).answers(0, &[B]).whatever();
    fail(&mut s, 0);
    assert!(listed(&s, SEED) && listed(&s, B));
    s.set_fallback(&["10.0.0.8:1"]).gives(&[]);
    assert!(!listed(&s, SEED) && listed(&s, "10.0.0.8:1") && listed(&s, B));
}

/// 7.9: also because the one that had not failed leaves; and not any more with one that is new.
#[test]
fn a_list_can_leave_nobody_but_nodes_that_have_failed() {
    let mut s = script(config(), &[A, B]);
    fail(&mut s, 0);
    assert!(!listed(&s, SEED));
    s.at(1_000).set_nodes(&[A]).gives(&[]);
    assert!(listed(&s, SEED));

    s.at(2_000).set_nodes(&[A, B]).gives(&[]);
    fail(&mut s, 3);
    s.deadline(11_000);
    s.set_nodes(&[A, B, "10.0.0.3:1"]).gives(&[]).no_deadline();
}

/// 7.9: to leave and join again at once would only cost its connections.
#[test]
fn the_fallback_stays_while_an_answer_names_nobody_but_those_that_failed() {
    let mut s = script(config().source(Source::primary()), &[A]);
    s.tick().whatever();
    s.answers(0, &[A]).whatever();
    fail(&mut s, 0);
    s.establish(1);
    s.run_to(60_000).gives(&["refresh s0"]);
    s.events();
    s.answers(0, &[A]).gives(&[]);
    assert_eq!(s.state(1), NodeState::Ready);
    assert!(list_changes(&mut s).is_empty());
    // That was a join: the next one is a maximum backoff later.
    s.at(61_000).set_nodes(&[A, B]).gives(&["close n1"]);
    assert!(!listed(&s, SEED));
    fail(&mut s, 2);
    s.deadline(70_000).at(70_000).tick().gives(&[]);
    assert!(listed(&s, SEED));
}

/// 7.9: a fallback node that works and that a primary names now is reason enough to leave.
#[test]
fn the_fallback_leaves_when_one_of_its_nodes_becomes_one_of_the_list() {
    let mut s = script(config(), &[A]);
    s.set_fallback(&[SEED, B]).gives(&[]);
    fail(&mut s, 0);
    s.establish(1);
    s.run_to(60_000).whatever();
    s.set_nodes(&[A, SEED]).gives(&[]);
    assert_eq!(s.state(1), NodeState::Ready);
    assert!(!listed(&s, B));
}

/// 7.9: what a primary list names stays, with its connection.
#[test]
fn a_fallback_node_that_a_primary_names_stays() {
    let mut s = script(config(), &[A]);
    fail(&mut s, 0);
    s.establish(1);
    s.set_nodes(&[SEED]).gives(&[]);
    assert_eq!(s.state(1), NodeState::Ready);
    assert_eq!(s.cluster().stats().nodes, 1);
}

/// 7.9, K37: at most once per maximum backoff.
#[test]
fn the_fallback_joins_at_most_once_per_maximum_backoff() {
    let mut s = script(config(), &[A]);
    fail(&mut s, 0);
    assert!(listed(&s, SEED));
    s.at(2_000).set_nodes(&[A, B]);
    assert!(!listed(&s, SEED));
    fail(&mut s, 2);
    assert!(!listed(&s, SEED));
    let deadline = s.cluster().poll_timeout();
    assert_eq!(
        deadline.map(|deadline| (deadline.at, deadline.reason)),
        Some((t(10_000), DeadlineReason::Rebootstrap))
    );
    s.at(10_000).tick().gives(&[]);
    assert!(listed(&s, SEED));
}

/// K37: all down is told once, and dials only as the backoff allows.
#[test]
fn during_a_total_outage_the_fallback_joins_once() {
    let backoff = Backoff::constant(ms(1_000));
    let mut s = script(config().reconnect_backoff(backoff), &[A]);
    s.submit(any().timeout(redial::Limit::Never)).whatever();
    for second in 0..20 {
        s.at(second * 1_000).tick();
        for node in 0..2 {
            if node == 0 || second > 0 || listed(&s, SEED) {
                assert!(s.state(node).is_setup());
                s.refused(node);
            }
        }
        s.whatever();
    }
    assert_eq!(list_changes(&mut s), [(1, 0, 1)]);
    assert_eq!(s.cluster().stats().attempts, 40);
}

/// 3.5, R037: a seed that comes back keeps its counter and its time.
#[test]
fn a_fallback_node_that_comes_back_is_not_dialled_before_its_time() {
    let backoff = Backoff::constant(ms(30_000));
    let mut s = script(config().reconnect_backoff(backoff), &[A]);
    fail(&mut s, 0);
    fail(&mut s, 1);
    s.at(1_000).set_nodes(&[A]).gives(&[]);
    assert!(!listed(&s, SEED));
    s.at(30_000).tick().gives(&[]);
    assert!(listed(&s, SEED));

    let backoff = Backoff::new(ms(50_000), ms(2_000), 1);
    let mut s = script(config().reconnect_backoff(backoff), &[A]);
    fail(&mut s, 0);
    s.at(1_500);
    fail(&mut s, 1);
    s.set_nodes(&[A]).gives(&[]);
    s.at(2_000).tick().gives(&[]);
    assert!(listed(&s, SEED));
    assert_eq!((s.rests_until(2), s.view(2).failures), (Some(t(3_500)), 1));
}

/// 7.9: a fallback source's list is kept, whatever it says, until it is needed.
#[test]
fn the_list_of_a_fallback_source_is_kept_until_it_is_needed() {
    let config = config().source(Source::fallback());
    let mut s = Script::new(build(config), &[A]);
    s.answers(0, &[SEED]).whatever();
    assert!(!listed(&s, SEED));
    fail(&mut s, 0);
    assert!(listed(&s, SEED));
    s.at(60_000).tick().whatever();
    s.answers(0, &[B]);
    assert!(listed(&s, B) && !listed(&s, SEED), "it is in force now");
}

/// 7.9: a fallback list adds nodes; it moves none.
#[test]
fn a_fallback_list_moves_no_node_of_a_primary() {
    let mut s = Script::new(build(config()), &["1=10.0.0.1:1"]);
    s.set_fallback(&["1=10.0.0.9:1"]).gives(&[]);
    fail(&mut s, 0);
    assert!(listed(&s, A) && listed(&s, SEED));
    assert_eq!(s.cluster().find_key("1"), Some(s.id(0)));
    assert_eq!(s.view(0).spec.endpoint.to_string(), A);
    let keys = s.cluster().nodes().filter(|view| view.spec.key.is_some());
    assert_eq!(keys.count(), 1);

    // Nor does it give the key to another one that a primary names.
    let mut s = Script::new(build(config()), &["1=10.0.0.1:1", B]);
    s.set_fallback(&["1=10.0.0.2:1"]).gives(&[]);
    fail(&mut s, 0);
    fail(&mut s, 1);
    let keys = s.cluster().nodes().filter(|view| view.spec.key.is_some());
    assert_eq!(keys.count(), 1);
}

/// 7.2, 7.9: the labels that it gave leave with it.
#[test]
fn labels_of_the_fallback_leave_with_it() {
    let mut s = Script::new(build(config()), &[A]);
    let labelled = specs(&[A]).remove(0).with_label("rack", "a");
    s.call(redial::record::Call::SetFallback(vec![labelled]));
    fail(&mut s, 0);
    assert_eq!(s.view(0).spec.labels["rack"], "a");
    s.at(5_000).establish(0);
    s.set_nodes(&[A]).gives(&[]);
    assert!(s.view(0).spec.labels.is_empty());
}

/// Z19: it can be turned off.
#[test]
fn without_rebootstrap_the_fallback_stays_out() {
    let mut s = script(config().rebootstrap(false), &[A]);
    fail(&mut s, 0);
    s.at(1_000_000).tick().gives(&[]);
    assert!(!listed(&s, SEED));
}

/// 7.5.
#[test]
fn an_empty_fallback_list_is_refused() {
    let mut s = script(config(), &[A]);
    s.set_fallback(&[]).gives(&["error Empty"]);
    s.set_fallback(&["1=10.0.0.1:1", "1=10.0.0.2:1"]);
    s.gives(&["error DuplicateKey { first: 0, second: 1 }"]);
    fail(&mut s, 0);
    assert!(listed(&s, SEED));
}

fn with_discovery() -> Script {
    let config = config().source(Source::discovery());
    script(config.rebootstrap_after(after(300_000)), &[A, B])
}

/// 7.9, K37: a healthy periodic refresh never brings the fallback.
#[test]
fn a_discovery_that_works_brings_no_fallback() {
    let mut s = with_discovery();
    s.establish(0);
    s.answers(0, &[A, B]).gives(&[]);
    for round in 1..20 {
        s.run_to(round * 60_000).gives(&["discover s0 n0"]);
        s.answers(0, &[A, B]).gives(&[]);
    }
    assert!(!listed(&s, SEED));
}

/// 7.9: from when it first fell due, failures included.
#[test]
fn a_discovery_that_fails_for_too_long_brings_the_fallback() {
    let mut s = with_discovery();
    s.establish(0);
    s.answers(0, &[A, B]).gives(&[]);
    for round in 0..5 {
        let at = 60_000 + round * 60_000;
        s.run_to(at).gives(&["discover s0 n0"]);
        match round % 2 {
            0 => s.refresh_fails(0).gives(&[]),
            _ => s.answers(0, &[]).gives(&[]),
        };
    }
    s.run_to(359_999).gives(&[]);
    assert!(!listed(&s, SEED));
    s.run_to(360_000).gives(&["discover s0 n0"]);
    assert!(listed(&s, SEED));
    s.answers(0, &[]).gives(&[]);
    assert!(listed(&s, SEED));
    s.run_to(420_000).gives(&["discover s0 n0"]);
    s.answers(0, &[A, B]).gives(&[]);
    assert!(!listed(&s, SEED));
}

/// K37: the fallback that has come gives the discovery its time anew.
#[test]
fn an_overdue_discovery_brings_the_fallback_once_in_its_time() {
    let config = config()
        .source(Source::discovery())
        .source(Source::primary())
        .refresh_interval(after(250_000));
    let mut s = script(config, &[A]);
    s.establish(0);
    s.refresh_fails(0).whatever();
    s.answers(1, &[A]).whatever();
    s.run_to(250_000).gives(&["discover s0 n0", "refresh s1"]);
    s.refresh_fails(0).whatever();
    s.run_to(300_000).whatever();
    assert!(listed(&s, SEED));
    s.run_to(500_000).whatever();
    s.refresh_fails(0).whatever();
    s.run_to(510_100).whatever();
    s.answers(1, &[A, B]).gives(&[]);
    assert!(!listed(&s, SEED));
    s.run_to(599_999).whatever();
    assert!(!listed(&s, SEED));
    s.run_to(600_000).whatever();
    assert!(listed(&s, SEED));
}

/// 7.2: while nobody needs a node the clock stands still.
#[test]
fn a_discovery_that_nobody_needs_is_not_overdue() {
    let config = config()
        .source(Source::discovery())
        .request_timeout(redial::Limit::Never)
        .max_in_flight(1u32);
    let mut s = script(config, &[A, B]);
    s.establish(0);
    s.answers(0, &[A, B]).whatever();
    // One node is busy for ever, the other never gets up.
    s.submit_on(0, any().timeout(redial::Limit::Never));
    s.written(0).whatever();
    let needed_for = |s: &mut Script, from: u64, millis: u64| {
        s.run_to(from).whatever();
        s.submit_on(0, any().timeout(ms(millis))).whatever();
        s.run_to(from + millis).whatever();
        listed(s, SEED)
    };
    assert!(!needed_for(&mut s, 1_000_000, 200_000));
    assert!(!needed_for(&mut s, 2_000_000, 99_999));
    assert!(needed_for(&mut s, 3_000_000, 2));
}

/// 7.7, 7.9: nothing of the move is left for the next call; a script audits each.
#[test]
fn fallback_nodes_that_join_by_the_clock_may_move_a_sticky_client_with_its_requests() {
    let config = sticky()
        .refresh_jitter(ms(0))
        .rebootstrap_after(after(1_000))
        .source(Source::discovery());
    let moved = (0..20).find(|&seed| {
        let (mut s, own) = connected(config.clone(), &[A], seed);
        s.set_fallback(&[B, SEED]).submit_on(own, any()).whatever();
        s.at(1_000).tick();
        moves(&mut s) == Some(true) && s.take().contains(&format!("withdraw n{own} r0"))
    });
    assert!(moved.is_some(), "two in three move");
}

/// 7.6, 4.6: a kept key with a new endpoint starts fresh, whichever list says so.
#[test]
fn a_throttle_ends_with_the_endpoint_that_a_fallback_list_replaces() {
    let mut s = Script::empty(build(config()), 0);
    s.set_fallback(&["k=10.0.0.8:1"]).submit(any()).whatever();
    s.connected(0).ready(0).written(0).reply(0).whatever();
    s.throttled(0, 50_000).gives(&[]);
    s.submit(any()).gives(&[]);
    s.set_fallback(&["k=10.0.0.9:1"])
        .gives(&["close n0", "connect n0"]);
    s.connected(0).ready(0);
    s.gives(&["handshake n0", "write n0 r1"]);
}
