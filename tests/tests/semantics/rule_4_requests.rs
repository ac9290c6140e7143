//! SEMANTICS 4.1 to 4.4, 4.8, 4.9: from submit to the outcome.

use redial::{Cause, Certainty, CloseError, Reason, Success, SuccessKind, Warm};
use redial_tests::script::{Script, after, any, build, exact, ms};

const ONE: &[&str] = &["10.0.0.1:1"];
const TWO: &[&str] = &["10.0.0.1:1", "10.0.0.2:1"];

/// One node, Ready.
fn ready() -> Script {
    ready_with(exact())
}

fn ready_with(config: redial::ConfigBuilder) -> Script {
    let mut s = Script::new(build(config), ONE);
    s.whatever().establish(0);
    s
}

/// 4.1, 4.8: the whole way.
#[test]
fn a_request_goes_from_submit_to_its_reply() {
    let mut s = ready();
    s.at(10).submit(any()).gives(&["write n0 r0"]);
    s.at(20).written(0).gives(&[]);
    s.at(35).reply(0).gives(&["r0 reply n0"]);
    let success = Success {
        kind: SuccessKind::Reply,
        node: s.id(0),
        attempts: 1,
        elapsed: ms(25),
        retry_refused: false,
        budget_exhausted: false,
    };
    assert_eq!(s.outcome(0), Ok(success));
    assert!(!s.cluster().is_open(s.request(0)));
}

/// 4.1: a timeout of zero completes in that call and is never written.
#[test]
fn a_zero_timeout_completes_in_the_submit() {
    let mut s = ready();
    s.at(10)
        .submit(any().timeout(ms(0)))
        .gives(&["r0 Timeout NeverWritten"]);
    assert_eq!((s.error(0).attempts, s.error(0).elapsed), (0, ms(0)));
    let mut s = Script::new(build(exact()), ONE);
    s.at(10)
        .submit(any().timeout(ms(0)))
        .gives(&["r0 Timeout NeverWritten"])
        .no_deadline();
}

/// 4.1, R049, R063: one deadline from submit, which includes all waiting.
#[test]
fn the_delivery_timeout_counts_from_submit() {
    let mut s = Script::new(build(exact().delivery_timeout(after(5_000))), ONE);
    s.at(1_000)
        .submit(any())
        .gives(&["connect n0"])
        .deadline(6_000);
    s.at(4_000)
        .connected(0)
        .ready(0)
        .gives(&["handshake n0", "write n0 r0"]);
    s.at(5_000).written(0).gives(&[]).deadline(6_000);
    s.at(6_000).tick().gives(&["r0 Timeout PossiblyWritten"]);
    assert_eq!((s.error(0).attempts, s.error(0).elapsed), (1, ms(5_000)));
}

/// 4.1, K49: expiry needs only a clock tick.
#[test]
fn a_waiting_request_times_out_without_any_event() {
    let mut s = Script::new(build(exact()), ONE);
    s.at(0)
        .submit(any().timeout(ms(70)))
        .gives(&["connect n0"])
        .deadline(70);
    s.at(70).tick().gives(&["r0 Timeout NeverWritten"]);
    assert!(s.error(0).is_retryable());
}

/// 4.1: without `expects_reply` it completes when the transport has all of it.
#[test]
fn a_request_without_reply_completes_when_wholly_accepted() {
    let mut s = ready();
    s.submit(any().without_reply()).gives(&["write n0 r0"]);
    s.at(5).started(0).gives(&[]);
    s.at(9).done(0).gives(&["r0 sent n0"]);
    assert_eq!(s.view(0).in_flight, 0);
}

/// 4.1, R141: the queue is bounded by count.
#[test]
fn a_full_queue_refuses_a_request_at_once() {
    let mut s = Script::new(build(exact().queue_max_requests(2u32)), ONE);
    s.submit(any()).submit_on(0, any()).gives(&["connect n0"]);
    s.submit(any())
        .submit_on(0, any())
        .gives(&["error QueueFull", "error QueueFull"]);
    s.cancel(0).gives(&["r0 Cancelled NeverWritten"]);
    s.submit(any()).gives(&[]);
}

/// 4.1: what can be handed over at once needs no place in the queue.
#[test]
fn without_a_queue_a_free_node_still_serves() {
    let config = exact()
        .queue_max_requests(0u32)
        .max_in_flight(1u32)
        .warm(Warm::All);
    let mut s = ready_with(config);
    s.submit(any()).gives(&["write n0 r0"]);
    s.submit(any()).gives(&["error QueueFull"]);
    s.written(0).reply(0).gives(&["r0 reply n0"]);
    s.submit(any()).gives(&["write n0 r1"]);
}

