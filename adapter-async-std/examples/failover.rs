//! The example `failover` of redial-tokio on async-std, from the same source: a client that fails over
//! between servers that die and come back.
//!
//! ```text
//! cargo run --release -p redial-async-std --example failover -- --seed 7
//! ```
//!
//! On smol: `--features smol --example failover_smol`.

#[path = "../../adapter-tokio/examples/failover/client/mod.rs"]
mod client;
#[path = "../../adapter-tokio/examples/failover/example.rs"]
mod example;
#[path = "../../adapter-tokio/examples/failover/servers.rs"]
mod servers;

use std::{error::Error, process::ExitCode};

use redial_async_std::AsyncStd;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    async_std::task::block_on(example::run(AsyncStd::default()))
}
