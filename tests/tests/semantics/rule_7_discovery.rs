//! SEMANTICS 7.2 and 4.10: the cluster itself is asked for its list.

use redial::{
    ConfigBuilder, Event, Hint, NodeState, RefreshAfterFailures, RefreshResult, SelectionPolicy,
    Source, Warm,
};
use redial_tests::script::{Script, after, any, build, exact, ms};

const A: &str = "10.0.0.1:1";
const B: &str = "10.0.0.2:1";
const C: &str = "10.0.0.3:1";

fn config() -> ConfigBuilder {
    exact()
        .refresh_jitter(ms(0))
        .refresh_after_failures(RefreshAfterFailures::After(1_000))
        .source(Source::discovery())
}

fn script(config: ConfigBuilder) -> Script {
    Script::new(build(config), &[A, B])
}

fn results(s: &mut Script) -> Vec<RefreshResult> {
    let result = |event| match event {
        Event::Refreshed { result, .. } => Some(result),
        _ => None,
    };
    s.events().into_iter().filter_map(result).collect()
}

/// 7.2, K35: nobody needs a connection, so none is opened for a list.
#[test]
fn while_nobody_needs_a_node_a_discovery_waits_unarmed_for_the_next_ready() {
    let mut s = script(config());
    s.tick().gives(&[]).no_deadline();
    s.at(5_000).begin(0).connected(0).whatever();
    s.ready(0).gives(&["discover s0 n0"]).deadline(15_000);
    s.at(5_010).answers(0, &[A, C]).gives(&[]);
    assert_eq!(results(&mut s), [RefreshResult::Changed]);
    s.deadline(65_010);
}

/// 7.2: at its time, if a node is Ready.
#[test]
fn a_discovery_goes_at_once_to_a_node_that_is_ready() {
    let mut s = script(config());
    s.begin(0).connected(0).whatever();
    s.ready(0).gives(&["discover s0 n0"]);
    s.answers(0, &[A, B]).gives(&[]);
    s.run_to(60_000).gives(&["discover s0 n0"]);
}

/// 7.2: while a user's request waits it waits as one more.
#[test]
fn a_discovery_is_dialled_for_while_a_request_waits() {
    let mut s = script(config());
    // The request waits for a node that rests; the discovery needs none in particular.
    s.begin(0).refused(0).whatever();
    s.submit_on(0, any()).gives(&["connect n1"]);
    s.at(5).connected(1).ready(1);
    s.gives(&["handshake n1", "discover s0 n1"]);
}

/// 7.2: the request's end is the end of the need.
#[test]
fn with_the_last_request_the_need_of_a_discovery_ends() {
    let mut s = script(config());
    for node in 0..2 {
        s.begin(node).refused(node).whatever();
    }
    s.submit_on(0, any().timeout(ms(50))).gives(&[]);
    s.at(50).tick().gives(&["r0 Timeout NeverWritten"]);
    s.at(10_000).tick().gives(&[]).no_deadline();
}

/// 7.2: as long as `warm` keeps connections.
#[test]
fn a_discovery_is_dialled_for_while_connections_are_kept() {
    let mut s = script(config().warm(Warm::AtLeast(1)));
    s.tick().gives(&["connect n0"]);
    s.refused(0).gives(&["connect n1"]);
    s.connected(1).ready(1);
    s.gives(&["handshake n1", "discover s0 n1"]);
}

/// 3.5: not even for a list.
#[test]
fn a_discovery_dials_nobody_before_the_next_attempt_time() {
    let mut s = script(config().reconnect_backoff(redial::Backoff::constant(ms(700))));
    for node in 0..2 {
        s.begin(node).refused(node).whatever();
    }
    s.submit_on(1, any()).gives(&[]).deadline(700);
    s.at(699).tick().gives(&[]);
}

