//! SEMANTICS 5.3 and 5.4: probes of unhealthy connections, and why a request is where it is.

use redial::{
    Cause, ConfigBuilder, Event, Instant, NodeState, OnRequestTimeout, Stage, Verdict, Warm, Why,
};
use redial_tests::script::{Script, after, any, build, exact, ms, t};

const TWO: &[&str] = &["10.0.0.1:1", "10.0.0.2:1"];

fn config() -> ConfigBuilder {
    exact()
        .request_timeout(after(100))
        .keepalive_timeout(ms(1_000))
}

fn with_keepalive() -> ConfigBuilder {
    config().keepalive(true)
}

/// Both nodes are Ready.
fn ready(config: ConfigBuilder) -> Script {
    let mut s = Script::new(build(config), TWO);
    s.at(0).establish(0).establish(1);
    s
}

/// Three requests for the node time out; then it is this time.
fn sicken(s: &mut Script, node: usize, first: usize, at: u64) {
    for request in first..first + 3 {
        s.at(at - 100)
            .submit_on(node, any())
            .written(request)
            .whatever();
    }
    s.at(at).tick().whatever();
    assert!(s.view(node).unhealthy);
}

/// 5.3: a probe after 5 s, to the nanosecond, and closed without an answer.
#[test]
fn an_unhealthy_connection_is_probed_after_five_seconds() {
    let mut s = ready(with_keepalive());
    sicken(&mut s, 0, 0, 1_000);
    s.deadline(6_000);
    s.at_instant(Instant::from_nanos(5_999_999_999))
        .tick()
        .gives(&[]);
    s.at(6_000).tick().gives(&["probe n0"]).deadline(7_000);
    s.at(7_000).tick().gives(&["close n0"]);
    let failure = s.view(0).last_failure.expect("a failure");
    assert_eq!(
        (failure.stage, failure.cause),
        (Stage::Established, Cause::KeepaliveTimeout)
    );
}

/// 5.3: the answer to a probe heals; it is used again.
#[test]
fn the_answer_to_a_probe_heals() {
    let mut s = ready(with_keepalive());
    sicken(&mut s, 0, 0, 1_000);
    s.at(6_000).tick().gives(&["probe n0"]);
    s.events();
    s.at(6_500).received(0).gives(&[]).no_deadline();
    assert!(!s.view(0).unhealthy);
    assert!(s.events().contains(&Event::Healed { node: s.id(0) }));
}

/// 5.3: bytes that answer no probe do not heal, unless they are a reply.
#[test]
fn bytes_without_a_probe_do_not_heal() {
    let mut s = ready(with_keepalive());
    sicken(&mut s, 0, 0, 1_000);
    s.at(2_000).received(0).push(0).gives(&[]).deadline(6_000);
    assert!(s.view(0).unhealthy);
    s.reply(0).gives(&[]).no_deadline();
    assert!(!s.view(0).unhealthy);
}

/// 5.3: the wait doubles to 60 s while only probes are answered.
#[test]
fn the_wait_before_a_probe_doubles_to_a_minute() {
    let mut s = ready(with_keepalive());
    let mut now = 1_000;
    for (round, wait) in [5, 10, 20, 40, 60, 60, 60].into_iter().enumerate() {
        sicken(&mut s, 0, 3 * round, now);
        s.deadline(now + wait * 1_000);
        now += wait * 1_000;
        s.at(now).tick().gives(&["probe n0"]);
        s.received(0).gives(&[]);
        now += 1_000;
    }
}

/// 5.3: it is 5 s again after a reply to a request.
#[test]
fn a_reply_starts_the_wait_anew() {
    let mut s = ready(with_keepalive());
    sicken(&mut s, 0, 0, 1_000);
    s.at(6_000)
        .tick()
        .gives(&["probe n0"])
        .received(0)
        .gives(&[]);
    s.at(7_000)
        .submit_on(0, any())
        .written(3)
        .reply(3)
        .whatever();
    sicken(&mut s, 0, 4, 8_000);
    s.deadline(13_000);
}

