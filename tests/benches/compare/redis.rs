//! redial against redis-rs's `MultiplexedConnection`: PING to the same real Redis.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
};

use redial_tests::redis::{
    RedisServer,
    resp::{Command, Redis, Value},
};
use redial_tokio::Client;
use redis::aio::MultiplexedConnection;

use crate::{
    Caller, LOADS, pin, rate,
    support::{Report, interleave, median, ratio},
};

#[derive(Clone)]
struct Ours(Client<Redis>);

impl Ours {
    async fn connect(address: SocketAddr) -> Self {
        let builder = Client::builder(Redis::new()).servers(address.to_string());
        Self(builder.build().expect("an address"))
    }
}

impl Caller for Ours {
    async fn call(&self) {
        let response = self.0.request(Command::new("PING")).await;
        let reply = response.expect("an answer").reply;
        assert_eq!(reply.as_ref().and_then(Value::bytes), Some(&b"PONG"[..]));
    }
}

#[derive(Clone)]
struct Theirs(MultiplexedConnection);

impl Theirs {
    async fn connect(address: SocketAddr) -> Self {
        let client = redis::Client::open(format!("redis://{address}")).expect("a valid URL");
        let connection = client.get_multiplexed_async_connection().await;
        Self(connection.expect("a connection"))
    }
}

impl Caller for Theirs {
    async fn call(&self) {
        let ping = redis::cmd("PING");
        let reply: String = ping
            .query_async(&mut self.0.clone())
            .await
            .expect("an answer");
        assert_eq!(reply, "PONG");
    }
}

pub(crate) fn compare(report: &mut Report) {
    let Some(server) = RedisServer::start(&[]) else {
        report.line("\nRedis: skipped, redis-server is not installed.");
        return;
    };
    let address = server.address();
    if let Some(process) = process_id(address) {
        pin(process, 1);
    }
    report.table(&[
        "in flight",
        "redis-rs, 1/s",
        "redial, 1/s",
        "redial / redis-rs",
    ]);
    for ((callers, requests), least) in LOADS.into_iter().zip([1.0, 1.5, 2.0]) {
        let figures = interleave(&mut [
            Box::new(|| rate(Theirs::connect(address), callers, requests)),
            Box::new(|| rate(Ours::connect(address), callers, requests)),
        ]);
        let ratio = ratio(&figures[1], &figures[0]);
        report.row(&[
            callers.to_string(),
            format!("{:.0}", median(&figures[0])),
            format!("{:.0}", median(&figures[1])),
            format!("{ratio:.2}"),
        ]);
        // Not behind with one in flight: as far as the machine lets one tell.
        let least = if callers == 1 { least - 0.05 } else { least };
        report.at_least(
            format!("redial / redis-rs, {callers} in flight"),
            ratio,
            least,
        );
    }
}

/// The server says itself which process it is.
fn process_id(address: SocketAddr) -> Option<u32> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.write_all(b"INFO server\r\nQUIT\r\n").ok()?;
    let mut info = String::new();
    stream.read_to_string(&mut info).ok()?;
    let line = |line: &str| line.strip_prefix("process_id:")?.trim().parse().ok();
    info.lines().find_map(line)
}
