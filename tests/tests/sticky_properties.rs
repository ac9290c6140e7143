//! SEMANTICS 7.7, 7.8: what holds for a client under `Sticky` in every small world, however the list
//! and the servers change. `PROPTEST_CASES` raises the number of runs.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use proptest::{collection::vec, prelude::*, sample::select};
use redial::{
    Action, Backoff, CloseError, Cluster, Config, ConnectError, ConnectionId, Event, Input,
    Instant, Jitter, Limit, Limits, NodeId, NodeSpec, NodeState, Output, ReplyTo, RequestOptions,
    SelectionPolicy, SetupTimeout, Verdict,
};
use redial_tests::{
    step::{Call, Step},
    watched::Watched,
};

const HOSTS: usize = 6;
const LAP: u64 = 1_000;

/// How a server treats a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Manner {
    Works,
    Refuses,
    Hangs,
    DropsBeforeReady,
    HangsInHandshake,
    DropsWhenReady,
}

const MANNERS: [Manner; 6] = [
    Manner::Works,
    Manner::Refuses,
    Manner::Hangs,
    Manner::DropsBeforeReady,
    Manner::HangsInHandshake,
    Manner::DropsWhenReady,
];

#[derive(Clone, Debug)]
enum Op {
    /// The hosts of this mask, rotated.
    List(u8, usize),
    /// The same list in other orders and cases, so often.
    Equal(usize),
    Manner(usize, Manner),
    /// Loses its connections.
    Crash(usize),
    Throttle(usize, u64),
    Submit,
    SubmitOn(usize),
}

#[derive(Clone, Debug)]
struct Plan {
    seed: u64,
    config: Config,
    bound: bool,
    latency: u64,
    manners: Vec<Manner>,
    ops: Vec<(u64, Op)>,
}

fn config() -> impl Strategy<Value = Config> {
    let share = SetupTimeout::SessionShare {
        session_timeout: ms(6_000),
    };
    let setup = select(vec![share, Backoff::constant(ms(2_000)).into()]);
    let hedge = select(vec![Limit::Never, Limit::After(ms(100))]);
    let backoff = select(vec![
        Backoff::constant(ms(0)),
        Backoff::constant(ms(300)),
        Backoff::new(ms(50), ms(1_000), 2),
    ]);
    let start = select(vec![0, 500]);
    (setup, hedge, backoff, start, any::<[bool; 3]>()).prop_map(
        |(setup, hedge, backoff, start, [keeps, handshake, drops])| {
            Config::builder()
                .selection(SelectionPolicy::Sticky)
                .connection_setup_timeout(setup)
                .hedge_delay(hedge)
                .reconnect_backoff(backoff)
                .jitter(if drops { Jitter::None } else { Jitter::Full })
                .make_before_break(keeps)
                .handshake(handshake)
                .lap_delay(ms(LAP))
                .start_delay(ms(start))
                .drain_timeout(ms(3_000))
                .address_attempt_delay(Limit::Never)
                .max_in_flight(2u32)
                .keepalive_interval(Limit::After(ms(2_000)))
                .keepalive_timeout(ms(1_000))
                .build()
                .expect("it makes sense")
        },
    )
}

fn op() -> impl Strategy<Value = Op> {
    let host = || 0..HOSTS;
    prop_oneof![
        4 => (1..1u8 << HOSTS, host()).prop_map(|(mask, turn)| Op::List(mask, turn)),
        1 => (1..4usize).prop_map(Op::Equal),
        3 => (host(), select(&MANNERS[..])).prop_map(|(host, manner)| Op::Manner(host, manner)),
        1 => host().prop_map(Op::Crash),
        1 => (host(), 1..3_000u64).prop_map(|(host, until)| Op::Throttle(host, until)),
        2 => Just(Op::Submit),
        1 => host().prop_map(Op::SubmitOn),
    ]
}

