//! Tests as lists of inputs and expected outputs.
//!
//! A [`Script`] drives a cluster step by step. Nodes, connections and requests have short names:
//! `n0` is the first node of the list and, for facts about it, its newest connection (`n0-1` is the
//! one before); `r0` is the first request. What came out is compared as text, in any order:
//!
//! ```
//! use redial::Config;
//! use redial_tests::script::{Script, any};
//!
//! let mut s = Script::new(Config::kafka(), &["10.0.0.1:9092"]);
//! s.at(0).submit(any()).gives(&["connect n0"]);
//! s.at(5).connected(0).gives(&["handshake n0"]);
//! s.at(9).ready(0).gives(&["write n0 r0"]);
//! s.at(12).reply(0).gives(&["r0 reply n0"]);
//! ```

mod facts;
mod sticky;
mod text;

use std::{collections::BTreeMap, time::Duration};

use redial::{
    Action, AttemptId, Cluster, Completion, Config, ConfigBuilder, ConnectionId, Deadline, Event,
    Instant, Jitter, Limit, NodeId, NodeSpec, NodeState, NodeView, Output, RefreshId, RequestError,
    RequestId, RequestOptions, SourceId, Success,
    record::{Answer, Call},
};

pub use sticky::{connected, dial_among, grown, moves, sticky, without};

use crate::watched::Watched;

/// A cluster, its embedder and its application, by hand.
#[derive(Debug)]
pub struct Script {
    watched: Watched,
    now: Instant,
    nodes: Vec<NodeId>,
    attempts: BTreeMap<NodeId, AttemptId>,
    /// Of each node, oldest first.
    connections: BTreeMap<NodeId, Vec<ConnectionId>>,
    requests: Vec<RequestId>,
    /// Where each request was written last.
    writes: BTreeMap<RequestId, (ConnectionId, u32)>,
    completions: BTreeMap<RequestId, Result<Success, RequestError>>,
    events: Vec<Event>,
    /// Of each source, oldest first.
    refreshes: BTreeMap<SourceId, Vec<RefreshId>>,
    /// What came and was not compared yet.
    unread: Vec<String>,
}

/// A connection: of a node the newest, or one before.
#[derive(Clone, Copy, Debug)]
pub struct Conn {
    node: usize,
    back: usize,
}

impl From<usize> for Conn {
    fn from(node: usize) -> Self {
        Self { node, back: 0 }
    }
}

/// The node's connection before the newest.
#[must_use]
pub const fn old(node: usize) -> Conn {
    older(node, 1)
}

/// The node's connection so many before the newest.
#[must_use]
pub const fn older(node: usize, back: usize) -> Conn {
    Conn { node, back }
}

/// A request for any node.
pub const fn any() -> RequestOptions {
    RequestOptions::new()
}

/// The defaults without chance (no jitter, no race, no hedge), and without what only long silence or
/// many failures bring (idle close, retry budget).
pub fn exact() -> ConfigBuilder {
    Config::builder()
        .jitter(Jitter::None)
        .address_attempt_delay(Limit::Never)
        .hedge_delay(Limit::Never)
        .max_idle(Limit::Never)
        .retry_budget(None)
}

/// The configuration, built.
///
/// # Panics
///
/// If it makes no sense.
#[must_use]
pub fn build(config: ConfigBuilder) -> Config {
    config.build().expect("a configuration that makes sense")
}

/// So many milliseconds.
#[must_use]
pub const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A limit of so many milliseconds.
#[must_use]
pub const fn after(millis: u64) -> Limit {
    Limit::After(ms(millis))
}

