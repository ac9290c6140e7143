//! Clusters in situations that are easily named, for the tests of what looks at all of a cluster.

mod audit;
mod digest;
mod fingerprint;
mod fingerprint_nodes;
mod fingerprint_requests;

use alloc::{vec, vec::Vec};
use core::time::Duration;

use crate::{
    Action, Cause, Cluster, Config, ConfigBuilder, ConnectError, ConnectionId, HandshakeError,
    Input, Instant, Jitter, Limits, NodeId, NodeSpec, Output, ReplyTo, RequestId, RequestOptions,
    SelectionPolicy, Source, Stage, Verdict, Warm, node::Ending,
};

const NANOSECOND: Duration = Duration::from_nanos(1);

const ENDING: Ending = Ending {
    stage: Stage::Connect,
    cause: Cause::Refused,
};

/// A change of a cluster, and its name.
pub(crate) type Named = (&'static str, fn(&mut Cluster));

/// A cluster, and who drives it.
#[derive(Clone)]
pub(crate) struct Driven {
    pub(crate) cluster: Cluster,
    pub(crate) now: Instant,
    dialled: Vec<ConnectionId>,
    written: Vec<(ConnectionId, u32)>,
}

pub(crate) fn config() -> ConfigBuilder {
    Config::builder()
        .jitter(Jitter::None)
        .selection(SelectionPolicy::RoundRobin)
        .warm(Warm::None)
}

impl Driven {
    pub(crate) fn new(config: ConfigBuilder) -> Self {
        Self::from(0, config)
    }

    /// Two nodes of which nobody wants anything yet.
    fn from(start: u64, config: ConfigBuilder) -> Self {
        let now = Instant::from_millis(start);
        let mut driven = Self {
            cluster: Cluster::new(config.build().unwrap(), 1, now),
            now,
            dialled: Vec::new(),
            written: Vec::new(),
        };
        let list = ["10.0.0.1:1", "10.0.0.2:1"].map(spec);
        driven.cluster.set_nodes(now, &list).unwrap();
        driven.drain();
        driven
    }

    pub(crate) fn drain(&mut self) {
        while let Some(output) = self.cluster.poll_output() {
            match output {
                Output::Action(Action::Connect { connection, .. }) => {
                    self.dialled.push(connection);
                }
                Output::Action(Action::Write {
                    connection, serial, ..
                }) => self.written.push((connection, serial)),
                _ => {}
            }
        }
    }

    pub(crate) fn input(&mut self, input: Input) {
        self.cluster.handle_input(self.now, input);
        self.drain();
    }

    pub(crate) fn submit(&mut self, options: RequestOptions) -> RequestId {
        let request = self.cluster.submit(self.now, options).unwrap();
        self.drain();
        request
    }

    /// Submits a request for this node alone.
    pub(crate) fn submit_on(&mut self, n: usize) -> RequestId {
        self.submit(RequestOptions::new().on(self.node(n)))
    }

    pub(crate) fn wait(&mut self, time: Duration) {
        self.now += time;
        self.cluster.handle_timeout(self.now);
        self.drain();
    }

    pub(crate) fn node(&self, n: usize) -> NodeId {
        self.cluster.nodes().nth(n).unwrap().id
    }

    /// The connection that was dialled last is Ready.
    pub(crate) fn ready(&mut self, limits: Limits) -> ConnectionId {
        let connection = *self.dialled.last().unwrap();
        self.input(Input::Connected { connection });
        self.input(Input::HandshakeDone { connection, limits });
        connection
    }

    /// Dials a node that refuses.
    pub(crate) fn fail(&mut self, n: usize) {
        let request = self.submit_on(n);
        let connection = *self.dialled.last().unwrap();
        self.cluster.cancel(self.now, request);
        let error = ConnectError::Refused;
        self.input(Input::ConnectFailed { connection, error });
    }

    /// The frames that were written so far are wholly accepted.
    fn accept_all(&mut self) {
        for (connection, serial) in self.written.clone() {
            self.input(Input::WriteDone { connection, serial });
        }
    }

    fn reply(&mut self, frame: usize, verdict: Verdict) {
        let (connection, serial) = self.written[frame];
        let to = ReplyTo::Serial(serial);
        self.input(Input::Reply {
            connection,
            to,
            verdict,
        });
    }
}

fn spec(text: &str) -> NodeSpec {
    text.parse().unwrap()
}

/// Nobody wants anything.
pub(crate) fn fresh() -> Driven {
    Driven::new(config())
}

/// Node 0 is Ready and has two requests, of which one is handed over; node 1 has failed once.
pub(crate) fn busy() -> Driven {
    busy_from(0)
}

fn busy_from(start: u64) -> Driven {
    make_busy(Driven::from(start, config()))
}

fn make_busy(mut driven: Driven) -> Driven {
    driven.fail(1);
    for _ in 0..2 {
        driven.submit_on(0);
    }
    driven.wait(Duration::from_millis(3));
    driven.ready(Limits::NONE);
    let (connection, serial) = driven.written[0];
    driven.wait(Duration::from_millis(3));
    driven.input(Input::WriteStarted { connection, serial });
    driven
}

/// The same, with the first frame wholly accepted.
fn accepted() -> Driven {
    let mut driven = busy();
    let (connection, serial) = driven.written[0];
    driven.input(Input::WriteDone { connection, serial });
    driven
}

/// A request waits for node 0, which is being dialled.
pub(crate) fn dialled() -> Driven {
    let mut driven = fresh();
    driven.submit_on(0);
    driven
}

/// A request for any node waits for one that is being dialled.
fn dialled_for_any() -> Driven {
    let mut driven = fresh();
    driven.submit(RequestOptions::new().bytes(100));
    driven
}

/// Node 0 is Ready and has nothing to do.
pub(crate) fn idle() -> Driven {
    make_idle(fresh())
}

pub(crate) fn make_idle(mut driven: Driven) -> Driven {
    driven.submit_on(0);
    driven.ready(Limits::NONE);
    driven.accept_all();
    driven.reply(0, Verdict::DONE);
    driven
}

/// Node 0 is Ready and can take no more than the one request that it has; another waits, for any node.
fn full() -> Driven {
    let mut driven = fresh();
    driven.fail(1);
    driven.submit_on(0);
    driven.ready(Limits::in_flight(1));
    driven.submit(RequestOptions::new());
    driven
}

/// Node 0 is Ready, and its transport takes no more bytes.
fn blocked() -> Driven {
    let mut driven = idle();
    let connection = driven.dialled[0];
    driven.input(Input::WriteBlocked { connection });
    driven
}

/// Node 0 has been idle for too long, and no deadline was handled since.
fn past_limit() -> Driven {
    let mut driven = idle();
    driven.now += Duration::from_secs(540);
    driven.fail(1);
    driven
}

/// The handshake of node 0 takes more bytes than its transport does.
fn handshaking() -> Driven {
    let mut driven = dialled();
    let connection = driven.dialled[0];
    driven.input(Input::Connected { connection });
    driven.input(Input::WriteBlocked { connection });
    driven
}

/// A request waits for node 1, which rests.
pub(crate) fn resting() -> Driven {
    let mut driven = fresh();
    driven.fail(1);
    driven.submit_on(1);
    driven
}

/// Both nodes are wanted, and only one may be dialled at a time.
fn wanted() -> Driven {
    wanted_of([0, 1])
}

/// The same, of which the first is being dialled.
fn wanted_of(order: [usize; 2]) -> Driven {
    let mut driven = Driven::new(config().max_concurrent_attempts(1));
    for n in order {
        driven.submit_on(n);
    }
    driven
}

/// `busy`, and node 0 is throttled.
fn throttled() -> Driven {
    let mut driven = busy();
    let connection = driven.dialled[1];
    let until = driven.now + Duration::from_millis(5);
    driven.input(Input::Throttled { connection, until });
    driven
}

/// `busy`, and both requests were given up.
fn tombstones() -> Driven {
    let mut driven = busy();
    let (connection, serial) = driven.written[1];
    driven.input(Input::WriteDone { connection, serial });
    let requests: Vec<_> = driven.cluster.requests.iter().map(|(r, _)| r).collect();
    for r in requests {
        let request = driven.cluster.request_id(r);
        driven.cluster.cancel(driven.now, request);
    }
    driven.drain();
    driven
}

/// `busy`, and the reply comes before the end of the frame.
fn trailing() -> Driven {
    let mut driven = busy();
    driven.reply(0, Verdict::DONE);
    driven
}

/// `busy`, and the peer of node 0 announces its end.
fn draining() -> Driven {
    let mut driven = busy();
    let connection = driven.dialled[1];
    driven.input(Input::PeerDraining { connection });
    driven
}

/// A request for any node is to be tried again, and may not be written to the one node that is Ready
/// before the rest of its first frame.
fn barred() -> Driven {
    let timeout = Duration::from_secs(1);
    let mut driven = make_idle(Driven::new(config().request_timeout(timeout)));
    driven.submit(RequestOptions::new().idempotent());
    let (connection, serial) = driven.written[1];
    driven.input(Input::WriteStarted { connection, serial });
    driven.wait(timeout);
    driven.wait(Duration::from_millis(100));
    assert!(!driven.cluster.any_queue.is_empty(), "it waits again");
    driven
}

#[derive(Debug)]
struct Nobody;

impl crate::Select for Nobody {
    fn select(&self, _: &[crate::Candidate<'_>], _: u64) -> Option<usize> {
        None
    }
}

/// A request for any node waits, as the user's policy wants none that is Ready.
fn picky() -> Driven {
    let policy = SelectionPolicy::custom(Nobody);
    let mut driven = make_idle(Driven::new(config().selection(policy)));
    driven.submit(RequestOptions::new());
    assert!(!driven.cluster.any_queue.is_empty(), "it waits");
    driven
}

/// Node 0 has rejected the client's credentials and rests.
fn rejected() -> Driven {
    let mut driven = dialled();
    let connection = driven.dialled[0];
    driven.input(Input::Connected { connection });
    let error = HandshakeError::Rejected;
    driven.input(Input::HandshakeFailed { connection, error });
    driven
}

/// A discovery waits for a node that is being dialled.
fn discovery_waits() -> Driven {
    let mut driven = Driven::new(config().source(Source::discovery()));
    driven.submit_on(0);
    driven
}

/// A discovery is under way on node 0.
fn discovering() -> Driven {
    let mut driven = discovery_waits();
    driven.ready(Limits::NONE);
    driven
}

/// A source has not answered yet.
fn refreshing() -> Driven {
    Driven::new(config().source(Source::primary()))
}

/// There is a fallback node, which has not joined.
fn fallback() -> Driven {
    let mut driven = fresh();
    let list = [spec("10.0.0.3:1")];
    driven.cluster.set_fallback(driven.now, &list).unwrap();
    driven.drain();
    driven
}

/// Node 0 has failed, and fallback node 1 has joined.
fn fallback_joined() -> Driven {
    let mut driven = fallback();
    let list = vec![spec("10.0.0.1:1")];
    driven.cluster.set_nodes(driven.now, &list).unwrap();
    driven.fail(0);
    assert!(driven.cluster.sources.fallback_joined);
    driven
}

/// Two nodes with keys.
fn keyed() -> Driven {
    let mut driven = fresh();
    let list = [
        spec("10.0.0.1:1").with_key("a"),
        spec("10.0.0.2:1").with_key("b"),
    ];
    driven.cluster.set_nodes(driven.now, &list).unwrap();
    driven.drain();
    driven
}

/// The end has begun, with a request handed over.
fn shutting_down() -> Driven {
    let mut driven = busy();
    let drain = Duration::from_secs(1);
    driven.cluster.shutdown(driven.now, drain).unwrap();
    driven.drain();
    driven
}

/// The end.
fn terminated() -> Driven {
    let mut driven = fresh();
    let drain = Duration::ZERO;
    driven.cluster.shutdown(driven.now, drain).unwrap();
    driven.drain();
    driven
}

/// Asserts that these changes lead to as many states with fingerprints of their own, all unlike that of
/// the cluster before.
pub(crate) fn assert_all_differ(base: &Cluster, changes: &[Named]) {
    let mut seen = vec![("nothing", base.fingerprint())];
    for (name, change) in changes {
        let mut changed = base.clone();
        change(&mut changed);
        let print = changed.fingerprint();
        let same = seen.iter().find(|(_, other)| *other == print);
        assert_eq!(same, None, "{name} is as");
        seen.push((*name, print));
    }
}

/// Asserts that none of these changes leads to another fingerprint.
pub(crate) fn assert_none_differs(base: &Cluster, changes: &[Named]) {
    for (name, change) in changes {
        let mut changed = base.clone();
        change(&mut changed);
        assert_eq!(changed.fingerprint(), base.fingerprint(), "{name}");
    }
}
