//! A hostile embedder: any call at any time, with stale and foreign ids, facts in any order, and a
//! clock that goes back. The rules hold, and nothing panics.

use std::time::Duration;

use proptest::{collection::vec, option, prelude::*, sample::Index};
use redial::{
    Action, AttemptId, CloseError, Cluster, Config, ConnectError, ConnectionId, Event,
    HandshakeError, Hint, Input, Instant, Limit, Limits, Matching, Next, NodeId, Output, RefreshId,
    ReplyTo, RequestId, RequestOptions, Source, SourceId, Target, Verdict,
    record::{Answer, Call, Step},
};
use redial_tests::{script::specs, watched::Watched};

use crate::{cases, config::config};

proptest! {
    #![proptest_config(cases(250))]

    /// SEMANTICS 12.
    #[test]
    fn the_rules_hold_for_a_hostile_embedder(config in config(), moves in vec(a_move(), 1..120)) {
        let mut embedder = Embedder::new(&config);
        for made in &moves {
            if let Err(failure) = embedder.make(made) {
                prop_assert!(false, "{failure}");
            }
        }
    }

    /// DESIGN 4.20: the same calls give the same outputs, to the byte.
    #[test]
    fn the_same_calls_give_the_same_outputs(config in config(), moves in vec(a_move(), 1..120)) {
        let mut embedder = Embedder::new(&config);
        let mut calls = Vec::new();
        let mut steps = Vec::new();
        for made in &moves {
            let (now, call) = embedder.translate(made);
            calls.push((now, call));
            match embedder.make(made) {
                Ok(step) => steps.push(step),
                Err(failure) => prop_assert!(false, "{failure}"),
            }
        }
        let mut cluster = Cluster::new(config, SEED, START);
        for ((now, call), step) in calls.into_iter().zip(steps) {
            let again = Step::take(&mut cluster, now, call);
            prop_assert_eq!(format!("{again:?}"), format!("{step:?}"));
        }
    }
}

const SEED: u64 = 11;
const START: Instant = Instant::from_millis(5_000);

/// What the embedder does next, with indices in place of ids that are not known yet.
#[derive(Clone, Debug)]
struct Move {
    when: When,
    what: What,
}

#[derive(Clone, Debug)]
enum When {
    Later(u64),
    Earlier(u64),
    AtTheDeadline,
}

#[derive(Clone, Debug)]
enum What {
    SetNodes(Vec<Index>),
    SetFallback(Vec<Index>),
    Refreshed(Index, Option<u64>, Vec<Index>),
    RefreshFailed(Index),
    Submit(Option<Index>, RequestOptions),
    Cancel(Index),
    Shutdown(u64),
    NetworkChanged,
    SourceChanged(u32),
    NodeUp(Index),
    NodeDown(Index),
    Resolved(Index, Vec<u8>),
    ResolveFailed(Index),
    Fact(Fact, Index),
    Timeout,
}

#[derive(Clone, Debug)]
enum Fact {
    Connected,
    ConnectFailed(ConnectError),
    HandshakeDone(Limits),
    HandshakeFailed(HandshakeError),
    WriteStarted(u32),
    WriteDone(u32),
    WriteRejected(u32),
    WriteBlocked,
    WriteProgress,
    Received,
    Push,
    Reply(ReplyTo, Verdict),
    Throttled(u64),
    PeerDraining,
    Closed(CloseError),
}

/// Entries of server lists: names, addresses that names may have, keys.
const ENTRIES: [&str; 8] = [
    "10.0.0.1:1",
    "10.0.0.2:1",
    "db.example:1",
    "other.example:1",
    "a=10.0.0.3:1",
    "a=10.0.0.1:1",
    "b=db.example:1",
    "10.0.0.4:1",
];

