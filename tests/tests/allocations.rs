//! What allocates, counted by the allocator: nothing in `Cluster` once warm, but what comes with a
//! new connection or a new list; and little in the layers above it.

use std::{collections::VecDeque, time::Duration};

use allocation_counter::measure;
use bytes::{Bytes, BytesMut};
use redial::{
    Action, CloseError, Cluster, Config, ConnectError, ConnectionId, Event, EventMask, Input,
    Instant, Limits, NodeSpec, Output, RefreshId, ReplyTo, RequestId, RequestOptions, Source,
    Verdict,
    client::{
        Client, ClientAction, ClientOutput, TransportInput,
        length_prefixed::{Frame, Kind, LengthPrefixed, Status},
    },
};
use redial_tests::servers::{Server, ways};
use redial_tokio::Tokio;

const TIMES: u64 = 200;

/// Allocations of one turn, once everything has had its turns.
fn allocations(mut turn: impl FnMut()) -> f64 {
    (0..TIMES).for_each(|_| turn());
    let info = measure(|| (0..TIMES).for_each(|_| turn()));
    info.count_total as f64 / TIMES as f64
}

/// A cluster whose transports come up and take everything at once.
struct World {
    cluster: Cluster,
    now: Instant,
    connections_fail: bool,
    connection: Option<ConnectionId>,
    /// Refreshes that wait for their answers.
    asked: Vec<RefreshId>,
    written: VecDeque<(ConnectionId, u32, RequestId)>,
    completed: usize,
    /// Kinds of event that came.
    events: Vec<Event>,
}

impl World {
    fn new(config: Config, servers: &[&str]) -> Self {
        let mut world = Self {
            cluster: Cluster::new(config, 1, Instant::ORIGIN),
            now: Instant::ORIGIN,
            connections_fail: false,
            connection: None,
            asked: Vec::with_capacity(16),
            written: VecDeque::new(),
            completed: 0,
            events: Vec::with_capacity(16),
        };
        world.cluster.set_nodes(world.now, &list(servers)).unwrap();
        world
    }

    /// A request is answered: the first connection is there, and warm.
    fn warm(config: Config) -> Self {
        let mut world = Self::new(config, &["10.0.0.1:1"]);
        world.submit(RequestOptions::new());
        world.reply(Verdict::DONE);
        world
    }

    fn submit(&mut self, options: RequestOptions) {
        self.now += Duration::from_micros(1);
        self.cluster.submit(self.now, options).unwrap();
        self.drain();
    }

    fn tell(&mut self, input: Input) {
        self.cluster.handle_input(self.now, input);
        self.drain();
    }

    /// Answers the oldest request that was written.
    fn reply(&mut self, verdict: Verdict) {
        let (connection, serial, _) = self.written.pop_front().unwrap();
        let to = ReplyTo::Serial(serial);
        self.tell(Input::Reply {
            connection,
            to,
            verdict,
        });
    }

    /// Time passes until the next deadline.
    fn wait(&mut self) {
        self.now = self.cluster.poll_timeout().unwrap().at;
        self.cluster.handle_timeout(self.now);
        self.drain();
    }

    fn drain(&mut self) {
        self.events.clear();
        while let Some(output) = self.cluster.poll_output() {
            match output {
                Output::Action(action) => self.act(action),
                Output::Completion(_) => self.completed += 1,
                Output::Event(event) => {
                    // Enough to look at, without allocating.
                    if self.events.len() < self.events.capacity() {
                        self.events.push(event);
                    }
                }
                Output::Terminated => {}
            }
        }
    }

    fn act(&mut self, action: Action) {
        let now = self.now;
        match action {
            Action::Resolve { attempt, .. } => {
                self.cluster
                    .handle_input(now, Input::ResolveFailed { attempt });
            }
            Action::Connect { connection, .. } if self.connections_fail => {
                let error = ConnectError::Refused;
                self.cluster
                    .handle_input(now, Input::ConnectFailed { connection, error });
            }
            Action::Connect { connection, .. } => {
                self.connection = Some(connection);
                self.cluster
                    .handle_input(now, Input::Connected { connection });
            }
            Action::Handshake { connection } => {
                let limits = Limits::NONE;
                self.cluster
                    .handle_input(now, Input::HandshakeDone { connection, limits });
            }
            Action::Write {
                connection,
                request,
                serial,
            } => {
                self.written.push_back((connection, serial, request));
                for fact in [
                    Input::WriteStarted { connection, serial },
                    Input::WriteDone { connection, serial },
                ] {
                    self.cluster.handle_input(now, fact);
                }
            }
            Action::Refresh { refresh, .. } | Action::Discover { refresh, .. } => {
                self.asked.push(refresh);
            }
            _ => {}
        }
    }

    fn saw(&self, kind: EventMask) -> bool {
        self.events.iter().any(|event| EventMask::of(event) == kind)
    }
}

fn list(servers: &[&str]) -> Vec<NodeSpec> {
    let specs = servers.iter().map(|server| server.parse());
    specs.collect::<Result<_, _>>().unwrap()
}