fn plan() -> impl Strategy<Value = Plan> {
    let pause = prop_oneof![0..3u64, 0..100u64, 0..3_000u64];
    let manners = vec(select(&MANNERS[..]), HOSTS);
    let ops = vec((pause, op()), 1..40);
    (
        any::<u64>(),
        config(),
        any::<bool>(),
        1..60u64,
        manners,
        ops,
    )
        .prop_map(|(seed, config, bound, latency, manners, ops)| Plan {
            seed,
            config,
            bound,
            latency,
            manners,
            ops,
        })
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn name(host: usize) -> String {
    format!("10.0.0.{}:1", host + 1)
}

struct Link {
    host: usize,
    manner: Manner,
}

/// A client and its servers.
struct World {
    watched: Watched,
    plan: Plan,
    now: Instant,
    /// What will be told, and when.
    facts: BTreeMap<(Instant, u64), Input>,
    told: u64,
    links: BTreeMap<ConnectionId, Link>,
    hosts: BTreeMap<NodeId, usize>,
    listed: Vec<usize>,
    /// Until when each host rests, whether it is listed or not.
    rests: [Option<Instant>; HOSTS],
    calls_now: u32,
    updates: u64,
    attempts: u64,
    readies: u64,
    open: BTreeSet<redial::RequestId>,
    terminated: bool,
}

impl World {
    fn new(plan: Plan) -> Self {
        Self {
            watched: Watched::new(&plan.config, plan.seed, Instant::ORIGIN),
            plan,
            now: Instant::ORIGIN,
            facts: BTreeMap::new(),
            told: 0,
            links: BTreeMap::new(),
            hosts: BTreeMap::new(),
            listed: Vec::new(),
            rests: [None; HOSTS],
            calls_now: 0,
            updates: 0,
            attempts: 0,
            readies: 0,
            open: BTreeSet::new(),
            terminated: false,
        }
    }

    fn cluster(&self) -> &Cluster {
        self.watched.cluster()
    }

    fn call(&mut self, call: Call) -> Step {
        self.calls_now += 1;
        assert!(self.calls_now < 500, "a busy loop at {}", self.now);
        let step = self.watched.call(self.now, call);
        let step = step.unwrap_or_else(|failure| panic!("{failure}"));
        for view in self.watched.cluster().nodes() {
            let host = (0..HOSTS).find(|host| view.spec.endpoint.to_string() == name(*host));
            self.hosts.insert(view.id, host.expect("a host"));
        }
        if let redial_tests::step::Answer::Submit(Ok(request)) = step.answer {
            self.open.insert(request);
        }
        for output in &step.outputs {
            self.take(output, &step);
        }
        self.check();
        step
    }

    fn take(&mut self, output: &Output, step: &Step) {
        let latency = self.plan.latency;
        match *output {
            Output::Action(Action::Connect {
                connection, node, ..
            }) => {
                let host = self.hosts[&node];
                assert!(
                    self.listed.contains(&host),
                    "{host} is dialled and not listed\n{step}"
                );
                let manner = self.plan.manners[host];
                self.links.insert(connection, Link { host, manner });
                match manner {
                    Manner::Refuses => {
                        let error = ConnectError::Refused;
                        self.tell(latency, Input::ConnectFailed { connection, error });
                    }
                    Manner::Hangs => {}
                    _ => self.tell(latency, Input::Connected { connection }),
                }
                if manner == Manner::DropsBeforeReady || manner == Manner::DropsWhenReady {
                    let error = CloseError::Peer;
                    let after = if manner == Manner::DropsWhenReady {
                        3 * latency
                    } else {
                        latency
                    };
                    self.tell(after, Input::Closed { connection, error });
                }
            }
            Output::Action(Action::Handshake { connection }) => {
                if !matches!(
                    self.links[&connection].manner,
                    Manner::HangsInHandshake | Manner::DropsBeforeReady
                ) {
                    let limits = Limits::NONE;
                    self.tell(latency, Input::HandshakeDone { connection, limits });
                }
            }
            Output::Action(Action::Write {
                connection, serial, ..
            }) => {
                let host = self.links[&connection].host;
                assert!(
                    self.listed.contains(&host),
                    "{host} is used and not listed\n{step}"
                );
                self.tell(0, Input::WriteStarted { connection, serial });
                self.tell(0, Input::WriteDone { connection, serial });
                let (to, verdict) = (ReplyTo::Serial(serial), Verdict::DONE);
                self.tell(
                    latency,
                    Input::Reply {
                        connection,
                        to,
                        verdict,
                    },
                );
            }
            Output::Action(Action::Probe { connection }) => {
                self.tell(latency, Input::Received { connection });
            }
            Output::Action(Action::Close { connection } | Action::Abort { connection }) => {
                self.links.remove(&connection);
            }
            Output::Completion(completion) => {
                assert!(self.open.remove(&completion.request), "complete once");
            }
            Output::Event(Event::AttemptStarted { node, .. }) => {
                self.attempts += 1;
                let rest = self.rests[self.hosts[&node]];
                assert!(
                    rest.is_none_or(|rest| rest <= self.now),
                    "rests until {rest:?}\n{step}"
                );
            }
            Output::Event(Event::StateChanged {
                to: NodeState::Ready,
                ..
            }) => self.readies += 1,
            Output::Terminated => self.terminated = true,
            _ => {}
        }
    }

    fn tell(&mut self, after: u64, fact: Input) {
        self.told += 1;
        self.facts.insert((self.now + ms(after), self.told), fact);
    }

    /// After each call.
    fn check(&mut self) {
        let views: Vec<_> = self.watched.cluster().nodes().collect();
        if !self.plan.bound {
            let count = |state| views.iter().filter(|view| view.state == state).count();
            assert!(count(NodeState::Ready) <= 1, "two nodes at {}", self.now);
            assert!(
                count(NodeState::Handshaking) <= 1,
                "two handshakes at {}",
                self.now
            );
        }
        for (id, link) in &self.links {
            let Some(view) = self.watched.cluster().connection(*id) else {
                continue;
            };
            assert!(
                view.draining || self.listed.contains(&link.host),
                "{id} is on no listed server"
            );
        }
        let wants = !self.listed.is_empty() && !self.terminated;
        let ready = views.iter().any(|view| view.state == NodeState::Ready);
        let deadline = self.cluster().poll_timeout();
        assert!(
            !wants || ready || deadline.is_some(),
            "nothing will happen after {}",
            self.now
        );
        for view in &views {
            self.rests[self.hosts[&view.id]] = view.next_attempt;
        }
    }

    fn run_until(&mut self, end: Instant) {
        loop {
            let deadline = self.cluster().poll_timeout().map(|deadline| deadline.at);
            let fact = self.facts.first_key_value().map(|((at, _), _)| *at);
            let Some(next) = deadline
                .into_iter()
                .chain(fact)
                .min()
                .filter(|at| *at <= end)
            else {
                break;
            };
            self.go_to(next.max(self.now));
            if fact.is_some_and(|at| at <= self.now) {
                let (_, fact) = self.facts.pop_first().expect("it is there");
                self.tell_now(fact);
            } else {
                self.call(Call::Timeout);
            }
        }
        self.go_to(end);
    }

    /// Unless the connection is gone.
    fn tell_now(&mut self, fact: Input) {
        let (Input::Connected { connection }
        | Input::ConnectFailed { connection, .. }
        | Input::Closed { connection, .. }
        | Input::HandshakeDone { connection, .. }
        | Input::WriteStarted { connection, .. }
        | Input::WriteDone { connection, .. }
        | Input::Reply { connection, .. }
        | Input::Received { connection }) = fact
        else {
            panic!("no such fact is told");
        };
        if self.links.contains_key(&connection) {
            if matches!(fact, Input::ConnectFailed { .. } | Input::Closed { .. }) {
                self.links.remove(&connection);
            }
            self.call(Call::Input(fact));
        }
    }

    fn go_to(&mut self, now: Instant) {
        if now > self.now {
            (self.now, self.calls_now) = (now, 0);
        }
    }

    fn set_nodes(&mut self, listed: Vec<usize>) -> Step {
        let list = listed
            .iter()
            .map(|host| name(*host).parse::<NodeSpec>().expect("an endpoint"));
        let list = list.collect();
        self.listed = listed;
        self.updates += 1;
        self.call(Call::SetNodes(list))
    }

    fn op(&mut self, op: &Op) {
        match *op {
            Op::List(mask, turn) => {
                let mut listed: Vec<usize> =
                    (0..HOSTS).filter(|host| mask >> host & 1 == 1).collect();
                let turn = turn % listed.len();
                listed.rotate_left(turn);
                self.set_nodes(listed);
            }
            Op::Equal(times) => {
                let deadline = self.cluster().poll_timeout();
                for _ in 0..times {
                    let mut listed = self.listed.clone();
                    listed.reverse();
                    listed.extend(self.listed.first());
                    let step = self.set_nodes(listed);
                    self.listed.pop();
                    assert_eq!((step.outputs, step.deadline), (vec![], deadline));
                }
            }
            Op::Manner(host, manner) => self.plan.manners[host] = manner,
            Op::Crash(host) => {
                let its = self.links.iter().filter(|(_, link)| link.host == host);
                let its: Vec<_> = its.map(|(id, _)| *id).collect();
                for connection in its {
                    let error = CloseError::Io;
                    if self.cluster().connection(connection).is_some() {
                        self.tell_now(Input::Closed { connection, error });
                    }
                }
            }
            Op::Throttle(host, millis) => {
                let its = self.links.iter().find(|(_, link)| link.host == host);
                let until = self.now + ms(millis);
                if let Some((&connection, _)) = its {
                    self.call(Call::Input(Input::Throttled { connection, until }));
                }
            }
            Op::Submit => {
                self.call(Call::Submit(RequestOptions::new().idempotent()));
            }
            Op::SubmitOn(host) => {
                let node = self
                    .cluster()
                    .nodes()
                    .find(|view| self.hosts[&view.id] == host);
                if let Some(node) = node.filter(|_| self.plan.bound).map(|view| view.id) {
                    let options = RequestOptions::new().timeout(ms(3_000)).on(node);
                    self.call(Call::Submit(options));
                }
            }
        }
    }

    /// All the ops, from a list of all servers on.
    fn run_ops(&mut self) {
        self.set_nodes((0..HOSTS).collect());
        for (pause, op) in std::mem::take(&mut self.plan.ops) {
            self.run_until(self.now + ms(pause));
            self.op(&op);
        }
    }
}

fn cases(default: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|cases| cases.parse().ok());
    ProptestConfig {
        cases: asked.unwrap_or(default),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(cases(300))]

    /// 7.7, Z17, Z27, Z29, Z35: in every step; and when the servers work again, the client is connected soon, to a
    /// listed one, and everything completes.
    #[test]
    fn a_client_has_one_listed_server_and_finds_one_that_works(plan in plan()) {
        let mut world = World::new(plan);
        world.run_ops();
        world.plan.manners = vec![Manner::Works; HOSTS];
        world.run_until(world.now + ms(3_000));
        world.op(&Op::Submit);
        // A hanging attempt, a rest, a lap, a start delay, and the way to Ready; a throttle besides.
        world.run_until(world.now + ms(6_000 + 1_000 + LAP + 500 + 200 + 3_000));
        let stats = world.cluster().stats();
        prop_assert!(stats.nodes_ready >= 1, "{stats:?}");
        prop_assert!(world.open.is_empty(), "{:?} wait", world.open);
        // Then it is quiet: a keepalive now and then, and nothing is dialled.
        let attempts = world.attempts;
        world.run_until(world.now + ms(60_000));
        prop_assert_eq!(world.attempts, attempts);
        world.call(Call::Shutdown(ms(500)));
        world.run_until(world.now + ms(500));
        prop_assert!(world.terminated && world.open.is_empty());
        prop_assert_eq!(world.cluster().poll_timeout(), None);
    }

    /// 7.8: lists that flap make no client dial more often than laps allow.
    #[test]
    fn flapping_lists_reset_no_lap(plan in plan(), lists in vec(1..1u8 << HOSTS, 2), pause in 1..50u64) {
        let mut plan = plan;
        let config = plan.config.to_builder().hedge_delay(Limit::Never);
        plan.config = config.build().expect("it makes sense");
        let mut world = World::new(plan);
        world.plan.manners = vec![Manner::Refuses; HOSTS];
        world.set_nodes((0..HOSTS).collect());
        for round in 0..200 {
            world.run_until(world.now + ms(pause));
            world.op(&Op::List(lists[round % 2], round % HOSTS));
        }
        let laps = world.now.as_nanos() / 1_000_000 / LAP + 2;
        let most = laps * HOSTS as u64 + aborted_by_updates(&world);
        prop_assert!(world.attempts <= most, "{} attempts, {laps} laps", world.attempts);
    }
}

/// An update may take an attempt away, and another begins in the same step.
fn aborted_by_updates(world: &World) -> u64 {
    world
        .updates
        .min(world.attempts - world.cluster().stats().failures_connect)
}

/// A property of worlds in which nothing happens would say nothing.
#[test]
fn the_worlds_are_eventful() {
    use proptest::{strategy::ValueTree, test_runner::TestRunner};
    let mut runner = TestRunner::deterministic();
    let (mut readies, mut attempts, mut moves) = (0, 0, 0);
    for _ in 0..50 {
        let plan = plan().new_tree(&mut runner).expect("a plan").current();
        let mut world = World::new(plan);
        world.run_ops();
        readies += world.readies;
        attempts += world.attempts;
        moves += world.updates;
    }
    assert!(
        readies > 200 && attempts > 1_000 && moves > 300,
        "{readies} {attempts} {moves}"
    );
}
