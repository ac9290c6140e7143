//! Which request a frame answers, and what it says.

use redial::{Cause, Config, Reason, RequestOptions};
use redial_tests::zookeeper::jute::{Reply, Request, ServerError, Stat, ZooKeeper};

use crate::rig::{Rig, Seen, TIMEOUT, buffer, frame, int, long, reply, stat, welcome};

const STAT: Stat = Stat {
    created_zxid: 1,
    modified_zxid: 2,
    created: 3,
    modified: 4,
    version: 5,
    children_version: 6,
    acl_version: 7,
    ephemeral_owner: 8,
    data_length: 9,
    children: 10,
    children_zxid: 11,
};

#[test]
fn each_request_is_written_as_zookeeper_has_it_and_its_reply_read() {
    let path = || "/a".to_owned();
    let data = || bytes::Bytes::from_static(b"x");
    let anybody = || [int(1), int(31), buffer("world"), buffer("anyone")].concat();
    let content = Reply::Data {
        data: data(),
        stat: STAT,
    };
    let content_bytes = || vec![buffer("x"), stat()];
    for (request, code, body, answer, expected) in [
        (
            Request::Create {
                path: path(),
                data: data(),
                ephemeral: true,
            },
            1,
            vec![buffer("/a"), buffer("x"), anybody(), int(1)],
            vec![buffer("/a")],
            Reply::Path(path()),
        ),
        (
            Request::Delete {
                path: path(),
                version: Some(3),
            },
            2,
            vec![buffer("/a"), int(3)],
            vec![],
            Reply::Done,
        ),
        (
            Request::Exists {
                path: path(),
                watch: true,
            },
            3,
            vec![buffer("/a"), vec![1]],
            vec![stat()],
            Reply::Stat(STAT),
        ),
        (
            Request::get("/a"),
            4,
            vec![buffer("/a"), vec![0]],
            content_bytes(),
            content.clone(),
        ),
        (
            Request::SetData {
                path: path(),
                data: data(),
                version: None,
            },
            5,
            vec![buffer("/a"), buffer("x"), int(-1)],
            vec![stat()],
            Reply::Stat(STAT),
        ),
        (
            Request::Sync { path: path() },
            9,
            vec![buffer("/a")],
            vec![buffer("/a")],
            Reply::Path(path()),
        ),
        (
            Request::Reconfig {
                joining: None,
                leaving: Some("3".into()),
            },
            16,
            vec![int(-1), buffer("3"), int(-1), long(-1)],
            content_bytes(),
            content,
        ),
        (Request::CloseSession, -11, vec![], vec![], Reply::Done),
    ] {
        let mut rig = Rig::ready();
        let (id, written) = rig.send(request);
        assert_eq!(written, frame(&[int(1), int(code), body.concat()]));
        assert_eq!(
            rig.read(&reply(1, 5, 0, &answer)),
            [Seen::Reply(id, Ok(expected))]
        );
    }
}

#[test]
fn replies_go_to_their_requests_in_order_however_their_bytes_are_split() {
    let mut rig = Rig::ready();
    let ids = ["/a", "/b"].map(|path| rig.send(Request::get(path)).0);
    let bytes = [reply(1, 5, -101, &[]), reply(2, 5, -110, &[])].concat();
    let seen: Vec<_> = bytes.chunks(1).flat_map(|byte| rig.read(byte)).collect();
    let expected = [ServerError::NO_NODE, ServerError::NODE_EXISTS];
    let expected: Vec<_> = std::iter::zip(ids, expected)
        .map(|(id, error)| Seen::Reply(id, Err(error)))
        .collect();
    assert_eq!(seen, expected);
}

#[test]
fn a_reply_with_the_number_of_another_request_ends_the_connection() {
    for (sent, answered) in [(2, 2), (1, 0), (0, 1)] {
        let mut rig = Rig::ready();
        for _ in 0..sent {
            rig.send(Request::get("/a"));
        }
        let seen = rig.read(&reply(answered, 5, -101, &[]));
        assert_eq!(seen[0], Seen::Malformed("a reply out of its turn"));
        assert!(
            seen.contains(&Seen::Ended(Cause::ProtocolError)),
            "{seen:?}"
        );
    }
}

#[test]
fn the_reply_to_a_request_without_reply_goes_to_nobody() {
    let mut rig = Rig::ready();
    rig.send_with(Request::get("/a"), RequestOptions::new().without_reply());
    let (next, _) = rig.send(Request::get("/b"));
    let bytes = [reply(1, 5, -101, &[]), reply(2, 5, -110, &[])].concat();
    let seen = rig.read(&bytes);
    assert_eq!(
        seen.last(),
        Some(&Seen::Reply(next, Err(ServerError::NODE_EXISTS)))
    );
    assert!(!seen.contains(&Seen::Malformed("a reply out of its turn")));
}

