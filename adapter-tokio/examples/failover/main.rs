//! A client that fails over, in one process: real TCP servers on loopback that die and come back,
//! a steady load, and what the client saw and decided.
//!
//! ```text
//! cargo run --release -p redial-tokio --example failover -- --seed 7
//! ```
//!
//! It starts with one node that swallows connections (a full accept queue) and one that accepts and
//! says nothing; later nodes are killed and revived, on a schedule drawn from the seed, one at least
//! living at any time. The client has its default configuration. The exit code is 0 only if every
//! accepted request completed exactly once.
//!
//! The same on async-std: `-p redial-async-std`. Here stands all that differs.

mod client;
mod example;
mod servers;

use std::{error::Error, process::ExitCode};

use redial_tokio::Tokio;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    example::run(Tokio::new(tokio::runtime::Handle::current())).await
}
