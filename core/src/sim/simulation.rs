//! [`Simulation`]: clients, servers and an application, in a world that a schedule makes.

use core::{fmt, time::Duration};
use std::{
    boxed::Box,
    collections::BTreeMap,
    format,
    string::{String, ToString},
    sync::{Arc, Mutex},
    vec::Vec,
};

use thiserror::Error;

use super::{
    checkers::Checker,
    embedder::{Done, Embedder},
    rng::{Rng, Stream},
    schedule::Schedule,
    server::Server,
    tap::{Seen, Tap, lock},
    trace::Trace,
    watch::{Broken, Watch},
    workload::{App, Workload},
    world::{Notice, World},
};
use crate::{
    Config, ConfigError, Deadline, Instant, RequestError, Stats,
    client::{Client, Protocol, Response},
};

/// So many events of the world at one instant, and so many more a client: nothing goes on for ever.
const MAX_AT_ONE_INSTANT: u64 = 100_000;
const MORE_A_CLIENT: u64 = 1_000;

/// Clients of your protocol and configuration among simulated servers, with an application that uses
/// them. It is a recipe: each [`run`](Self::run) makes the world anew, and a
/// [`Schedule`] says what goes wrong in it.
///
/// ```
/// use std::time::Duration;
///
/// use redial::{
///     client::length_prefixed::LengthPrefixed,
///     sim::{Fault, Load, Schedule, Service, Simulation, Target},
/// };
///
/// let simulation = Simulation::new(LengthPrefixed::new, |_| Service::echo(Duration::from_millis(1)))
///     .workload(|_| Load::every(Duration::from_millis(100), |n| format!("request {n}").into()));
/// let minute = Duration::from_secs(60);
/// let schedule = Schedule::new(7, 3, 2 * minute)
///     .fault(minute / 2, minute, Target::Server(0), Fault::Crash);
/// let run = simulation.run(&schedule)?;
/// assert!(run.stats[0].succeeded > 1_190);
/// # Ok::<(), Box<redial::sim::Failure>>(())
/// ```
pub struct Simulation<P: Protocol> {
    config: Config,
    protocol: Box<dyn Fn() -> P>,
    server: Box<dyn Fn(u32) -> Box<dyn Server>>,
    workload: Box<dyn Fn(u32) -> Box<dyn Workload<P>>>,
    clients: u32,
    named: bool,
    latency: Duration,
    jitter: Duration,
    drain: Duration,
    made_by: String,
    traced: bool,
    checked: bool,
    checkers: Vec<NewChecker>,
    properties: Vec<Property<P>>,
    ends: Vec<(String, HoldsOfRun)>,
}

type NewChecker = Box<dyn Fn() -> Box<dyn Checker>>;

type HoldsOfRun = Box<dyn Fn(&Run) -> bool>;

/// What must hold of each request, and how that is called.
pub(super) type Property<P> = (String, Box<dyn Fn(&Outcome<'_, P>) -> bool>);

/// A request that is complete, for [`Simulation::property`].
pub struct Outcome<'a, P: Protocol> {
    /// Of which client, from 0.
    pub client: u32,
    /// When it was submitted.
    pub submitted: Instant,
    /// When it completed.
    pub completed: Instant,
    /// From when on nothing was wrong any more, by the schedule.
    pub calm_from: Instant,
    /// How it ended.
    pub result: &'a Result<Response<P::Reply>, RequestError>,
}

/// What came of a run in which every rule held.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Run {
    /// All that happened; empty unless the simulation is [traced](Simulation::traced).
    pub trace: Trace,
    /// The counters of each client at its end.
    pub stats: Vec<Stats>,
    /// Inputs and outputs of all clients' cores.
    pub events: u64,
    /// How many faults of each kind have begun.
    pub faults: BTreeMap<&'static str, u64>,
    /// When the last client had ended.
    pub ended: Instant,
}

