//! Real ZooKeeper servers on loopback, each a process of its own.

use std::{
    env, fs,
    io::{self, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{self, Child, Command, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use redial::NodeSpec;

use crate::process::{freeze, thaw};

/// Where Debian's packages `libzookeeper-java` and `libslf4j-java` put what is needed.
const JARS: [&str; 2] = [
    "/usr/share/java/zookeeper.jar",
    "/usr/share/java/slf4j-simple.jar",
];

/// What a busy machine may take to start them: each is a Java machine of its own.
const PATIENCE: Duration = Duration::from_secs(90);

/// Several ensembles at once would take each other's time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// ZooKeeper servers that have a leader. Killed when dropped, frozen or not, and their data removed.
/// There is one ensemble at a time; who wants another waits.
///
/// Sessions last from 1 to 10 s. Servers that nobody hears are given up by the others after 5 s.
#[derive(Debug)]
pub struct Ensemble {
    servers: Vec<Server>,
    directory: PathBuf,
    _turn: MutexGuard<'static, ()>,
}

#[derive(Debug)]
struct Server {
    process: Child,
    directory: PathBuf,
    /// For the leader, for elections, for clients.
    ports: [u16; 3],
}

impl Ensemble {
    /// Starts so many servers on free ports. `None` if ZooKeeper is not installed, which is then
    /// said; the test that asked has nothing to show.
    ///
    /// # Panics
    ///
    /// If they do not come up, or if ZooKeeper is not installed and the environment says
    /// `REDIAL_REQUIRE_ZOOKEEPER=1`.
    #[must_use]
    pub fn start(servers: usize) -> Option<Self> {
        if !is_installed() {
            skip();
            return None;
        }
        // A port that was free a moment ago may be somebody's by now.
        for _ in 0..5 {
            let mut ensemble = Self::spawn(servers);
            if ensemble.comes_up() {
                return Some(ensemble);
            }
        }
        panic!("ZooKeeper finds no ports to listen on");
    }

    /// The list of servers for a client.
    #[must_use]
    pub fn nodes(&self) -> Vec<NodeSpec> {
        (0..self.servers.len()).map(|n| self.node(n)).collect()
    }

    /// One server, for a client.
    #[must_use]
    pub fn node(&self, server: usize) -> NodeSpec {
        self.address(server).into()
    }

    /// Where a server listens for clients.
    #[must_use]
    pub fn address(&self, server: usize) -> SocketAddr {
        self.servers[server].address()
    }

    /// Which server this is.
    ///
    /// # Panics
    ///
    /// If it is none of them.
    #[must_use]
    pub fn at(&self, address: SocketAddr) -> usize {
        let at = (0..self.servers.len()).find(|&server| self.address(server) == address);
        at.expect("one of the servers")
    }

    /// The server that leads.
    ///
    /// # Panics
    ///
    /// If none does.
    #[must_use]
    pub fn leader(&self) -> usize {
        let leads = |server: &Server| server.mode().is_ok_and(|mode| mode == "leader");
        self.servers.iter().position(leads).expect("a leader")
    }

    /// Those that do not lead.
    #[must_use]
    pub fn followers(&self) -> Vec<usize> {
        let leader = self.leader();
        (0..self.servers.len())
            .filter(|&server| server != leader)
            .collect()
    }

    /// Kills a server, so that the kernel closes its connections.
    ///
    /// # Panics
    ///
    /// If it cannot.
    pub fn kill(&mut self, server: usize) {
        let process = &mut self.servers[server].process;
        process.kill().expect("SIGKILL");
        process.wait().expect("the end of our own process");
    }

    /// Stops a server: connections stay and are accepted, and nobody answers.
    ///
    /// # Panics
    ///
    /// If it cannot.
    pub fn freeze(&self, server: usize) {
        freeze(&self.servers[server].process).expect("SIGSTOP");
    }

    /// Lets it go on.
    ///
    /// # Panics
    ///
    /// If it cannot.
    pub fn thaw(&self, server: usize) {
        thaw(&self.servers[server].process).expect("SIGCONT");
    }

    /// Starts one more server, which learns all there is, but is no member yet: its line for
    /// [`Request::Reconfig`](super::jute::Request::Reconfig) is returned, which makes it one.
    ///
    /// # Panics
    ///
    /// If it does not come up.
    #[must_use]
    pub fn start_another(&mut self) -> String {
        let id = self.servers.len() + 1;
        for _ in 0..5 {
            let ports = free_ports(1)[0];
            let mut members: Vec<_> = self.members("participant");
            members.push(member(id, ports, "observer"));
            self.servers
                .push(Server::spawn(&self.directory, id, ports, &members));
            if self.comes_up() {
                return member(id, ports, "participant");
            }
            self.servers.pop();
        }
        panic!("ZooKeeper finds no ports to listen on");
    }

    fn spawn(servers: usize) -> Self {
        let turn = ONE_AT_A_TIME.lock();
        let ports = free_ports(servers);
        let name = format!("redial-tests-zookeeper-{}-{}", process::id(), ports[0][0]);
        let directory = env::temp_dir().join(name);
        let members: Vec<_> = (1..)
            .zip(&ports)
            .map(|(id, ports)| member(id, *ports, "participant"))
            .collect();
        let spawn = |(id, ports)| Server::spawn(&directory, id, ports, &members);
        Self {
            servers: (1..).zip(ports).map(spawn).collect(),
            directory,
            _turn: turn.unwrap_or_else(PoisonError::into_inner),
        }
    }

    fn members(&self, role: &str) -> Vec<String> {
        let servers = (1..).zip(&self.servers);
        servers
            .map(|(id, server)| member(id, server.ports, role))
            .collect()
    }

    /// Whether all serve; not if one has ended, because its port was taken.
    fn comes_up(&mut self) -> bool {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            for server in &mut self.servers {
                if server
                    .process
                    .try_wait()
                    .expect("our own process")
                    .is_some()
                {
                    return false;
                }
            }
            if self.servers.iter().all(|server| server.mode().is_ok()) {
                return true;
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("ZooKeeper does not serve after {PATIENCE:?}");
    }
}

impl Server {
    fn spawn(directory: &Path, id: usize, ports: [u16; 3], members: &[String]) -> Self {
        let directory = directory.join(id.to_string());
        let process = configure(&directory, id, members)
            .and_then(|()| spawn(&directory))
            .expect("a server starts");
        Self {
            process,
            directory,
            ports,
        }
    }

    fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.ports[2]).into()
    }

    /// Whether it leads, follows or observes; an error if it does not serve.
    fn mode(&self) -> io::Result<String> {
        let mut stream = TcpStream::connect(self.address())?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(b"srvr")?;
        let answer = io::read_to_string(stream)?;
        let mode = answer.lines().find_map(|line| line.strip_prefix("Mode: "));
        mode.map(str::to_owned)
            .ok_or_else(|| io::Error::other("it does not serve"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

impl Drop for Ensemble {
    fn drop(&mut self) {
        self.servers.clear();
        let _ = fs::remove_dir(&self.directory);
    }
}

/// What a server is to the others.
fn member(id: usize, [leader, election, client]: [u16; 3], role: &str) -> String {
    format!("server.{id}=127.0.0.1:{leader}:{election}:{role};127.0.0.1:{client}")
}

fn configure(directory: &Path, id: usize, members: &[String]) -> io::Result<()> {
    fs::create_dir_all(directory.join("data"))?;
    fs::write(directory.join("data/myid"), id.to_string())?;
    fs::write(directory.join("members"), members.join("\n"))?;
    let directory = directory.display();
    let settings = format!(
        "tickTime=500\ninitLimit=20\nsyncLimit=10\nmaxClientCnxns=0\n\
         dataDir={directory}/data\ndynamicConfigFile={directory}/members\n\
         reconfigEnabled=true\nstandaloneEnabled=false\n"
    );
    fs::write(format!("{directory}/settings"), settings)
}

fn spawn(directory: &Path) -> io::Result<Child> {
    Command::new("java")
        .args(["-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"])
        .arg("-Djava.net.preferIPv4Stack=true")
        .arg("-Dzookeeper.admin.enableServer=false")
        .arg("-Dzookeeper.jmx.log4j.disable=true")
        // So that anybody may change the ensemble.
        .arg("-Dzookeeper.skipACL=yes")
        .arg("-Dzookeeper.4lw.commands.whitelist=srvr")
        .args(["-cp", &JARS.join(":")])
        .arg("org.apache.zookeeper.server.quorum.QuorumPeerMain")
        .arg(directory.join("settings"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(fs::File::create(directory.join("log"))?)
        .spawn()
}

/// Ports that differ.
fn free_ports(servers: usize) -> Vec<[u16; 3]> {
    let bind = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port on loopback");
    let listeners: Vec<_> = (0..servers).map(|_| [bind(), bind(), bind()]).collect();
    let port = |listener: &TcpListener| {
        let address = listener.local_addr();
        address.expect("a bound listener has an address").port()
    };
    let ports = |listeners: &[TcpListener; 3]| listeners.each_ref().map(port);
    listeners.iter().map(ports).collect()
}

fn is_installed() -> bool {
    let java = Command::new("java")
        .arg("-version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    java.is_ok() && JARS.iter().all(|jar| Path::new(jar).exists())
}

fn skip() {
    assert!(
        env::var("REDIAL_REQUIRE_ZOOKEEPER").as_deref() != Ok("1"),
        "ZooKeeper is not installed, and REDIAL_REQUIRE_ZOOKEEPER=1 requires it"
    );
    // Not by eprintln, which the test harness keeps to itself when a test passes.
    let _ = writeln!(io::stderr(), "SKIPPED: ZooKeeper is not installed");
}
