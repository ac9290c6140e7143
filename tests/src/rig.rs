//! A client and its connection to a server that says what the test wants, without sockets.

use std::time::Duration;

use redial::{
    Cause, CloseError, Config, ConnectionId, Event, Instant, NodeSpec, Reason, RequestId,
    RequestOptions,
    client::{Client, ClientAction, ClientOutput, Protocol, TransportInput},
};

/// What the application sees, with replies `R` and pushes `U`.
#[derive(Clone, PartialEq, Debug)]
pub enum Seen<R, U> {
    /// A request is answered.
    Reply(RequestId, R),
    /// A request that expects no reply is written.
    Sent(RequestId),
    /// A request has failed.
    Failure(RequestId, Reason),
    /// A request will be written again.
    Retry(RequestId),
    /// The server says something unasked.
    Push(U),
    /// The server's bytes make no sense.
    Malformed(&'static str),
    /// The handshake is done.
    Ready,
    /// The connection has ended.
    Ended(Cause),
    /// The session is over.
    Expired,
    /// The cluster has been asked for its servers.
    Servers,
    /// The client has ended.
    Terminated,
}

/// A client whose transport is up.
#[derive(Debug)]
pub struct Rig<P: Protocol> {
    /// The client.
    pub client: Client<P>,
    /// The connection.
    pub connection: ConnectionId,
    /// What time it is.
    pub now: Instant,
}

type SeenOf<P> = Seen<<P as Protocol>::Reply, <P as Protocol>::Push>;

impl<P: Protocol> Rig<P> {
    /// What the handshake says first is not yet sent.
    ///
    /// # Panics
    ///
    /// If the server has no address, or the configuration does not fit the protocol or keeps no
    /// connection.
    #[must_use]
    pub fn new(protocol: P, config: Config, server: &str) -> Self {
        let now = Instant::ORIGIN;
        let mut client = Client::new(protocol, config, 1, now).expect("a valid configuration");
        let node: NodeSpec = server.parse().expect("an address");
        client.set_nodes(now, &[node]).expect("a valid list");
        let connection = connect(&mut client, now);
        Self {
            client,
            connection,
            now,
        }
    }

    /// The peer closes, and the client connects again after `wait`.
    ///
    /// # Panics
    ///
    /// If it does not.
    pub fn reconnect(&mut self, wait: Duration) {
        let closed = TransportInput::Closed {
            connection: self.connection,
            error: CloseError::Peer,
        };
        self.client.handle_input(self.now, closed);
        self.drain();
        self.now += wait;
        self.connection = connect(&mut self.client, self.now);
    }

    /// Submits a request.
    ///
    /// # Panics
    ///
    /// If it is refused.
    pub fn submit(&mut self, request: P::Request, options: RequestOptions) -> RequestId {
        let id = self.client.submit(self.now, request, options);
        id.expect("an open client")
    }

    /// What goes over the wire now.
    pub fn written(&mut self) -> Vec<u8> {
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
    pub fn pass(&mut self, time: Duration) -> Vec<SeenOf<P>> {
        self.now += time;
        self.drain()
    }

    /// These bytes come; what is seen of it.
    pub fn read(&mut self, bytes: &[u8]) -> Vec<SeenOf<P>> {
        self.drain();
        self.client.read(self.now, self.connection, bytes);
        self.drain()
    }

    /// What is seen now.
    pub fn drain(&mut self) -> Vec<SeenOf<P>> {
        let mut seen = Vec::new();
        self.client
            .drive(self.now, |_, output| seen.extend(see(output)));
        seen
    }
}

fn see<P: Protocol>(output: ClientOutput<P>) -> Option<SeenOf<P>> {
    Some(match output {
        ClientOutput::Completion { request, result } => match result {
            Ok(response) => match response.reply {
                Some(reply) => Seen::Reply(request, reply),
                None => Seen::Sent(request),
            },
            Err(error) => Seen::Failure(request, error.reason),
        },
        ClientOutput::Push { push, .. } => Seen::Push(push),
        ClientOutput::Malformed { error, .. } => Seen::Malformed(error.0),
        ClientOutput::Terminated => Seen::Terminated,
        ClientOutput::Event(event) => match event {
            Event::RetryScheduled { request, .. } => Seen::Retry(request),
            Event::AttemptEnded { cause: None, .. } => Seen::Ready,
            Event::Disconnected { cause, .. } => Seen::Ended(cause),
            Event::SessionExpired { .. } => Seen::Expired,
            Event::Refreshed { .. } => Seen::Servers,
            _ => return None,
        },
        _ => return None,
    })
}

fn connect<P: Protocol>(client: &mut Client<P>, now: Instant) -> ConnectionId {
    let mut up = None;
    client.drive(now, |client, output| {
        if let ClientOutput::Action(ClientAction::Connect { connection, .. }) = output {
            client.handle_input(now, TransportInput::Connected { connection });
            up = Some(connection);
        }
    });
    up.expect("one connection is kept")
}
