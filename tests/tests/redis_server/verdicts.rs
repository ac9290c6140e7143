//! Errors that say: not now, or not here.

use std::future::IntoFuture;

use redial::{Config, Warm};
use redial_tests::{
    redis::{
        RedisServer, command,
        resp::{Redis, Value},
        string,
    },
    waiting::{soon, until},
};

use crate::support::{ask, client, client_with, send};

#[tokio::test]
async fn a_write_that_a_replica_refuses_is_carried_out_by_the_primary() {
    let Some(primary) = RedisServer::start(&[]) else {
        return;
    };
    let port = primary.address().port().to_string();
    let Some(replica) = RedisServer::start(&["--replicaof", "127.0.0.1", &port]) else {
        return;
    };
    // A verdict leads to another node that is Ready; it has none dialled.
    let config = Config::builder()
        .warm(Warm::All)
        .build()
        .expect("a valid configuration");
    let client = client_with(Redis::new(), config, &[&replica, &primary]);
    let on_replica = client.find(&replica.address().into());
    let on_replica = on_replica.expect("it is in the list");
    until(|| client.stats().nodes_ready == 2).await;

    // Not idempotent: the server says that it was not carried out. Each is as likely to come to the
    // replica first as to the primary.
    for count in 1..=20 {
        let response = soon(client.request(command("INCR key"))).await;
        let response = response.expect("an answer");
        assert_eq!(response.reply, Some(Value::Integer(count)));
        assert_ne!(response.node, on_replica);
    }
    assert!(client.stats().retries > 0);

    // Bound to the replica, it is told what the replica says.
    let bound = soon(client.request(command("INCR key")).on(on_replica)).await;
    let reply = bound.expect("an answer").reply.expect("a reply");
    assert_eq!(reply.error_code(), Some(&b"READONLY"[..]));
}

#[tokio::test]
async fn a_command_waits_on_its_connection_for_a_server_that_is_busy_with_a_script() {
    let Some(server) = RedisServer::start(&["--lua-time-limit", "50"]) else {
        return;
    };
    let (other, client) = (client(&[&server]), client(&[&server]));
    ask(&client, "PING").await;
    let script = command("EVAL").arg("while true do end").arg("0");
    let script = tokio::spawn(other.request(script).into_future());
    until(|| server.command("PING").starts_with("-BUSY")).await;

    let waiting = send(&client, "ECHO x");
    until(|| client.stats().retries > 0).await;
    assert!(!waiting.is_finished());
    assert_eq!(server.command("SCRIPT KILL"), "+OK");
    assert_eq!(soon(waiting).await.expect("no panic"), Ok(string("x")));
    assert_eq!(client.stats().attempts, 1);
    let killed = soon(script).await.expect("no panic").expect("an answer");
    assert!(matches!(killed.reply, Some(Value::Error(_))), "{killed:?}");
}