fn a_move() -> impl Strategy<Value = Move> {
    let when = prop_oneof![
        8 => (0..400u64).prop_map(When::Later),
        1 => (5_000..100_000u64).prop_map(When::Later),
        1 => (1..1_000u64).prop_map(When::Earlier),
        6 => Just(When::AtTheDeadline),
    ];
    (when, what()).prop_map(|(when, what)| Move { when, what })
}

fn what() -> impl Strategy<Value = What> {
    let index = any::<Index>;
    prop_oneof![
        3 => vec(index(), 0..5).prop_map(What::SetNodes),
        1 => vec(index(), 0..5).prop_map(What::SetFallback),
        6 => (index(), option::of(0..9u64), vec(index(), 0..5)).prop_map(
            |(refresh, version, list)| What::Refreshed(refresh, version, list)
        ),
        2 => index().prop_map(What::RefreshFailed),
        12 => (option::of(index()), options()).prop_map(|(node, options)| What::Submit(node, options)),
        3 => index().prop_map(What::Cancel),
        1 => (0..3_000u64).prop_map(What::Shutdown),
        1 => Just(What::NetworkChanged),
        1 => (0..4_u32).prop_map(What::SourceChanged),
        1 => index().prop_map(What::NodeUp),
        1 => index().prop_map(What::NodeDown),
        4 => (index(), vec(1..6u8, 0..5)).prop_map(|(attempt, hosts)| What::Resolved(attempt, hosts)),
        1 => index().prop_map(What::ResolveFailed),
        30 => (fact(), index()).prop_map(|(fact, connection)| What::Fact(fact, connection)),
        12 => Just(What::Timeout),
    ]
}

fn options() -> impl Strategy<Value = RequestOptions> {
    let limit = || {
        prop_oneof![
            4 => Just(None),
            2 => (0..3_000u64).prop_map(|millis| Some(Limit::After(Duration::from_millis(millis)))),
            1 => Just(Some(Limit::Never)),
        ]
    };
    (limit(), limit(), any::<[bool; 3]>()).prop_map(
        |(timeout, request_timeout, [idempotent, fail_fast, expects_reply])| {
            let mut options = RequestOptions::new();
            options.timeout = timeout;
            options.request_timeout = request_timeout;
            options.idempotent = idempotent;
            options.fail_fast = fail_fast;
            options.expects_reply = expects_reply;
            options
        },
    )
}

fn fact() -> impl Strategy<Value = Fact> {
    use HandshakeError::{Closed, Fatal, Malformed, Rejected, Tls, Version};
    let serial = || 0..5u32;
    let error = prop_oneof![
        Just(ConnectError::Refused),
        Just(ConnectError::Unreachable),
        Just(ConnectError::Reset)
    ];
    let handshake = prop_oneof![
        4 => Just(Closed), 2 => Just(Malformed), 2 => Just(Version), 2 => Just(Tls),
        4 => Just(Rejected), 1 => Just(Fatal),
    ];
    let closed = prop_oneof![
        Just(CloseError::Peer),
        Just(CloseError::Io),
        Just(CloseError::Protocol)
    ];
    let to = prop_oneof![4 => serial().prop_map(ReplyTo::Serial), 2 => Just(ReplyTo::Oldest)];
    prop_oneof![
        8 => Just(Fact::Connected),
        2 => error.prop_map(Fact::ConnectFailed),
        8 => limits().prop_map(Fact::HandshakeDone),
        2 => handshake.prop_map(Fact::HandshakeFailed),
        8 => serial().prop_map(Fact::WriteStarted),
        6 => serial().prop_map(Fact::WriteDone),
        1 => serial().prop_map(Fact::WriteRejected),
        2 => Just(Fact::WriteBlocked),
        2 => Just(Fact::WriteProgress),
        3 => Just(Fact::Received),
        1 => Just(Fact::Push),
        8 => (to, verdict()).prop_map(|(to, verdict)| Fact::Reply(to, verdict)),
        2 => (0..5_000u64).prop_map(Fact::Throttled),
        2 => Just(Fact::PeerDraining),
        2 => closed.prop_map(Fact::Closed),
    ]
}