/// 5.3: a new connection starts healthy, with a wait of 5 s.
#[test]
fn a_new_connection_starts_with_the_first_wait() {
    let mut s = ready(with_keepalive());
    sicken(&mut s, 0, 0, 1_000);
    s.at(6_000).tick().gives(&["probe n0"]);
    s.at(6_500).closed(0).gives(&[]).no_deadline();
    s.at(7_000).establish(0);
    sicken(&mut s, 0, 3, 8_000);
    s.deadline(13_000);
}

/// 5.3, 4.10: while a probe is outstanding none falls due, also one of another kind.
#[test]
fn no_probe_falls_due_while_one_is_outstanding() {
    let mut s = ready(with_keepalive().keepalive_timeout(ms(20_000)));
    sicken(&mut s, 0, 0, 1_000);
    s.at(3_000).node_down(0).gives(&["probe n0"]);
    s.at(6_000).tick().gives(&[]).deadline(23_000);
    s.at(10_000).received(0).gives(&[]).no_deadline();
    assert!(!s.view(0).unhealthy);
}

/// 5.3: more timeouts do not bring the probe sooner or put it off.
#[test]
fn further_timeouts_do_not_move_the_probe() {
    let mut s = ready(with_keepalive());
    sicken(&mut s, 0, 0, 1_000);
    sicken(&mut s, 0, 3, 3_000);
    s.deadline(6_000).at(6_000).tick().gives(&["probe n0"]);
}

/// 5.3: nor do they bring the next one while one is out, or waits for a request to be one.
#[test]
fn further_timeouts_bring_no_probe_beside_one() {
    let mut s = ready(with_keepalive().keepalive_timeout(ms(20_000)));
    sicken(&mut s, 0, 0, 1_000);
    s.at(6_000).tick().gives(&["probe n0"]).deadline(26_000);
    sicken(&mut s, 0, 3, 7_000);
    s.deadline(26_000);
    let mut s = ready(config());
    sicken(&mut s, 0, 0, 1_000);
    s.at(6_000).tick().gives(&[]).no_deadline();
    sicken(&mut s, 0, 3, 7_000);
    s.no_deadline();
}

/// 5.3: without a keepalive, when the probe is due the next idempotent request for any node is sent
/// there, and until one comes nothing is armed.
#[test]
fn without_a_keepalive_an_idempotent_request_is_the_probe() {
    let mut s = ready(config());
    sicken(&mut s, 0, 0, 1_000);
    s.deadline(6_000);
    s.at(5_999)
        .submit(any().idempotent())
        .gives(&["write n1 r3"]);
    s.written(3).reply(3).gives(&["r3 reply n1"]);
    s.at(6_000).tick().gives(&[]).no_deadline();
    s.submit(any()).gives(&["write n1 r4"]);
    s.submit_on(1, any().idempotent()).gives(&["write n1 r5"]);
    s.submit(any().idempotent()).gives(&["write n0 r6"]);
    s.submit(any().idempotent()).gives(&["write n1 r7"]);
}

/// 5.3: its reply heals.
#[test]
fn the_reply_to_a_probing_request_heals() {
    let mut s = ready(config());
    sicken(&mut s, 0, 0, 1_000);
    s.at(6_000).tick().gives(&[]);
    s.submit(any().idempotent())
        .written(3)
        .gives(&["write n0 r3"]);
    s.at(6_050).reply(3).gives(&["r3 reply n0"]).no_deadline();
    assert!(!s.view(0).unhealthy);
}

/// 5.3: its timeout makes the next wait twice as long.
#[test]
fn a_probing_request_that_times_out_doubles_the_wait() {
    let mut s = ready(config());
    sicken(&mut s, 0, 0, 1_000);
    s.at(6_000).tick().gives(&[]);
    s.submit(any().idempotent())
        .written(3)
        .gives(&["write n0 r3"]);
    // It is tried again elsewhere, after its retry backoff.
    s.at(6_100).tick().gives(&[]).deadline(6_200);
    s.at(6_200).tick().written(3).gives(&["write n1 r3"]);
    s.reply(3).gives(&["r3 reply n1"]).deadline(16_100);
    s.at(16_100).tick().gives(&[]).no_deadline();
    s.submit(any().idempotent()).gives(&["write n0 r4"]);
}

