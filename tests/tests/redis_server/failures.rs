//! Servers and connections that die, hang and come back.

use std::{future::IntoFuture, time::Duration};

use redial::{Cause, Certainty, Config, Reason, Warm};
use redial_tests::{
    redis::{
        RedisServer, command,
        resp::{Redis, Value},
        string,
    },
    waiting::{failure, soon, until},
};

use crate::support::{ask, client, client_with, disconnected, send};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test]
async fn commands_wait_for_the_end_of_a_client_pause_on_the_same_connection() {
    let Some(server) = RedisServer::start(&[]) else {
        return;
    };
    let client = client(&[&server]);
    ask(&client, "PING").await;
    assert_eq!(server.command("CLIENT PAUSE 1000 ALL"), "+OK");
    let commands = ["ECHO a", "ECHO b", "ECHO c"].map(|line| send(&client, line));
    for (command, expected) in commands.into_iter().zip(["a", "b", "c"]) {
        let reply = soon(command).await.expect("no panic");
        assert_eq!(reply, Ok(string(expected)));
    }
    let stats = client.stats();
    assert_eq!((stats.attempts, stats.failures_established), (1, 0));
}

#[tokio::test]
async fn a_command_waits_for_a_killed_server_to_come_back() {
    let Some(mut server) = RedisServer::start(&[]) else {
        return;
    };
    let client = client(&[&server]);
    let mut events = client.events();
    ask(&client, "SET key before").await;
    server.kill();
    disconnected(&mut events).await;

    let waiting = send(&client, "GET key");
    until(|| client.stats().failures_connect > 0).await;
    assert!(!waiting.is_finished());
    server.restart();
    assert_eq!(soon(waiting).await.expect("no panic"), Ok(Value::Null));
}

#[tokio::test]
async fn what_was_in_flight_to_a_killed_server_is_answered_by_another_if_it_may_be_repeated() {
    let (Some(mut dying), Some(alive)) = (RedisServer::start(&[]), RedisServer::start(&[])) else {
        return;
    };
    let client = client(&[&dying]);
    ask(&client, "PING").await;
    assert_eq!(dying.command("CLIENT PAUSE 60000 ALL"), "+OK");
    let repeatable = tokio::spawn(client.request(command("PING")).idempotent().into_future());
    let other = send(&client, "INCR key");
    until(|| client.stats().in_flight == 2).await;
    client
        .set_nodes(&[dying.address().into(), alive.address().into()])
        .expect("a valid list");
    dying.kill();

    let response = soon(repeatable).await.expect("no panic").expect("a reply");
    assert_eq!(response.reply, Some(Value::Status("PONG".into())));
    assert_eq!(response.attempts, 2);
    let error = failure(soon(other).await.expect("no panic"));
    assert!(matches!(error.reason, Reason::Disconnected(_)), "{error:?}");
    assert_eq!(error.certainty, Certainty::PossiblyWritten);
    assert_eq!(alive.command("EXISTS key"), ":0");
}

#[tokio::test]
async fn after_a_client_kill_the_next_command_goes_over_a_new_connection() {
    let Some(server) = RedisServer::start(&[]) else {
        return;
    };
    let client = client(&[&server]);
    let mut events = client.events();
    let Value::Integer(id) = ask(&client, "CLIENT ID").await else {
        panic!("an id is a number");
    };
    let blocked = send(&client, "BLPOP queue 0");
    until(|| client.stats().in_flight == 1).await;
    assert_eq!(server.command(&format!("CLIENT KILL ID {id}")), ":1");

    let error = failure(soon(blocked).await.expect("no panic"));
    assert!(matches!(error.reason, Reason::Disconnected(_)), "{error:?}");
    let cause = disconnected(&mut events).await;
    assert!(matches!(cause, Cause::PeerClosed | Cause::Io), "{cause:?}");
    let Value::Integer(next) = ask(&client, "CLIENT ID").await else {
        panic!("an id is a number");
    };
    assert!(next > id);
    assert_eq!(client.stats().attempts, 2);
}

#[tokio::test]
async fn a_frozen_server_is_left_after_the_request_timeout_and_answers_again_when_it_goes_on() {
    let (Some(frozen), Some(alive)) = (RedisServer::start(&[]), RedisServer::start(&[])) else {
        return;
    };
    let config = Config::builder()
        .warm(Warm::All)
        .request_timeout(SECOND)
        .build()
        .expect("a valid configuration");
    let client = client_with(Redis::new(), config, &[&frozen]);
    let mut events = client.events();
    ask(&client, "PING").await;
    let frozen_node = client.nodes()[0].id;

    frozen.freeze();
    let request = client.request(command("ECHO x")).idempotent();
    let request = tokio::spawn(request.into_future());
    until(|| client.stats().in_flight == 1).await;
    client
        .set_nodes(&[frozen.address().into(), alive.address().into()])
        .expect("a valid list");
    let response = soon(request).await.expect("no panic").expect("a reply");
    assert_ne!(response.node, frozen_node);
    assert!(response.elapsed >= SECOND, "{response:?}");
    assert_eq!(disconnected(&mut events).await, Cause::RequestTimeout);

    frozen.thaw();
    let again = client.request(command("ECHO y")).on(frozen_node);
    let again = soon(again.idempotent()).await.expect("a reply");
    assert_eq!(again.reply, Some(string("y")));
}

#[tokio::test]
async fn late_replies_of_a_frozen_server_reach_nobody() {
    let Some(server) = RedisServer::start(&[]) else {
        return;
    };
    let config = Config::builder()
        .request_timeout(SECOND)
        .build()
        .expect("a valid configuration");
    let client = client_with(Redis::new(), config, &[&server]);
    ask(&client, "PING").await;
    server.freeze();
    let given_up = client
        .request(command("ECHO given-up"))
        .timeout(SECOND / 10);
    assert_eq!(failure(soon(given_up).await).reason, Reason::Timeout);
    // It is written behind the one that was given up, whose timeout ends their connection.
    let next = tokio::spawn(
        client
            .request(command("ECHO next"))
            .idempotent()
            .into_future(),
    );
    until(|| client.stats().attempts > 1).await;
    server.thaw();
    let response = soon(next).await.expect("no panic").expect("a reply");
    assert_eq!(response.reply, Some(string("next")));
    assert_eq!(client.stats().late_replies, 0);
}

#[tokio::test]
async fn a_keepalive_finds_a_frozen_server_that_nobody_asks_and_leaves_a_running_one_alone() {
    let (Some(frozen), Some(running)) = (RedisServer::start(&[]), RedisServer::start(&[])) else {
        return;
    };
    let config = Config::builder()
        .warm(Warm::All)
        .keepalive(true)
        .keepalive_interval(SECOND / 10)
        .keepalive_timeout(2 * SECOND)
        .build()
        .expect("a valid configuration");
    let client = client_with(Redis::new(), config, &[&frozen, &running]);
    let mut events = client.events();
    until(|| client.stats().nodes_ready == 2).await;
    frozen.freeze();
    assert_eq!(disconnected(&mut events).await, Cause::KeepaliveTimeout);

    let running_node = client.find(&running.address().into());
    let request = client
        .request(command("ECHO x"))
        .on(running_node.expect("it is in the list"));
    assert_eq!(
        soon(request).await.expect("a reply").reply,
        Some(string("x"))
    );
    assert_eq!(client.stats().failures_established, 1);
}