fn limits() -> impl Strategy<Value = Limits> {
    let session = prop_oneof![9 => Just(None), 1 => (0..5_000u64).prop_map(Some)];
    (option::of(0..3u32), session).prop_map(|(max, session)| {
        let limits = max.map_or(Limits::NONE, Limits::in_flight);
        session.map_or(limits, |millis| {
            limits.with_session(Duration::from_millis(millis))
        })
    })
}

fn verdict() -> impl Strategy<Value = Verdict> {
    let next = prop_oneof![
        4 => Just(Next::Done),
        1 => Just(Next::RetryHere),
        1 => Just(Next::RetryElsewhere)
    ];
    (next, 0..500u64, any::<[bool; 2]>()).prop_map(|(next, after, [not_executed, refresh])| {
        Verdict {
            next,
            after: Duration::from_millis(after),
            not_executed,
            refresh,
        }
    })
}

/// Knows every id that there ever was, and some of another cluster.
struct Embedder {
    watched: Watched,
    now: Instant,
    attempts: Vec<AttemptId>,
    connections: Vec<ConnectionId>,
    requests: Vec<RequestId>,
    nodes: Vec<NodeId>,
    refreshes: Vec<RefreshId>,
}

impl Embedder {
    fn new(config: &Config) -> Self {
        let mut embedder = Self {
            watched: Watched::new(config, SEED, START),
            now: START,
            attempts: Vec::new(),
            connections: Vec::new(),
            requests: Vec::new(),
            nodes: Vec::new(),
            refreshes: Vec::new(),
        };
        let sources = Config::builder().sources(vec![Source::primary(); 7]);
        let mut other = Cluster::new(sources.build().expect("it makes sense"), SEED, START);
        let list = specs(&["10.9.9.1:1", "10.9.9.2:1", "10.9.9.3:1"]);
        embedder.note(&Step::take(&mut other, START, Call::SetNodes(list)));
        for node in other.nodes().map(|view| view.id).collect::<Vec<_>>() {
            let call = Call::Submit(RequestOptions::new().on(node));
            embedder.note(&Step::take(&mut other, START, call));
            embedder.nodes.push(node);
        }
        embedder
    }

    fn make(&mut self, made: &Move) -> Result<Step, redial_tests::watched::Failure> {
        let (now, call) = self.translate(made);
        self.now = now;
        let step = self.watched.call(now, call)?;
        self.note(&step);
        let nodes = self.watched.cluster().nodes().map(|view| view.id);
        for node in nodes.collect::<Vec<_>>() {
            if !self.nodes.contains(&node) {
                self.nodes.push(node);
            }
        }
        Ok(step)
    }

    fn note(&mut self, step: &Step) {
        if let Answer::Submit(Ok(request)) = step.answer {
            self.requests.push(request);
        }
        for output in &step.outputs {
            match *output {
                Output::Action(Action::Connect { connection, .. }) => {
                    self.connections.push(connection);
                }
                Output::Event(Event::AttemptStarted { attempt, .. }) => self.attempts.push(attempt),
                Output::Action(
                    Action::Refresh { refresh, .. } | Action::Discover { refresh, .. },
                ) => self.refreshes.push(refresh),
                _ => {}
            }
        }
    }

