//! The example `failover` of redial-tokio on async-std, from the same source: a client that fails over
//! between servers that die and come back.
//!
//! ```text
//! cargo run --release -p redial-async-std --example failover -- --seed 7
//! ```
//!
//! On smol with `--no-default-features --features smol`.

#[path = "../../adapter-tokio/examples/failover/client/mod.rs"]
mod client;
#[path = "../../adapter-tokio/examples/failover/example.rs"]
mod example;
#[path = "../../adapter-tokio/examples/failover/servers.rs"]
mod servers;

use std::{error::Error, process::ExitCode};

#[cfg(feature = "async-std")]
use async_std::task::block_on;
#[cfg(feature = "async-std")]
use redial_async_std::AsyncStd as Runtime;
#[cfg(not(feature = "async-std"))]
use {redial_async_std::Smol as Runtime, smol::block_on};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    block_on(example::run(Runtime::default()))
}
