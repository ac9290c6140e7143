//! Real nginx servers on loopback, each a process of its own.

mod certificates;
mod log;

use std::{
    env, fs,
    io::{self, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{self, Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

pub use certificates::Certificates;
pub use log::Logged;

/// What a busy machine may take to start one.
const PATIENCE: Duration = Duration::from_secs(20);

/// nginx, running, with a directory of its own. Killed when dropped, and its directory removed.
///
/// It serves the files below `www` over HTTP and, at another port, HTTPS.
#[derive(Debug)]
pub struct Nginx {
    process: Child,
    directory: PathBuf,
    ports: [u16; 2],
    certificates: Certificates,
    locations: String,
}

impl Nginx {
    /// Starts one on free ports, with these directives in its `server` block. `None` if nginx is not
    /// installed, which is then said; the test that asked has nothing to show.
    ///
    /// # Panics
    ///
    /// If it does not come up, or if it is not installed and the environment says
    /// `REDIAL_REQUIRE_NGINX=1`.
    #[must_use]
    pub fn start(locations: &str) -> Option<Self> {
        let Some(program) = program() else {
            skip();
            return None;
        };
        let directory = new_directory();
        let certificates = Certificates::new();
        // A port that was free a moment ago may be somebody's by now.
        for _ in 0..10 {
            let ports = [free_port(), free_port()];
            prepare(&directory, ports, &certificates, locations).expect("files can be written");
            let mut server = Self {
                process: spawn(&program, &directory).expect("nginx starts"),
                directory: directory.clone(),
                ports,
                certificates: certificates.clone(),
                locations: locations.to_owned(),
            };
            if server.comes_up() {
                return Some(server);
            }
        }
        panic!("nginx finds no port to listen on");
    }

    /// Where it listens for HTTP.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.ports[0]).into()
    }

    /// The URL of this path, which begins with a slash.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address())
    }

    /// The same with basic credentials, as `user:password`.
    #[must_use]
    pub fn url_as(&self, credentials: &str, path: &str) -> String {
        format!("http://{credentials}@{}{path}", self.address())
    }

    /// The same over TLS.
    #[must_use]
    pub fn https_url(&self, path: &str) -> String {
        format!("https://127.0.0.1:{}{path}", self.ports[1])
    }

    /// Who signs its certificate.
    #[must_use]
    pub const fn certificates(&self) -> &Certificates {
        &self.certificates
    }

    /// The path of a file that it serves.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.join("www").join(name)
    }

    /// Replaces a file that it serves, in one step.
    ///
    /// nginx makes its tag of the length and the time in seconds. Lists of one length that are
    /// written within a second are one to who trusts the tag.
    ///
    /// # Panics
    ///
    /// If it cannot be written.
    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let new = self.directory.join("new");
        fs::write(&new, text).expect("it can be written");
        fs::rename(new, self.file(name)).expect("it can be renamed");
    }

    /// What is in a file that it serves.
    ///
    /// # Panics
    ///
    /// If it cannot be read.
    #[must_use]
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).expect("it can be read")
    }

    /// The requests that have ended so far.
    ///
    /// # Panics
    ///
    /// If the log cannot be read.
    #[must_use]
    pub fn requests(&self) -> Vec<Logged> {
        let log = fs::read_to_string(self.directory.join("access.log")).expect("there is a log");
        // The last line may be under way.
        let whole = log.rfind('\n').map_or("", |end| &log[..end]);
        whole.lines().map(Logged::parse).collect()
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

    /// Starts it again after [`kill`](Self::kill), at the same ports, with the same files.
    ///
    /// # Panics
    ///
    /// If it does not come up.
    pub fn restart(&mut self) {
        let program = program().expect("it was there");
        prepare(
            &self.directory,
            self.ports,
            &self.certificates,
            &self.locations,
        )
        .expect("files can be written");
        self.process = spawn(&program, &self.directory).expect("nginx starts");
        assert!(self.comes_up(), "nginx does not start again");
    }

    /// Whether it answers; not if it has ended, because its port was taken.
    fn comes_up(&mut self) -> bool {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if let Some(status) = self.process.try_wait().expect("our own process") {
                let log = fs::read_to_string(self.directory.join("error.log"));
                let log = log.unwrap_or_default();
                assert!(log.contains("bind()"), "nginx: {status}: {log}");
                return false;
            }
            if self.answers().unwrap_or(false) {
                return true;
            }
            thread::sleep(Duration::from_millis(5));
        }
        panic!("nginx does not answer after {PATIENCE:?}");
    }

    /// Whether it is our process that answers at its port.
    fn answers(&self) -> io::Result<bool> {
        let mut stream = TcpStream::connect(self.address())?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(b"GET /who-is-it HTTP/1.0\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer.ends_with(&format!("\r\n\r\n{}", self.process.id())))
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Debian puts it where a user's path may not lead.
fn program() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let directories = env::split_paths(&path).chain(["/usr/sbin".into()]);
    directories
        .map(|directory| directory.join("nginx"))
        .find(|program| program.is_file())
}

fn spawn(program: &Path, directory: &Path) -> io::Result<Child> {
    Command::new(program)
        .arg("-p")
        .arg(directory)
        .args(["-c", "nginx.conf", "-e", "error.log"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

fn prepare(
    directory: &Path,
    ports: [u16; 2],
    certificates: &Certificates,
    locations: &str,
) -> io::Result<()> {
    fs::create_dir_all(directory.join("www"))?;
    let _ = fs::remove_file(directory.join("error.log"));
    fs::write(directory.join("certificate.pem"), certificates.chain())?;
    fs::write(directory.join("key.pem"), certificates.key())?;
    // Passwords as they are: they are no secrets.
    fs::write(directory.join("users"), "operator:{PLAIN}hunter2\n")?;
    let (format, [http, https]) = (log::FORMAT, ports);
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    let temporary = temporary.map(|kind| format!("{kind}_temp_path temporary;"));
    let temporary = temporary.join(" ");
    let config = format!(
        "
daemon off;
master_process off;
pid nginx.pid;
error_log error.log info;
events {{ worker_connections 256; }}
http {{
    log_format seen '{format}';
    access_log access.log seen;
    {temporary}
    default_type text/plain;
    server {{
        listen 127.0.0.1:{http};
        listen 127.0.0.1:{https} ssl;
        ssl_certificate certificate.pem;
        ssl_certificate_key key.pem;
        root www;
        location = /who-is-it {{ access_log off; return 200 $pid; }}
{locations}
    }}
}}
"
    );
    fs::write(directory.join("nginx.conf"), config)
}

fn new_directory() -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("redial-nginx-{}-{number}", process::id());
    env::temp_dir().join(name)
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port on loopback");
    let address = listener.local_addr();
    address.expect("a bound listener has an address").port()
}

fn skip() {
    assert!(
        env::var("REDIAL_REQUIRE_NGINX").as_deref() != Ok("1"),
        "nginx is not installed, and REDIAL_REQUIRE_NGINX=1 requires it"
    );
    // Not by eprintln, which the test harness keeps to itself when a test passes.
    let _ = writeln!(io::stderr(), "SKIPPED: nginx is not installed");
}
