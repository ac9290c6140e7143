//! Servers that have the same port at different addresses, a client that finds them by DNS, and name
//! servers that are no good.

use std::{
    collections::BTreeSet,
    net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
    thread,
    time::Duration,
};

use redial::{
    Config, ConfigBuilder, Event, SelectionPolicy, Warm,
    client::length_prefixed::LengthPrefixed,
    driver::{ClientEvent, DnsFailure, Events, ServerSource, SourceError},
};
use redial_tests::{
    dnsmasq::Dnsmasq,
    servers::{Server, ways},
    waiting::{soon, until},
};
use redial_tokio::{Client, DnsSource, NameServers};

/// Between the end of a look-up and the next one.
pub(crate) const PERIOD: Duration = Duration::from_millis(50);

/// The time that a look-up has. Enough for a server that answers, however busy the machine.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(5);

/// The time that it has where nobody will answer.
pub(crate) const SHORT: Duration = Duration::from_millis(200);

/// Servers at 127.0.0.2, 127.0.0.3 and so on, all with one port.
pub(crate) fn servers(count: u8) -> Vec<Server> {
    let ip = |n| Ipv4Addr::new(127, 0, 0, 2 + n);
    let probe = |n, port| TcpListener::bind((ip(n), port)).ok();
    for _ in 0..10 {
        let first = TcpListener::bind((ip(0), 0)).expect("a port on loopback");
        let port = first.local_addr().expect("it is bound").port();
        if (1..count).all(|n| probe(n, port).is_some()) {
            drop(first);
            let at = |n| SocketAddr::from((ip(n), port));
            return (0..count)
                .map(|n| Server::start_at(at(n), ways::echo))
                .collect();
        }
    }
    panic!("no port is free at {count} addresses");
}

/// Hosts lines that give these servers one name.
pub(crate) fn hosts(name: &str, servers: &[&Server]) -> String {
    let line = |server: &&Server| format!("{} {name}\n", server.address().ip());
    servers.iter().map(line).collect()
}

/// A name's IPv4 addresses, which this server knows, at the port of these servers.
pub(crate) fn ipv4(dns: &Dnsmasq, name: &str, servers: &[Server]) -> impl ServerSource + use<> {
    let source = DnsSource::new(name, servers[0].address().port()).ipv4_only();
    source.through(ask(dns))
}

pub(crate) fn ask(dns: &Dnsmasq) -> NameServers {
    NameServers::new([dns.address()]).timeout(TIMEOUT)
}

/// Looks up all the time, and keeps a connection to each node.
pub(crate) fn config() -> ConfigBuilder {
    Config::builder()
        .refresh_interval(PERIOD)
        .refresh_jitter(Duration::ZERO)
        .refresh_min_interval(PERIOD)
        .selection(SelectionPolicy::RoundRobin)
        .warm(Warm::All)
}

pub(crate) struct Rig {
    pub(crate) client: Client<LengthPrefixed>,
    events: Events,
}

impl Rig {
    pub(crate) fn new(source: impl ServerSource) -> Self {
        let builder = Client::builder(LengthPrefixed::new())
            .source(source)
            .seed(1);
        let config = config().build().expect("it makes sense");
        Self::of(builder.config(config).build().expect("it makes sense"))
    }

    pub(crate) fn of(client: Client<LengthPrefixed>) -> Self {
        let events = client.events();
        Self { client, events }
    }

    pub(crate) fn nodes(&self) -> BTreeSet<String> {
        let nodes = self.client.nodes();
        nodes
            .iter()
            .map(|node| node.spec.endpoint.to_string())
            .collect()
    }

    /// Waits until these servers are the list, and each has a connection.
    pub(crate) async fn until_connected(&self, servers: &[&Server]) {
        let expected: BTreeSet<_> = servers.iter().map(|s| s.address().to_string()).collect();
        until(|| self.nodes() == expected && servers.iter().all(|server| server.open() == 1)).await;
    }

    /// Waits until the source has been asked so many times more, and has answered or failed.
    pub(crate) async fn refreshes(&self, count: u64) {
        let enough = self.client.stats().refreshes + count + 1;
        until(|| self.client.stats().refreshes >= enough).await;
    }

    pub(crate) async fn assert_echoes(&self) {
        let response = soon(self.client.request("x".into()).idempotent()).await;
        assert_eq!(response.expect("an answer").reply, Some("x".into()));
    }

    /// Why the source fails next.
    pub(crate) async fn error(&mut self) -> SourceError {
        loop {
            let record = soon(self.events.next()).await.expect("the client goes on");
            if let ClientEvent::SourceFailed { error, .. } = record.event {
                return error;
            }
        }
    }

    /// Waits for this failure of DNS.
    pub(crate) async fn until_fails(&mut self, expected: DnsFailure) {
        soon(async {
            loop {
                match self.error().await {
                    SourceError::Dns { failure, .. } if failure == expected => return,
                    // Of a moment before.
                    SourceError::Dns { .. } => (),
                    other => panic!("{other} is not of DNS"),
                }
            }
        })
        .await;
    }

    /// Forgets what has happened so far.
    pub(crate) fn skip_events(&mut self) {
        self.events = self.client.events();
    }

    /// How often the list has changed since.
    pub(crate) fn list_changes(&mut self) -> usize {
        let mut changes = 0;
        let mut cx = Context::from_waker(Waker::noop());
        while let Poll::Ready(Some(record)) = self.events.poll_next(&mut cx) {
            let is_change = matches!(
                record.event,
                ClientEvent::Cluster(Event::ListChanged { .. })
            );
            changes += usize::from(is_change);
        }
        changes
    }
}

/// A name server that is no good.
pub(crate) struct BadNameServer {
    pub(crate) address: SocketAddr,
    questions: Arc<AtomicUsize>,
}

impl BadNameServer {
    /// Answers each question with this code.
    pub(crate) fn failing(code: u8) -> Self {
        Self::start(move |question| {
            let mut answer = question.to_vec();
            answer[2] |= 0x80;
            answer[3] = code;
            Some(answer)
        })
    }

    /// Answers nothing.
    pub(crate) fn silent() -> Self {
        Self::start(|_| None)
    }

    /// Answers by UDP with one address and the word that there are more, and by TCP not at all.
    pub(crate) fn truncating() -> Self {
        Self::start(|question| {
            let name = question[12..].iter().position(|&byte| byte == 0)?;
            let mut answer = question[..12 + name + 5].to_vec();
            answer[2] |= 0x82;
            answer[4..12].copy_from_slice(&[0, 1, 0, 1, 0, 0, 0, 0]);
            // The question's name, A, IN, a minute, four bytes.
            answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 9]);
            Some(answer)
        })
    }

    fn start(answer: impl Fn(&[u8]) -> Option<Vec<u8>> + Send + 'static) -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port on loopback");
        let address = socket.local_addr().expect("it is bound");
        let questions = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&questions);
        // Ends with the test's process.
        thread::spawn(move || {
            let mut question = [0; 512];
            while let Ok((length, from)) = socket.recv_from(&mut question) {
                count.fetch_add(1, Ordering::SeqCst);
                if let Some(answer) = answer(&question[..length]) {
                    let _ = socket.send_to(&answer, from);
                }
            }
        });
        Self { address, questions }
    }

    pub(crate) fn questions(&self) -> usize {
        self.questions.load(Ordering::SeqCst)
    }
}
