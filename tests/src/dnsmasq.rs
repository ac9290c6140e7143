//! Real DNS servers on loopback, each a process of its own.

use std::{
    env, fs,
    io::{self, Write},
    net::{Ipv4Addr, SocketAddr, UdpSocket},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

use crate::process::{freeze, hang_up, thaw};

/// What a busy machine may take to start one.
const PATIENCE: Duration = Duration::from_secs(20);

/// dnsmasq, running. It knows the names below `test` and no others; its answers may be kept for an
/// hour. Killed when dropped, frozen or not.
#[derive(Debug)]
pub struct Dnsmasq {
    process: Child,
    port: u16,
    directory: Directory,
}

/// Where its hosts and its log are; gone when it is dropped.
#[derive(Debug)]
struct Directory(PathBuf);

impl Dnsmasq {
    /// Starts one on a free port with these arguments. `None` if dnsmasq is not installed, which is
    /// then said; the test that asked has nothing to show.
    ///
    /// # Panics
    ///
    /// If it does not come up, or if it is not installed and the environment says
    /// `REDIAL_REQUIRE_DNSMASQ=1`.
    #[must_use]
    pub fn start(arguments: &[&str]) -> Option<Self> {
        let directory = Directory::new();
        // A port that was free a moment ago may be somebody's by now.
        for _ in 0..10 {
            let port = free_port();
            match spawn(&directory, port, arguments) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    skip();
                    return None;
                }
                process => {
                    let mut process = process.expect("dnsmasq starts");
                    if comes_up(&mut process, &directory) {
                        return Some(Self {
                            process,
                            port,
                            directory,
                        });
                    }
                }
            }
        }
        panic!("dnsmasq finds no port to listen on");
    }

    /// Where it listens, by UDP and TCP.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// Replaces its addresses: lines of address and name. Returns when it has read them.
    ///
    /// # Panics
    ///
    /// If it does not.
    pub fn set_hosts(&self, hosts: &str) {
        let read = || self.directory.log_lines(": read ");
        let before = read();
        fs::write(self.directory.0.join("hosts"), hosts).expect("our own file");
        hang_up(&self.process).expect("SIGHUP");
        wait_for("it reads its hosts", || read() > before);
    }

    /// How often it was asked for records of this type and name since it was started last.
    #[must_use]
    pub fn queries(&self, record_type: &str, name: &str) -> usize {
        let query = format!(": query[{record_type}] {name} from ");
        self.directory.log_lines(&query)
    }

    /// Kills it: nobody listens at its port.
    ///
    /// # Panics
    ///
    /// If it cannot.
    pub fn kill(&mut self) {
        self.process.kill().expect("SIGKILL");
        self.process.wait().expect("the end of our own process");
    }

    /// Starts it again, at the same address, with the same hosts and these arguments.
    ///
    /// # Panics
    ///
    /// If it does not come up.
    pub fn restart(&mut self, arguments: &[&str]) {
        self.kill();
        self.process = spawn(&self.directory, self.port, arguments).expect("dnsmasq starts");
        let is_up = comes_up(&mut self.process, &self.directory);
        assert!(is_up, "dnsmasq does not start again");
    }

    /// Stops its process: it takes questions and does not answer.
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
}

impl Drop for Dnsmasq {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Directory {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("redial-dnsmasq-{}-{number}", std::process::id());
        let directory = env::temp_dir().join(name);
        fs::create_dir_all(&directory).expect("a directory for temporary files");
        fs::write(directory.join("hosts"), "").expect("a file in a new directory");
        Self(directory)
    }

    /// How many lines of the log have this part.
    fn log_lines(&self, part: &str) -> usize {
        let log = fs::read_to_string(self.0.join("log")).unwrap_or_default();
        log.lines().filter(|line| line.contains(part)).count()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Whether it serves; not if it has ended, because its port was taken.
fn comes_up(process: &mut Child, directory: &Directory) -> bool {
    let mut ended = false;
    wait_for("dnsmasq starts", || {
        ended = process.try_wait().expect("our own process").is_some();
        // It says so when it has its sockets.
        ended || directory.log_lines(": started") > 0
    });
    !ended
}

fn spawn(directory: &Directory, port: u16, arguments: &[&str]) -> io::Result<Child> {
    let file =
        |option: &str, name: &str| format!("--{option}={}", directory.0.join(name).display());
    let _ = fs::remove_file(directory.0.join("log"));
    Command::new("dnsmasq")
        .args(["--no-daemon", "--conf-file=/dev/null", "--pid-file"])
        .args([
            "--no-resolv",
            "--no-hosts",
            "--local=/test/",
            "--local-ttl=3600",
        ])
        .args(["--listen-address=127.0.0.1", "--bind-interfaces"])
        .arg(format!("--port={port}"))
        .arg(file("addn-hosts", "hosts"))
        .args(["--log-queries", &file("log-facility", "log")])
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

fn free_port() -> u16 {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port on loopback");
    let address = socket.local_addr();
    address.expect("a bound socket has an address").port()
}

fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "{what}: not after {PATIENCE:?}");
        thread::sleep(Duration::from_millis(5));
    }
}

fn skip() {
    assert!(
        env::var("REDIAL_REQUIRE_DNSMASQ").as_deref() != Ok("1"),
        "dnsmasq is not installed, and REDIAL_REQUIRE_DNSMASQ=1 requires it"
    );
    // Not by eprintln, which the test harness keeps to itself when a test passes.
    let _ = writeln!(io::stderr(), "SKIPPED: dnsmasq is not installed");
}