#[test]
fn the_answer_to_a_ping_may_come_before_earlier_replies() {
    let mut rig = Rig::ready();
    let (id, _) = rig.send(Request::get("/a"));
    assert_eq!(rig.pass(TIMEOUT / 3), []);
    assert_eq!(rig.written(), frame(&[int(-2), int(11)]));
    assert_eq!(rig.read(&reply(-2, 5, 0, &[])), []);
    assert_eq!(
        rig.read(&reply(1, 5, -101, &[])),
        [Seen::Reply(id, Err(ServerError::NO_NODE))]
    );
}

#[test]
fn bytes_that_are_not_zookeepers_end_the_connection() {
    let short = "a frame shorter than what it has to say";
    let long_frame = "a frame longer than what it has to say";
    for (bytes, expected) in [
        (int(-1), "frame over the limit"),
        (int(4 * 1024 * 1024 + 1), "frame over the limit"),
        (frame(&[int(1)]), short),
        (reply(1, 5, 0, &[]), short),
        (reply(1, 5, 0, &[int(-2), stat()]), "not a length"),
        (reply(1, 5, 0, &[int(i32::MAX), stat()]), short),
        (reply(1, 5, 0, &[buffer("x"), stat(), vec![0]]), long_frame),
        (reply(1, 5, -101, &[vec![0]]), long_frame),
        (reply(-2, 5, 0, &[vec![0]]), long_frame),
        (
            reply(-1, -1, 0, &[int(3), int(3), buffer([0xff])]),
            "not UTF-8",
        ),
    ] {
        let mut rig = Rig::ready();
        rig.send(Request::get("/a"));
        let seen = rig.read(&bytes);
        assert_eq!(seen[0], Seen::Malformed(expected));
        assert!(
            seen.contains(&Seen::Ended(Cause::ProtocolError)),
            "{seen:?}"
        );
    }
}

#[test]
fn random_bytes_never_panic() {
    let mut state = 1_u64;
    for _ in 0..2_000 {
        let mut rig = Rig::ready();
        rig.send(Request::watch("/a"));
        let mut body = reply(1, 5, 0, &[buffer("x"), stat()]);
        for _ in 0..3 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let at = (state >> 33) as usize % body.len();
            body[at] = (state >> 56) as u8;
        }
        rig.read(&body);
    }
}

#[test]
fn a_request_over_the_limit_fails_alone() {
    let protocol = ZooKeeper::new(TIMEOUT).max_frame(64);
    let mut rig = Rig::with(protocol, Config::zookeeper(TIMEOUT));
    rig.written();
    rig.read(&welcome(9_000, 1));
    let request = Request::get("/".repeat(64));
    let id = rig.submit(request, RequestOptions::new());
    rig.drain();
    rig.written();
    assert_eq!(rig.drain(), [Seen::Failure(id, Reason::Rejected)]);
    // Its number was not used up.
    let (_, written) = rig.send(Request::get("/a"));
    assert_eq!(written[4..8], 1_i32.to_be_bytes());
}

#[test]
fn the_ensemble_is_asked_for_its_servers() {
    let mut rig = Rig::discovering();
    rig.drain();
    let question = frame(&[int(1), int(4), buffer("/zookeeper/config"), vec![0]]);
    assert_eq!(rig.written(), question);
    let config = "server.1=127.0.0.1:1:2:participant;2181\n\
                  server.2=127.0.0.1:3:4:participant;2182\nversion=100000000";
    let answer = reply(1, 5, 0, &[buffer(config), stat()]);
    assert!(rig.read(&answer).contains(&Seen::Servers));
    assert_eq!(rig.client.cluster().snapshot().nodes.len(), 2);
}

#[test]
fn an_ensemble_that_does_not_know_its_servers_changes_nothing() {
    for answer in [
        reply(1, 5, -101, &[]),
        reply(1, 5, 0, &[buffer("nonsense"), stat()]),
        reply(1, 5, 0, &[buffer([0xff]), stat()]),
    ] {
        let mut rig = Rig::discovering();
        rig.drain();
        rig.written();
        assert!(rig.read(&answer).contains(&Seen::Servers));
        assert_eq!(rig.client.cluster().snapshot().nodes.len(), 1);
    }
}
