//! A world on virtual time: servers, a resolver, a network of connections and an application, all
//! scripted, around one cluster.
//!
//! The clock jumps from event to event. A [`Plan`] says all that happens from outside, as data; with
//! its seed it gives the same [`Trace`] every time.
//!
//! ```
//! use redial::{Config, RequestOptions};
//! use redial_tests::world::{Op, Plan, World};
//!
//! let plan = Plan::new(Config::default(), 3)
//!     .at(0, Op::Submit(RequestOptions::new()))
//!     .until(1_000);
//! let run = World::run(&plan).unwrap();
//! assert_eq!(run.stats.succeeded, 1);
//! ```

mod embedder;
mod events;
mod network;
mod plan;
mod resolver;
mod rng;
mod server;
mod sources;
mod trace;

use std::fmt;

use redial::{Deadline, Input, Instant, Stats, record::Call, sim::Checker};

use self::{
    events::{Due, Events},
    network::Network,
    resolver::Resolver,
    rng::Rng,
    server::Server,
};
pub use self::{
    plan::{Op, Plan, address},
    resolver::Answer,
    server::{Accept, Fault, Greet, Serve},
    sources::Tells,
    trace::{Difference, Line, Trace},
};
use crate::watched::{Failure, Watched};

/// More steps than any plan needs: a run that gets here goes round in circles.
const MAX_STEPS: usize = 1_000_000;

/// Everything there is.
#[derive(Debug)]
pub struct World {
    now: Instant,
    rng: Rng,
    cluster: Watched,
    events: Events,
    servers: Vec<Server>,
    resolver: Resolver,
    network: Network,
    sources: Vec<Tells>,
    requests: Vec<redial::RequestId>,
    trace: Trace,
    steps: usize,
}

/// What came of a plan.
#[derive(Debug)]
pub struct Run {
    /// All that happened.
    pub trace: Trace,
    /// The cluster's counters at the end.
    pub stats: Stats,
}

/// A run that went wrong.
#[derive(Debug)]
pub enum Wrong {
    /// A rule was broken.
    Rule(Box<Failure>),
    /// A request got the reply to another.
    Reply(String),
    /// It does not end.
    NoEnd(u64),
}

impl World {
    /// Plays a plan to its end, then shuts the cluster down and sees that it ends.
    ///
    /// # Errors
    ///
    /// What went wrong, with the seed and what came before.
    pub fn run(plan: &Plan) -> Result<Run, Wrong> {
        Self::new(plan, Vec::new()).play(plan.seed)
    }

    /// The same with one more checker.
    ///
    /// # Errors
    ///
    /// What went wrong, with the seed and what came before.
    pub fn run_with(plan: &Plan, checker: impl Checker + 'static) -> Result<Run, Wrong> {
        Self::new(plan, vec![Box::new(checker)]).play(plan.seed)
    }

    fn play(mut self, seed: u64) -> Result<Run, Wrong> {
        while let Some(at) = self.next() {
            self.now = at.max(self.now);
            self.step()?;
            if self.steps > MAX_STEPS {
                return Err(Wrong::NoEnd(seed));
            }
        }
        if !self.cluster.cluster().is_terminated() {
            return Err(Wrong::NoEnd(seed));
        }
        Ok(Run {
            trace: self.trace,
            stats: self.cluster.cluster().stats(),
        })
    }

    fn new(plan: &Plan, checkers: Vec<Box<dyn Checker>>) -> Self {
        let mut events = Events::default();
        let start = Instant::ORIGIN;
        for (at, fault) in &plan.faults {
            events.add(*at, Due::Fault(fault.clone()));
        }
        let first = match plan.list.is_empty() {
            true => Op::Nothing,
            false => Op::SetNodes(plan.list.clone()),
        };
        events.add(start, Due::Op(first));
        for (at, op) in &plan.ops {
            events.add(*at, Due::Op(op.clone()));
        }
        events.add(plan.until, Due::Op(Op::Shutdown(plan.drain)));
        Self {
            now: start,
            rng: Rng::new(plan.seed),
            cluster: Watched::with(&plan.config, plan.seed, start, checkers),
            events,
            servers: vec![Server::default(); plan.servers],
            resolver: Resolver::new(plan.servers),
            network: Network::new(plan.config.matching()),
            sources: vec![Tells::all(plan.servers); plan.config.sources().len()],
            requests: Vec::new(),
            trace: Trace::default(),
            steps: 0,
        }
    }

    /// When the next thing happens. After the cluster's end nothing matters.
    fn next(&self) -> Option<Instant> {
        if self.cluster.cluster().is_terminated() {
            return None;
        }
        let deadline = self.cluster.cluster().poll_timeout();
        [deadline.map(|Deadline { at, .. }| at), self.events.next()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Lets one thing happen: the cluster's deadline or an event, by chance if both are due.
    fn step(&mut self) -> Result<(), Wrong> {
        self.steps += 1;
        let deadline = self.cluster.cluster().poll_timeout();
        let timeout = deadline.is_some_and(|deadline| deadline.at <= self.now);
        let event = self.events.next().is_some_and(|at| at <= self.now);
        if timeout && (!event || self.rng.below(2) == 0) {
            return self.call(Call::Timeout);
        }
        match self.events.take() {
            Some(Due::Op(op)) => self.op(op),
            Some(Due::Fault(fault)) => self.fault(fault),
            Some(Due::Resolved(attempt, answer)) => match answer {
                Answer::Silent => Ok(()),
                Answer::Fails => self.call(Call::Input(Input::ResolveFailed { attempt })),
                Answer::Addresses(addresses) => self.call(Call::Resolved(attempt, addresses)),
            },
            Some(Due::Told(refresh, told)) => self.told(refresh, told),
            Some(Due::Network(connection, happens)) => self.network_event(connection, happens),
            None => Ok(()),
        }
    }

    /// What the application does.
    fn op(&mut self, op: Op) -> Result<(), Wrong> {
        match op {
            Op::SetNodes(list) => self.call(Call::SetNodes(list)),
            Op::Nothing => self.call(Call::Timeout),
            Op::SetFallback(list) => self.call(Call::SetFallback(list)),
            Op::Submit(options) => self.call(Call::Submit(options)),
            Op::SubmitOn(place, mut options) => {
                let nodes: Vec<_> = self.cluster.cluster().nodes().map(|view| view.id).collect();
                if nodes.is_empty() {
                    return Ok(());
                }
                options.target = redial::Target::Node(nodes[place % nodes.len()]);
                self.call(Call::Submit(options))
            }
            Op::Cancel(back) => {
                let place = self.requests.len().checked_sub(back + 1);
                place.map_or(Ok(()), |place| {
                    self.call(Call::Cancel(self.requests[place]))
                })
            }
            Op::Hint(hint) => self.call(Call::Hint(hint)),
            Op::Shutdown(drain) => self.call(Call::Shutdown(drain)),
        }
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(failure) => failure.fmt(f),
            Self::Reply(what) => f.write_str(what),
            Self::NoEnd(seed) => write!(f, "seed {seed}: the run does not end"),
        }
    }
}

impl std::error::Error for Wrong {}

impl From<Failure> for Wrong {
    fn from(failure: Failure) -> Self {
        Self::Rule(Box::new(failure))
    }
}
