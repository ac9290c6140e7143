//! SEMANTICS 4.5 and 4.7: attempt timeouts, retries.

use redial::{
    Backoff, Cause, Certainty, CloseError, Event, Limit, Matching, NodeState, OnRequestTimeout,
    Reason, Verdict,
};
use redial_tests::script::{Script, after, any, build, exact, ms, t};

const ONE: &[&str] = &["10.0.0.1:1"];
const TWO: &[&str] = &["10.0.0.1:1", "10.0.0.2:1"];

fn ready(config: redial::ConfigBuilder, list: &[&str]) -> Script {
    let mut s = Script::new(build(config), list);
    for node in 0..list.len() {
        s.establish(node);
    }
    s
}

fn disconnecting() -> redial::ConfigBuilder {
    exact().on_request_timeout(OnRequestTimeout::Disconnect)
}

/// The node that the only line writes to.
#[track_caller]
fn written_to(s: &mut Script) -> usize {
    let lines = s.take();
    let [line] = &lines[..] else {
        panic!("one write is expected, came {lines:?}")
    };
    let node = line
        .strip_prefix("write n")
        .and_then(|rest| rest.split(' ').next());
    node.and_then(|node| node.parse().ok()).expect("a write")
}

/// 4.5: from the hand-over, not from the Write.
#[test]
fn an_attempts_time_counts_from_the_hand_over() {
    let mut s = ready(exact(), ONE);
    s.at(0)
        .submit(any())
        .gives(&["write n0 r0"])
        .deadline(30_000);
    s.at(5_000).started(0).done(0).gives(&[]).deadline(35_000);
    s.at(35_000).tick().gives(&["r0 Timeout PossiblyWritten"]);
}

/// 4.5: `Keep`: the connection stays, the slot is free at once, a late reply is dropped.
#[test]
fn under_keep_a_timed_out_attempt_leaves_the_connection_alone() {
    let mut s = ready(exact().max_in_flight(1u32), ONE);
    s.at(0)
        .submit(any())
        .written(0)
        .submit(any())
        .gives(&["write n0 r0"]);
    s.at(30_000)
        .tick()
        .gives(&["r0 Timeout PossiblyWritten", "write n0 r1"]);
    assert_eq!(s.cluster().stats().tombstones, 0);
    assert_eq!((s.state(0), s.view(0).failures), (NodeState::Ready, 0));
    s.reply_serial(0, 0).gives(&[]);
    assert_eq!(s.cluster().stats().late_replies, 1);
    s.written(1).reply(1).gives(&["r1 reply n0"]);
}

/// 4.5: or at WriteDone, if the frame is not wholly accepted.
#[test]
fn under_keep_an_unfinished_frame_holds_its_slot_until_it_is_accepted() {
    let config = exact().max_in_flight(1u32).write_timeout(Limit::Never);
    let mut s = ready(config, ONE);
    s.at(0)
        .submit(any())
        .started(0)
        .submit(any())
        .gives(&["write n0 r0"]);
    s.at(30_000).tick().gives(&["r0 Timeout PossiblyWritten"]);
    assert_eq!(s.view(0).in_flight, 1);
    s.done(0).gives(&["write n0 r1"]);
}

/// 4.5, 4.7: and the retry is not written to that connection before.
#[test]
fn under_keep_a_retry_waits_for_its_own_unfinished_frame() {
    let mut s = ready(exact().write_timeout(Limit::Never), ONE);
    s.at(0)
        .submit(any().idempotent())
        .started(0)
        .gives(&["write n0 r0"]);
    s.at(30_000).tick().gives(&[]);
    s.at(31_000).tick().gives(&[]);
    s.submit(any()).gives(&["write n0 r1"]);
    s.at(31_500).done(0).gives(&["write n0 r0"]);
}

/// 4.5: and neither the next one, whatever became of the frame between.
#[test]
fn under_keep_a_later_retry_too_waits_for_an_unfinished_frame() {
    for second_is_whole in [true, false] {
        let mut s = ready(exact().write_timeout(Limit::Never), TWO);
        s.at(0).submit(any().idempotent());
        let first = written_to(&mut s);
        s.started(0).at(30_000).tick().gives(&[]);
        s.at(31_000).tick();
        assert_eq!(written_to(&mut s), 1 - first);
        match second_is_whole {
            true => s.written(0),
            false => s.started(0),
        };
        s.at(61_000).tick().gives(&[]);
        s.at(63_000).tick();
        if second_is_whole {
            assert_eq!(written_to(&mut s), 1 - first);
        } else {
            s.gives(&[]);
        }
    }
}