/// 4.1: and by bytes.
#[test]
fn the_queue_is_bounded_by_bytes() {
    let mut s = Script::new(build(exact().queue_max_bytes(100u64)), ONE);
    s.submit(any().bytes(60))
        .submit(any().bytes(40))
        .gives(&["connect n0"]);
    s.submit(any().bytes(1)).gives(&["error QueueFull"]);
    s.cancel(1).gives(&["r1 Cancelled NeverWritten"]);
    s.submit(any().bytes(41)).gives(&["error QueueFull"]);
    s.submit(any().bytes(40)).gives(&[]);
}

/// 4.1: and by age; what was never handed over expires.
#[test]
fn a_request_that_waits_too_long_expires() {
    let mut s = Script::new(build(exact().queue_max_age(after(3_000))), ONE);
    s.at(500)
        .submit(any())
        .gives(&["connect n0"])
        .deadline(3_500);
    s.at(3_500).tick().gives(&["r0 Expired NeverWritten"]);
    assert!(s.error(0).is_retryable());
}

/// 4.1, 4.7: a Write that was emitted and withdrawn is back in the queue, as old as it is.
#[test]
fn a_request_that_rejoins_the_queue_past_its_age_limit_expires() {
    let mut s = ready_with(exact().queue_max_age(after(3_000)));
    s.at(0).submit(any()).gives(&["write n0 r0"]);
    s.at(3_500).tick().gives(&[]);
    s.at(4_000)
        .closed(0)
        .tick()
        .gives(&["r0 Expired NeverWritten"]);
}

/// 4.1: the age limit is for the queue, not for what is in flight.
#[test]
fn a_request_in_flight_does_not_expire() {
    let mut s = ready_with(exact().queue_max_age(after(3_000)));
    s.submit(any()).written(0).whatever();
    s.at(5_000).tick().gives(&[]);
    s.reply(0).gives(&["r0 reply n0"]);
}

/// 4.1, R119: a request for a node that is not in the list is refused.
#[test]
fn a_request_for_an_unknown_node_is_refused() {
    let mut s = ready();
    s.set_nodes(&TWO[1..]).whatever();
    s.submit_on(0, any());
    let lines = s.take();
    assert!(lines[0].starts_with("error UnknownNode"), "{lines:?}");
}

/// 4.1: with `fail_fast` it fails when every node has failed an attempt since the submit.
#[test]
fn a_fail_fast_request_fails_when_every_node_has_failed() {
    let mut s = Script::new(build(exact()), TWO);
    s.at(0).submit(any().fail_fast());
    let first = usize::from(s.take() == ["connect n1"]);
    s.at(10)
        .refused(first)
        .gives(&[&format!("connect n{}", 1 - first)]);
    s.at(20)
        .refused(1 - first)
        .gives(&["r0 Disconnected(Refused) NeverWritten"]);
    assert_eq!(s.error(0).stage, Some(redial::Stage::Connect));
    assert_eq!(s.error(0).node, Some(s.id(1 - first)));
}

/// 4.1: failures before the submit do not count.
#[test]
fn a_fail_fast_request_ignores_failures_before_its_submit() {
    let mut s = Script::new(build(exact()), TWO);
    s.at(0).begin(0).refused(0).gives(&["connect n0"]);
    s.at(10).submit(any().fail_fast()).gives(&["connect n1"]);
    s.at(20).refused(1).gives(&[]);
    s.at(100).tick().gives(&["connect n0"]);
    s.at(110)
        .refused(0)
        .gives(&["r0 Disconnected(Refused) NeverWritten"]);
}

/// 4.1: bound to a node, that node's failure is enough.
#[test]
fn a_bound_fail_fast_request_fails_with_its_node() {
    let mut s = Script::new(build(exact()), TWO);
    s.at(0)
        .submit_on(0, any().fail_fast())
        .submit_on(0, any())
        .gives(&["connect n0"]);
    s.at(10)
        .refused(0)
        .gives(&["r0 Disconnected(Refused) NeverWritten"]);
    assert!(s.cluster().is_open(s.request(1)));
}

/// 4.2: the oldest submit first, of the node's own queue and the Any queue together.
#[test]
fn a_free_slot_goes_to_the_oldest_submit_of_both_queues() {
    let mut s = ready_with(exact().max_in_flight(1u32));
    s.submit(any()).written(0).gives(&["write n0 r0"]);
    s.submit(any())
        .submit_on(0, any())
        .submit(any())
        .submit_on(0, any())
        .gives(&[]);
    for request in 0..4 {
        s.reply(request).gives(&[
            &format!("r{request} reply n0"),
            &format!("write n0 r{}", request + 1),
        ]);
        s.written(request + 1).gives(&[]);
    }
}

