//! Commands that are given up: nothing is ever off by one.

use std::{future::IntoFuture, time::Duration};

use redial::Reason;
use redial_tests::{
    redis::{
        RedisServer, command,
        resp::{Redis, Value},
        string,
    },
    waiting::{failure, soon, until},
};
use redial_tokio::Client;

use crate::support::{ask, client, send};

#[tokio::test]
async fn after_a_blocked_blpop_was_cancelled_the_next_command_gets_its_own_reply() {
    let Some(server) = RedisServer::start(&[]) else {
        return;
    };
    let client = client(&[&server]);
    ask(&client, "PING").await;
    let blocked = send(&client, "BLPOP queue 0");
    until(|| client.stats().in_flight == 1).await;
    blocked.abort();
    until(|| client.stats().tombstones == 1).await;

    // It is held up behind the blocked one.
    let next = send(&client, "ECHO mine");
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!next.is_finished());
    assert_eq!(server.command("LPUSH queue theirs"), ":1");
    assert_eq!(soon(next).await.expect("no panic"), Ok(string("mine")));
    let stats = client.stats();
    assert_eq!((stats.attempts, stats.late_replies), (1, 1));
    assert_eq!(server.command("LLEN queue"), ":0");
}

#[tokio::test]
async fn after_a_blocked_blpop_timed_out_the_next_command_gets_its_own_reply() {
    let Some(server) = RedisServer::start(&[]) else {
        return;
    };
    let client = client(&[&server]);
    ask(&client, "PING").await;
    let blocked = client
        .request(command("BLPOP queue 1"))
        .timeout(Duration::from_millis(100));
    assert_eq!(failure(soon(blocked).await).reason, Reason::Timeout);
    assert_eq!(ask(&client, "ECHO mine").await, string("mine"));
    let stats = client.stats();
    assert_eq!((stats.attempts, stats.late_replies), (1, 1));
}

#[tokio::test]
async fn commands_dropped_at_any_moment_leave_the_others_their_own_replies() {
    let Some(server) = RedisServer::start(&[]) else {
        return;
    };
    let client = client(&[&server]);
    ask(&client, "PING").await;
    server.freeze();
    let written = [(); 20].map(|()| send(&client, "ECHO given-up"));
    until(|| client.stats().in_flight == 20).await;
    written.iter().for_each(|command| command.abort());
    until(|| client.stats().tombstones == 20).await;
    server.thaw();

    let callers: Vec<_> = (0..20)
        .map(|caller| tokio::spawn(give_up_every_other(client.clone(), caller)))
        .collect();
    for caller in callers {
        soon(caller).await.expect("its own replies");
    }
    until(|| client.stats().in_flight == 0).await;
    let stats = client.stats();
    assert_eq!((stats.attempts, stats.open_requests), (1, 0));
    assert!(stats.late_replies >= 20, "{stats:?}");
}

/// Sends commands; the even ones it gives up after a while, if they are not answered by then.
async fn give_up_every_other(client: Client<Redis>, caller: usize) {
    for round in 0..200 {
        let text = format!("{caller}-{round}");
        let request = client.request(command(&format!("ECHO {text}")));
        let steps = async {
            for _ in 0..(caller + round) % 7 {
                tokio::task::yield_now().await;
            }
        };
        let reply = tokio::select! {
            biased;
            response = request.into_future() => response.expect("an answer").reply,
            () = steps, if round % 2 == 0 => continue,
        };
        assert_eq!(reply, Some(Value::String(text.into())));
    }
}
