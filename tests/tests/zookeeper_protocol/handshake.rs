//! From the wish for a session to Ready, and to the session's end.

use std::time::Duration;

use redial::{Cause, Config};
use redial_tests::zookeeper::jute::{Push, Request, ZooKeeper};

use crate::rig::{ID, Rig, Seen, TIMEOUT, buffer, frame, int, long, reply, welcome};

/// What a client says first.
fn wish(zxid: i64, id: i64, password: &[u8]) -> Vec<u8> {
    let no = vec![0];
    frame(&[
        int(0),
        long(zxid),
        int(9_000),
        long(id),
        buffer(password),
        no,
    ])
}

#[test]
fn a_new_client_wishes_for_a_session() {
    assert_eq!(Rig::greeting().written(), wish(0, 0, &[]));
}

#[test]
fn a_session_begins_with_the_timeout_that_the_server_gives() {
    let mut rig = Rig::greeting();
    rig.written();
    let push = Push::Session {
        id: ID,
        timeout: Duration::from_secs(4),
        resumed: false,
    };
    assert_eq!(
        rig.read(&welcome(4_000, ID)),
        [Seen::Ready, Seen::Push(push)]
    );
    // Nothing is heard, not even the answer to the ping.
    let third = Duration::from_secs(4) / 3 + Duration::from_millis(1);
    assert_eq!(rig.pass(third), []);
    assert_eq!(rig.written(), frame(&[int(-2), int(11)]));
    assert_eq!(rig.pass(third), [Seen::Ended(Cause::KeepaliveTimeout)]);
}

#[test]
fn the_next_connection_takes_up_the_session_where_the_last_one_left_it() {
    let mut rig = Rig::ready();
    rig.send(Request::get("/a"));
    rig.read(&reply(1, 77, -101, &[]));
    rig.reconnect();
    assert_eq!(rig.written(), wish(77, ID, &[7; 16]));
    let push = Push::Session {
        id: ID,
        timeout: TIMEOUT,
        resumed: true,
    };
    assert_eq!(
        rig.read(&welcome(9_000, ID)),
        [Seen::Ready, Seen::Push(push)]
    );
}

#[test]
fn a_server_before_3_4_does_not_say_whether_it_is_read_only() {
    let mut rig = Rig::greeting();
    rig.written();
    let seen = rig.read(&frame(&[int(0), int(9_000), long(ID), buffer([7; 16])]));
    assert!(matches!(seen[..], [Seen::Ready, Seen::Push(_)]), "{seen:?}");
}

#[test]
fn a_session_that_is_over_ends_the_client_once() {
    for timeout in [0, -1] {
        let mut rig = Rig::ready();
        rig.reconnect();
        rig.written();
        assert_eq!(
            rig.read(&welcome(timeout, 0)),
            [
                Seen::Ended(Cause::SessionExpired),
                Seen::Expired,
                Seen::Terminated
            ]
        );
        assert_eq!(rig.pass(Duration::from_secs(60)), []);
    }
}

#[test]
fn a_server_that_gives_another_session_than_ours_is_left() {
    for (ours, given) in [(false, 0), (true, ID + 1)] {
        let mut rig = Rig::greeting();
        if ours {
            rig = Rig::ready();
            rig.reconnect();
        }
        rig.written();
        assert_eq!(
            rig.read(&welcome(9_000, given)),
            [
                Seen::Malformed("another session than the one that was asked for"),
                Seen::Ended(Cause::Malformed)
            ]
        );
    }
}

#[test]
fn a_client_with_a_session_makes_no_connection_beside_the_first() {
    let config = Config::zookeeper(TIMEOUT).to_builder();
    let config = config.make_before_break(true).one_session(false).build();
    let client = redial::client::Client::new(
        ZooKeeper::new(TIMEOUT),
        config.expect("only the protocol forbids it"),
        1,
        redial::Instant::ORIGIN,
    );
    assert!(client.is_err());
}

#[test]
fn a_password_is_not_shown() {
    let shown = format!("{:?}", ZooKeeper::new(TIMEOUT));
    assert!(!shown.contains("password"), "{shown}");
}
