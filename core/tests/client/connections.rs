//! Connections from their transport's beginning to their end.

use redial::{
    Cause,
    Certainty::PossiblyWritten,
    CloseError, ConnectError, Event, Limit, NodeState, Reason, RequestOptions, Stage,
    client::{
        TransportInput,
        length_prefixed::{Frame, Status},
    },
};

use crate::rig::{Rig, Seen, config, ms, wire};

const ANY: RequestOptions = RequestOptions::new();

fn state(rig: &Rig) -> NodeState {
    rig.client
        .cluster()
        .nodes()
        .next()
        .expect("there is one")
        .state
}

/// How the last attempt ended.
fn attempt_ended(rig: &Rig) -> Option<(Stage, Option<Cause>)> {
    rig.events.iter().rev().find_map(|event| match *event {
        Event::AttemptEnded { stage, cause, .. } => Some((stage, cause)),
        _ => None,
    })
}

#[test]
fn both_hellos_make_a_node_ready() {
    let mut rig = Rig::dialling(1, config());
    let c = rig.connects()[0];
    assert!(
        rig.client.transmit(rig.now, c).is_empty(),
        "there is no transport yet"
    );
    rig.client
        .handle_input(rig.now, TransportInput::Connected { connection: c });
    assert_eq!(rig.sent(c), [Frame::hello(b"key")]);
    assert_eq!(state(&rig), NodeState::Handshaking);
    rig.receive(c, &[Frame::hello_answer(Status::Ok, 0)]);
    assert_eq!(state(&rig), NodeState::Ready);
}

#[test]
fn an_answer_to_the_hello_may_bring_more_with_it() {
    let mut rig = Rig::dialling(1, config());
    let c = rig.connects()[0];
    rig.client
        .handle_input(rig.now, TransportInput::Connected { connection: c });
    rig.sent(c);
    rig.receive(
        c,
        &[Frame::hello_answer(Status::Ok, 0), Frame::push("news")],
    );
    assert_eq!(rig.seen(), [Seen::Push(c, "news".into())]);
}

#[test]
fn a_transport_that_comes_up_twice_says_hello_once() {
    let mut rig = Rig::dialling(1, config());
    let c = rig.connects()[0];
    rig.client
        .handle_input(rig.now, TransportInput::Connected { connection: c });
    rig.client
        .handle_input(rig.now, TransportInput::Connected { connection: c });
    assert_eq!(rig.sent(c), [Frame::hello(b"key")]);
    rig.client
        .handle_input(rig.now, TransportInput::Connected { connection: c });
    assert_eq!(rig.sent(c), []);
    assert_eq!(rig.client.cluster().stats().stale_facts, 2);
}

#[test]
fn a_server_can_limit_what_is_in_flight() {
    let mut rig = Rig::dialling(1, config());
    let c = rig.connects()[0];
    rig.client
        .handle_input(rig.now, TransportInput::Connected { connection: c });
    rig.sent(c);
    rig.receive(c, &[Frame::hello_answer(Status::Ok, 1)]);
    for request in ["a", "b"] {
        rig.submit(request, ANY);
    }
    assert_eq!(rig.sent(c), [Frame::request(0, "a")]);
    rig.receive(c, &[Frame::reply(0, "A")]);
    assert_eq!(rig.sent(c), [Frame::request(1, "b")]);
}

#[test]
fn a_refused_hello_closes_the_transport_and_says_why() {
    let cases = [
        (
            Status::VersionRefused,
            Stage::Handshake,
            Cause::VersionRefused,
        ),
        (
            Status::CredentialsRejected,
            Stage::Authenticate,
            Cause::CredentialsRejected,
        ),
    ];
    for (status, stage, cause) in cases {
        let mut rig = Rig::dialling(1, config());
        let c = rig.connects()[0];
        rig.client
            .handle_input(rig.now, TransportInput::Connected { connection: c });
        rig.receive(c, &[Frame::hello_answer(status, 0)]);
        assert_eq!(rig.seen(), [Seen::Close(c)]);
        assert_eq!(attempt_ended(&rig), Some((stage, Some(cause))));
    }
}

