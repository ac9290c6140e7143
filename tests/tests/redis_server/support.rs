//! A client of real servers.

use std::future::IntoFuture;

use redial::{
    Cause, Config, Event, NodeSpec,
    driver::{ClientEvent, Error, Events},
};
use redial_tests::{
    redis::{
        RedisServer, command,
        resp::{Redis, Value},
    },
    waiting::soon,
};
use redial_tokio::Client;

pub(crate) fn client(servers: &[&RedisServer]) -> Client<Redis> {
    client_with(Redis::new(), Config::default(), servers)
}

pub(crate) fn client_with(
    protocol: Redis,
    config: Config,
    servers: &[&RedisServer],
) -> Client<Redis> {
    let nodes: Vec<_> = servers
        .iter()
        .map(|server| NodeSpec::from(server.address()))
        .collect();
    Client::builder(protocol)
        .nodes(nodes)
        .config(config)
        .seed(1)
        .build()
        .expect("a valid configuration")
}

/// What a server answers to a command that may be carried out twice.
pub(crate) async fn ask(client: &Client<Redis>, line: &str) -> Value {
    let response = soon(client.request(command(line)).idempotent()).await;
    response
        .expect("an answer")
        .reply
        .expect("commands have replies")
}

/// Sends a command that may not be carried out twice.
pub(crate) fn send(
    client: &Client<Redis>,
    line: &str,
) -> tokio::task::JoinHandle<Result<Value, Error>> {
    let request = client.request(command(line)).into_future();
    tokio::spawn(async { Ok(request.await?.reply.expect("commands have replies")) })
}

/// Why the next connection ends.
pub(crate) async fn disconnected(events: &mut Events) -> Cause {
    loop {
        let record = soon(events.next()).await.expect("an open client");
        if let ClientEvent::Cluster(Event::Disconnected { cause, .. }) = record.event {
            return cause;
        }
    }
}