/// 4.5, K43: `Disconnect`: the connection is closed, the others on it are settled as disconnected.
#[test]
fn under_disconnect_a_timed_out_attempt_closes_the_connection() {
    let mut s = ready(disconnecting(), ONE);
    s.at(0).submit(any()).written(0).gives(&["write n0 r0"]);
    s.at(10_000)
        .submit(any())
        .written(1)
        .gives(&["write n0 r1"]);
    s.at(30_000).tick().gives(&[
        "close n0",
        "r0 Timeout PossiblyWritten",
        "r1 Disconnected(RequestTimeout) PossiblyWritten",
    ]);
    let failure = s.view(0).last_failure.expect("a failure");
    assert_eq!(
        (failure.stage, failure.cause),
        (redial::Stage::Established, Cause::RequestTimeout)
    );
    assert_eq!((s.view(0).failures, s.rests_until(0)), (1, Some(t(30_100))));
}

/// 4.5, 4.7: the others are charged with no attempt and rejoin at once.
#[test]
fn under_disconnect_the_others_are_retried_without_a_charge() {
    let config = disconnecting()
        .max_attempts(1)
        .delivery_timeout(Limit::Never);
    let mut s = ready(config, TWO);
    s.at(0)
        .submit_on(0, any())
        .written(0)
        .gives(&["write n0 r0"]);
    s.at(10)
        .throttled(1, 20)
        .submit(any().idempotent())
        .written(1)
        .gives(&["write n0 r1"]);
    s.at(30_000)
        .tick()
        .gives(&["close n0", "r0 Timeout PossiblyWritten", "write n1 r1"]);
    assert_eq!(s.cluster().stats().retries, 0);
    s.written(1).reply(1).gives(&["r1 reply n1"]);
    assert_eq!(s.outcome(1).map(|success| success.attempts), Ok(2));
}

/// 4.5, R045: a partly written request under `Disconnect` closes the connection too.
#[test]
fn under_disconnect_a_partly_written_request_closes_the_connection() {
    let mut s = ready(disconnecting().write_timeout(Limit::Never), ONE);
    s.at(0).submit(any()).started(0).gives(&["write n0 r0"]);
    s.at(30_000)
        .tick()
        .gives(&["close n0", "r0 Timeout PossiblyWritten"]);
}

/// 4.5: `ByProtocol` disconnects where replies are matched by order.
#[test]
fn by_order_a_timed_out_attempt_closes_the_connection() {
    let mut s = ready(exact().matching(Matching::Order), ONE);
    s.at(0).submit(any()).written(0).gives(&["write n0 r0"]);
    s.at(30_000)
        .tick()
        .gives(&["close n0", "r0 Timeout PossiblyWritten"]);
}

/// 4.5: a shorter timeout given with the request gives up that request alone.
#[test]
fn a_shorter_request_timeout_gives_up_that_request_alone() {
    for config in [exact(), disconnecting()] {
        let mut s = ready(config, ONE);
        s.at(0)
            .submit(any().request_timeout(ms(400)))
            .written(0)
            .whatever();
        s.submit(any())
            .written(1)
            .gives(&["write n0 r1"])
            .deadline(400);
        s.at(400).tick().gives(&["r0 Timeout PossiblyWritten"]);
        assert_eq!(s.cluster().stats().tombstones, 1);
        s.at(500)
            .reply_serial(0, 0)
            .reply(1)
            .gives(&["r1 reply n0"]);
        assert_eq!(s.view(0).failures, 0);
    }
}

/// 4.5: a longer one replaces the configured one for it.
#[test]
fn a_longer_request_timeout_replaces_the_configured_one() {
    let mut s = ready(disconnecting(), ONE);
    s.at(0)
        .submit(any().request_timeout(ms(50_000)))
        .written(0)
        .gives(&["write n0 r0"]);
    s.deadline(50_000).at(40_000).tick().gives(&[]);
    s.at(50_000)
        .tick()
        .gives(&["close n0", "r0 Timeout PossiblyWritten"]);
}

