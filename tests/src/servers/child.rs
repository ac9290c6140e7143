//! A server in a process of its own, so that it can be stopped as a whole.

use std::{
    ffi::OsStr,
    io::{self, BufRead, BufReader},
    net::SocketAddr,
    process::{Child, Command, Stdio},
};

use crate::process::{freeze, thaw};

/// The program `echo_server`, running. Killed when dropped, stopped or not.
#[derive(Debug)]
pub struct ChildServer {
    process: Child,
    address: SocketAddr,
}

impl ChildServer {
    /// Starts the program, which is `env!("CARGO_BIN_EXE_echo_server")` in a test.
    pub fn start(program: impl AsRef<OsStr>) -> io::Result<Self> {
        // It ends when its stdin does, so it cannot outlive us, whatever becomes of us.
        let mut process = Command::new(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdout = process.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        match line.trim().parse() {
            Ok(address) => Ok(Self { process, address }),
            Err(error) => {
                process.kill()?;
                Err(io::Error::other(error))
            }
        }
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Freezes it: its kernel goes on accepting connections and acknowledging bytes, and nobody
    /// reads them. As a half-open connection looks from the other side.
    pub fn stop(&self) -> io::Result<()> {
        freeze(&self.process)
    }

    /// Kills it, as SIGKILL does.
    pub fn kill(&mut self) -> io::Result<()> {
        self.process.kill()?;
        self.process.wait().map(drop)
    }

    /// Lets it go on.
    pub fn resume(&self) -> io::Result<()> {
        thaw(&self.process)
    }
}

impl Drop for ChildServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