    fn translate(&self, made: &Move) -> (Instant, Call) {
        let now = match made.when {
            When::Later(millis) => self.now + Duration::from_millis(millis),
            When::Earlier(millis) => {
                Instant::from_nanos(self.now.as_nanos().saturating_sub(millis * 1_000_000))
            }
            When::AtTheDeadline => self
                .watched
                .cluster()
                .poll_timeout()
                .map_or(self.now, |deadline| deadline.at),
        };
        let call = match &made.what {
            What::SetNodes(entries) => Call::SetNodes(list(entries)),
            What::SetFallback(entries) => Call::SetFallback(list(entries)),
            What::Refreshed(refresh, version, entries) => {
                Call::Refreshed(newest(&self.refreshes, *refresh), *version, list(entries))
            }
            What::RefreshFailed(refresh) => Call::Input(Input::RefreshFailed {
                refresh: newest(&self.refreshes, *refresh),
            }),
            What::Submit(node, options) => {
                let mut options = *options;
                options.target =
                    node.map_or(Target::Any, |node| Target::Node(newest(&self.nodes, node)));
                Call::Submit(options)
            }
            What::Cancel(request) if !self.requests.is_empty() => {
                Call::Cancel(newest(&self.requests, *request))
            }
            What::Cancel(_) | What::Timeout => Call::Timeout,
            What::NetworkChanged => Call::Hint(Hint::NetworkChanged),
            What::SourceChanged(source) => Call::Hint(Hint::SourceChanged(SourceId::new(*source))),
            What::NodeUp(node) => Call::Hint(Hint::NodeUp(newest(&self.nodes, *node))),
            What::NodeDown(node) => Call::Hint(Hint::NodeDown(newest(&self.nodes, *node))),
            What::Shutdown(millis) => Call::Shutdown(Duration::from_millis(*millis)),
            What::Resolved(attempt, hosts) => {
                let address = |host| std::net::SocketAddr::from(([10, 0, 0, host], 1));
                let addresses = hosts.iter().map(|host| address(*host)).collect();
                Call::Resolved(newest(&self.attempts, *attempt), addresses)
            }
            What::ResolveFailed(attempt) => Call::Input(Input::ResolveFailed {
                attempt: newest(&self.attempts, *attempt),
            }),
            What::Fact(fact, connection) => {
                let input = fact.about(newest(&self.connections, *connection), now);
                Call::Input(self.by_the_configured_matching(input))
            }
        };
        (now, call)
    }
}

impl Embedder {
    /// A reply by order means nothing where the protocol matches by serial.
    fn by_the_configured_matching(&self, mut input: Input) -> Input {
        if let Input::Reply { to, .. } = &mut input
            && self.watched.cluster().config().matching() == Matching::Serial
            && *to == ReplyTo::Oldest
        {
            *to = ReplyTo::Serial(0);
        }
        input
    }
}

fn list(entries: &[Index]) -> Vec<redial::NodeSpec> {
    let entries = entries.iter().map(|entry| *entry.get(&ENTRIES));
    specs(&entries.collect::<Vec<_>>())
}

/// Mostly one of the last few.
fn newest<T: Copy>(all: &[T], index: Index) -> T {
    let index = index.index(all.len().pow(2));
    all[all.len() - 1 - index.isqrt().min(all.len() - 1)]
}

impl Fact {
    fn about(&self, connection: ConnectionId, now: Instant) -> Input {
        match *self {
            Self::Connected => Input::Connected { connection },
            Self::ConnectFailed(error) => Input::ConnectFailed { connection, error },
            Self::HandshakeDone(limits) => Input::HandshakeDone { connection, limits },
            Self::HandshakeFailed(error) => Input::HandshakeFailed { connection, error },
            Self::WriteStarted(serial) => Input::WriteStarted { connection, serial },
            Self::WriteDone(serial) => Input::WriteDone { connection, serial },
            Self::WriteRejected(serial) => Input::WriteRejected { connection, serial },
            Self::WriteBlocked => Input::WriteBlocked { connection },
            Self::WriteProgress => Input::WriteProgress { connection },
            Self::Received => Input::Received { connection },
            Self::Push => Input::Push { connection },
            Self::Reply(to, verdict) => Input::Reply {
                connection,
                to,
                verdict,
            },
            Self::Throttled(millis) => Input::Throttled {
                connection,
                until: now + Duration::from_millis(millis),
            },
            Self::PeerDraining => Input::PeerDraining { connection },
            Self::Closed(error) => Input::Closed { connection, error },
        }
    }
}
