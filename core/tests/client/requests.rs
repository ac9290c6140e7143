//! Requests from submit to completion, with their payloads.

use bytes::Bytes;
use redial::{
    Cause,
    Certainty::{NeverWritten, PossiblyWritten},
    CloseError, Reason, RequestOptions, SubmitError, Target,
    client::length_prefixed::Frame,
};

use crate::rig::{Rig, Seen, config, ms, wire};

const ANY: RequestOptions = RequestOptions::new();

#[test]
fn a_reply_goes_to_its_request() {
    let (mut rig, [c]) = Rig::ready(config());
    let id = rig.submit("ping", ANY);
    assert_eq!(rig.sent(c), [Frame::request(0, "ping")]);
    rig.receive(c, &[Frame::reply(0, "pong")]);
    assert_eq!(rig.seen(), [Seen::Reply(id, "pong".into())]);
}

#[test]
fn pipelined_requests_leave_together_and_replies_come_in_any_order() {
    let (mut rig, [c]) = Rig::ready(config());
    let ids = ["a", "b", "c"].map(|request| rig.submit(request, ANY));
    rig.drain();
    let expected = wire(&[
        Frame::request(0, "a"),
        Frame::request(1, "b"),
        Frame::request(2, "c"),
    ]);
    assert_eq!(rig.client.transmit(rig.now, c), expected);
    rig.client.transmitted(rig.now, c, expected.len());
    rig.receive(
        c,
        &[
            Frame::reply(2, "C"),
            Frame::reply(0, "A"),
            Frame::reply(1, "B"),
        ],
    );
    let reply = |n: usize, text: &'static str| Seen::Reply(ids[n], text.into());
    assert_eq!(rig.seen(), [reply(2, "C"), reply(0, "A"), reply(1, "B")]);
}

#[test]
fn a_reply_may_come_before_its_request_is_wholly_accepted() {
    let (mut rig, [c]) = Rig::ready(config());
    let id = rig.submit("ping", ANY);
    rig.drain();
    assert_eq!(rig.client.transmit(rig.now, c).len(), 13);
    rig.client.transmitted(rig.now, c, 12);
    rig.receive(c, &[Frame::reply(0, "pong")]);
    assert_eq!(rig.seen(), [Seen::Reply(id, "pong".into())]);
    assert_eq!(
        rig.client.transmit(rig.now, c),
        b"g",
        "the frame is written to its end"
    );
}

#[test]
fn bytes_that_were_not_accepted_come_again() {
    let (mut rig, [c]) = Rig::ready(config());
    rig.submit("ping", ANY);
    rig.drain();
    let frame = wire(&[Frame::request(0, "ping")]);
    let mut accepted = 0;
    for count in [3, 0, 6, 4] {
        assert_eq!(rig.client.transmit(rig.now, c), &frame[accepted..]);
        rig.client.transmitted(rig.now, c, count);
        accepted += count;
    }
    assert!(rig.client.transmit(rig.now, c).is_empty());
}

#[test]
fn a_request_without_reply_is_complete_when_it_is_wholly_accepted() {
    let (mut rig, [c]) = Rig::ready(config());
    let id = rig.submit("note", ANY.without_reply());
    rig.drain();
    let frame = wire(&[Frame::one_way(0, "note")]);
    assert_eq!(rig.client.transmit(rig.now, c), frame);
    rig.client.transmitted(rig.now, c, frame.len() - 1);
    assert_eq!(rig.seen(), []);
    rig.client.transmitted(rig.now, c, 1);
    assert_eq!(rig.seen(), [Seen::Sent(id)]);
}

#[test]
fn cancelled_in_the_queue_it_is_never_written() {
    let (mut rig, [c]) = Rig::ready(config());
    let [gone, kept] = ["gone", "kept"].map(|request| rig.submit(request, ANY));
    rig.drain();
    assert!(rig.client.cancel(rig.now, gone));
    assert_eq!(
        rig.seen(),
        [Seen::Failed(gone, Reason::Cancelled, NeverWritten)]
    );
    assert_eq!(rig.sent(c), [Frame::request(1, "kept")]);
    rig.receive(c, &[Frame::reply(1, "yes")]);
    assert_eq!(rig.seen(), [Seen::Reply(kept, "yes".into())]);
}

