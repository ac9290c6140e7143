//! A client of one server that says what the test wants, without sockets.

use std::time::Duration;

use redial::{
    Cause, Config, ConnectionId, Event, Instant, NodeSpec, Reason, RequestId, RequestOptions,
    Source,
    client::{Client, ClientAction, ClientOutput, TransportInput},
};
use redial_tests::zookeeper::jute::{Push, Reply, Request, ServerError, ZooKeeper};

pub(crate) const TIMEOUT: Duration = Duration::from_secs(9);
pub(crate) const ID: i64 = 0x0102_0304_0506_0708;

/// What the application sees.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Seen {
    Reply(RequestId, Result<Reply, ServerError>),
    Sent(RequestId),
    Failure(RequestId, Reason),
    Push(Push),
    Malformed(&'static str),
    Ready,
    Ended(Cause),
    Expired,
    Servers,
    Terminated,
}

/// A client whose transport is up.
pub(crate) struct Rig {
    pub(crate) client: Client<ZooKeeper>,
    pub(crate) connection: ConnectionId,
    pub(crate) now: Instant,
}

impl Rig {
    /// The wish for a session is not yet sent.
    pub(crate) fn greeting() -> Self {
        Self::with(ZooKeeper::new(TIMEOUT), Config::zookeeper(TIMEOUT))
    }

    /// The cluster itself is asked for its servers.
    pub(crate) fn discovering() -> Self {
        let config = Config::zookeeper(TIMEOUT).to_builder();
        let config = config.sources([Source::discovery()]).build();
        let mut rig = Self::with(ZooKeeper::new(TIMEOUT), config.expect("valid"));
        rig.establish();
        rig
    }

    pub(crate) fn with(protocol: ZooKeeper, config: Config) -> Self {
        let now = Instant::ORIGIN;
        let mut client = Client::new(protocol, config, 1, now).expect("a valid configuration");
        let node: NodeSpec = "127.0.0.1:2181".parse().expect("an address");
        client.set_nodes(now, &[node]).expect("a valid list");
        let connection = connect(&mut client, now).expect("one connection is kept");
        Self {
            client,
            connection,
            now,
        }
    }

    /// There is a session.
    pub(crate) fn ready() -> Self {
        let mut rig = Self::greeting();
        rig.establish();
        rig
    }

    fn establish(&mut self) {
        self.written();
        let seen = self.read(&welcome(9_000, ID));
        assert!(matches!(seen[..], [Seen::Ready, Seen::Push(_)]), "{seen:?}");
    }

    /// The peer closes, and the client connects again; the wish for a session is not yet sent.
    pub(crate) fn reconnect(&mut self) {
        let closed = TransportInput::Closed {
            connection: self.connection,
            error: redial::CloseError::Peer,
        };
        self.client.handle_input(self.now, closed);
        self.drain();
        self.now += Duration::from_millis(2_001);
        self.client.handle_timeout(self.now);
        let connection = connect(&mut self.client, self.now);
        self.connection = connection.expect("one connection is kept");
    }

    /// Submits a request and returns what is written of it.
    pub(crate) fn send(&mut self, request: Request) -> (RequestId, Vec<u8>) {
        self.send_with(request, RequestOptions::new())
    }

    pub(crate) fn send_with(
        &mut self,
        request: Request,
        options: RequestOptions,
    ) -> (RequestId, Vec<u8>) {
        let id = self.client.submit(self.now, request, options);
        self.client.drive(self.now, |_, _| {});
        (id.expect("an open client"), self.written())
    }

    /// What goes over the wire now.
    pub(crate) fn written(&mut self) -> Vec<u8> {
        let mut written = Vec::new();
        loop {
            let bytes = self.client.transmit(self.now, self.connection).to_vec();
            if bytes.is_empty() {
                return written;
            }
            self.client
                .transmitted(self.now, self.connection, bytes.len());
            written.extend(bytes);
        }
    }

    /// Time passes; what is seen then.
    pub(crate) fn pass(&mut self, time: Duration) -> Vec<Seen> {
        self.now += time;
        self.client.handle_timeout(self.now);
        self.drain()
    }

    /// These bytes come; what is seen of it.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> Vec<Seen> {
        self.drain();
        self.client.read(self.now, self.connection, bytes);
        self.drain()
    }

    pub(crate) fn drain(&mut self) -> Vec<Seen> {
        let mut seen = Vec::new();
        self.client.drive(self.now, |_, output| {
            seen.extend(match output {
                ClientOutput::Completion { request, result } => Some(match result {
                    Ok(response) => match response.reply {
                        Some(reply) => Seen::Reply(request, reply),
                        None => Seen::Sent(request),
                    },
                    Err(error) => Seen::Failure(request, error.reason),
                }),
                ClientOutput::Push { push, .. } => Some(Seen::Push(push)),
                ClientOutput::Malformed { error, .. } => Some(Seen::Malformed(error.0)),
                ClientOutput::Terminated => Some(Seen::Terminated),
                ClientOutput::Event(event) => match event {
                    Event::AttemptEnded { cause: None, .. } => Some(Seen::Ready),
                    Event::Disconnected { cause, .. } => Some(Seen::Ended(cause)),
                    Event::SessionExpired { .. } => Some(Seen::Expired),
                    Event::Refreshed { .. } => Some(Seen::Servers),
                    _ => None,
                },
                _ => None,
            });
        });
        seen
    }
}

fn connect(client: &mut Client<ZooKeeper>, now: Instant) -> Option<ConnectionId> {
    let mut up = None;
    client.drive(now, |client, output| {
        if let ClientOutput::Action(ClientAction::Connect { connection, .. }) = output {
            client.handle_input(now, TransportInput::Connected { connection });
            up = Some(connection);
        }
    });
    up
}

// What a server says.

pub(crate) fn int(value: i32) -> Vec<u8> {
    value.to_be_bytes().to_vec()
}

pub(crate) fn long(value: i64) -> Vec<u8> {
    value.to_be_bytes().to_vec()
}

pub(crate) fn buffer(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let bytes = bytes.as_ref();
    [&int(bytes.len().try_into().expect("short"))[..], bytes].concat()
}

pub(crate) fn frame(parts: &[Vec<u8>]) -> Vec<u8> {
    buffer(parts.concat())
}

/// It has a session for us.
pub(crate) fn welcome(timeout: i32, id: i64) -> Vec<u8> {
    frame(&[int(0), int(timeout), long(id), buffer([7; 16]), vec![0]])
}

/// It answers.
pub(crate) fn reply(xid: i32, zxid: i64, error: i32, body: &[Vec<u8>]) -> Vec<u8> {
    frame(&[int(xid), long(zxid), int(error), body.concat()])
}

/// A watch tells.
pub(crate) fn watch_event(kind: i32, path: &str) -> Vec<u8> {
    reply(-1, -1, 0, &[int(kind), int(3), buffer(path)])
}

/// About a node: its last number is `children_zxid`.
pub(crate) fn stat() -> Vec<u8> {
    [
        long(1),
        long(2),
        long(3),
        long(4),
        int(5),
        int(6),
        int(7),
        long(8),
        int(9),
        int(10),
        long(11),
    ]
    .concat()
}