/// 4.10: it obeys the limits and occupies no slot.
#[test]
fn a_discovery_waits_for_a_node_that_can_take_a_request_and_takes_no_slot() {
    let mut s = script(config().max_in_flight(1u32));
    s.submit_on(0, any()).submit_on(0, any()).whatever();
    // The second request keeps waiting, so another node is dialled for the discovery.
    s.connected(0).ready(0);
    s.gives(&["handshake n0", "write n0 r0", "connect n1"]);
    s.written(0).reply(0);
    s.gives(&["r0 reply n0", "write n0 r1"]);
    s.written(1).reply(1);
    s.gives(&["r1 reply n0", "discover s0 n0"]);
    assert_eq!(s.view(0).in_flight, 0);
    s.submit(any()).gives(&["write n0 r2"]);
}

/// 4.10, 7.8: under `Sticky` it waits for the client's own node.
#[test]
fn a_discovery_waits_for_a_slot_on_the_clients_own_node() {
    let mut s = script(
        config()
            .selection(SelectionPolicy::Sticky)
            .max_in_flight(1u32),
    );
    s.submit(any()).whatever();
    let own = usize::from(s.state(1).is_setup());
    s.connected(own).ready(own);
    s.gives(&[&format!("handshake n{own}"), &format!("write n{own} r0")]);
    s.written(0).reply(0);
    s.gives(&[&format!("r0 reply n{own}"), &format!("discover s0 n{own}")]);
}

/// 4.6, 4.10.
#[test]
fn a_discovery_is_not_sent_to_a_node_that_throttles() {
    let mut s = script(config());
    s.establish(0);
    s.answers(0, &[A, B]).whatever();
    s.at(5_000).throttled(0, 70_000).gives(&[]);
    s.run_to(60_000).gives(&[]);
    s.run_to(70_000).gives(&["discover s0 n0"]);
}

/// R127: a housekeeping request prefers a node that is connected.
#[test]
fn a_discovery_prefers_a_node_that_is_connected() {
    let mut s = Script::new(build(config()), &[A, B, C]);
    s.establish(1);
    s.answers(0, &[A, B, C]).whatever();
    s.run_to(59_999).whatever();
    s.run_to(60_000).gives(&["discover s0 n1"]);
}

/// 7.2: it fails with its connection, whatever the reason of its end.
#[test]
fn a_discovery_fails_when_its_connection_ends() {
    let mut s = script(config().max_idle(after(3_000)));
    s.establish(0);
    s.at(500).closed(0).gives(&[]);
    assert_eq!(results(&mut s), [RefreshResult::Failed]);
    // Due again with the end of the shortest interval, and then waiting for the next Ready.
    s.deadline(1_000).at(1_000).tick().gives(&[]).no_deadline();
    s.at(2_000).begin(1).connected(1).whatever();
    s.ready(1).gives(&["discover s0 n1"]);
    s.at(5_000).tick().gives(&["close n1"]);
    assert_eq!(results(&mut s), [RefreshResult::Failed]);
    assert_eq!(s.cluster().stats().stale_facts, 0);
    s.answers(0, &[C]);
    assert_eq!(s.cluster().stats().stale_facts, 1);
}

/// 7.3: the connection is not to blame.
#[test]
fn a_discovery_without_an_answer_times_out_and_leaves_the_connection() {
    let mut s = script(config());
    s.establish(0);
    s.at(10_000).tick().gives(&[]);
    assert_eq!(results(&mut s), [RefreshResult::TimedOut]);
    assert_eq!(s.state(0), NodeState::Ready);
    s.deadline(70_000);
}

/// 7.4.
#[test]
fn a_trigger_asks_the_cluster_too() {
    let mut s = script(config());
    s.establish(0);
    s.answers(0, &[A, B]).gives(&[]);
    s.at(5_000).hint(Hint::Resumed).gives(&["discover s0 n0"]);
}

/// 7.2: the answer has come, whatever it does to the connection that it came on.
#[test]
fn an_answer_may_remove_the_node_that_gave_it() {
    let mut s = Script::new(build(config()), &[A]);
    s.establish(0);
    s.answers(0, &[A, B]).whatever();
    s.establish(1);
    s.closed(0).whatever();
    s.run_to(60_000).gives(&["discover s0 n1"]);
    s.events();
    s.answers(0, &[A]).gives(&["close n1"]);
    assert_eq!(results(&mut s), [RefreshResult::Changed]);
    s.deadline(120_000);
}
