//! One connection to a server that says what the test wants, without sockets.

use std::time::Duration;

use redial::{
    Config, ConnectionId, Event, Instant, Reason, RequestId, RequestOptions, Warm,
    client::{Client, ClientAction, ClientOutput, TransportInput},
};
use redial_tests::redis::resp::{Command, Redis, Value};

pub(crate) const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);

/// What the application sees.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Seen {
    Reply(RequestId, Value),
    Sent(RequestId),
    Failure(RequestId, Reason),
    Retry(RequestId),
    Push(Vec<Value>),
    Malformed(&'static str),
    Ready,
    Ended(redial::Cause),
}

/// A client whose transport is up.
pub(crate) struct Rig {
    client: Client<Redis>,
    connection: ConnectionId,
    now: Instant,
    /// How it marks a push.
    pub(crate) push: char,
}

impl Rig {
    /// The greeting is sent and not answered.
    pub(crate) fn greeting(protocol: Redis) -> Self {
        let now = Instant::ORIGIN;
        let config = Config::builder()
            .warm(Warm::All)
            .keepalive(true)
            .keepalive_interval(KEEPALIVE_INTERVAL)
            .build()
            .expect("a valid configuration");
        let mut client = Client::new(protocol, config, 1, now).expect("a valid configuration");
        let node = "127.0.0.1:6379".parse().expect("an address");
        client.set_nodes(now, &[node]).expect("a valid list");
        let mut up = None;
        client.drive(now, |client, output| {
            if let ClientOutput::Action(ClientAction::Connect { connection, .. }) = output {
                client.handle_input(now, TransportInput::Connected { connection });
                up = Some(connection);
            }
        });
        let connection = up.expect("the node is kept connected");
        Self {
            client,
            connection,
            now,
            push: '>',
        }
    }

    /// RESP3, with the handshake done.
    pub(crate) fn resp3() -> Self {
        Self::ready(Redis::new(), b"%0\r\n")
    }

    /// RESP2, with the handshake done.
    pub(crate) fn resp2() -> Self {
        Self {
            push: '*',
            ..Self::ready(Redis::new().resp2(), b"+PONG\r\n")
        }
    }

    pub(crate) fn ready(protocol: Redis, welcome: &[u8]) -> Self {
        let mut rig = Self::greeting(protocol);
        rig.written();
        assert_eq!(rig.read(welcome), [Seen::Ready]);
        rig
    }

    pub(crate) fn send(&mut self, command: Command) -> RequestId {
        self.send_with(command, RequestOptions::new())
    }

    /// Submits and writes a command.
    pub(crate) fn send_with(&mut self, command: Command, options: RequestOptions) -> RequestId {
        let id = self.client.submit(self.now, command, options);
        let id = id.expect("an open client");
        assert_eq!(self.drain(), []);
        self.written();
        id
    }

    pub(crate) fn cancel(&mut self, request: RequestId) {
        assert!(self.client.cancel(self.now, request));
        self.drain();
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
        self.client.drive(self.now, |_, output| match output {
            ClientOutput::Completion { request, result } => seen.push(match result {
                Ok(response) => match response.reply {
                    Some(reply) => Seen::Reply(request, reply),
                    None => Seen::Sent(request),
                },
                Err(error) => Seen::Failure(request, error.reason),
            }),
            ClientOutput::Push { push, .. } => seen.push(Seen::Push(push)),
            ClientOutput::Malformed { error, .. } => seen.push(Seen::Malformed(error.0)),
            ClientOutput::Event(Event::RetryScheduled { request, .. }) => {
                seen.push(Seen::Retry(request));
            }
            ClientOutput::Event(Event::AttemptEnded { cause: None, .. }) => seen.push(Seen::Ready),
            ClientOutput::Event(Event::Disconnected { cause, .. }) => {
                seen.push(Seen::Ended(cause));
            }
            _ => {}
        });
        seen
    }
}
