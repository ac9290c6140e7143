//! A server in a process of its own, so that it can be stopped as a whole.

use std::{
    ffi::OsStr,
    fs,
    io::{self, BufRead, BufReader},
    net::SocketAddr,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

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
        self.signal("STOP")?;
        // The signal is on its way; each thread stops when it gets there.
        while !self.is_stopped()? {
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Lets it go on.
    pub fn resume(&self) -> io::Result<()> {
        self.signal("CONT")
    }

    fn is_stopped(&self) -> io::Result<bool> {
        for thread in fs::read_dir(format!("/proc/{}/task", self.process.id()))? {
            let stat = fs::read_to_string(thread?.path().join("stat"))?;
            // `pid (name) state …`
            if !stat
                .rsplit(") ")
                .next()
                .is_some_and(|rest| rest.starts_with('T'))
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn signal(&self, name: &str) -> io::Result<()> {
        let script = format!("kill -{name} {}", self.process.id());
        match Command::new("sh").args(["-c", &script]).status()? {
            status if status.success() => Ok(()),
            status => Err(io::Error::other(format!("{script}: {status}"))),
        }
    }
}

impl Drop for ChildServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