#[test]
fn a_session_that_is_over_ends_the_client() {
    let mut rig = Rig::dialling(1, config());
    let c = rig.connects()[0];
    rig.client
        .handle_input(rig.now, TransportInput::Connected { connection: c });
    rig.receive(c, &[Frame::hello_answer(Status::SessionOver, 0)]);
    assert_eq!(rig.seen(), [Seen::Close(c), Seen::Terminated]);
}

#[test]
fn garbage_in_the_handshake_closes_the_transport() {
    let cases: [(&[u8], &str); 3] = [
        (b"HTTP/1.1 400 Bad Request\r\n", "frame over the limit"),
        (
            &wire(&[Frame::reply(0, "early")]),
            "a reply during the handshake",
        ),
        (
            &wire(&[Frame::request(0, "")]),
            "not a frame that a server sends",
        ),
    ];
    for (bytes, why) in cases {
        let mut rig = Rig::dialling(1, config());
        let c = rig.connects()[0];
        rig.client
            .handle_input(rig.now, TransportInput::Connected { connection: c });
        rig.read(c, bytes);
        assert_eq!(rig.seen(), [Seen::Malformed(c, why), Seen::Close(c)]);
        assert_eq!(
            attempt_ended(&rig),
            Some((Stage::Handshake, Some(Cause::Malformed)))
        );
    }
}

#[test]
fn a_transport_that_ends_in_the_handshake_is_a_failure_of_it() {
    for (bytes, cause) in [(&b""[..], Cause::PeerClosed), (b"\0\0", Cause::Malformed)] {
        let mut rig = Rig::dialling(1, config());
        let c = rig.connects()[0];
        rig.client
            .handle_input(rig.now, TransportInput::Connected { connection: c });
        rig.read(c, bytes);
        rig.close(c, CloseError::Peer);
        assert!(
            !rig.seen().contains(&Seen::Close(c)),
            "it has ended already"
        );
        assert_eq!(attempt_ended(&rig), Some((Stage::Handshake, Some(cause))));
    }
}

#[test]
fn garbage_among_replies_fails_what_is_in_flight_and_closes() {
    let (mut rig, [c]) = Rig::ready(config());
    let [first, second] = ["a", "b"].map(|request| rig.submit(request, ANY));
    rig.sent(c);
    let mut bytes = wire(&[Frame::reply(0, "A")]);
    bytes.extend_from_slice(b"\xff\xff\xff\xffgarbage");
    bytes.extend_from_slice(&wire(&[Frame::reply(1, "never read")]));
    rig.read(c, &bytes);
    let reason = Reason::Protocol;
    assert_eq!(
        rig.seen(),
        [
            Seen::Reply(first, "A".into()),
            Seen::Malformed(c, "frame over the limit"),
            Seen::Close(c),
            Seen::Failed(second, reason, PossiblyWritten),
        ]
    );
    rig.read(c, &wire(&[Frame::push("not read either")]));
    assert_eq!(rig.seen(), []);
}

#[test]
fn a_frame_torn_by_the_end_is_a_protocol_error() {
    let (mut rig, [c]) = Rig::ready(config());
    let id = rig.submit("a", ANY);
    rig.sent(c);
    rig.read(c, &wire(&[Frame::reply(0, "A")])[..5]);
    rig.close(c, CloseError::Peer);
    let reason = Reason::Protocol;
    let torn = Seen::Malformed(c, "the last frame is torn");
    assert_eq!(
        rig.seen(),
        [torn, Seen::Failed(id, reason, PossiblyWritten)]
    );
}

#[test]
fn a_frame_torn_by_a_reset_is_an_io_error() {
    let (mut rig, [c]) = Rig::ready(config());
    let id = rig.submit("a", ANY);
    rig.sent(c);
    rig.read(c, &wire(&[Frame::reply(0, "A")])[..5]);
    rig.close(c, CloseError::Io);
    let reason = Reason::Disconnected(Cause::Io);
    assert_eq!(rig.seen(), [Seen::Failed(id, reason, PossiblyWritten)]);
}

