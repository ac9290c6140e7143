//! What a server sends unasked.

use redial::{Config, driver::Pushes};
use redial_tests::{
    redis::{
        RedisServer, command,
        resp::{Redis, Value},
        string,
    },
    waiting::soon,
};

use crate::support::{ask, client, client_with, disconnected};

async fn next(pushes: &mut Pushes<Vec<Value>>) -> Vec<Value> {
    soon(pushes.next()).await.expect("an open client").push
}

fn message(channel: &'static str, text: &'static str) -> Vec<Value> {
    vec![string("message"), string(channel), string(text)]
}

#[tokio::test]
async fn in_resp3_messages_come_between_the_replies_of_the_same_connection() {
    let Some(server) = RedisServer::start(&[]) else {
        return;
    };
    let client = client(&[&server]);
    let mut pushes = client.pushes();
    assert_eq!(
        ask(&client, "SUBSCRIBE news weather").await,
        Value::Array(vec![
            string("subscribe"),
            string("weather"),
            Value::Integer(2)
        ])
    );
    for (channel, text) in [("news", "a"), ("other", "b"), ("weather", "c")] {
        let heard = i64::from(channel != "other");
        assert_eq!(
            ask(&client, &format!("PUBLISH {channel} {text}")).await,
            Value::Integer(heard)
        );
        assert_eq!(ask(&client, "ECHO x").await, string("x"));
    }
    assert_eq!(next(&mut pushes).await, message("news", "a"));
    assert_eq!(next(&mut pushes).await, message("weather", "c"));

    ask(&client, "UNSUBSCRIBE news weather").await;
    assert_eq!(ask(&client, "PUBLISH news d").await, Value::Integer(0));
    assert_eq!(client.stats().attempts, 1);
}

#[tokio::test]
async fn in_resp2_messages_come_to_a_client_of_their_own() {
    let Some(server) = RedisServer::start(&[]) else {
        return;
    };
    let subscriber = client_with(Redis::new().resp2(), Config::default(), &[&server]);
    let mut pushes = subscriber.pushes();
    ask(&subscriber, "SUBSCRIBE news").await;
    ask(&subscriber, "PSUBSCRIBE n*").await;
    assert_eq!(server.command("PUBLISH news a"), ":2");
    assert_eq!(next(&mut pushes).await, message("news", "a"));
    assert_eq!(
        next(&mut pushes).await,
        ["pmessage", "n*", "news", "a"].map(string)
    );
    let refused = ask(&subscriber, "GET key").await;
    assert_eq!(refused.error_code(), Some(&b"ERR"[..]));

    ask(&subscriber, "UNSUBSCRIBE news").await;
    ask(&subscriber, "PUNSUBSCRIBE n*").await;
    assert_eq!(ask(&subscriber, "GET key").await, Value::Null);
    assert_eq!(subscriber.stats().attempts, 1);
}

#[tokio::test]
async fn changes_of_tracked_keys_are_pushed() {
    let Some(server) = RedisServer::start(&[]) else {
        return;
    };
    let client = client(&[&server]);
    let mut pushes = client.pushes();
    ask(&client, "CLIENT TRACKING ON").await;
    ask(&client, "GET key").await;
    assert_eq!(server.command("SET key x"), "+OK");
    assert_eq!(
        next(&mut pushes).await,
        [string("invalidate"), Value::Array(vec![string("key")])]
    );
}

#[tokio::test]
async fn subscriptions_are_renewed_when_an_event_says_that_their_connection_has_ended() {
    let Some(server) = RedisServer::start(&[]) else {
        return;
    };
    let client = client(&[&server]);
    let (mut pushes, mut events) = (client.pushes(), client.events());
    ask(&client, "SUBSCRIBE news").await;
    assert_eq!(server.command("CLIENT KILL TYPE pubsub"), ":1");
    disconnected(&mut events).await;

    let again = soon(client.request(command("SUBSCRIBE news"))).await;
    assert!(again.is_ok(), "{again:?}");
    assert_eq!(server.command("PUBLISH news a"), ":1");
    assert_eq!(next(&mut pushes).await, message("news", "a"));
}