/// A run that went wrong. Its text has what came before, and a test that fails in the same way;
/// `Debug` gives it too, so that an `unwrap` shows it.
#[derive(Clone, PartialEq, Eq, Error)]
#[error(
    "{what}\nat {at}, seed {}; the last steps:{past}\n\nA test that fails so:\n\n{test}",
    schedule.seed
)]
#[non_exhaustive]
pub struct Failure {
    /// What happened from outside. [`Simulation::run`] with it fails in the same way.
    pub schedule: Schedule,
    /// When.
    pub at: Instant,
    /// What went wrong.
    pub what: Wrong,
    /// What came before, as text: the last steps of the client.
    pub past: String,
    /// A test that fails in the same way, to be pasted beside the function that makes the simulation
    /// ([`made_by`](Simulation::made_by)).
    pub test: String,
}

/// What can go wrong with a run.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum Wrong {
    /// A rule does not hold: one of redial's, or of a checker of yours.
    #[error("client {client}: {rule}: {what}")]
    Rule {
        /// For which client, from 0.
        client: u32,
        /// The rule.
        rule: String,
        /// What was seen.
        what: String,
    },
    /// A property of yours does not hold.
    #[error("{name} does not hold: {what}")]
    Property {
        /// Its name.
        name: String,
        /// For which client, from 0; `None` if it is one of the whole run.
        client: Option<u32>,
        /// Of what: a request, or the run.
        what: String,
    },
    /// The application said that what happened must not happen.
    #[error("client {client}: {what}")]
    Application {
        /// Of which client, from 0.
        client: u32,
        /// What it said.
        what: String,
    },
    /// Time does not go on: too many events at one instant.
    #[error("client {client}: time does not go on, its deadline is {deadline:?}")]
    Stuck {
        /// The client to which it happened.
        client: u32,
        /// Its deadline.
        deadline: Option<Deadline>,
    },
    /// A client does not end after its shutdown.
    #[error("client {client} does not end after its shutdown, its deadline is {deadline:?}")]
    NoEnd {
        /// Which client, from 0.
        client: u32,
        /// Its deadline.
        deadline: Option<Deadline>,
    },
    /// The configuration does not suit the protocol.
    #[error("{0}")]
    Config(ConfigError),
}

impl Wrong {
    /// To which client it happened, from 0, if to one.
    #[must_use]
    pub const fn client(&self) -> Option<u32> {
        match *self {
            Self::Rule { client, .. }
            | Self::Application { client, .. }
            | Self::Stuck { client, .. }
            | Self::NoEnd { client, .. } => Some(client),
            Self::Property { client, .. } => client,
            Self::Config(_) => None,
        }
    }

    /// Whether the other is the same kind of failure, perhaps of another client or with other
    /// figures.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Rule { rule, .. }, Self::Rule { rule: theirs, .. }) => rule == theirs,
            (Self::Property { name, .. }, Self::Property { name: theirs, .. }) => name == theirs,
            _ => core::mem::discriminant(self) == core::mem::discriminant(other),
        }
    }
}