#[test]
fn cancelled_while_partly_written_its_frame_is_finished_and_its_reply_dropped() {
    let (mut rig, [c]) = Rig::ready(config());
    let gone = rig.submit("gone", ANY);
    rig.drain();
    let frame = wire(&[Frame::request(0, "gone")]);
    assert_eq!(rig.client.transmit(rig.now, c), frame);
    rig.client.transmitted(rig.now, c, 5);
    assert!(rig.client.cancel(rig.now, gone));
    let kept = rig.submit("kept", ANY);
    assert_eq!(
        rig.seen(),
        [Seen::Failed(gone, Reason::Cancelled, PossiblyWritten)]
    );
    let rest = [&frame[5..], &wire(&[Frame::request(1, "kept")])].concat();
    assert_eq!(rig.client.transmit(rig.now, c), rest);
    rig.client.transmitted(rig.now, c, rest.len());
    rig.receive(c, &[Frame::reply(0, "late"), Frame::reply(1, "yes")]);
    assert_eq!(rig.seen(), [Seen::Reply(kept, "yes".into())]);
    assert_eq!(rig.client.cluster().stats().late_replies, 1);
}

#[test]
fn cancelled_after_it_was_written_its_reply_is_dropped() {
    let (mut rig, [c]) = Rig::ready(config());
    let gone = rig.submit("gone", ANY);
    rig.sent(c);
    assert!(rig.client.cancel(rig.now, gone));
    rig.receive(c, &[Frame::reply(0, "late")]);
    assert_eq!(
        rig.seen(),
        [Seen::Failed(gone, Reason::Cancelled, PossiblyWritten)]
    );
    assert_eq!(rig.client.cluster().stats().in_flight, 0);
}

#[test]
fn cancelled_while_its_reply_is_partly_read_the_next_reply_is_not_off_by_one() {
    let (mut rig, [c]) = Rig::ready(config());
    let [gone, kept] = ["gone", "kept"].map(|request| rig.submit(request, ANY));
    rig.sent(c);
    let replies = wire(&[Frame::reply(0, "late"), Frame::reply(1, "yes")]);
    rig.read(c, &replies[..7]);
    assert!(rig.client.cancel(rig.now, gone));
    rig.read(c, &replies[7..]);
    let failed = Seen::Failed(gone, Reason::Cancelled, PossiblyWritten);
    assert_eq!(rig.seen(), [failed, Seen::Reply(kept, "yes".into())]);
}

#[test]
fn what_the_encoder_refuses_fails_alone() {
    let (mut rig, [c]) = Rig::ready(config());
    let before = rig.submit("before", ANY);
    let refused = rig.submit(vec![0; 99_996], ANY); // With kind and id one byte over the limit.
    let after = rig.submit("after", ANY);
    assert_eq!(
        rig.sent(c),
        [Frame::request(0, "before"), Frame::request(2, "after")]
    );
    assert_eq!(
        rig.seen(),
        [Seen::Failed(refused, Reason::Rejected, NeverWritten)]
    );
    rig.receive(c, &[Frame::reply(0, "x"), Frame::reply(2, "y")]);
    assert_eq!(
        rig.seen(),
        [
            Seen::Reply(before, "x".into()),
            Seen::Reply(after, "y".into())
        ]
    );
}

#[test]
fn the_longest_frame_is_sent() {
    let (mut rig, [c]) = Rig::ready(config());
    rig.submit(vec![0; 99_995], ANY);
    assert_eq!(rig.sent(c), [Frame::request(0, vec![0; 99_995])]);
}

#[test]
fn a_payload_is_kept_until_its_completion_and_no_longer() {
    let (mut rig, [c]) = Rig::ready(config());
    let payload = Bytes::from(vec![b'x'; 10]);
    rig.submit(payload.clone(), ANY);
    rig.sent(c);
    assert!(!payload.is_unique());
    rig.receive(c, &[Frame::reply(0, "done")]);
    assert!(payload.is_unique());
}

