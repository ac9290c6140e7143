//! Changes of nodes that are watched.

use redial_tests::zookeeper::jute::{Change, Push, Request};

use crate::rig::{ID, Rig, Seen, buffer, frame, int, long, reply, stat, watch_event, welcome};

fn changed(path: &str, change: Change) -> Seen {
    let path = path.into();
    Seen::Push(Push::Changed { path, change })
}

/// What sets watches anew.
fn set_watches(zxid: i64, data: &[&str], absent: &[&str]) -> Vec<u8> {
    let strings = |paths: &[&str]| {
        let paths: Vec<_> = paths.iter().map(buffer).collect();
        [int(paths.len().try_into().expect("few")), paths.concat()].concat()
    };
    let body = [long(zxid), strings(data), strings(absent), int(0)];
    frame(&[int(-8), int(101), body.concat()])
}

/// Takes up the session on another connection; returns what is then written.
fn move_to_another_connection(rig: &mut Rig) -> Vec<u8> {
    rig.reconnect();
    rig.written();
    rig.read(&welcome(9_000, ID));
    rig.written()
}

fn exists(path: &str) -> Request {
    let path = path.into();
    Request::Exists { path, watch: true }
}

#[test]
fn a_change_is_pushed() {
    for (code, change) in [
        (1, Change::Created),
        (2, Change::Deleted),
        (3, Change::Data),
        (4, Change::Other(4)),
    ] {
        let mut rig = Rig::ready();
        let seen = rig.read(&watch_event(code, "/a"));
        assert_eq!(seen, [changed("/a", change)]);
    }
}

#[test]
fn watches_are_set_anew_on_the_next_connection() {
    let mut rig = Rig::ready();
    rig.send(Request::watch("/data"));
    rig.send(exists("/there"));
    rig.send(exists("/absent"));
    rig.send(Request::get("/not-watched"));
    rig.send(Request::watch("/no-node"));
    rig.read(&reply(1, 40, 0, &[buffer("x"), stat()]));
    rig.read(&reply(2, 41, 0, &[stat()]));
    rig.read(&reply(3, 42, -101, &[]));
    rig.read(&reply(4, 42, 0, &[buffer("x"), stat()]));
    rig.read(&reply(5, 42, -101, &[]));
    assert_eq!(
        move_to_another_connection(&mut rig),
        set_watches(42, &["/data", "/there"], &["/absent"])
    );
    // Its answer means nothing to the application.
    assert_eq!(rig.read(&reply(-8, 42, 0, &[])), []);
    let (_, written) = rig.send(Request::get("/a"));
    assert_eq!(written[4..8], 1_i32.to_be_bytes());
}

#[test]
fn a_watch_that_has_told_or_was_never_answered_is_not_set_anew() {
    let mut rig = Rig::ready();
    rig.send(Request::watch("/data"));
    rig.send(exists("/absent"));
    rig.read(&reply(1, 40, 0, &[buffer("x"), stat()]));
    rig.read(&reply(2, 40, -101, &[]));
    rig.send(Request::watch("/unanswered"));
    rig.read(&watch_event(3, "/data"));
    rig.read(&watch_event(1, "/absent"));
    assert!(move_to_another_connection(&mut rig).is_empty());
}

#[test]
fn many_watches_are_set_by_several_frames_that_a_server_takes() {
    let mut rig = Rig::ready();
    for n in 0..5 {
        rig.send(Request::watch(format!("/{n}{}", "x".repeat(60_000))));
        rig.read(&reply(n + 1, 40, 0, &[buffer("x"), stat()]));
    }
    let written = move_to_another_connection(&mut rig);
    let mut frames = Vec::new();
    let mut rest = &written[..];
    while let Some((length, after)) = rest.split_first_chunk() {
        let length = u32::from_be_bytes(*length) as usize;
        frames.push(length);
        rest = &after[length..];
    }
    assert_eq!(frames.len(), 3);
    assert!(frames.iter().all(|length| *length < 200_000), "{frames:?}");
}