impl<P: Protocol + 'static> Simulation<P> {
    /// One client with the default configuration, whose application does nothing, and servers: both
    /// as the closures make them. Servers are numbered from 0.
    pub fn new<S: Server + 'static>(
        protocol: impl Fn() -> P + 'static,
        server: impl Fn(u32) -> S + 'static,
    ) -> Self {
        Self {
            config: Config::default(),
            protocol: Box::new(protocol),
            server: Box::new(move |number| Box::new(server(number))),
            workload: Box::new(|_| Box::new(Idle)),
            clients: 1,
            named: true,
            latency: Duration::from_millis(1),
            jitter: Duration::from_micros(200),
            drain: Duration::from_secs(5),
            made_by: "simulation()".to_string(),
            traced: false,
            checked: true,
            checkers: Vec::new(),
            properties: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// The configuration of each client. Default: [`Config::default`].
    #[must_use]
    pub fn config(self, config: Config) -> Self {
        Self { config, ..self }
    }

    /// What the application of each client does, by the client's number from 0. Default: nothing.
    #[must_use]
    pub fn workload<W: Workload<P> + 'static>(self, workload: impl Fn(u32) -> W + 'static) -> Self {
        Self {
            workload: Box::new(move |number| Box::new(workload(number))),
            ..self
        }
    }

    /// So many clients, which all begin at the same instant. Default: 1.
    #[must_use]
    pub fn clients(self, clients: u32) -> Self {
        Self { clients, ..self }
    }

    /// Servers are listed by address, so that no name is looked up. Default: by name.
    #[must_use]
    pub fn by_address(self) -> Self {
        Self {
            named: false,
            ..self
        }
    }

    /// How far servers are, one way: so much, and up to so much more by chance. Default: 1 ms, 0.2 ms.
    #[must_use]
    pub fn latency(self, latency: Duration, jitter: Duration) -> Self {
        Self {
            latency,
            jitter,
            ..self
        }
    }

    /// How long the clients' shutdown at the end may take. Default: 5 s.
    #[must_use]
    pub fn drain(self, drain: Duration) -> Self {
        Self { drain, ..self }
    }

    /// The expression that makes this simulation, for the test that a [`Failure`] has ready. Default:
    /// `simulation()`.
    #[must_use]
    pub fn made_by(self, expression: impl Into<String>) -> Self {
        Self {
            made_by: expression.into(),
            ..self
        }
    }

    /// Keeps the trace: 100 to 200 bytes an event. Default: no.
    #[must_use]
    pub fn traced(self) -> Self {
        Self {
            traced: true,
            ..self
        }
    }

    /// Without any checker: they see each step of each core, and take most of the time.
    #[must_use]
    pub fn unchecked(self) -> Self {
        Self {
            checked: false,
            ..self
        }
    }

    /// With a checker of yours for each client, besides redial's own.
    #[must_use]
    pub fn checker<C: Checker + 'static>(mut self, checker: impl Fn() -> C + 'static) -> Self {
        self.checkers.push(Box::new(move || Box::new(checker())));
        self
    }

    /// With something that must hold of each request when it is complete, and how to call it.
    #[must_use]
    pub fn property(
        mut self,
        name: impl Into<String>,
        holds: impl Fn(&Outcome<'_, P>) -> bool + 'static,
    ) -> Self {
        self.properties.push((name.into(), Box::new(holds)));
        self
    }

    /// With something that must hold of the whole run, and how to call it.
    #[must_use]
    pub fn finally(
        mut self,
        name: impl Into<String>,
        holds: impl Fn(&Run) -> bool + 'static,
    ) -> Self {
        self.ends.push((name.into(), Box::new(holds)));
        self
    }

    /// Plays a schedule to its end, then shuts the clients down and sees that they end. The same
    /// schedule gives the same run, always and everywhere.
    ///
    /// # Errors
    ///
    /// [`Failure`] says what went wrong first.
    pub fn run(&self, schedule: &Schedule) -> Result<Run, Box<Failure>> {
        Play::new(self, schedule)?.play()
    }
}

/// An application that does nothing.
struct Idle;

impl<P: Protocol> Workload<P> for Idle {
    fn act(&mut self, _: &mut App<'_, P>) -> Option<Instant> {
        None
    }
}

/// A run under way.
struct Play<'a, P: Protocol> {
    simulation: &'a Simulation<P>,
    schedule: &'a Schedule,
    world: World,
    clients: Vec<Embedder<P>>,
    /// Of the clients, unless nothing is checked.
    watches: Vec<Watch>,
    seen: Arc<Mutex<Seen>>,
    /// How many clients have not ended.
    running: usize,
    /// How many events there were at this instant.
    at_this_instant: u64,
}