#[test]
fn the_queue_counts_the_bytes_of_payloads() {
    let mut rig = Rig::dialling(1, config().queue_max_bytes(10_u64));
    rig.submit("six by", ANY);
    let refused = rig.client.submit(rig.now, "5 more".into(), ANY);
    assert_eq!(refused.expect_err("11 bytes").error, SubmitError::QueueFull);
    rig.submit("four", ANY);
}

#[test]
fn telling_that_more_was_accepted_than_there_is_does_no_harm() {
    let (mut rig, [c]) = Rig::ready(config());
    let id = rig.submit("note", ANY.without_reply());
    rig.drain();
    let count = rig.client.transmit(rig.now, c).len();
    rig.client.transmitted(rig.now, c, count + 1);
    assert_eq!(rig.seen(), [Seen::Sent(id)]);
}

#[test]
fn bytes_accepted_within_a_frame_put_off_the_write_timeout() {
    let (mut rig, [c]) = Rig::ready(config().write_timeout(ms(1_000)));
    rig.submit("slow", ANY);
    rig.drain();
    for _ in 0..5 {
        assert!(!rig.client.transmit(rig.now, c).is_empty());
        rig.pass(ms(999));
        rig.client.transmitted(rig.now, c, 1);
    }
    assert_eq!(rig.seen(), []);
    rig.pass(ms(1_000));
    assert!(rig.seen().contains(&Seen::Close(c)));
}

#[test]
fn a_new_frame_starts_only_while_fewer_than_64_kib_wait_to_be_accepted() {
    let (mut rig, [c]) = Rig::ready(config());
    let frame = 32_768; // Two of them are 64 KiB.
    for _ in 0..4 {
        rig.submit(vec![b'x'; frame - 9], ANY);
    }
    rig.drain();
    let waiting = |rig: &mut Rig| rig.client.transmit(rig.now, c).len();
    assert_eq!(waiting(&mut rig), 2 * frame);
    rig.client.transmitted(rig.now, c, 1);
    assert_eq!(
        waiting(&mut rig),
        3 * frame - 1,
        "one byte fewer than 64 KiB"
    );
    rig.client.transmitted(rig.now, c, frame - 1);
    assert_eq!(waiting(&mut rig), 2 * frame, "64 KiB again");
    rig.client.transmitted(rig.now, c, 2 * frame);
    assert_eq!(waiting(&mut rig), frame, "the last one");
}

#[test]
fn a_retry_sends_the_same_payload_to_another_node() {
    let (mut rig, [a, b]) = Rig::ready(config());
    let id = rig.submit("work", ANY.idempotent());
    rig.drain();
    let (first, second) = match rig.sent(a)[..] {
        [] => (b, a),
        _ => (a, b),
    };
    rig.sent(first);
    rig.close(first, CloseError::Io);
    rig.pass(ms(200));
    assert_eq!(rig.sent(second), [Frame::request(0, "work")]);
    rig.receive(second, &[Frame::reply(0, "done")]);
    assert_eq!(rig.seen(), [Seen::Reply(id, "done".into())]);
}

#[test]
fn what_was_not_written_yet_goes_to_another_node_at_once() {
    let (mut rig, [a, b]) = Rig::ready(config());
    let id = rig.submit("work", ANY);
    rig.drain();
    let loaded = |rig: &Rig, c| {
        rig.client
            .cluster()
            .connection(c)
            .is_some_and(|c| c.in_flight > 0)
    };
    let (first, second) = if loaded(&rig, a) { (a, b) } else { (b, a) };
    rig.close(first, CloseError::Io);
    assert_eq!(rig.sent(second), [Frame::request(0, "work")]);
    rig.receive(second, &[Frame::reply(0, "done")]);
    assert_eq!(rig.seen(), [Seen::Reply(id, "done".into())]);
}