/// 4.2: what cannot be placed does not hold up later ones.
#[test]
fn a_request_that_cannot_be_placed_does_not_hold_up_others() {
    let mut s = Script::new(build(exact()), TWO);
    s.establish(1);
    s.submit_on(0, any()).gives(&["connect n0"]);
    s.submit(any())
        .submit_on(1, any())
        .gives(&["write n1 r1", "write n1 r2"]);
}

/// 4.2, K21: with an empty list a request waits, and fails as NoNodes at its deadline.
#[test]
fn with_an_empty_list_a_request_fails_as_no_nodes_at_its_deadline() {
    let mut s = Script::empty(build(exact()), 0);
    s.at(0)
        .submit(any().timeout(ms(900)))
        .gives(&[])
        .deadline(900);
    s.at(900).tick().gives(&["r0 NoNodes NeverWritten"]);
}

/// 4.8: what a failure says.
#[test]
fn a_failure_says_why_where_how_often_and_what_is_known() {
    let mut s = ready();
    s.at(100)
        .submit(any())
        .submit(any())
        .gives(&["write n0 r0", "write n0 r1"]);
    s.started(0).gives(&[]);
    s.at(350)
        .ended(0, CloseError::Io)
        .gives(&["r0 Disconnected(Io) PossiblyWritten"]);
    let error = s.error(0);
    assert_eq!(error.reason, Reason::Disconnected(Cause::Io));
    assert_eq!(error.stage, Some(redial::Stage::Established));
    assert_eq!(error.node, Some(s.id(0)));
    assert_eq!((error.attempts, error.elapsed), (1, ms(250)));
    assert_eq!(error.certainty, Certainty::PossiblyWritten);
    assert!(!error.is_retryable());
    // What was never handed over waits for another connection.
    assert!(s.cluster().is_open(s.request(1)));
}

/// 4.8: the user's encoder refuses.
#[test]
fn a_request_that_its_encoder_refuses_fails_alone() {
    let mut s = ready();
    s.submit(any()).submit(any()).whatever();
    s.encoder_refuses(0).gives(&["r0 Rejected NeverWritten"]);
    s.written(1).reply(1).gives(&["r1 reply n0"]);
    assert_eq!(s.view(0).in_flight, 0);
}

/// 4.9: cancel completes at once; a second one finds nothing.
#[test]
fn cancel_completes_at_once_in_every_state() {
    let mut s = Script::new(build(exact()), ONE);
    s.submit(any())
        .cancel(0)
        .gives(&["connect n0", "r0 Cancelled NeverWritten"]);
    s.cancel(0).gives(&["error not open"]);
    s.establish(0);
    s.submit(any())
        .cancel(1)
        .gives(&["write n0 r1", "r1 Cancelled NeverWritten"]);
    s.submit(any())
        .started(2)
        .whatever()
        .cancel(2)
        .gives(&["r2 Cancelled PossiblyWritten"]);
    s.submit(any())
        .written(3)
        .reply(3)
        .whatever()
        .cancel(3)
        .gives(&["error not open"]);
}

/// 4.9, 4.15, R061: not handed over it never will be.
#[test]
fn a_request_cancelled_before_its_hand_over_is_never_written() {
    let mut s = ready();
    s.submit(any()).whatever();
    let (connection, serial) = (s.connection(0), s.serial(0));
    assert!(s.cluster().may_write(s.cluster().now(), connection, serial));
    s.cancel(0).whatever();
    assert!(!s.cluster().may_write(s.cluster().now(), connection, serial));
    s.started(0).done(0).gives(&[]);
    assert_eq!(s.cluster().stats().stale_facts, 2);
    assert_eq!(s.view(0).in_flight, 0);
}

/// 4.9, R069: a cancelled request keeps its slot until its reply comes, and the reply is dropped.
#[test]
fn a_cancelled_request_keeps_its_slot_until_its_reply() {
    let mut s = ready_with(exact().max_in_flight(1u32));
    s.submit(any()).written(0).whatever();
    s.cancel(0).gives(&["r0 Cancelled PossiblyWritten"]);
    s.submit(any()).gives(&[]);
    let view = s
        .cluster()
        .connection(s.connection(0))
        .expect("it is Ready");
    assert_eq!((view.in_flight, view.tombstones), (1, 1));
    s.reply_serial(0, 0).gives(&["write n0 r1"]);
    assert_eq!(s.cluster().stats().late_replies, 1);
}