#[test]
fn a_request_cycle_allocates_nothing_however_much_is_in_flight() {
    for in_flight in [1, 100, 10_000] {
        let config = Config::builder().max_in_flight(20_000_u32).build().unwrap();
        let mut world = World::warm(config);
        for _ in 1..in_flight {
            world.submit(RequestOptions::new());
        }
        // Everything has been in every place once.
        for _ in 0..in_flight {
            world.submit(RequestOptions::new());
            world.reply(Verdict::DONE);
        }
        let cycle = || {
            world.submit(RequestOptions::new());
            world.reply(Verdict::DONE);
        };
        assert_eq!(allocations(cycle), 0.0, "{in_flight} in flight");
    }
}

#[test]
fn a_request_with_each_option_allocates_nothing() {
    let mut world = World::warm(Config::default());
    let node = world.cluster.nodes().next().unwrap().id;
    let options = RequestOptions::new();
    for options in [
        options.on(node).bytes(1000),
        options.timeout(Duration::from_secs(1)),
        options.request_timeout(Duration::from_secs(1)),
        options.idempotent().fail_fast(),
    ] {
        let cycle = || {
            world.submit(options);
            world.reply(Verdict::DONE);
        };
        assert_eq!(allocations(cycle), 0.0, "{options:?}");
    }
    let one_way = || {
        world.submit(options.without_reply());
        world.written.clear();
    };
    assert_eq!(allocations(one_way), 0.0);
}

#[test]
fn a_cancel_and_its_late_reply_allocate_nothing() {
    let mut world = World::warm(Config::default());
    let turn = || {
        world.submit(RequestOptions::new());
        let (_, _, request) = world.written[0];
        assert!(world.cluster.cancel(world.now, request));
        world.reply(Verdict::DONE);
    };
    assert_eq!(allocations(turn), 0.0);
}

#[test]
fn a_retry_allocates_nothing() {
    let mut world = World::warm(Config::default());
    let turn = || {
        world.submit(RequestOptions::new());
        world.reply(Verdict::RETRY_HERE);
        assert!(world.saw(EventMask::RETRIES));
        world.wait();
        world.reply(Verdict::DONE);
    };
    assert_eq!(allocations(turn), 0.0);
}

#[test]
fn timeouts_that_make_a_connection_sick_and_a_reply_that_heals_it_allocate_nothing() {
    let mut world = World::warm(Config::default());
    let turn = || {
        for _ in 0..3 {
            world.submit(RequestOptions::new());
            world.wait();
            world.written.pop_front();
        }
        assert!(world.saw(EventMask::HEALTH));
        world.submit(RequestOptions::new());
        world.reply(Verdict::DONE);
        assert!(world.saw(EventMask::HEALTH));
    };
    assert_eq!(allocations(turn), 0.0);
}

#[test]
fn refreshes_that_change_nothing_allocate_nothing() {
    let config = Config::builder()
        .source(Source::primary())
        .source(Source::discovery())
        .max_idle(redial::Limit::Never);
    let mut world = World::warm(config.build().unwrap());
    let servers = list(&["10.0.0.1:1"]);
    let mut turn = 0;
    let turns = || {
        turn += 1;
        while world.asked.is_empty() {
            world.wait();
        }
        let refresh = world.asked.pop().unwrap();
        match turn % 3 {
            0 => world.tell(Input::RefreshFailed { refresh }),
            // Too late for an answer.
            1 => world.wait(),
            _ => {
                world.cluster.refreshed(world.now, refresh, None, &servers);
                world.drain();
            }
        }
        world.cluster.hint(world.now, redial::Hint::Resumed);
        world.drain();
    };
    assert_eq!(allocations(turns), 0.0);
}

#[test]
fn a_throttle_and_its_end_allocate_nothing() {
    let mut world = World::warm(Config::default());
    let connection = world.connection.unwrap();
    let turn = || {
        let until = world.now + Duration::from_secs(1);
        world.tell(Input::Throttled { connection, until });
        assert!(world.saw(EventMask::HEALTH));
        world.submit(RequestOptions::new());
        assert!(world.written.is_empty());
        world.wait();
        world.reply(Verdict::DONE);
    };
    assert_eq!(allocations(turn), 0.0);
}

#[test]
fn a_blocked_write_and_a_full_queue_allocate_nothing() {
    let config = Config::builder().queue_max_requests(1_u32).build().unwrap();
    let mut world = World::warm(config);
    let connection = world.connection.unwrap();
    let turn = || {
        world.tell(Input::WriteBlocked { connection });
        world.submit(RequestOptions::new());
        let refused = world.cluster.submit(world.now, RequestOptions::new());
        assert!(refused.is_err());
        world.drain();
        assert!(world.saw(EventMask::QUEUE));
        world.tell(Input::WriteProgress { connection });
        world.reply(Verdict::DONE);
    };
    assert_eq!(allocations(turn), 0.0);
}