#[test]
fn a_second_answer_to_the_hello_closes_the_connection() {
    for status in [Status::Ok, Status::CredentialsRejected] {
        let (mut rig, [c]) = Rig::ready(config());
        rig.receive(c, &[Frame::hello_answer(status, 0)]);
        let why = "a second end of the handshake";
        assert_eq!(rig.seen(), [Seen::Malformed(c, why), Seen::Close(c)]);
    }
}

#[test]
fn a_reply_to_nothing_closes_the_connection() {
    let (mut rig, [c]) = Rig::ready(config());
    rig.receive(
        c,
        &[Frame::reply(0, "whose?"), Frame::push("not read any more")],
    );
    assert_eq!(rig.seen(), [Seen::Close(c)]);
}

#[test]
fn a_reply_to_a_request_that_was_not_sent_closes_the_connection() {
    let (mut rig, [a, b]) = Rig::ready(config());
    let id = rig.submit("ahead", ANY);
    rig.drain();
    let load = |rig: &Rig, c| {
        rig.client
            .cluster()
            .connection(c)
            .map_or(0, |c| c.in_flight)
    };
    let (lying, other) = if load(&rig, a) > 0 { (a, b) } else { (b, a) };
    rig.receive(lying, &[Frame::reply(0, "I knew it")]);
    let why = "a reply to a request that was not sent";
    assert_eq!(
        rig.seen(),
        [Seen::Malformed(lying, why), Seen::Close(lying)]
    );
    assert_eq!(rig.sent(other), [Frame::request(0, "ahead")]);
    rig.receive(other, &[Frame::reply(0, "honestly")]);
    assert_eq!(rig.seen(), [Seen::Reply(id, "honestly".into())]);
}

#[test]
fn what_has_ended_sends_nothing_even_before_its_end_is_drained() {
    let mut rig = Rig::dialling(1, config());
    let c = rig.connects()[0];
    rig.client
        .handle_input(rig.now, TransportInput::Connected { connection: c });
    rig.client.shutdown(rig.now, ms(0)).expect("a short drain");
    assert!(
        rig.client.transmit(rig.now, c).is_empty(),
        "not even a hello"
    );
    rig.client.read(rig.now, c, &wire(&[Frame::push("news")]));
    assert_eq!(rig.seen(), [Seen::Abort(c), Seen::Terminated]);
}

#[test]
fn pushes_and_replies_come_out_in_the_order_of_their_frames() {
    let (mut rig, [c]) = Rig::ready(config());
    let [first, second] = ["a", "b"].map(|request| rig.submit(request, ANY));
    rig.sent(c);
    let frames = [
        Frame::push("1"),
        Frame::reply(0, "A"),
        Frame::push("2"),
        Frame::push("3"),
        Frame::reply(1, "B"),
    ];
    let push = |text: &'static str| Seen::Push(c, text.into());
    let expected = [
        push("1"),
        Seen::Reply(first, "A".into()),
        push("2"),
        push("3"),
        Seen::Reply(second, "B".into()),
    ];
    rig.receive(c, &frames);
    assert_eq!(rig.seen(), expected);
}

#[test]
fn after_a_goodbye_what_is_in_flight_finishes_and_new_requests_go_elsewhere() {
    let (mut rig, [a, b]) = Rig::ready(config());
    let first = rig.submit("first", ANY);
    let (leaving, staying) = if rig.sent(a).is_empty() {
        (b, a)
    } else {
        (a, b)
    };
    rig.sent(leaving);
    rig.receive(leaving, &[Frame::goodbye()]);
    let second = rig.submit("second", ANY);
    assert_eq!(rig.sent(leaving), []);
    assert_eq!(rig.sent(staying), [Frame::request(0, "second")]);
    rig.receive(leaving, &[Frame::reply(0, "1")]);
    rig.receive(staying, &[Frame::reply(0, "2")]);
    let expected = [
        Seen::Reply(first, "1".into()),
        Seen::Close(leaving),
        Seen::Reply(second, "2".into()),
    ];
    assert_eq!(rig.seen(), expected);
}