impl<'a, P: Protocol + 'static> Play<'a, P> {
    fn new(simulation: &'a Simulation<P>, schedule: &'a Schedule) -> Result<Self, Box<Failure>> {
        let server = |number| (simulation.server)(number);
        let mut play = Self {
            simulation,
            schedule,
            world: World::new(
                schedule.clone(),
                simulation.latency,
                simulation.jitter,
                server,
            ),
            clients: Vec::new(),
            watches: Vec::new(),
            seen: Arc::new(Mutex::new(Seen {
                trace: simulation.traced.then(Trace::default),
                events: 0,
            })),
            running: simulation.clients as usize,
            at_this_instant: 0,
        };
        let mut seeds = Rng::new(schedule.seed, Stream::Clients);
        for number in 0..simulation.clients {
            let watch = simulation.checked.then(|| {
                let checkers = simulation.checkers.iter().map(|new| new());
                Watch::new(checkers.collect())
            });
            play.watches.extend(watch.clone());
            let client = Client::observe(
                (simulation.protocol)(),
                simulation.config.clone(),
                seeds.next(),
                play.world.now,
                Box::new(Tap::new(number, Arc::clone(&play.seen), watch)),
            );
            let client = client.map_err(|error| play.failure(Wrong::Config(error)))?;
            let workload = (simulation.workload)(number);
            let lists = simulation.config.sources().is_empty();
            let named = simulation.named;
            let mut embedder = Embedder::new(number, client, workload, named, lists);
            if !simulation.properties.is_empty() {
                embedder.keep_outcomes();
            }
            play.clients.push(embedder);
        }
        Ok(play)
    }

    fn play(mut self) -> Result<Run, Box<Failure>> {
        for number in 0..self.clients.len() {
            self.clients[number].start(&mut self.world);
            self.check(number)?;
        }
        let end = Instant::ORIGIN + self.schedule.lasts;
        while self.running > 0 && self.world.next().is_some_and(|at| at < end) {
            self.step()?;
        }
        if self.running > 0 {
            self.world.advance_to(end);
        }
        for number in 0..self.clients.len() {
            self.clients[number].shut_down(&mut self.world, self.simulation.drain);
            self.ended(number);
            self.check(number)?;
        }
        // A machine that sleeps hears nothing before it wakes up.
        let latest = end.max(self.world.calm_from) + self.simulation.drain + Duration::from_secs(1);
        while self.running > 0 {
            if self.world.next().is_none_or(|at| at > latest) {
                return Err(self.no_end());
            }
            self.step()?;
        }
        let run = self.run();
        let broken = self.simulation.ends.iter().find(|(_, holds)| !holds(&run));
        match broken {
            None => Ok(run),
            Some((name, _)) => Err(self.failure(Wrong::Property {
                name: name.clone(),
                client: None,
                what: format!("{:?}", run.stats),
            })),
        }
    }

    fn run(&mut self) -> Run {
        let mut seen = lock(&self.seen);
        Run {
            trace: seen.trace.take().unwrap_or_default(),
            stats: self
                .clients
                .iter()
                .map(|client| client.client().cluster().stats())
                .collect(),
            events: seen.events,
            faults: core::mem::take(&mut self.world.fired),
            ended: self.world.now,
        }
    }

    /// Lets one thing happen.
    fn step(&mut self) -> Result<(), Box<Failure>> {
        let before = self.world.now;
        let notice = self.world.step();
        self.note_changes();
        self.at_this_instant = match self.world.now == before {
            true => self.at_this_instant + 1,
            false => 0,
        };
        let Some(notice) = notice else {
            return Ok(());
        };
        let Some(owner) = notice.owner() else {
            return (0..self.clients.len())
                .try_for_each(|number| self.tell(number, notice.clone()));
        };
        self.tell(owner as usize, notice)
    }

    fn tell(&mut self, number: usize, notice: Notice) -> Result<(), Box<Failure>> {
        let client = &mut self.clients[number];
        if client.has_ended() {
            return Ok(());
        }
        client.notice(&mut self.world, notice);
        let outcomes = client.take_outcomes();
        self.check_outcomes(number as u32, outcomes)?;
        self.ended(number);
        self.check(number)
    }

    fn ended(&mut self, number: usize) {
        if self.clients[number].takes_end() {
            self.running -= 1;
            if let Some(watch) = self.watches.get(number) {
                watch.end(self.world.now, self.clients[number].client().cluster());
            }
        }
    }

    fn check_outcomes(&self, client: u32, done: Vec<Done<P::Reply>>) -> Result<(), Box<Failure>> {
        for done in done {
            let outcome = Outcome {
                client,
                submitted: done.submitted,
                completed: done.completed,
                calm_from: self.world.calm_from,
                result: &done.result,
            };
            let mut properties = self.simulation.properties.iter();
            if let Some((name, _)) = properties.find(|(_, holds)| !holds(&outcome)) {
                return Err(self.failure(Wrong::Property {
                    name: name.clone(),
                    client: Some(client),
                    what: outcome.to_string(),
                }));
            }
        }
        Ok(())
    }

    /// Sees that all is well with a client to which something has happened.
    fn check(&mut self, number: usize) -> Result<(), Box<Failure>> {
        let client = number as u32;
        let broken = self.watches.get(number).and_then(Watch::broken);
        if let Some(Broken { violation, .. }) = broken {
            return Err(self.failure(Wrong::Rule {
                client,
                rule: violation.rule.to_string(),
                what: violation.what,
            }));
        }
        if let Some(what) = self.clients[number].failure.take() {
            return Err(self.failure(Wrong::Application { client, what }));
        }
        let most = MAX_AT_ONE_INSTANT + MORE_A_CLIENT * self.clients.len() as u64;
        if self.at_this_instant > most {
            let deadline = self.clients[number].client().poll_timeout();
            return Err(self.failure(Wrong::Stuck { client, deadline }));
        }
        Ok(())
    }

    fn note_changes(&mut self) {
        let (now, changes) = (self.world.now, self.world.take_changes());
        for change in changes {
            lock(&self.seen).add(now, change);
        }
    }

    fn no_end(&self) -> Box<Failure> {
        let running = self.clients.iter().position(|client| !client.has_ended());
        let number = running.unwrap_or_default();
        self.failure(Wrong::NoEnd {
            client: number as u32,
            deadline: self.clients[number].client().poll_timeout(),
        })
    }

    fn failure(&self, what: Wrong) -> Box<Failure> {
        let client = what.client().unwrap_or_default() as usize;
        let steps = self.watches.get(client).map(Watch::recent);
        let past = steps.into_iter().flatten();
        let past = past.map(|step| format!("\n{step}")).collect();
        Box::new(Failure {
            schedule: self.schedule.clone(),
            at: self.world.now,
            what,
            past,
            test: self.schedule.to_test(
                &format!("{}.run(&schedule).unwrap()", self.simulation.made_by),
                &format!("seed_{}", self.schedule.seed),
            ),
        })
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<P: Protocol> fmt::Display for Outcome<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            client,
            submitted,
            completed,
            ..
        } = self;
        write!(f, "client {client}: submitted at {submitted}, ")?;
        match self.result {
            Ok(response) => {
                let Response { node, attempts, .. } = response;
                write!(
                    f,
                    "answered by {node} at {completed}, hand-overs: {attempts}"
                )
            }
            Err(error) => write!(f, "failed at {completed}: {error}"),
        }
    }
}

impl<P: Protocol> fmt::Debug for Outcome<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<P: Protocol> fmt::Debug for Simulation<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simulation")
            .field("config", &self.config)
            .field("clients", &self.clients)
            .finish_non_exhaustive()
    }
}