/// 5.3: a request for the node itself that is answered makes the probe needless.
#[test]
fn a_bound_request_heals_as_well() {
    let mut s = ready(config());
    sicken(&mut s, 0, 0, 1_000);
    s.at(6_000).tick().gives(&[]);
    s.submit_on(0, any())
        .written(3)
        .reply(3)
        .whatever()
        .no_deadline();
    let mut placed = Vec::new();
    for _ in 0..20 {
        s.submit(any().idempotent());
        placed.extend(s.take());
    }
    let there = placed
        .iter()
        .filter(|line| line.starts_with("write n0"))
        .count();
    assert_eq!(there, 10, "least loaded, no probe: {placed:?}");
}

/// 5.3: a full node is not handed the probing request; the next one after it has a slot is.
#[test]
fn a_full_node_is_probed_when_it_has_a_slot() {
    let mut s = ready(config().max_in_flight(1u32).unhealthy_after(1));
    s.at(900).submit_on(0, any()).written(0).whatever();
    s.at(1_000).tick().gives(&["r0 Timeout PossiblyWritten"]);
    assert!(s.view(0).unhealthy);
    s.at(6_000)
        .tick()
        .submit_on(0, any())
        .written(1)
        .gives(&["write n0 r1"]);
    s.submit(any().idempotent()).gives(&["write n1 r2"]);
    s.at(6_100).tick().gives(&["r1 Timeout PossiblyWritten"]);
    s.submit(any().idempotent()).gives(&["write n0 r3"]);
}

/// 5.3: a request that is no probe leaves the probe to the next idempotent one, also where it goes to
/// the node because no other is free.
#[test]
fn a_request_that_is_not_idempotent_uses_no_probe_up() {
    let mut s = ready(config().max_in_flight(1u32).unhealthy_after(1));
    s.at(900).submit_on(0, any()).written(0).whatever();
    s.at(1_000).tick().gives(&["r0 Timeout PossiblyWritten"]);
    s.at(6_000).tick().submit_on(1, any()).written(1).whatever();
    s.submit(any().without_reply()).gives(&["write n0 r2"]);
    s.written(2).reply(1).whatever();
    assert!(s.view(0).unhealthy);
    s.submit(any()).gives(&["write n1 r3"]);
    s.written(3).reply(3).whatever();
    s.submit(any().idempotent()).gives(&["write n0 r4"]);
}

/// 5.3, 5.1: an unhealthy node that gets a request for want of another has another dialled; one that is only
/// probed by it has not.
#[test]
fn a_request_on_an_unhealthy_node_has_another_dialled_unless_it_probes() {
    for (options, dials) in [(any(), true), (any().idempotent(), false)] {
        let mut s = Script::new(build(config().warm(Warm::None)), TWO);
        s.at(0).establish(0);
        sicken(&mut s, 0, 0, 1_000);
        // The probe is due.
        s.at(6_000).tick().whatever();
        s.submit(options);
        let came = s.take();
        assert!(came.contains(&"write n0 r3".to_owned()), "{came:?}");
        assert_eq!(came.contains(&"connect n1".to_owned()), dials, "{came:?}");
    }
}

/// 5.3: what the connection's end leaves behind is not probed.
#[test]
fn a_connection_that_ended_is_not_probed() {
    for config in [config(), with_keepalive()] {
        let mut s = ready(config);
        sicken(&mut s, 0, 0, 1_000);
        s.at(2_000).closed(0).gives(&[]).no_deadline();
        s.at(10_000).tick().gives(&[]);
        s.submit(any().idempotent()).gives(&["write n1 r3"]);
    }
}