#[test]
fn a_written_request_that_must_not_be_repeated_fails_with_its_connection() {
    let (mut rig, [c]) = Rig::ready(config());
    let id = rig.submit("once", ANY);
    rig.sent(c);
    rig.close(c, CloseError::Peer);
    let reason = Reason::Disconnected(Cause::PeerClosed);
    assert_eq!(rig.seen(), [Seen::Failed(id, reason, PossiblyWritten)]);
}

#[test]
fn a_server_can_ask_for_a_retry_here() {
    let (mut rig, [c]) = Rig::ready(config());
    let id = rig.submit("work", ANY);
    rig.sent(c);
    rig.receive(c, &[Frame::retry_here(0, ms(500))]);
    rig.pass(ms(499));
    assert_eq!(
        (rig.sent(c), rig.seen()),
        (vec![], vec![]),
        "it waits as long as it was told"
    );
    rig.pass(ms(1));
    assert_eq!(rig.sent(c), [Frame::request(1, "work")]);
    rig.receive(c, &[Frame::reply(1, "done")]);
    assert_eq!(rig.seen(), [Seen::Reply(id, "done".into())]);
}

#[test]
fn a_bound_request_ends_with_the_reply_that_sends_it_elsewhere() {
    let (mut rig, [c]) = Rig::ready(config());
    let node = rig.client.cluster().connection(c).expect("it is up").node;
    let id = rig.submit(
        "work",
        RequestOptions {
            target: Target::Node(node),
            ..ANY
        },
    );
    rig.sent(c);
    rig.receive(c, &[Frame::retry_elsewhere(0, ms(0))]);
    assert_eq!(rig.seen(), [Seen::Reply(id, "".into())]);
}

#[test]
fn after_its_time_is_over_a_queued_request_is_not_written() {
    let (mut rig, [c]) = Rig::ready(config());
    let id = rig.submit("late", ANY.timeout(ms(10)));
    rig.drain();
    rig.now += ms(10);
    assert!(rig.client.transmit(rig.now, c).is_empty());
    assert_eq!(
        rig.seen(),
        [Seen::Failed(id, Reason::Timeout, NeverWritten)]
    );
}

#[test]
fn a_request_that_is_not_accepted_is_given_back() {
    let (mut rig, [_c]) = Rig::ready(config());
    rig.client
        .shutdown(rig.now, ms(0))
        .expect("the drain is short");
    let refused = rig
        .client
        .submit(rig.now, "mine".into(), ANY)
        .expect_err("it is closed");
    assert_eq!(
        (&refused.request[..], refused.error),
        (&b"mine"[..], SubmitError::Closed)
    );
    assert_eq!(refused.to_string(), "the client is closed");
}

#[test]
fn shut_down_it_finishes_what_is_handed_over_and_starts_nothing() {
    let (mut rig, [c]) = Rig::ready(config());
    let written = rig.submit("written", ANY);
    rig.sent(c);
    let waiting = rig.submit("waiting", ANY);
    rig.client
        .shutdown(rig.now, ms(100))
        .expect("the drain is short");
    assert_eq!(rig.sent(c), []);
    assert_eq!(
        rig.seen(),
        [Seen::Failed(waiting, Reason::Closed, NeverWritten)]
    );
    rig.receive(c, &[Frame::reply(0, "done")]);
    assert_eq!(
        rig.seen(),
        [
            Seen::Reply(written, "done".into()),
            Seen::Close(c),
            Seen::Terminated
        ]
    );
}

#[test]
fn while_outputs_wait_the_deadline_is_now() {
    let (mut rig, [c]) = Rig::ready(config());
    rig.submit("ping", ANY);
    rig.sent(c);
    rig.client.read(
        rig.now,
        c,
        &wire(&[Frame::push("news"), Frame::reply(0, "pong")]),
    );
    let deadline = rig.client.poll_timeout().expect("outputs wait");
    assert_eq!(
        (deadline.at, deadline.reason),
        (rig.now, redial::DeadlineReason::Outputs)
    );
    rig.seen();
    assert!(
        rig.client
            .poll_timeout()
            .is_none_or(|deadline| deadline.at > rig.now)
    );
}
