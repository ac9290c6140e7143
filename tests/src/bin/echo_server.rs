//! An echo server as a process: prints its address, then serves until its stdin ends.

use std::io;

use redial_tests::servers::{Server, ways};

fn main() -> io::Result<()> {
    let server = Server::start(ways::echo);
    println!("{}", server.address());
    io::copy(&mut io::stdin(), &mut io::sink())?;
    Ok(())
}