/// 4.9, 4.5: a tombstone that is never answered disconnects as an attempt timeout does.
#[test]
fn under_disconnect_a_tombstone_that_is_never_answered_closes_the_connection() {
    let mut s = ready(disconnecting(), ONE);
    s.at(0)
        .submit(any())
        .written(0)
        .whatever()
        .cancel(0)
        .whatever();
    s.at(10).submit(any()).written(1).gives(&["write n0 r1"]);
    s.deadline(30_000).at(30_000).tick().gives(&[
        "close n0",
        "r1 Disconnected(RequestTimeout) PossiblyWritten",
    ]);
}

/// 4.7: never handed over: at once, without a charge, without a wait.
#[test]
fn what_was_never_handed_over_goes_to_another_node_at_once() {
    let mut s = ready(exact().max_attempts(1), TWO);
    s.submit(any());
    let first = written_to(&mut s);
    s.closed(first)
        .gives(&[&format!("write n{} r0", 1 - first)]);
    assert_eq!(s.cluster().stats().retries, 0);
}

/// 4.7: it is never refused for a full queue.
#[test]
fn a_request_that_rejoins_needs_no_room_in_the_queue() {
    let mut s = ready(exact().queue_max_requests(1u32), ONE);
    s.submit(any()).submit(any()).submit(any()).whatever();
    s.closed(0).gives(&[]);
    assert_eq!(s.cluster().stats().waiting_requests, 3);
    s.submit(any()).gives(&["error QueueFull"]);
}

/// 4.7: handed over and not idempotent: not again.
#[test]
fn what_may_have_been_carried_out_is_not_retried() {
    let mut s = ready(exact(), ONE);
    s.submit(any()).started(0).whatever();
    s.closed(0)
        .gives(&["r0 Disconnected(PeerClosed) PossiblyWritten"]);
}

/// 4.7, KIP-580: idempotent: again after the retry backoff, which doubles.
#[test]
fn an_idempotent_request_is_retried_after_a_growing_wait() {
    let retry = Backoff::new(ms(100), ms(1_000), 2);
    let mut s = ready(exact().retry_backoff(retry), ONE);
    s.at(0).submit(any().idempotent()).gives(&["write n0 r0"]);
    let mut now = 0;
    for wait in [100, 200, 400, 800, 1_000, 1_000] {
        s.at(now).written(0).gives(&[]);
        s.verdict(
            0,
            Verdict {
                next: redial::Next::RetryHere,
                not_executed: false,
                ..Verdict::DONE
            },
        );
        s.gives(&[]).deadline(now + wait);
        let scheduled = Event::RetryScheduled {
            request: s.request(0),
            node: s.id(0),
            at: t(now + wait),
        };
        assert!(s.events().contains(&scheduled));
        now += wait;
        s.at(now).tick().gives(&["write n0 r0"]);
    }
    s.written(0).reply(0).gives(&["r0 reply n0"]);
    assert_eq!(s.outcome(0).map(|success| success.attempts), Ok(7));
    assert_eq!(s.cluster().stats().retries, 6);
}

/// 4.7: a disconnected idempotent request waits, and avoids the node that failed it.
#[test]
fn a_retry_avoids_the_node_that_failed_it() {
    let mut s = ready(exact(), TWO);
    s.at(0).submit(any().idempotent());
    let first = written_to(&mut s);
    s.written(0).gives(&[]);
    s.at(10)
        .verdict(0, Verdict::RETRY_ELSEWHERE)
        .gives(&[])
        .deadline(110);
    s.at(110)
        .tick()
        .gives(&[&format!("write n{} r0", 1 - first)]);
}

/// 4.7: while another Ready node could take it now; otherwise it goes where it was.
#[test]
fn a_retry_goes_back_when_there_is_no_other_ready_node() {
    let mut s = ready(exact(), ONE);
    s.at(0).submit(any()).written(0).gives(&["write n0 r0"]);
    s.at(10).verdict(0, Verdict::RETRY_ELSEWHERE).gives(&[]);
    s.at(110).tick().gives(&["write n0 r0"]);
}

