//! A client of Redis in a folder: how to write a `Protocol`, and what a client that has one does.
//!
//! Start two servers, then give the client a command, or none, and kill and restart the servers in
//! turn while it works:
//!
//! ```text
//! redis-server --port 7001 --save "" & redis-server --port 7002 --save "" &
//! cargo run --release -p redial-tokio --example redis -- 127.0.0.1:7001,127.0.0.1:7002 SET key value
//! cargo run --release -p redial-tokio --example redis -- 127.0.0.1:7001,127.0.0.1:7002 --seconds 20
//! ```
//!
//! The protocol is in `resp`: read `protocol.rs` first. The rest is what every application does:
//! build a client, send requests, watch events and pushes. The servers are taken for equals, any of
//! which may answer: this is no client of Redis Cluster or Sentinel.
//!
//! With a command the exit code says whether it was answered, and not by an error. Without, callers
//! send `ECHO` commands, and it says whether each was completed once, with its own reply, 95 % of
//! them were answered, and there was never a second without an answer.

#[allow(
    unreachable_pub,
    reason = "redial's own tests include these files as a public module"
)]
mod resp;
mod watch;
mod workload;

use std::{error::Error, process::ExitCode, time::Duration};
#[cfg(feature = "record")]
use std::{fs::File, io::BufWriter};

use clap::Parser;
use redial_tokio::Client;
use tokio::time::sleep;

use resp::{Command, Redis, Value};
use watch::Watch;

/// A client of equal Redis servers.
#[derive(Parser)]
struct Options {
    /// The servers, as host:port,host:port.
    servers: String,
    /// A command and its arguments. Without one, callers send ECHO commands.
    #[arg(trailing_var_arg = true)]
    command: Vec<String>,
    /// How long callers send, or how long to listen.
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// How many callers share the client.
    #[arg(long, default_value_t = 50)]
    callers: u32,
    /// After the command, print what the servers send unasked: messages, after SUBSCRIBE.
    #[arg(long)]
    listen: bool,
    /// The most bytes of a reply; a longer one ends its connection.
    #[arg(long, default_value_t = 64 * 1024 * 1024)]
    max_reply: usize,
    /// Speak RESP2, for servers before 6.0.
    #[arg(long)]
    resp2: bool,
    /// Authenticate as this user.
    #[arg(long, requires = "password")]
    user: Option<String>,
    /// Authenticate with this password.
    #[arg(long)]
    password: Option<String>,
    /// Record what the client's core is told to this file, for redial's example `replay`.
    #[cfg(feature = "record")]
    #[arg(long)]
    record: Option<std::path::PathBuf>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut options = Options::parse();
    let length = Duration::from_secs(options.seconds);

    // Nothing is dialled before the first request, and nothing fails for a reason of the network.
    let builder = Client::builder(protocol(&options)).servers(&*options.servers);
    #[cfg(feature = "record")]
    let builder = match &options.record {
        None => builder,
        Some(path) => builder.record(BufWriter::new(File::create(path)?)),
    };
    let client = builder.build()?;
    let watch = Watch::start(&client);

    let well = match options.command.is_empty() {
        true => workload::run(&client, options.callers, length).await?,
        false => {
            let well = carry_out(&client, options.command.drain(..)).await;
            if options.listen {
                sleep(length).await;
            }
            client.shutdown(Duration::from_secs(1)).await?;
            well
        }
    };
    watch.finish().await;
    Ok(match well {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

fn protocol(options: &Options) -> Redis {
    let mut protocol = Redis::new().max_frame(options.max_reply);
    if options.resp2 {
        protocol = protocol.resp2();
    }
    if let Some(user) = &options.user {
        protocol = protocol.user(user.clone());
    }
    if let Some(password) = &options.password {
        protocol = protocol.password(password.clone());
    }
    protocol
}

/// Sends one command and prints what comes of it. Returns whether that is a reply, and no error.
async fn carry_out(client: &Client<Redis>, mut words: impl Iterator<Item = String>) -> bool {
    let command = Command::new(words.next().unwrap_or_default());
    let command = words.fold(command, Command::arg);
    // It may change something, so it is not called idempotent: once written, it is not written again.
    match client.request(command).await {
        Ok(response) => {
            // One that expects a reply has one.
            let reply = response.reply.unwrap_or(Value::Null);
            println!("{reply}");
            !matches!(reply, Value::Error(_))
        }
        Err(error) => {
            println!("no reply: {error}");
            false
        }
    }
}
