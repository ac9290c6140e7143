//! Real Redis servers on loopback, each a process of its own.

use std::{
    env,
    io::{self, BufRead, BufReader, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::process::{freeze, thaw};

/// What a busy machine may take to start one.
const PATIENCE: Duration = Duration::from_secs(20);

/// `redis-server`, running, without any data of its own. Killed when dropped, frozen or not.
#[derive(Debug)]
pub struct RedisServer {
    process: Child,
    port: u16,
    arguments: Vec<String>,
}

impl RedisServer {
    /// Starts one on a free port with these arguments. `None` if `redis-server` is not installed,
    /// which is then said; the test that asked has nothing to show.
    ///
    /// # Panics
    ///
    /// If it does not come up, or if it is not installed and the environment says
    /// `REDIAL_REQUIRE_REDIS=1`.
    #[must_use]
    pub fn start(arguments: &[&str]) -> Option<Self> {
        let arguments: Vec<_> = arguments.iter().map(ToString::to_string).collect();
        // A port that was free a moment ago may be somebody's by now.
        for _ in 0..10 {
            let port = free_port();
            match spawn(port, &arguments) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    skip();
                    return None;
                }
                process => {
                    let process = process.expect("redis-server starts");
                    let mut server = Self {
                        process,
                        port,
                        arguments: arguments.clone(),
                    };
                    if server.comes_up() {
                        return Some(server);
                    }
                }
            }
        }
        panic!("redis-server finds no port to listen on");
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// Kills it, so that the kernel closes its connections.
    ///
    /// # Panics
    ///
    /// If it cannot.
    pub fn kill(&mut self) {
        self.process.kill().expect("SIGKILL");
        self.process.wait().expect("the end of our own process");
    }

    /// Starts it again after [`kill`](Self::kill), at the same address and empty.
    ///
    /// # Panics
    ///
    /// If it does not come up.
    pub fn restart(&mut self) {
        self.process = spawn(self.port, &self.arguments).expect("redis-server starts");
        assert!(self.comes_up(), "redis-server does not start again");
    }

    /// Stops its process: connections stay, and nobody answers. Half-open, as the other side sees it.
    ///
    /// # Panics
    ///
    /// If it cannot.
    pub fn freeze(&self) {
        freeze(&self.process).expect("SIGSTOP");
    }

    /// Lets it go on.
    ///
    /// # Panics
    ///
    /// If it cannot.
    pub fn thaw(&self) {
        thaw(&self.process).expect("SIGCONT");
    }

    /// Carries out a command on a connection of its own, without redial, and returns the first line of
    /// what it answers.
    ///
    /// # Panics
    ///
    /// If there is no answer.
    #[must_use]
    pub fn command(&self, line: &str) -> String {
        self.try_command(line).expect("an answer")
    }

    fn try_command(&self, line: &str) -> io::Result<String> {
        let mut stream = TcpStream::connect(self.address())?;
        stream.set_read_timeout(Some(PATIENCE))?;
        // Redis takes plain lines too.
        stream.write_all(format!("{line}\r\n").as_bytes())?;
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer)?;
        Ok(answer.trim_end().to_owned())
    }

    /// Whether it answers; not if it has ended, because its port was taken.
    fn comes_up(&mut self) -> bool {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if self.process.try_wait().expect("our own process").is_some() {
                return false;
            }
            if self.answers().unwrap_or(false) {
                return true;
            }
            thread::sleep(Duration::from_millis(5));
        }
        panic!("redis-server does not answer after {PATIENCE:?}");
    }

    /// Whether it is our process that answers at its port.
    fn answers(&self) -> io::Result<bool> {
        let mut stream = TcpStream::connect(self.address())?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(b"INFO server\r\nQUIT\r\n")?;
        let answer = io::read_to_string(stream)?;
        let id = format!("process_id:{}", self.process.id());
        Ok(answer.lines().any(|line| line == id))
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn spawn(port: u16, arguments: &[String]) -> io::Result<Child> {
    Command::new("redis-server")
        .args(["--bind", "127.0.0.1", "--port", &port.to_string()])
        .args(["--save", "", "--appendonly", "no", "--daemonize", "no"])
        // Nothing is left on the disk, also by a replica, and nobody else's data is loaded.
        .args(["--repl-diskless-sync", "yes"])
        .args(["--repl-diskless-load", "swapdb"])
        .args(["--dbfilename", &format!("redial-tests-{port}.rdb")])
        .args(arguments)
        .current_dir(env::temp_dir())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port on loopback");
    listener
        .local_addr()
        .expect("a bound listener has an address")
        .port()
}

fn skip() {
    assert!(
        env::var("REDIAL_REQUIRE_REDIS").as_deref() != Ok("1"),
        "redis-server is not installed, and REDIAL_REQUIRE_REDIS=1 requires it"
    );
    // Not by eprintln, which the test harness keeps to itself when a test passes.
    let _ = writeln!(io::stderr(), "SKIPPED: redis-server is not installed");
}