/// 4.7: a verdict *here* keeps the node while it is Ready.
#[test]
fn a_verdict_here_keeps_the_node() {
    for _ in 0..5 {
        let mut s = ready(exact(), TWO);
        s.at(0).submit(any());
        let first = written_to(&mut s);
        s.written(0).gives(&[]);
        s.at(10).verdict(0, Verdict::RETRY_HERE).gives(&[]);
        // The other has less to do.
        s.submit_on(first, any()).whatever();
        s.at(110).tick().gives(&[&format!("write n{first} r0")]);
    }
}

/// 4.7: when it is Ready no more, another takes it.
#[test]
fn a_verdict_here_is_lifted_when_the_node_is_lost() {
    let mut s = ready(exact(), TWO);
    s.at(0).submit(any());
    let first = written_to(&mut s);
    s.written(0)
        .at(10)
        .verdict(0, Verdict::RETRY_HERE)
        .gives(&[]);
    s.at(20).closed(first).gives(&[]);
    s.at(110)
        .tick()
        .gives(&[&format!("write n{} r0", 1 - first)]);
}

/// 4.7: also one whose backoff is over, and that waits for a slot there.
#[test]
fn a_verdict_here_is_lifted_from_a_request_that_waits_for_the_node() {
    let mut s = ready(exact(), TWO);
    s.at(0).submit(any());
    let first = written_to(&mut s);
    s.written(0).at(10).verdict(0, Verdict::RETRY_HERE);
    s.throttled(first, 60_000).gives(&[]);
    s.at(110).tick().gives(&[]);
    s.at(120)
        .closed(first)
        .gives(&[&format!("write n{} r0", 1 - first)]);
}

/// 10.1: a bound request waits for its node during its backoff, too, and no longer.
#[test]
fn requests_in_backoff_are_counted_as_waiting_for_their_node() {
    let mut s = ready(exact(), ONE);
    s.submit_on(0, any())
        .submit(any())
        .written(0)
        .written(1)
        .whatever();
    for (request, queued) in [(0, 1), (1, 1)] {
        s.verdict(request, Verdict::RETRY_HERE).gives(&[]);
        assert_eq!(s.view(0).queued, queued);
    }
    s.at(100).tick().whatever();
    assert_eq!(s.view(0).queued, 0);
    s.throttled(0, 200).submit_on(0, any()).gives(&[]);
    assert_eq!(s.view(0).queued, 1);
}

/// 4.7: a verdict *elsewhere* on a bound request completes it with that reply.
#[test]
fn a_verdict_elsewhere_completes_a_bound_request() {
    let mut s = ready(exact(), TWO);
    s.submit_on(0, any().idempotent())
        .written(0)
        .gives(&["write n0 r0"]);
    s.verdict(0, Verdict::RETRY_ELSEWHERE)
        .gives(&["r0 reply n0"]);
}

/// 4.7: a verdict that says it was not carried out makes a retry safe.
#[test]
fn a_verdict_is_followed_only_if_the_retry_is_safe() {
    let verdict = |not_executed| Verdict {
        next: redial::Next::RetryHere,
        not_executed,
        ..Verdict::DONE
    };
    let mut s = ready(exact(), ONE);
    s.at(0)
        .submit(any())
        .submit(any())
        .written(0)
        .written(1)
        .whatever();
    s.verdict(0, verdict(false)).gives(&["r0 reply n0"]);
    s.verdict(1, verdict(true)).gives(&[]).deadline(100);
}

/// 4.7: the server's wait rules if it is longer.
#[test]
fn the_servers_wait_rules_if_it_is_longer() {
    for (asked, wait) in [(30, 100), (5_000, 5_000)] {
        let mut s = ready(exact(), ONE);
        s.at(0).submit(any()).written(0).whatever();
        s.verdict(0, Verdict::RETRY_HERE.after(ms(asked)))
            .gives(&[])
            .deadline(wait);
        s.at(wait).tick().gives(&["write n0 r0"]);
    }
}

/// 4.7: only if the deadline allows the wait; else it ends with its last outcome.
#[test]
fn a_retry_beyond_the_deadline_is_not_waited_for() {
    let mut s = ready(exact(), ONE);
    s.at(0)
        .submit(any().timeout(ms(1_000)))
        .submit(any().timeout(ms(1_000)).idempotent());
    s.written(0).written(1).whatever();
    s.verdict(0, Verdict::RETRY_HERE.after(ms(1_000)))
        .gives(&["r0 reply n0"]);
    s.at(950)
        .closed(0)
        .gives(&["r1 Disconnected(PeerClosed) PossiblyWritten"]);
}

