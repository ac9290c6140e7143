//! SEMANTICS 2.2 and 2.3: who is wanted and dialled, stale facts.

use redial::{HandshakeError, Limits, NodeState, SelectionPolicy, Warm};
use redial_tests::script::{Script, any, build, exact, old};

const ONE: &[&str] = &["10.0.0.1:1"];
const TWO: &[&str] = &["10.0.0.1:1", "10.0.0.2:1"];
const NAME: &[&str] = &["db.example:1"];

/// A node whose attempt began at 0, by a request that has been cancelled.
fn dialled(list: &[&str]) -> Script {
    let mut s = Script::new(build(exact()), list);
    s.at(0).begin(0).whatever();
    s
}

/// 2.2: `warm: All` keeps every node connected and dials again when a rest is over.
#[test]
fn warm_all_keeps_every_node_connected() {
    let mut s = Script::new(build(exact().warm(Warm::All)), TWO);
    s.gives(&["connect n0", "connect n1"]);
    s.at(10)
        .refused(0)
        .connected(1)
        .ready(1)
        .whatever()
        .deadline(110);
    s.at(110).tick().gives(&["connect n0"]);
    s.at(120).closed(1).gives(&[]);
    s.at(220).tick().gives(&["connect n1"]);
}

/// 2.2: what the policies want by themselves.
#[test]
fn round_robin_keeps_all_connected_and_least_loaded_none() {
    let policy = |policy| build(exact().selection(policy));
    let mut s = Script::new(policy(SelectionPolicy::RoundRobin), TWO);
    s.gives(&["connect n0", "connect n1"]);
    let mut s = Script::new(policy(SelectionPolicy::LeastLoaded), TWO);
    s.gives(&[]);
}

/// 2.2: `AtLeast(n)` counts what is Ready and in setup together.
#[test]
fn at_least_n_dials_the_next_node_while_there_are_fewer() {
    let list = &["10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"];
    let mut s = Script::new(build(exact().warm(Warm::AtLeast(2))), list);
    assert_eq!(s.take().len(), 2);
    let setup: Vec<usize> = (0..3).filter(|node| s.state(*node).is_setup()).collect();
    let idle = (0..3)
        .find(|node| !setup.contains(node))
        .expect("one was not dialled");
    s.at(10)
        .refused(setup[0])
        .gives(&[&format!("connect n{idle}")]);
    s.at(20).refused(idle).gives(&[]).deadline(110);
    s.at(110).tick().gives(&[&format!("connect n{}", setup[0])]);
}

/// 2.2: more than there are means all.
#[test]
fn at_least_more_than_there_are_means_all() {
    let mut s = Script::new(build(exact().warm(Warm::AtLeast(5))), TWO);
    s.gives(&["connect n0", "connect n1"]);
}

/// 2.2, R153: a wanted node in backoff has a timer.
#[test]
fn a_bound_request_keeps_its_resting_node_wanted() {
    let mut s = Script::new(build(exact()), TWO);
    s.at(0).submit_on(0, any()).gives(&["connect n0"]);
    s.at(10).refused(0).gives(&[]).deadline(110);
    s.at(110).tick().gives(&["connect n0"]);
}

/// 2.2: an unwanted node is not dialled when its rest is over.
#[test]
fn an_unwanted_node_in_backoff_has_no_timer() {
    let mut s = dialled(ONE);
    s.at(10).refused(0).gives(&[]).no_deadline();
}

/// 2.2: the one deadline of a waiting Any-request is the earliest next-attempt time.
#[test]
fn a_request_for_any_node_waits_for_the_first_node_that_may_be_dialled() {
    let mut s = Script::new(build(exact()), TWO);
    s.at(0)
        .submit_on(0, any())
        .submit_on(1, any())
        .cancel(0)
        .cancel(1)
        .whatever();
    s.at(40).refused(1).gives(&[]);
    s.at(60).refused(0).gives(&[]);
    s.no_deadline();
    s.at(70).submit(any()).gives(&[]).deadline(140);
    s.at(140).tick().gives(&["connect n1"]);
}

/// 2.2: with a node in setup and no hedging, it is awaited.
#[test]
fn a_request_for_any_node_waits_for_the_node_in_setup() {
    let mut s = Script::new(build(exact()), TWO);
    s.at(0)
        .submit_on(0, any())
        .cancel(0)
        .gives(&["connect n0", "r0 Cancelled NeverWritten"]);
    s.at(5).submit(any()).gives(&[]).deadline(10_000);
    s.at(9)
        .connected(0)
        .ready(0)
        .gives(&["handshake n0", "write n0 r1"]);
}

/// 2.2: when the attempt fails, another node is dialled at once.
#[test]
fn a_failed_attempt_is_followed_by_another_node_at_once() {
    let mut s = Script::new(build(exact()), TWO);
    s.at(0).submit(any());
    let first = usize::from(s.take() == ["connect n1"]);
    s.at(5)
        .refused(first)
        .gives(&[&format!("connect n{}", 1 - first)]);
}

/// 2.3, R119: a fact about an attempt or a connection that is over is ignored and counted.
#[test]
fn stale_facts_are_ignored_and_counted() {
    let mut s = dialled(ONE);
    s.at(10).refused(0).gives(&[]);
    s.at(200).submit(any()).gives(&["connect n0"]);
    let before = s.cluster().stats().stale_facts;
    s.connected(old(0))
        .refused(old(0))
        .closed(old(0))
        .gives(&[]);
    s.ready(old(0))
        .handshake_failed(old(0), HandshakeError::Rejected)
        .gives(&[]);
    s.ready_with(old(0), Limits::in_flight(1))
        .blocked(old(0))
        .draining(old(0))
        .gives(&[]);
    assert_eq!(s.cluster().stats().stale_facts, before + 8);
    assert_eq!((s.state(0), s.view(0).failures), (NodeState::Connecting, 1));
}

/// 2.3: an answer to a look-up that was given up does nothing.
#[test]
fn a_stale_look_up_is_ignored() {
    let mut s = dialled(NAME);
    let stale = s.attempt(0);
    s.at(10_000).tick().gives(&["abort-resolve n0"]);
    s.at(20_000).submit(any()).gives(&["resolve n0"]);
    let before = s.cluster().stats().stale_facts;
    let address = "10.0.0.1:1".parse().expect("an address");
    s.call(redial::record::Call::Resolved(stale, vec![address]))
        .gives(&[]);
    s.input(redial::Input::ResolveFailed { attempt: stale })
        .gives(&[]);
    assert_eq!(s.cluster().stats().stale_facts, before + 2);
    assert_eq!(s.state(0), NodeState::Resolving);
}

/// R137: whatever asks for it, a node has one connection.
#[test]
fn a_node_is_dialled_once_whatever_asks_for_it() {
    let mut s = Script::new(build(exact().warm(Warm::All)), ONE);
    s.gives(&["connect n0"]);
    s.submit(any())
        .submit_on(0, any())
        .set_nodes(ONE)
        .gives(&[]);
    s.connected(0)
        .ready(0)
        .gives(&["handshake n0", "write n0 r0", "write n0 r1"]);
    s.tick().submit(any()).gives(&["write n0 r2"]);
}
