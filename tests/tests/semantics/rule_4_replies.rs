//! SEMANTICS 4.3 and 4.4: slots, serials, replies.

use redial::{Cause, Limits, Matching, ReplyTo, Verdict};
use redial_tests::script::{Script, any, build, exact, old};

const ONE: &[&str] = &["10.0.0.1:1"];

/// One node, Ready.
fn ready() -> Script {
    ready_with(exact())
}

fn ready_with(config: redial::ConfigBuilder) -> Script {
    let mut s = Script::new(build(config), ONE);
    s.establish(0);
    s
}

/// 4.3: a Write takes its slot when it is emitted.
#[test]
fn a_slot_is_taken_when_the_write_is_emitted() {
    let mut s = ready_with(exact().max_in_flight(2u32));
    s.submit(any())
        .submit(any())
        .submit(any())
        .gives(&["write n0 r0", "write n0 r1"]);
    assert_eq!(s.view(0).in_flight, 2);
    s.cancel(0)
        .gives(&["r0 Cancelled NeverWritten", "write n0 r2"]);
}

/// 4.3: the smaller limit holds; zero counts as one.
#[test]
fn the_peers_limit_and_the_configured_one_hold_together() {
    for (peer, taken) in [
        (Some(0), 1),
        (Some(1), 1),
        (Some(3), 3),
        (Some(9), 4),
        (None, 4),
    ] {
        let mut s = Script::new(build(exact().max_in_flight(4u32)), ONE);
        for _ in 0..6 {
            s.submit(any());
        }
        s.whatever().connected(0).whatever();
        s.ready_with(0, peer.map_or(Limits::NONE, Limits::in_flight));
        assert_eq!(s.take().len(), taken, "{peer:?}");
    }
}

/// 4.3, 4.4: serials rise by one on each connection, from 0.
#[test]
fn serials_rise_by_one_on_a_connection() {
    let mut s = ready();
    for expected in 0..5 {
        s.submit(any()).whatever();
        assert_eq!(s.serial(expected as usize), expected);
    }
    s.closed(0)
        .whatever()
        .at(1_000)
        .tick()
        .whatever()
        .establish(0);
    s.submit(any()).whatever();
    assert_eq!(s.serial(0), 0, "each connection has its own");
}

/// 4.3: a Reply implies that the Write was started.
#[test]
fn a_reply_implies_that_the_write_was_started() {
    let mut s = ready();
    s.submit(any()).gives(&["write n0 r0"]);
    s.reply(0).gives(&["r0 reply n0"]);
    assert_eq!(s.outcome(0).map(|success| success.attempts), Ok(1));
    assert_eq!(s.view(0).in_flight, 1, "the frame is still on its way out");
    s.done(0).gives(&[]);
    assert_eq!(s.view(0).in_flight, 0);
}

/// 4.3: a second reply is late.
#[test]
fn a_second_reply_is_late() {
    let mut s = ready();
    s.submit(any())
        .started(0)
        .reply(0)
        .gives(&["write n0 r0", "r0 reply n0"]);
    s.reply(0).gives(&[]);
    assert_eq!(s.cluster().stats().late_replies, 1);
    s.done(0).reply(0).gives(&[]);
    assert_eq!(s.cluster().stats().late_replies, 2);
}

/// 4.3: what is full stays full when it is no longer blocked.
#[test]
fn nothing_is_handed_to_a_full_connection_after_it_was_blocked() {
    let mut s = Script::new(build(exact().max_in_flight(1u32)), ONE);
    s.establish(0);
    s.submit(any()).written(0).gives(&["write n0 r0"]);
    s.blocked(0).submit(any()).progress(0).gives(&[]);
    s.reply(0).gives(&["r0 reply n0", "write n0 r1"]);
}

/// 4.3: a blocked connection is full.
#[test]
fn nothing_is_handed_to_a_blocked_connection() {
    let mut s = ready();
    s.blocked(0).submit(any()).submit_on(0, any()).gives(&[]);
    s.progress(0).gives(&["write n0 r0", "write n0 r1"]);
}

/// 4.3: WriteDone is progress.
#[test]
fn an_accepted_frame_unblocks() {
    let mut s = ready();
    s.submit(any())
        .started(0)
        .blocked(0)
        .gives(&["write n0 r0"]);
    s.submit(any()).gives(&[]);
    s.done(0).gives(&["write n0 r1"]);
}

/// 4.3: a reply to a request that expects none completes it all the same.
#[test]
fn a_reply_that_nobody_expects_completes_its_request() {
    let mut s = ready();
    s.submit(any().without_reply())
        .started(0)
        .gives(&["write n0 r0"]);
    s.reply(0).gives(&["r0 reply n0"]);
    s.done(0).gives(&[]);
    assert_eq!(s.view(0).in_flight, 0);
}

