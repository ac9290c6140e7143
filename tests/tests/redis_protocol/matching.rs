//! Which command a frame answers, and what it means for it.

use redial::{Cause, Reason, RequestOptions};
use redial_tests::redis::{command, resp::Value, string};

use crate::rig::{KEEPALIVE_INTERVAL, Rig, Seen};

fn message(kind: &'static str, channel: &'static str, last: Value) -> Vec<Value> {
    vec![string(kind), string(channel), last]
}

#[test]
fn replies_go_to_their_commands_in_order() {
    let mut rig = Rig::resp3();
    let ids = ["ECHO a", "ECHO b", "ECHO c"].map(|line| rig.send(command(line)));
    assert_eq!(
        rig.read(b"$1\r\na\r\n$1\r\nb\r\n"),
        [
            Seen::Reply(ids[0], string("a")),
            Seen::Reply(ids[1], string("b"))
        ]
    );
    assert_eq!(rig.read(b"$1\r\nc\r\n"), [Seen::Reply(ids[2], string("c"))]);
}

#[test]
fn a_cancelled_command_takes_its_own_reply_with_it() {
    let mut rig = Rig::resp3();
    let blocked = rig.send(command("BLPOP q 0"));
    rig.cancel(blocked);
    let next = rig.send(command("ECHO x"));
    assert_eq!(rig.read(b"*2\r\n$1\r\nq\r\n$1\r\nv\r\n"), []);
    assert_eq!(rig.read(b"$1\r\nx\r\n"), [Seen::Reply(next, string("x"))]);
}

#[test]
fn the_reply_to_a_command_without_reply_goes_to_nobody() {
    let mut rig = Rig::resp3();
    let sent = rig.send_with(command("SET k v"), RequestOptions::new().without_reply());
    assert_eq!(rig.drain(), [Seen::Sent(sent)]);
    let next = rig.send(command("ECHO x"));
    assert_eq!(
        rig.read(b"+OK\r\n$1\r\nx\r\n"),
        [Seen::Reply(next, string("x"))]
    );
}

#[test]
fn the_reply_to_a_keepalive_goes_to_nobody() {
    for mut rig in [Rig::resp2(), Rig::resp3()] {
        let before = rig.send(command("BLPOP q 0"));
        assert_eq!(rig.pass(KEEPALIVE_INTERVAL), []);
        assert_eq!(rig.written(), b"*1\r\n$4\r\nPING\r\n");
        let after = rig.send(command("ECHO x"));
        assert_eq!(
            rig.read(b"*-1\r\n+PONG\r\n$1\r\nx\r\n"),
            [
                Seen::Reply(before, Value::Null),
                Seen::Reply(after, string("x"))
            ]
        );
    }
}

#[test]
fn a_reply_to_no_command_ends_the_connection() {
    let mut rig = Rig::resp3();
    assert_eq!(
        rig.read(b"+OK\r\n"),
        [
            Seen::Malformed("a reply to no command"),
            Seen::Ended(Cause::ProtocolError)
        ]
    );
}

#[test]
fn pushes_may_come_between_replies() {
    let mut rig = Rig::resp3();
    let ids = ["ECHO a", "ECHO b"].map(|line| rig.send(command(line)));
    let push = b">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n";
    let seen = rig.read(&[&b"$1\r\na\r\n"[..], push, b"$1\r\nb\r\n"].concat());
    assert_eq!(
        seen,
        [
            Seen::Reply(ids[0], string("a")),
            Seen::Push(vec![string("invalidate"), Value::Array(vec![string("k")])]),
            Seen::Reply(ids[1], string("b")),
        ]
    );
}

#[test]
fn the_confirmation_of_the_last_channel_answers_a_subscription() {
    for mut rig in [Rig::resp2(), Rig::resp3()] {
        let kind = rig.push;
        let subscribe = rig.send(command("subscribe a b"));
        let next = rig.send(command("PING"));
        let frames = format!(
            "{kind}3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n\
             {kind}3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nm\r\n\
             {kind}3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:2\r\n+PONG\r\n"
        );
        let confirmation = message("subscribe", "b", Value::Integer(2));
        assert_eq!(
            rig.read(frames.as_bytes()),
            [
                Seen::Push(message("message", "a", string("m"))),
                Seen::Reply(subscribe, Value::Array(confirmation)),
                Seen::Reply(next, Value::Status("PONG".into())),
            ]
        );
    }
}

#[test]
fn a_subscription_that_is_refused_takes_one_reply() {
    let mut rig = Rig::resp3();
    let subscribe = rig.send(command("SUBSCRIBE a b"));
    let next = rig.send(command("ECHO x"));
    assert_eq!(
        rig.read(b"-NOPERM no\r\n$1\r\nx\r\n"),
        [
            Seen::Reply(subscribe, Value::Error("NOPERM no".into())),
            Seen::Reply(next, string("x")),
        ]
    );
}