/// 5.3: where a timeout disconnects there is nothing left to probe.
#[test]
fn a_disconnect_leaves_nothing_to_probe() {
    let disconnect = with_keepalive()
        .on_request_timeout(OnRequestTimeout::Disconnect)
        .unhealthy_after(1);
    let mut s = ready(disconnect);
    s.at(0).submit_on(0, any()).written(0).whatever();
    s.at(100)
        .tick()
        .gives(&["close n0", "r0 Timeout PossiblyWritten"])
        .no_deadline();
}

// 5.4.

fn why(s: &Script, request: usize) -> Vec<Why> {
    let explained = s.cluster().explain(s.request(request)).expect("it is open");
    explained
        .into_iter()
        .map(|explanation| explanation.why)
        .collect()
}

fn why_node(s: &Script, node: usize) -> Why {
    s.cluster()
        .explain_node(s.id(node))
        .expect("it is in the list")
        .why
}

/// 5.4: on its way, and where it is not.
#[test]
fn a_written_request_explains_where_it_is() {
    let mut s = ready(exact());
    s.submit_on(0, any()).gives(&["write n0 r0"]);
    assert_eq!(
        why(&s, 0),
        [Why::Chosen { handed_over: false }, Why::NotItsNode]
    );
    s.written(0);
    assert_eq!(
        why(&s, 0),
        [Why::Chosen { handed_over: true }, Why::NotItsNode]
    );
    s.submit(any()).gives(&["write n1 r1"]);
    assert_eq!(
        why(&s, 1),
        [Why::Eligible, Why::Chosen { handed_over: false }]
    );
    s.reply(0).gives(&["r0 reply n0"]);
    assert_eq!(s.cluster().explain(s.request(0)), None);
}

/// 5.4, 4.7: in its backoff a request asks no node, however free.
#[test]
fn a_request_in_retry_backoff_explains_until_when() {
    let mut s = ready(exact());
    s.submit_on(0, any()).written(0).whatever();
    s.verdict(0, Verdict::RETRY_HERE).gives(&[]);
    assert_eq!(why(&s, 0), [Why::RetryBackoff(t(100)), Why::NotItsNode]);
}

/// 5.4: busy nodes say what they wait for.
#[test]
fn busy_nodes_explain_themselves() {
    let mut s = ready(exact().max_in_flight(1u32));
    s.at(0).throttled(0, 9_000).gives(&[]);
    assert_eq!(why_node(&s, 0), Why::Throttled(t(9_000)));
    s.submit(any()).submit(any()).gives(&["write n1 r0"]);
    assert_eq!(why(&s, 1), [Why::Throttled(t(9_000)), Why::Full]);
    s.written(0).reply(0).gives(&["r0 reply n1", "write n1 r1"]);
    s.blocked(1);
    assert_eq!(why_node(&s, 1), Why::Blocked);
}

/// 5.4: an unhealthy node.
#[test]
fn an_unhealthy_node_explains_itself() {
    let mut s = ready(config());
    sicken(&mut s, 0, 0, 1_000);
    assert_eq!(
        (why_node(&s, 0), why_node(&s, 1)),
        (Why::Unhealthy, Why::Eligible)
    );
}

/// 5.4: one past its limit.
#[test]
fn a_connection_past_its_limit_explains_itself() {
    let mut s = ready(exact().max_idle(after(1_000)));
    s.at(1_000).submit(any()).gives(&[]);
    assert_eq!(why(&s, 0), [Why::PastLimit, Why::PastLimit]);
}

/// 5.4: setup and rest, with the last failure, its stage and time.
#[test]
fn nodes_that_are_not_ready_explain_themselves() {
    let mut s = Script::new(build(exact()), TWO);
    assert_eq!(why_node(&s, 0), Why::NotWanted);
    s.at(0).submit_on(0, any()).gives(&["connect n0"]);
    s.at(40).submit_on(1, any()).gives(&["connect n1"]);
    s.at(50).refused(0).gives(&[]);
    assert_eq!(why(&s, 0), [Why::Resting(t(150)), Why::NotItsNode]);
    assert_eq!(why(&s, 1), [Why::NotItsNode, Why::InSetup(Some(t(10_040)))]);
    let explained = s
        .cluster()
        .explain_node(s.id(0))
        .expect("it is in the list");
    let failure = explained.last_failure.expect("a failure");
    assert_eq!(
        (failure.stage, failure.cause, failure.at),
        (Stage::Connect, Cause::Refused, t(50))
    );
    assert_eq!(explained.next_attempt, Some(t(150)));
    assert_eq!(
        (explained.state, explained.in_flight),
        (NodeState::Disconnected, 0)
    );
}

