//! A client and a few servers, in virtual time. What must hold after each call is checked there.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use redial::{
    Action, CloseError, Cluster, Config, ConnectError, ConnectionId, Event, Input, Instant, Limits,
    NodeId, NodeSpec, NodeState, Output, ReplyTo, RequestOptions, Verdict,
    record::{Answer, Call, Step},
};
use redial_tests::watched::Watched;

pub(crate) const HOSTS: usize = 6;
pub(crate) const LAP: u64 = 1_000;

/// How a server treats a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Manner {
    Works,
    Refuses,
    Hangs,
    DropsBeforeReady,
    HangsInHandshake,
    DropsWhenReady,
}

pub(crate) const MANNERS: [Manner; 6] = [
    Manner::Works,
    Manner::Refuses,
    Manner::Hangs,
    Manner::DropsBeforeReady,
    Manner::HangsInHandshake,
    Manner::DropsWhenReady,
];

#[derive(Clone, Debug)]
pub(crate) enum Op {
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
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) config: Config,
    pub(crate) bound: bool,
    /// Handshakes give a session, with the keepalive that is configured.
    pub(crate) session: bool,
    pub(crate) latency: u64,
    pub(crate) manners: Vec<Manner>,
    pub(crate) ops: Vec<(u64, Op)>,
}

pub(crate) fn ms(millis: u64) -> Duration {
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
pub(crate) struct World {
    watched: Watched,
    pub(crate) plan: Plan,
    pub(crate) now: Instant,
    /// What will be told, and when.
    facts: BTreeMap<(Instant, u64), Input>,
    told: u64,
    links: BTreeMap<ConnectionId, Link>,
    hosts: BTreeMap<NodeId, usize>,
    listed: Vec<usize>,
    /// Until when each host rests, whether it is listed or not.
    rests: [Option<Instant>; HOSTS],
    calls_now: u32,
    pub(crate) updates: u64,
    pub(crate) attempts: u64,
    pub(crate) readies: u64,
    pub(crate) open: BTreeSet<redial::RequestId>,
    pub(crate) terminated: bool,
}

impl World {
    pub(crate) fn new(plan: Plan) -> Self {
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

    pub(crate) fn cluster(&self) -> &Cluster {
        self.watched.cluster()
    }

    pub(crate) fn call(&mut self, call: Call) -> Step {
        self.calls_now += 1;
        assert!(self.calls_now < 500, "a busy loop at {}", self.now);
        let step = self.watched.call(self.now, call);
        let step = step.unwrap_or_else(|failure| panic!("{failure}"));
        for view in self.watched.cluster().nodes() {
            let host = (0..HOSTS).find(|host| view.spec.endpoint.to_string() == name(*host));
            self.hosts.insert(view.id, host.expect("a host"));
        }
        if let Answer::Submit(Ok(request)) = step.answer {
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
                let hangs = [Manner::HangsInHandshake, Manner::DropsBeforeReady];
                let after = match hangs.contains(&self.links[&connection].manner) {
                    true => 1_000_000,
                    false => latency,
                };
                let limits = match self.plan.session {
                    true => Limits::NONE.with_session(ms(9_000)),
                    false => Limits::NONE,
                };
                self.tell(after, Input::HandshakeDone { connection, limits });
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

    pub(crate) fn run_until(&mut self, end: Instant) {
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

    pub(crate) fn set_nodes(&mut self, listed: Vec<usize>) -> Step {
        let list = listed
            .iter()
            .map(|host| name(*host).parse::<NodeSpec>().expect("an endpoint"));
        let list = list.collect();
        self.listed = listed;
        self.updates += 1;
        self.call(Call::SetNodes(list))
    }

    pub(crate) fn op(&mut self, op: &Op) {
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
    pub(crate) fn run_ops(&mut self) {
        self.set_nodes((0..HOSTS).collect());
        for (pause, op) in std::mem::take(&mut self.plan.ops) {
            self.run_until(self.now + ms(pause));
            self.op(&op);
        }
    }
}