/// 4.9: without a reply, until its frame is wholly accepted.
#[test]
fn a_cancelled_request_without_reply_keeps_its_slot_until_its_frame_is_accepted() {
    let mut s = ready_with(exact().max_in_flight(1u32));
    s.submit(any().without_reply()).started(0).whatever();
    s.cancel(0).gives(&["r0 Cancelled PossiblyWritten"]);
    s.submit(any()).gives(&[]);
    s.done(0).gives(&["write n0 r1"]);
}

/// 4.9: the request's own deadline leaves the same.
#[test]
fn a_request_past_its_own_deadline_keeps_its_slot_until_its_reply() {
    let mut s = ready_with(exact().max_in_flight(1u32));
    s.at(0).submit(any().timeout(ms(500))).written(0).whatever();
    s.at(500).tick().gives(&["r0 Timeout PossiblyWritten"]);
    s.submit(any()).gives(&[]);
    s.reply_serial(0, 0).gives(&["write n0 r1"]);
}

/// 4.9, R069: or until its attempt's time is over.
#[test]
fn a_tombstone_ends_with_its_attempts_time() {
    let mut s = ready_with(exact().max_in_flight(1u32).request_timeout(after(2_000)));
    s.at(100)
        .submit(any())
        .written(0)
        .whatever()
        .cancel(0)
        .whatever();
    s.submit(any()).gives(&[]).deadline(2_100);
    s.at(2_100).tick().gives(&["write n0 r1"]);
    assert_eq!(s.cluster().stats().tombstones, 0);
}

/// 4.9: the longer of the configured request timeout and its own counts.
#[test]
fn a_tombstone_with_a_longer_timeout_of_its_own_stays_longer() {
    let mut s = ready_with(exact().request_timeout(after(2_000)));
    s.at(0)
        .submit(any().request_timeout(ms(7_000)))
        .written(0)
        .whatever();
    s.submit(any().request_timeout(ms(300)))
        .written(1)
        .whatever();
    s.cancel(0).cancel(1).whatever();
    s.deadline(2_000).at(2_000).tick().gives(&[]);
    assert_eq!(s.cluster().stats().tombstones, 1);
    s.deadline(7_000).at(7_000).tick().gives(&[]);
    assert_eq!(s.cluster().stats().tombstones, 0);
}

/// R057, DESIGN 4.1: reply and timeout at the same moment complete a request once.
#[test]
fn a_reply_and_a_timeout_at_once_complete_a_request_once() {
    let mut s = ready();
    s.at(0).submit(any().timeout(ms(100))).written(0).whatever();
    s.at(100).reply(0).tick().gives(&["r0 reply n0"]);
    let mut s = ready();
    s.at(0).submit(any().timeout(ms(100))).written(0).whatever();
    s.at(100)
        .tick()
        .reply(0)
        .gives(&["r0 Timeout PossiblyWritten"]);
}

/// R069, DESIGN 4.3: everything returns to zero when idle.
#[test]
fn counts_return_to_zero() {
    let mut s = ready();
    for request in 0..100 {
        s.submit(any()).started(request);
    }
    for request in 0..100 {
        match request % 4 {
            0 => s.done(request).reply(request),
            1 => s.cancel(request),
            2 => s.cancel(request).done(request).reply(request),
            _ => s.reply(request).done(request),
        };
    }
    s.whatever().closed(0).whatever();
    let stats = s.cluster().stats();
    assert_eq!((stats.open_requests, stats.waiting_requests), (0, 0));
    assert_eq!(
        (stats.in_flight, stats.tombstones, stats.connections),
        (0, 0, 0)
    );
    assert_eq!(stats.requests, stats.succeeded + stats.failed);
}

/// 4.2, R067: what a failure frees goes to as many as can be served, the oldest first.
#[test]
fn freed_slots_go_to_as_many_requests_as_there_are_slots() {
    let mut s = Script::new(build(exact().max_in_flight(2u32)), TWO);
    s.at(0).establish(0).establish(1);
    for _ in 0..7 {
        s.submit(any());
    }
    assert_eq!(s.take().len(), 4);
    let lost = (0..4).filter(|request| s.connection(0) == s.written_on(*request));
    let lost: Vec<usize> = lost.collect();
    // n0's two were never handed over: they wait again, as the oldest, with the three others.
    s.at(10).closed(0).gives(&[]);
    s.at(110).tick().gives(&["connect n0"]);
    s.connected(0).ready(0);
    let again = lost.iter().map(|request| format!("write n0 r{request}"));
    let again: Vec<String> = again.chain(["handshake n0".to_owned()]).collect();
    let again: Vec<&str> = again.iter().map(String::as_str).collect();
    s.gives(&again);
    s.written(lost[0]).reply(lost[0]);
    s.gives(&[&format!("r{} reply n0", lost[0]), "write n0 r4"]);
}