#[test]
fn a_goodbye_in_the_handshake_is_a_failure_of_it() {
    let mut rig = Rig::dialling(1, config());
    let c = rig.connects()[0];
    rig.client
        .handle_input(rig.now, TransportInput::Connected { connection: c });
    rig.receive(c, &[Frame::goodbye()]);
    assert_eq!(rig.seen(), [Seen::Abort(c)]);
    assert_eq!(
        attempt_ended(&rig),
        Some((Stage::Handshake, Some(Cause::PeerDraining)))
    );
}

#[test]
fn a_throttled_node_gets_no_request_until_then() {
    let (mut rig, [c]) = Rig::ready(config());
    rig.receive(c, &[Frame::throttle(ms(300))]);
    rig.submit("later", ANY);
    rig.pass(ms(299));
    assert_eq!(rig.sent(c), []);
    rig.pass(ms(1));
    assert_eq!(rig.sent(c), [Frame::request(0, "later")]);
}

#[test]
fn a_blocked_transport_is_passed_over_until_it_takes_bytes_again() {
    let (mut rig, [a, b]) = Rig::ready(config());
    rig.submit("first", ANY);
    rig.drain();
    let (blocked, other) = match rig.client.transmit(rig.now, a) {
        [] => (b, a),
        _ => (a, b),
    };
    let waiting = rig.client.transmit(rig.now, blocked).len();
    rig.client.handle_input(
        rig.now,
        TransportInput::WriteBlocked {
            connection: blocked,
        },
    );
    let load = |rig: &Rig, c| rig.client.cluster().connection(c).map(|c| c.in_flight);
    for _ in 0..3 {
        rig.submit("more", ANY);
    }
    rig.drain();
    assert_eq!((load(&rig, blocked), load(&rig, other)), (Some(1), Some(3)));
    rig.client.transmitted(rig.now, blocked, waiting);
    rig.submit("again", ANY);
    assert_eq!(load(&rig, blocked), Some(2));
}

#[test]
fn a_transport_that_is_not_up_cannot_be_blocked() {
    let mut rig = Rig::dialling(1, config().max_idle(Limit::Never));
    let c = rig.connects()[0];
    let blocked = TransportInput::WriteBlocked { connection: c };
    rig.client.handle_input(rig.now, blocked);
    rig.drain();
    rig.make_ready(c);
    rig.pass(ms(3_600_000));
    assert_eq!(rig.seen(), [], "no stall ends it");
}

#[test]
fn a_refused_connection_is_dialled_again() {
    let mut rig = Rig::dialling(1, config());
    let connection = rig.connects()[0];
    let error = ConnectError::Refused;
    rig.client
        .handle_input(rig.now, TransportInput::ConnectFailed { connection, error });
    rig.pass(ms(100));
    let again = rig.connects();
    assert_eq!(again.len(), 1);
    rig.make_ready(again[0]);
    assert_eq!(state(&rig), NodeState::Ready);
}

#[test]
fn stale_ids_do_nothing() {
    let (mut rig, [c]) = Rig::ready(config());
    rig.close(c, CloseError::Peer);
    rig.seen();
    assert!(rig.client.transmit(rig.now, c).is_empty());
    rig.client.transmitted(rig.now, c, 10);
    rig.read(c, &wire(&[Frame::push("news")]));
    rig.client
        .handle_input(rig.now, TransportInput::Connected { connection: c });
    rig.client
        .handle_input(rig.now, TransportInput::WriteBlocked { connection: c });
    rig.close(c, CloseError::Peer);
    assert!(rig.client.transmit(rig.now, c).is_empty());
    assert_eq!(rig.seen(), []);
}