#[test]
fn in_resp2_an_array_that_looks_like_a_message_is_one_only_while_there_are_subscriptions() {
    let like_a_message = b"*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nm\r\n";
    let values = || message("message", "a", string("m"));
    let mut rig = Rig::resp2();
    let list = rig.send(command("LRANGE l 0 -1"));
    assert_eq!(
        rig.read(like_a_message),
        [Seen::Reply(list, Value::Array(values()))]
    );

    rig.send(command("SUBSCRIBE a"));
    rig.read(b"*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n");
    let ping = rig.send(command("PING"));
    assert_eq!(rig.read(like_a_message), [Seen::Push(values())]);
    let pong = Value::Array(vec![string("pong"), string("")]);
    assert_eq!(
        rig.read(b"*2\r\n$4\r\npong\r\n$0\r\n\r\n"),
        [Seen::Reply(ping, pong)]
    );

    rig.send(command("UNSUBSCRIBE a"));
    rig.read(b"*3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:0\r\n");
    let list = rig.send(command("LRANGE l 0 -1"));
    assert_eq!(
        rig.read(like_a_message),
        [Seen::Reply(list, Value::Array(values()))]
    );
}

#[test]
fn a_confirmation_that_nobody_asked_for_is_a_push() {
    for mut rig in [Rig::resp2(), Rig::resp3()] {
        let kind = rig.push;
        rig.send(command("SSUBSCRIBE a"));
        rig.read(format!("{kind}3\r\n$10\r\nssubscribe\r\n$1\r\na\r\n:1\r\n").as_bytes());
        // Its slot has moved to another server.
        let moved = format!("{kind}3\r\n$12\r\nsunsubscribe\r\n$1\r\na\r\n:0\r\n");
        assert_eq!(
            rig.read(moved.as_bytes()),
            [Seen::Push(message("sunsubscribe", "a", Value::Integer(0)))]
        );
    }
}

#[test]
fn an_error_says_not_now_or_not_here_or_is_a_reply() {
    for (error, is_verdict) in [
        ("LOADING Redis is loading the dataset in memory", true),
        ("BUSY Redis is busy running a script", true),
        (
            "TRYAGAIN Multiple keys request during rehashing of slot",
            true,
        ),
        (
            "READONLY You can't write against a read only replica.",
            true,
        ),
        ("MASTERDOWN Link with MASTER is down", true),
        ("CLUSTERDOWN Hash slot not served", true),
        ("BUSYGROUP Consumer Group name already exists", false),
        ("MOVED 3999 127.0.0.1:6381", false),
        ("NOAUTH Authentication required.", false),
        ("ERR unknown command", false),
        ("", false),
    ] {
        let mut rig = Rig::resp3();
        let id = rig.send(command("SET k v"));
        let seen = match is_verdict {
            true => Seen::Retry(id),
            false => Seen::Reply(id, Value::Error(error.into())),
        };
        assert_eq!(
            rig.read(format!("-{error}\r\n").as_bytes()),
            [seen],
            "{error}"
        );
    }
}

#[test]
fn an_error_inside_of_a_reply_is_no_verdict() {
    let mut rig = Rig::resp3();
    let id = rig.send(command("EVAL x 0"));
    let error = Value::Error("READONLY no".into());
    assert_eq!(
        rig.read(b"*1\r\n-READONLY no\r\n"),
        [Seen::Reply(id, Value::Array(vec![error]))]
    );
}

#[test]
fn commands_that_would_change_what_other_callers_get_are_refused() {
    for line in [
        "MONITOR",
        "multi",
        "SELECT 1",
        "HELLO 2",
        "CLIENT REPLY OFF",
        "client reply skip",
        "SCRIPT DEBUG YES",
        "UNSUBSCRIBE",
        "punsubscribe",
    ] {
        let mut rig = Rig::resp3();
        let refused = rig.send(command(line));
        assert_eq!(
            rig.drain(),
            [Seen::Failure(refused, Reason::Rejected)],
            "{line}"
        );
        // Nothing of it was written, and no reply is expected to it.
        let next = rig.send(command("ECHO x"));
        assert_eq!(rig.read(b"$1\r\nx\r\n"), [Seen::Reply(next, string("x"))]);
    }
    for line in ["CLIENT ID", "SCRIPT LOAD x", "UNSUBSCRIBE a"] {
        let mut rig = Rig::resp3();
        rig.send(command(line));
        assert_eq!(rig.drain(), [], "{line}");
    }
}
