//! The example `failover` of redial-tokio on smol, from the same source: a client that fails over
//! between servers that die and come back.
//!
//! ```text
//! cargo run --release -p redial-async-std --features smol --example failover_smol -- --seed 7
//! ```

#[path = "../../adapter-tokio/examples/failover/client/mod.rs"]
mod client;
#[path = "../../adapter-tokio/examples/failover/example.rs"]
mod example;
#[path = "../../adapter-tokio/examples/failover/servers.rs"]
mod servers;

use std::{error::Error, process::ExitCode};

use redial_async_std::Smol;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    smol::block_on(example::run(Smol::default()))
}