/// 4.4: replies are matched by correlation id in any order.
#[test]
fn replies_by_serial_come_in_any_order() {
    let mut s = ready();
    s.submit(any()).submit(any()).submit(any()).whatever();
    s.written(0).written(1).written(2).whatever();
    s.reply(2)
        .reply(0)
        .reply(1)
        .gives(&["r2 reply n0", "r0 reply n0", "r1 reply n0"]);
}

fn ordered() -> Script {
    ready_with(exact().matching(Matching::Order))
}

/// 4.4: or by order.
#[test]
fn replies_by_order_answer_the_oldest() {
    let mut s = ordered();
    s.submit(any())
        .submit(any())
        .written(0)
        .written(1)
        .whatever();
    s.reply_next(0).gives(&["r0 reply n0"]);
    s.reply_next(0).gives(&["r1 reply n0"]);
}

/// 4.4, 4.9, R041, R047: a cancelled request keeps its place in the order.
#[test]
fn a_cancelled_request_keeps_its_place_in_the_order() {
    let mut s = ordered();
    s.submit(any()).submit(any()).submit(any()).whatever();
    s.written(0).written(1).written(2).whatever();
    s.cancel(1).gives(&["r1 Cancelled PossiblyWritten"]);
    s.reply_next(0).gives(&["r0 reply n0"]);
    s.reply_next(0).gives(&[]);
    s.reply_next(0).gives(&["r2 reply n0"]);
    assert_eq!(s.cluster().stats().late_replies, 1);
}

/// 4.4, R041: one that was never handed over has none.
#[test]
fn a_request_cancelled_before_its_hand_over_has_no_place_in_the_order() {
    let mut s = ordered();
    s.submit(any())
        .submit(any())
        .submit(any())
        .written(0)
        .whatever();
    s.cancel(1).gives(&["r1 Cancelled NeverWritten"]);
    s.written(2)
        .reply_next(0)
        .reply_next(0)
        .gives(&["r0 reply n0", "r2 reply n0"]);
}

/// 4.4: a request without a reply has no place in the order of replies.
#[test]
fn a_request_without_reply_is_passed_over_by_the_order() {
    let mut s = ordered();
    s.submit(any().without_reply())
        .submit(any())
        .written(0)
        .written(1)
        .whatever();
    s.reply_next(0).gives(&["r1 reply n0"]);
}

/// 4.4: an id that was issued and is not open is late.
#[test]
fn a_reply_to_a_closed_request_is_late() {
    let mut s = ready();
    s.submit(any()).written(0).reply(0).whatever();
    s.reply_serial(0, 0).gives(&[]);
    assert_eq!(s.cluster().stats().late_replies, 1);
    assert_eq!(s.state(0), redial::NodeState::Ready);
}

/// 4.4: one never issued, or a reply out of nothing, is a protocol error; all is settled.
#[test]
fn a_reply_to_a_request_never_written_is_a_protocol_error() {
    for never_issued in [1, u32::MAX] {
        let mut s = ready();
        s.submit(any()).written(0).whatever();
        s.reply_serial(0, never_issued)
            .gives(&["close n0", "r0 Protocol PossiblyWritten"]);
        assert_eq!(s.view(0).failures, 1);
    }

    let mut s = ordered();
    s.reply_next(0).gives(&["close n0"]);
    let failure = s.view(0).last_failure.expect("a failure");
    assert_eq!(
        (failure.stage, failure.cause),
        (redial::Stage::Established, Cause::ProtocolError)
    );
}

/// 4.4: a serial of another connection is not open on this one.
#[test]
fn a_reply_with_a_serial_of_an_older_connection_is_a_protocol_error() {
    let mut s = ready();
    s.submit(any())
        .submit(any())
        .written(0)
        .written(1)
        .reply(0)
        .reply(1)
        .whatever();
    s.closed(0).whatever().run_to(1_000).establish(0);
    s.submit(any()).written(2).gives(&["write n0 r2"]);
    assert_eq!(s.serial(2), 0);
    s.reply_serial(0, 1)
        .gives(&["close n0", "r2 Protocol PossiblyWritten"]);
}

/// 2.3, 12: a reply on a connection that has ended reaches nobody.
#[test]
fn a_reply_on_an_ended_connection_is_stale() {
    let mut s = ready();
    s.submit(any().idempotent()).written(0).whatever();
    s.closed(0).gives(&[]);
    s.at(1_000).tick().whatever();
    let connection = s.connection(old(0));
    let (to, verdict) = (ReplyTo::Serial(0), Verdict::DONE);
    s.input(redial::Input::Reply {
        connection,
        to,
        verdict,
    })
    .gives(&[]);
    assert!(s.cluster().is_open(s.request(0)));
    assert_eq!(s.cluster().stats().stale_facts, 1);
}