/// 4.7: only if attempts remain.
#[test]
fn a_request_has_a_limit_of_attempts_if_so_configured() {
    let mut s = ready(exact().max_attempts(2), ONE);
    s.at(0).submit(any()).written(0).whatever();
    s.verdict(0, Verdict::RETRY_HERE).gives(&[]);
    s.at(100).tick().written(0).gives(&["write n0 r0"]);
    s.verdict(0, Verdict::RETRY_HERE).gives(&["r0 reply n0"]);
    assert_eq!(s.outcome(0).map(|success| success.attempts), Ok(2));
}

/// 4.7, 4.5: an attempt timeout of an idempotent request is retried.
#[test]
fn a_timed_out_attempt_of_an_idempotent_request_is_retried() {
    let mut s = ready(exact().request_timeout(after(1_000)), TWO);
    s.at(0).submit(any().idempotent());
    let first = written_to(&mut s);
    s.written(0).gives(&[]);
    s.at(1_000).tick().gives(&[]).deadline(1_100);
    s.at(1_100)
        .tick()
        .gives(&[&format!("write n{} r0", 1 - first)]);
    // The late reply of the first attempt is not its reply.
    s.reply_serial(first, 0).gives(&[]);
    s.written(0)
        .reply(0)
        .gives(&[&format!("r0 reply n{}", 1 - first)]);
}

/// 4.7: a bound request is retried on its node, when that is back.
#[test]
fn a_bound_request_is_retried_on_its_node() {
    let mut s = ready(exact(), TWO);
    s.at(0)
        .submit_on(0, any().idempotent())
        .written(0)
        .gives(&["write n0 r0"]);
    s.at(10).reset(0).gives(&[]);
    s.at(110).tick().gives(&["connect n0"]);
    s.connected(0)
        .ready(0)
        .gives(&["handshake n0", "write n0 r0"]);
}

/// 4.2, 4.7: a retry rejoins at its submit age.
#[test]
fn a_retry_rejoins_at_its_submit_age() {
    let mut s = ready(exact().max_in_flight(1u32), ONE);
    s.at(0).submit(any()).written(0).gives(&["write n0 r0"]);
    s.at(1).submit(any()).submit(any()).gives(&[]);
    s.verdict(0, Verdict::RETRY_HERE).gives(&["write n0 r1"]);
    s.at(101).tick().written(1).gives(&[]);
    s.reply(1).gives(&["r1 reply n0", "write n0 r0"]);
}

/// 4.7, 4.8: in retry backoff a request can end by its deadline, a cancel or a shutdown.
#[test]
fn a_request_in_retry_backoff_can_be_cancelled() {
    let mut s = ready(exact(), ONE);
    s.at(0)
        .submit(any().idempotent())
        .written(0)
        .closed(0)
        .gives(&["write n0 r0"]);
    s.at(50)
        .cancel(0)
        .gives(&["r0 Cancelled PossiblyWritten"])
        .no_deadline();
    assert_eq!(
        (s.error(0).attempts, s.error(0).certainty),
        (1, Certainty::PossiblyWritten)
    );
}

/// 4.8: a request that was answered with a verdict and then ends otherwise has been answered.
#[test]
fn a_request_in_retry_backoff_ends_at_its_deadline() {
    let mut s = Script::new(build(exact()), ONE);
    s.establish(0);
    s.at(0)
        .submit(any().timeout(ms(5_000)).idempotent())
        .written(0)
        .closed(0)
        .whatever();
    s.run_to(4_000).gives(&["connect n0"]);
    s.at(5_000).tick().gives(&["r0 Timeout PossiblyWritten"]);
    assert_eq!(s.error(0).reason, Reason::Timeout);
}

/// K19, R135: the loss of one node leaves what is in flight elsewhere alone.
#[test]
fn the_loss_of_one_node_leaves_the_others_alone() {
    let mut s = ready(exact(), TWO);
    s.at(0)
        .submit_on(1, any())
        .submit_on(0, any())
        .written(0)
        .written(1)
        .whatever();
    s.at(10)
        .ended(0, CloseError::Io)
        .gives(&["r1 Disconnected(Io) PossiblyWritten"]);
    s.at(20).reply(0).gives(&["r0 reply n1"]);
}