/// 5.4, 3.6: and the governor.
#[test]
fn a_node_that_waits_for_the_governor_explains_itself() {
    let mut s = Script::new(build(exact().attempts_per_second(1)), TWO);
    s.at(0)
        .submit_on(0, any())
        .submit_on(1, any())
        .gives(&["connect n0"]);
    assert_eq!(why_node(&s, 1), Why::AwaitsGovernor(Some(t(1_000))));
    let mut s = Script::new(build(exact().max_concurrent_attempts(1)), TWO);
    s.at(0)
        .submit_on(0, any())
        .submit_on(1, any())
        .gives(&["connect n0"]);
    assert_eq!(why_node(&s, 1), Why::AwaitsGovernor(None));
}

/// 5.4, 4.5: a retry is not written beside its own unfinished frame.
#[test]
fn a_retry_explains_that_its_own_frame_is_in_the_way() {
    let mut s = Script::new(build(exact().request_timeout(after(1_000))), &TWO[..1]);
    s.at(0).establish(0);
    s.submit(any().idempotent())
        .started(0)
        .gives(&["write n0 r0"]);
    s.at(1_000).tick().gives(&[]);
    s.at(1_100).tick().gives(&[]);
    assert_eq!(why(&s, 0), [Why::OwnFrameUnfinished]);
    s.at(1_200).done(0).gives(&["write n0 r0"]);
}

/// 5.4: a node that has left explains nothing.
#[test]
fn a_node_that_left_explains_nothing() {
    let mut s = ready(exact());
    let left = s.id(0);
    s.set_nodes(&TWO[1..]).gives(&["close n0"]);
    assert_eq!(s.cluster().explain_node(left), None);
}

/// 5.3: a probe that was due on a connection is not owed to the next one, nor to another node.
#[test]
fn a_probe_that_is_due_ends_with_its_connection() {
    for draining in [false, true] {
        let mut s = ready(config());
        sicken(&mut s, 0, 0, 1_000);
        s.at(6_000).tick().gives(&[]);
        match draining {
            true => s.at(7_000).draining(0).gives(&["close n0"]),
            false => s.at(7_000).closed(0).gives(&[]),
        };
        s.at(8_000).establish(0);
        // The least loaded node is n1, were it not for a probe.
        s.submit_on(0, any()).gives(&["write n0 r3"]);
        s.submit(any().idempotent()).gives(&["write n1 r4"]);
    }
    // Also while the old connection drains.
    let mut s = ready(config());
    sicken(&mut s, 0, 0, 1_000);
    s.at(6_000).tick().gives(&[]);
    s.at(7_000)
        .submit_on(0, any().request_timeout(ms(60_000)))
        .written(3)
        .gives(&["write n0 r3"]);
    s.draining(0).gives(&[]);
    s.at(8_000).establish(0);
    s.submit_on(0, any()).gives(&["write n0 r4"]);
    s.submit(any().idempotent()).gives(&["write n1 r5"]);
    let mut s = ready(config());
    sicken(&mut s, 0, 0, 1_000);
    s.at(6_000).tick().gives(&[]);
    s.set_nodes(&["10.0.0.2:1"]).whatever();
    s.set_nodes(&["10.0.0.2:1", "10.0.0.3:1"]).whatever();
    s.at(8_000).establish(2);
    s.submit_on(2, any()).gives(&["write n2 r3"]);
    s.submit(any().idempotent()).gives(&["write n1 r4"]);
}
