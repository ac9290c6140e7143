//! SEMANTICS 6: rejected credentials.

use redial::{NodeState, Reason};
use redial_tests::script::{Script, any, build, exact, ms, t};

const ONE: &[&str] = &["10.0.0.1:1"];
const TWO: &[&str] = &["10.0.0.1:1", "10.0.0.2:1"];

/// The node rejects now; nobody waits for it.
fn reject(s: &mut Script, node: usize) {
    s.begin(node).connected(node).rejected(node).whatever();
    assert_eq!(s.state(node), NodeState::AuthenticationFailed);
}

/// 6.1: the requests that wait for the node fail then.
#[test]
fn a_rejection_fails_the_requests_that_wait_for_the_node() {
    let mut s = Script::new(build(exact()), TWO);
    s.at(0)
        .submit_on(0, any())
        .submit_on(1, any())
        .submit_on(0, any())
        .whatever();
    s.at(10).connected(0).gives(&["handshake n0"]);
    s.at(20).rejected(0).gives(&[
        "r0 AuthenticationFailed NeverWritten",
        "r2 AuthenticationFailed NeverWritten",
    ]);
    assert!(!s.error(0).is_retryable());
    assert_eq!(s.error(0).stage, Some(redial::Stage::Authenticate));
    assert_eq!(s.error(0).node, Some(s.id(0)));
}

/// 6.1: also where the backoff is 0.
#[test]
fn a_rejection_fails_the_waiting_requests_even_without_a_rest() {
    let config = exact().reconnect_backoff(redial::Backoff::constant(ms(0)));
    let mut s = Script::new(build(config), ONE);
    s.at(0).submit_on(0, any()).connected(0).whatever();
    s.rejected(0)
        .gives(&["r0 AuthenticationFailed NeverWritten"]);
    s.submit_on(0, any()).gives(&["connect n0"]);
}

/// 6.1: new ones bound to it fail at once while it is in that backoff, then a submit dials again.
#[test]
fn a_new_request_for_a_node_that_rejected_fails_at_once_until_its_rest_is_over() {
    let mut s = Script::new(build(exact()), TWO);
    s.at(0);
    reject(&mut s, 0);
    s.at(99)
        .submit_on(0, any())
        .gives(&["error AuthenticationFailed"]);
    s.at(100).submit_on(0, any()).gives(&["connect n0"]);
}

/// 6.1, 2.2: rejections are backed off like any failure.
#[test]
fn rejections_are_backed_off_like_any_failure() {
    let mut s = Script::new(build(exact()), ONE);
    for (now, next) in [(0, 100), (100, 300), (300, 700)] {
        s.at(now);
        reject(&mut s, 0);
        assert_eq!(s.rests_until(0), Some(t(next)));
    }
}

/// 6.1: a waiting Any-request fails only when the last attempt of every node was a rejection.
#[test]
fn a_request_for_any_node_fails_when_every_node_has_rejected() {
    let mut s = Script::new(build(exact()), TWO);
    s.at(0).submit(any());
    let first = usize::from(s.take() == ["connect n1"]);
    let other = 1 - first;
    s.at(10).connected(first).whatever();
    s.at(20)
        .rejected(first)
        .gives(&[&format!("connect n{other}")]);
    s.at(30).connected(other).whatever();
    s.at(40)
        .rejected(other)
        .gives(&["r0 AuthenticationFailed NeverWritten"]);
}

/// 6.1: a node that failed otherwise may still serve.
#[test]
fn a_request_for_any_node_waits_while_one_node_failed_otherwise() {
    let mut s = Script::new(build(exact()), TWO);
    s.at(0);
    reject(&mut s, 0);
    s.at(10).submit(any()).gives(&["connect n1"]);
    s.at(20).refused(1).gives(&[]);
    assert!(s.cluster().is_open(s.request(0)));
    s.at(100).tick().gives(&["connect n0"]);
    s.at(110)
        .connected(0)
        .whatever()
        .ready(0)
        .gives(&["write n0 r0"]);
}

/// 6.1: a new one fails at once only while every node is in that backoff.
#[test]
fn a_new_request_for_any_node_fails_at_once_while_every_node_rests_after_a_rejection() {
    let mut s = Script::new(build(exact()), TWO);
    s.at(0);
    reject(&mut s, 0);
    s.at(10)
        .submit(any())
        .gives(&["connect n1"])
        .cancel(0)
        .whatever();
    s.connected(1).rejected(1).whatever();
    s.at(99)
        .submit(any())
        .gives(&["error AuthenticationFailed"]);
    s.at(100).submit(any()).gives(&["connect n0"]);
}

/// 6.1, R129: the error is never given to a request that was submitted after a later success.
#[test]
fn an_old_rejection_is_forgotten_with_the_next_success() {
    let mut s = Script::new(build(exact()), ONE);
    s.at(0);
    reject(&mut s, 0);
    s.at(100).establish(0);
    assert_eq!(s.view(0).last_failure, None);
    s.at(200).closed(0).gives(&[]);
    assert_eq!(s.state(0), NodeState::Disconnected);
    s.at(210).submit_on(0, any()).submit(any()).gives(&[]);
}

/// K19, 4.13: a rejection by one node leaves the requests of another alone.
#[test]
fn a_rejection_leaves_other_nodes_alone() {
    let mut s = Script::new(build(exact()), TWO);
    s.establish(1);
    s.submit_on(1, any()).written(0).whatever();
    reject(&mut s, 0);
    s.reply(0).gives(&["r0 reply n1"]);
}

/// 6.1: what is in flight on an older connection that drains is not failed by a rejection.
#[test]
fn a_rejection_fails_what_waits_and_not_what_is_in_flight() {
    let mut s = Script::new(build(exact()), ONE);
    s.establish(0);
    s.submit_on(0, any())
        .submit_on(0, any())
        .written(0)
        .written(1)
        .reply(0)
        .whatever();
    s.draining(0).gives(&[]);
    s.submit_on(0, any())
        .gives(&["connect n0"])
        .connected(0)
        .whatever();
    s.rejected(0)
        .gives(&["r2 AuthenticationFailed NeverWritten"]);
    s.reply(1).gives(&["r1 reply n0", "close n0-1"]);
    assert_eq!(s.error(2).reason, Reason::AuthenticationFailed);
}

/// 6.1, 7.6: a key's new endpoint starts fresh: its node has not rejected.
#[test]
fn a_rejection_is_forgotten_with_the_endpoint_that_gave_it() {
    let mut s = Script::new(build(exact()), &["a=10.0.0.1:1", "b=10.0.0.2:1"]);
    s.at(0);
    reject(&mut s, 0);
    s.at(10).submit(any()).gives(&["connect n1"]);
    s.at(20)
        .set_nodes(&["a=10.0.0.3:1", "b=10.0.0.2:1"])
        .gives(&[]);
    s.at(30)
        .connected(1)
        .whatever()
        .rejected(1)
        .gives(&["connect n0"]);
    assert!(s.cluster().is_open(s.request(0)));
}

/// 6.1: nor by one that is gone.
#[test]
fn a_rejection_leaves_with_its_node() {
    let mut s = Script::new(build(exact()), TWO);
    reject(&mut s, 0);
    s.set_nodes(&[TWO[1], "10.0.0.3:1"])
        .submit(any())
        .gives(&["connect n1"]);
    s.connected(1).whatever().rejected(1).gives(&["connect n2"]);
}