#[test]
fn a_name_that_is_not_found_allocates_nothing() {
    let mut world = World::new(Config::default(), &["a:1", "b:1"]);
    world.submit(RequestOptions::new().timeout(redial::Limit::Never));
    let turn = || {
        world.wait();
        world.events.clear();
    };
    assert_eq!(allocations(turn), 0.0);
}

#[test]
fn a_refused_connection_allocates_nothing() {
    let mut world = World::new(Config::default(), &["10.0.0.1:1"]);
    world.connections_fail = true;
    world.submit(RequestOptions::new().timeout(redial::Limit::Never));
    assert_eq!(allocations(|| world.wait()), 0.0);
}

/// Its serials, and its attempt deadlines.
#[test]
fn a_connection_lost_and_made_anew_allocates_its_three_tables() {
    let mut world = World::warm(Config::default());
    let allocations = allocations(|| {
        let (connection, error) = (world.connection.unwrap(), CloseError::Peer);
        world.tell(Input::Closed { connection, error });
        assert!(world.saw(EventMask::CONNECTIONS));
        world.submit(RequestOptions::new());
        while world.written.is_empty() {
            world.wait();
        }
        world.reply(Verdict::DONE);
    });
    assert!(allocations <= 3.0, "{allocations}");
}

/// `Client` over a network that echoes at once.
struct Bytewise {
    client: Client<LengthPrefixed>,
    now: Instant,
    incoming: BytesMut,
    outgoing: BytesMut,
}

impl Bytewise {
    fn new() -> Self {
        let now = Instant::ORIGIN;
        let protocol = LengthPrefixed::new();
        let mut client = Client::new(protocol, Config::default(), 1, now).unwrap();
        client.set_nodes(now, &list(&["10.0.0.1:1"])).unwrap();
        Self {
            client,
            now,
            incoming: BytesMut::new(),
            outgoing: BytesMut::new(),
        }
    }

    /// The reply's body.
    fn request(&mut self) -> Bytes {
        let mut body = None;
        let (now, payload) = (self.now, Bytes::from_static(b"payload"));
        self.client
            .submit(now, payload, RequestOptions::new())
            .unwrap();
        while let Some(output) = self.client.poll_output() {
            match output {
                ClientOutput::Action(ClientAction::Connect { connection, .. }) => {
                    let connected = TransportInput::Connected { connection };
                    self.client.handle_input(now, connected);
                }
                ClientOutput::Action(ClientAction::Transmit { connection }) => {
                    self.echo(connection);
                }
                ClientOutput::Completion { result, .. } => {
                    body = result.unwrap().reply;
                    assert_eq!(body.as_deref(), Some(&b"payload"[..]));
                }
                _ => {}
            }
        }
        body.unwrap()
    }

    fn echo(&mut self, connection: ConnectionId) {
        let bytes = self.client.transmit(self.now, connection);
        let length = bytes.len();
        self.incoming.extend_from_slice(bytes);
        self.client.transmitted(self.now, connection, length);
        // The server's allocations are not the client's: it has none, by looking at the frame only.
        let [_, _, _, _, kind, a, b, c, d, body @ ..] = &self.incoming[..] else {
            panic!("a frame");
        };
        self.outgoing.clear();
        if *kind == Kind::Hello as u8 {
            Frame::hello_answer(Status::Ok, 0).encode(&mut self.outgoing);
        } else {
            let id = u32::from_be_bytes([*a, *b, *c, *d]);
            assert_eq!(body, b"payload");
            let body = Bytes::from_static(b"payload");
            Frame::reply(id, body).encode(&mut self.outgoing);
        }
        self.incoming.clear();
        self.client.read(self.now, connection, &self.outgoing);
    }
}

#[test]
fn the_client_allocates_nothing_for_a_request_whose_reply_is_dropped_before_the_next() {
    let mut client = Bytewise::new();
    assert_eq!(allocations(|| drop(client.request())), 0.0);
}

/// A reply's body is a piece of the buffer that it was read into. While it is held the next bytes need
/// another buffer, and its count of owners.
#[test]
fn the_client_allocates_at_most_twice_a_request_whose_reply_is_kept() {
    let mut client = Bytewise::new();
    let mut kept = VecDeque::with_capacity(101);
    let allocations = allocations(|| {
        kept.push_back(client.request());
        if kept.len() > 100 {
            kept.pop_front();
        }
    });
    assert!(allocations <= 2.0, "{allocations}");
}

/// Neither a channel nor a box a request. What the runtime allocates on this thread is counted too.
#[test]
fn the_handle_and_the_driver_allocate_nothing_of_their_own() {
    let server = Server::start(ways::echo);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let client = redial_tokio::Client::builder(LengthPrefixed::new())
        .servers(server.address().to_string())
        .runtime(Tokio::new(runtime.handle().clone()))
        .seed(1)
        .build()
        .unwrap();
    let request = || {
        let response = runtime.block_on(async {
            let request = client.request(Bytes::from_static(b"payload"));
            request.await.unwrap()
        });
        assert_eq!(response.reply.as_deref(), Some(&b"payload"[..]));
    };
    assert_eq!(allocations(request), 0.0);
}
