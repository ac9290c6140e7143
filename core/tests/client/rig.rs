//! A client of the ready-made protocol, whose network is played by hand.

use std::{
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use redial::{
    Certainty, CloseError, Config, ConfigBuilder, ConnectionId, Event, Instant, Jitter, NodeSpec,
    Reason, RequestId, RequestOptions, Warm,
    client::{
        Client, ClientAction, ClientOutput, TransportInput,
        length_prefixed::{Frame, LengthPrefixed, Status},
    },
};

pub(crate) struct Rig {
    pub(crate) client: Client<LengthPrefixed>,
    pub(crate) now: Instant,
    pub(crate) events: Vec<Event>,
    connects: Vec<ConnectionId>,
    seen: Vec<Seen>,
    /// Where there are checkers, they look at every step.
    #[cfg(feature = "sim")]
    watch: redial::sim::Watch,
}

#[cfg(feature = "sim")]
impl Drop for Rig {
    fn drop(&mut self) {
        if let Some(broken) = self.watch.broken().filter(|_| !std::thread::panicking()) {
            panic!("{broken}");
        }
    }
}

/// An output that tests compare.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Seen {
    Reply(RequestId, Bytes),
    Sent(RequestId),
    Failed(RequestId, Reason, Certainty),
    Push(ConnectionId, Bytes),
    Malformed(ConnectionId, &'static str),
    Close(ConnectionId),
    Abort(ConnectionId),
    Terminated,
}

/// All nodes are kept connected and nothing is random.
pub(crate) fn config() -> ConfigBuilder {
    Config::builder().warm(Warm::All).jitter(Jitter::None)
}

pub(crate) const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

impl Rig {
    /// With these many nodes, which are being dialled.
    pub(crate) fn dialling(nodes: u16, config: ConfigBuilder) -> Self {
        let now = Instant::from_millis(1);
        let config = config.build().expect("the test's configuration is valid");
        let protocol = LengthPrefixed::new().credentials("key").max_frame(100_000);
        #[cfg(feature = "sim")]
        let watch = redial::sim::Watch::new(Vec::new());
        #[cfg(feature = "sim")]
        let client = Client::observe(protocol, config, 7, now, Box::new(watch.clone()));
        #[cfg(not(feature = "sim"))]
        let client = Client::new(protocol, config, 7, now);
        let mut client = client.expect("it suits the protocol");
        let address = |n| SocketAddr::from((Ipv4Addr::LOCALHOST, 7000 + n));
        let list: Vec<NodeSpec> = (0..nodes).map(|n| address(n).into()).collect();
        client.set_nodes(now, &list).expect("the list is not empty");
        let (events, connects, seen) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            client,
            now,
            events,
            connects,
            seen,
            #[cfg(feature = "sim")]
            watch,
        }
    }

    /// Nothing is left.
    pub(crate) fn check_end(&self) {
        #[cfg(feature = "sim")]
        self.watch.end(self.now, self.client.cluster());
    }

    /// With one Ready node a connection.
    pub(crate) fn ready<const N: usize>(config: ConfigBuilder) -> (Self, [ConnectionId; N]) {
        let mut rig = Self::dialling(u16::try_from(N).expect("few nodes"), config);
        let connections = rig.connects();
        for &connection in &connections {
            rig.make_ready(connection);
        }
        assert_eq!(rig.seen(), []);
        (rig, connections.try_into().expect("one connection a node"))
    }

    /// The transport comes up, and both say hello.
    pub(crate) fn make_ready(&mut self, connection: ConnectionId) {
        self.client
            .handle_input(self.now, TransportInput::Connected { connection });
        assert_eq!(self.sent(connection), [Frame::hello(b"key")]);
        self.receive(connection, &[Frame::hello_answer(Status::Ok, 0)]);
    }

    pub(crate) fn submit(
        &mut self,
        request: impl Into<Bytes>,
        options: RequestOptions,
    ) -> RequestId {
        let request = request.into();
        self.client
            .submit(self.now, request, options)
            .expect("the request is accepted")
    }

    pub(crate) fn pass(&mut self, time: Duration) {
        self.now += time;
        self.drain();
    }

    /// The frames that leave, if the transport takes all of them.
    pub(crate) fn sent(&mut self, connection: ConnectionId) -> Vec<Frame> {
        let mut bytes = BytesMut::new();
        self.drain();
        loop {
            let more = self.client.transmit(self.now, connection);
            let count = more.len();
            bytes.extend_from_slice(more);
            if count == 0 {
                break;
            }
            self.client.transmitted(self.now, connection, count);
            self.drain();
        }
        let frames = std::iter::from_fn(|| Frame::decode(&mut bytes, 1 << 20).expect("frames"));
        frames.collect()
    }

    pub(crate) fn receive(&mut self, connection: ConnectionId, frames: &[Frame]) {
        self.read(connection, &wire(frames));
    }

    pub(crate) fn read(&mut self, connection: ConnectionId, bytes: &[u8]) {
        self.client.read(self.now, connection, bytes);
        self.drain();
    }

    pub(crate) fn close(&mut self, connection: ConnectionId, error: CloseError) {
        self.client
            .handle_input(self.now, TransportInput::Closed { connection, error });
        self.drain();
    }

    /// What was put out since the last call.
    pub(crate) fn seen(&mut self) -> Vec<Seen> {
        self.drain();
        std::mem::take(&mut self.seen)
    }

    /// The connections that were asked for since the last call.
    pub(crate) fn connects(&mut self) -> Vec<ConnectionId> {
        self.drain();
        std::mem::take(&mut self.connects)
    }

    pub(crate) fn drain(&mut self) {
        let Self {
            client,
            now,
            events,
            connects,
            seen,
            ..
        } = self;
        client.drive(*now, |_, output| match output {
            ClientOutput::Action(ClientAction::Connect { connection, .. }) => {
                connects.push(connection);
            }
            ClientOutput::Event(event) => events.push(event),
            output => seen.extend(Seen::of(output)),
        });
        client
            .cluster()
            .audit()
            .expect("the core's invariants hold");
    }
}

impl Seen {
    fn of(output: ClientOutput<LengthPrefixed>) -> Option<Self> {
        Some(match output {
            ClientOutput::Completion { request, result } => match result {
                Ok(response) => match response.reply {
                    Some(reply) => Self::Reply(request, reply),
                    None => Self::Sent(request),
                },
                Err(error) => Self::Failed(request, error.reason, error.certainty),
            },
            ClientOutput::Push {
                connection, push, ..
            } => Self::Push(connection, push),
            ClientOutput::Malformed {
                connection, error, ..
            } => Self::Malformed(connection, error.0),
            ClientOutput::Action(ClientAction::Close { connection }) => Self::Close(connection),
            ClientOutput::Action(ClientAction::Abort { connection }) => Self::Abort(connection),
            ClientOutput::Terminated => Self::Terminated,
            _ => return None,
        })
    }
}

pub(crate) fn wire(frames: &[Frame]) -> BytesMut {
    let mut wire = BytesMut::new();
    for frame in frames {
        frame.encode(&mut wire);
    }
    wire
}
