//! A session of ZooKeeper in a folder: how to write a `Protocol` with a session, and what a client
//! that has one does.
//!
//! Start an ensemble, then the client, and kill and restart the servers in turn while it works, or
//! change the ensemble with `zkCli.sh reconfig`; `.ci/zookeeper-example` does all of that.
//!
//! ```text
//! cargo run --release -p redial-tokio --example zookeeper -- 127.0.0.1:2181,127.0.0.1:2182 --seconds 60
//! ```
//!
//! The protocol is in `jute`: read `protocol.rs` first. The client keeps one session, on one server
//! at a time; it follows the ensemble's own list of its servers and takes it for its own. What
//! happens is printed.
//!
//! The exit code says whether it had one session, from the first connection to the end.

mod follow;
#[allow(
    unreachable_pub,
    dead_code,
    unused_imports,
    reason = "redial's own tests include these files as a public module and use all of it"
)]
mod jute;
mod watch;

use std::{error::Error, process::ExitCode, time::Duration};

use clap::Parser;
use redial::{Config, Limit};
use redial_tokio::Client;
use tokio::time::{Instant, timeout_at};

use follow::Follower;
use jute::{CONFIG_PATH, Push, Request, ZooKeeper};
use watch::print;

/// A client that keeps its session.
#[derive(Parser)]
struct Options {
    /// Some of the servers, as host:port,host:port.
    servers: String,
    /// How long the servers keep the session without hearing from us, in seconds.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    session_timeout: u64,
    /// How long to keep it.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let options = Options::parse();
    let session_timeout = Duration::from_secs(options.session_timeout);
    let client = Client::builder(ZooKeeper::new(session_timeout))
        .servers(&*options.servers)
        .config(Config::zookeeper(session_timeout))
        .build()?;
    let events = watch::start(&client);

    let end = Instant::now() + Duration::from_secs(options.seconds);
    let fate = keep(&client, end).await;
    if matches!(fate, Fate::Kept(_)) {
        // The servers then forget it at once; if they cannot be told, after its timeout.
        let close = client.request(Request::CloseSession);
        let _ = close.timeout(Limit::After(session_timeout / 3)).await;
    }
    client.shutdown(Duration::ZERO).await?;
    events.await?;
    Ok(match fate {
        Fate::Kept(id) => {
            println!("session {id:#x} was kept");
            ExitCode::SUCCESS
        }
        Fate::NeverBegan => {
            println!("no server gave us a session");
            ExitCode::FAILURE
        }
        Fate::Expired => {
            println!("the session was lost");
            ExitCode::FAILURE
        }
    })
}

/// What became of the session.
enum Fate {
    Kept(i64),
    NeverBegan,
    Expired,
}

/// Goes by what is pushed until `end`.
async fn keep(client: &Client<ZooKeeper>, end: Instant) -> Fate {
    let mut pushes = client.pushes();
    let mut follower = Follower::new(client.clone());
    let mut fate = Fate::NeverBegan;
    loop {
        let record = match timeout_at(end, pushes.next()).await {
            Ok(Some(record)) => record,
            // The client ends with its session.
            Ok(None) => return Fate::Expired,
            Err(_) => return fate,
        };
        let is_news = match &record.push {
            Push::Session {
                id,
                timeout,
                resumed,
            } => {
                let what = match resumed {
                    true => "was taken up again",
                    false => "has begun",
                };
                let what = format!("{what}; it lasts {timeout:?} without word from us");
                print(record.at, format_args!("session {id:#x}"), what);
                fate = Fate::Kept(*id);
                true
            }
            Push::Changed { path, change } => {
                print(record.at, path, format_args!("has changed: {change:?}"));
                path == CONFIG_PATH
            }
        };
        if is_news {
            // What is pushed meanwhile waits.
            let followed = timeout_at(end, follower.follow(&record.push));
            if followed.await.is_err() {
                return fate;
            }
        }
    }
}
