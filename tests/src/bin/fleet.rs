//! Many clients lose their server at the same instant: when does each jitter bring them back?
//!
//! ```console
//! cargo run --release -p redial-tests --bin fleet -- --clients 1000 --clients 10000 --svg fleet.svg
//! ```

use std::{error::Error, fs, path::PathBuf};

use clap::Parser;
use redial_tests::fleet::{Fleet, KINDS, heading, picture};

/// Shows when the clients of a fleet dial a lost server again, for each kind of jitter.
#[derive(Parser)]
struct Options {
    /// How many clients there are; may be given again.
    #[arg(long, default_values_t = [1_000, 10_000])]
    clients: Vec<u32>,
    /// From which all chance follows.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Writes the picture of the last fleet there.
    #[arg(long)]
    svg: Option<PathBuf>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse();
    let mut last = Vec::new();
    for &clients in &options.clients {
        println!("{clients} clients: attempts in each second since the loss, the most in 5 ms;");
        println!(
            "of the first attempts, the fullest twentieth of [v/2, v], and how many lie outside"
        );
        println!("{:14}{}", "", heading());
        last.clear();
        for (name, jitter) in KINDS {
            let fleet = Fleet::lose_their_server(clients, jitter, options.seed)?;
            println!("{name:14}{fleet}");
            last.push((name, fleet));
        }
        println!();
    }
    if let Some(path) = &options.svg {
        let fleets: Vec<_> = last.iter().map(|(name, fleet)| (*name, fleet)).collect();
        fs::write(path, picture(&fleets))
            .map_err(|error| format!("{}: {error}", path.display()))?;
        println!("wrote {}", path.display());
    }
    Ok(())
}