/// So many milliseconds after the origin.
#[must_use]
pub const fn t(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// Entries of a server list; `key=host:port` has a key.
///
/// # Panics
///
/// If one is no endpoint.
#[must_use]
pub fn specs(list: &[&str]) -> Vec<NodeSpec> {
    let spec = |text: &str| text.parse::<NodeSpec>().expect("an endpoint");
    list.iter()
        .map(|text| match text.split_once('=') {
            Some((key, endpoint)) => spec(endpoint).with_key(key),
            None => spec(text),
        })
        .collect()
}

impl Script {
    /// A cluster of these nodes at time 0, with seed 0.
    #[must_use]
    pub fn new(config: Config, list: &[&str]) -> Self {
        Self::with_seed(config, list, 0)
    }

    /// A cluster of these nodes at time 0.
    #[must_use]
    pub fn with_seed(config: Config, list: &[&str], seed: u64) -> Self {
        let mut script = Self::empty(config, seed);
        if !list.is_empty() {
            script.set_nodes(list);
        }
        script
    }

    /// A cluster without a list.
    #[must_use]
    pub fn empty(config: Config, seed: u64) -> Self {
        Self {
            watched: Watched::new(&config, seed, Instant::ORIGIN),
            now: Instant::ORIGIN,
            nodes: Vec::new(),
            attempts: BTreeMap::new(),
            connections: BTreeMap::new(),
            requests: Vec::new(),
            writes: BTreeMap::new(),
            completions: BTreeMap::new(),
            events: Vec::new(),
            refreshes: BTreeMap::new(),
            unread: Vec::new(),
        }
    }

    /// The time of what follows, in milliseconds. Only [`Script::tick`] gives it to the core.
    ///
    /// # Panics
    ///
    /// If something came that was not compared.
    pub fn at(&mut self, millis: u64) -> &mut Self {
        self.at_instant(t(millis))
    }

    /// The time of what follows.
    ///
    /// # Panics
    ///
    /// If something came that was not compared.
    pub fn at_instant(&mut self, now: Instant) -> &mut Self {
        assert!(
            self.unread.is_empty(),
            "until {now} also came: {:?}",
            self.unread
        );
        self.now = now;
        self
    }

    /// Exactly this came since the last comparison, events aside, in any order.
    ///
    /// # Panics
    ///
    /// If it did not.
    #[track_caller]
    pub fn gives(&mut self, expected: &[&str]) -> &mut Self {
        let mut came = std::mem::take(&mut self.unread);
        let mut expected = expected.to_vec();
        came.sort_unstable();
        expected.sort_unstable();
        assert_eq!(
            came, expected,
            "at {}: what came / what was expected",
            self.now
        );
        self
    }

    /// What came since the last comparison does not matter.
    pub fn whatever(&mut self) -> &mut Self {
        self.unread.clear();
        self
    }

    /// What came since the last comparison, events aside, in its order.
    pub fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.unread)
    }

    /// The next deadline is at this time.
    ///
    /// # Panics
    ///
    /// If it is not.
    #[track_caller]
    pub fn deadline(&mut self, millis: u64) -> &mut Self {
        let came = self.cluster().poll_timeout();
        assert_eq!(
            came.map(|came| came.at),
            Some(t(millis)),
            "deadline at {}: {came:?}",
            self.now
        );
        self
    }

    /// There is no deadline.
    ///
    /// # Panics
    ///
    /// If there is one.
    #[track_caller]
    pub fn no_deadline(&mut self) -> &mut Self {
        assert_eq!(
            self.cluster().poll_timeout(),
            None,
            "deadline at {}",
            self.now
        );
        self
    }

    /// Gives the core all its deadlines until then, each at its time, and the time itself.
    pub fn run_to(&mut self, millis: u64) -> &mut Self {
        while let Some(Deadline { at, .. }) = self.cluster().poll_timeout()
            && at < t(millis)
        {
            self.now = at;
            self.tick();
        }
        self.now = t(millis);
        self.tick()
    }

    /// Begins an attempt now, through a request for the node that is cancelled and has no name.
    ///
    /// # Panics
    ///
    /// If none begins.
    #[track_caller]
    pub fn begin(&mut self, node: usize) -> &mut Self {
        let request = self.requests.len();
        self.submit_on(node, any()).cancel(request);
        self.requests.truncate(request);
        self.unread
            .retain(|line| !line.ends_with("Cancelled NeverWritten"));
        assert!(self.state(node).is_setup());
        self
    }

    /// Brings the node to Ready now.
    ///
    /// # Panics
    ///
    /// If it does not get there.
    #[track_caller]
    pub fn establish(&mut self, node: usize) -> &mut Self {
        assert!(
            self.unread.is_empty(),
            "before also came: {:?}",
            self.unread
        );
        if !self.state(node).is_setup() {
            self.begin(node);
        }
        self.connected(node);
        if self.state(node) == NodeState::Handshaking {
            self.ready(node);
        }
        assert_eq!(self.state(node), NodeState::Ready);
        self.whatever()
    }

    /// The cluster, to read its getters.
    #[must_use]
    pub const fn cluster(&self) -> &Cluster {
        self.watched.cluster()
    }

    /// The node's id.
    #[must_use]
    pub fn id(&self, node: usize) -> NodeId {
        self.nodes[node]
    }

    /// How many nodes have been listed so far.
    #[must_use]
    pub const fn nodes_seen(&self) -> usize {
        self.nodes.len()
    }

    /// The request's id.
    #[must_use]
    pub fn request(&self, request: usize) -> RequestId {
        self.requests[request]
    }

    /// The connection's id.
    #[must_use]
    pub fn connection(&self, connection: impl Into<Conn>) -> ConnectionId {
        let Conn { node, back } = connection.into();
        let all = &self.connections[&self.nodes[node]];
        all[all.len() - 1 - back]
    }

    /// The node's attempt, or its last one.
    #[must_use]
    pub fn attempt(&self, node: usize) -> AttemptId {
        self.attempts[&self.nodes[node]]
    }

    /// The node as it is now.
    ///
    /// # Panics
    ///
    /// If it has left.
    #[must_use]
    pub fn view(&self, node: usize) -> NodeView<'_> {
        self.cluster()
            .node(self.nodes[node])
            .expect("it is in the list")
    }

    /// The node's state.
    #[must_use]
    pub fn state(&self, node: usize) -> NodeState {
        self.view(node).state
    }

    /// The node's rest after its last failure, until then in milliseconds.
    #[must_use]
    pub fn rests_until(&self, node: usize) -> Option<Instant> {
        self.view(node).next_attempt
    }

    /// The correlation id that the request was written with last.
    #[must_use]
    pub fn serial(&self, request: usize) -> u32 {
        self.writes[&self.requests[request]].1
    }

    /// The source's refresh: the newest, or so many before.
    #[must_use]
    pub fn refresh(&self, source: u32, back: usize) -> RefreshId {
        let mut all = self.refreshes.iter();
        let all = all.find(|(id, _)| id.index() == source as usize);
        let all = all.map(|(_, all)| all).expect("it was asked");
        all[all.len() - 1 - back]
    }

    /// The connection that the request was written on last.
    #[must_use]
    pub fn written_on(&self, request: usize) -> ConnectionId {
        self.writes[&self.requests[request]].0
    }

    /// How the request ended.
    ///
    /// # Errors
    ///
    /// Why it failed.
    pub fn outcome(&self, request: usize) -> Result<Success, RequestError> {
        self.completions[&self.requests[request]]
    }

    /// How the request failed.
    ///
    /// # Panics
    ///
    /// If it did not.
    #[must_use]
    pub fn error(&self, request: usize) -> RequestError {
        self.outcome(request).expect_err("it failed")
    }

    /// The events since they were last taken.
    pub fn events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// Makes a call now, and notes what comes of it.
    ///
    /// # Panics
    ///
    /// If a checker finds fault.
    pub fn call(&mut self, call: Call) -> &mut Self {
        let step = self
            .watched
            .call(self.now, call)
            .unwrap_or_else(|failure| panic!("{failure}"));
        match step.answer {
            Answer::Submit(Ok(request)) => self.requests.push(request),
            Answer::Submit(Err(error)) => self.unread.push(format!("error {error:?}")),
            Answer::List(Err(error)) => self.unread.push(format!("error {error:?}")),
            Answer::Shutdown(Err(error)) => self.unread.push(format!("error {error:?}")),
            Answer::Cancel(false) => self.unread.push("error not open".to_owned()),
            Answer::List(Ok(()))
            | Answer::Cancel(true)
            | Answer::Shutdown(Ok(()))
            | Answer::None => {}
        }
        self.note_nodes();
        for output in &step.outputs {
            self.note(output);
        }
        self
    }

    fn note_nodes(&mut self) {
        let new: Vec<NodeId> = self.cluster().nodes().map(|view| view.id).collect();
        let known = self.nodes.clone();
        self.nodes
            .extend(new.into_iter().filter(|id| !known.contains(id)));
    }

    fn note(&mut self, output: &Output) {
        match *output {
            Output::Action(Action::Resolve { attempt, node }) => {
                self.attempts.insert(node, attempt);
            }
            Output::Action(Action::Connect {
                connection,
                attempt,
                node,
                ..
            }) => {
                self.attempts.insert(node, attempt);
                self.connections.entry(node).or_default().push(connection);
            }
            Output::Action(Action::Write {
                connection,
                request,
                serial,
            }) => {
                self.writes.insert(request, (connection, serial));
            }
            Output::Action(
                Action::Refresh { refresh, source }
                | Action::Discover {
                    refresh, source, ..
                },
            ) => {
                self.refreshes.entry(source).or_default().push(refresh);
            }
            Output::Completion(Completion { request, result }) => {
                self.completions.insert(request, result);
            }
            Output::Event(event) => return self.events.push(event),
            Output::Action(_) | Output::Terminated => {}
        }
        let line = self.line(output);
        self.unread.push(line);
    }
}
