//! [`Simulation`]: clients, servers and an application, in a world that a schedule makes.

mod failure;
mod play;

use core::{fmt, time::Duration};
use std::{
    boxed::Box,
    collections::BTreeMap,
    string::{String, ToString},
    vec::Vec,
};

pub use failure::{Failure, Wrong};
use play::Play;

use super::{
    checkers::Checker,
    schedule::Schedule,
    server::Server,
    trace::Trace,
    workload::{App, Workload},
};
use crate::{
    Config, Instant, RequestError, Stats,
    client::{Protocol, Response},
};

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
    reopens: bool,
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
    /// The counters of each client at its end, in the order of their numbers.
    pub stats: Vec<Stats>,
    /// Inputs and outputs of all clients' cores.
    pub events: u64,
    /// How many times a rule has looked at a step of a core.
    pub checks: u64,
    /// How many faults of each kind have begun.
    pub faults: BTreeMap<&'static str, u64>,
    /// When the last client had ended.
    pub ended: Instant,
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
            reopens: false,
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

    /// When a client ends by itself, as it does when its session is over
    /// ([`ConfigBuilder::one_session`](crate::ConfigBuilder::one_session)), a new one takes its place at
    /// once, as in an application that goes on. It has the next free number, which the workload is
    /// made by too, and counters of its own in [`Run::stats`]. Default: no.
    #[must_use]
    pub fn reopens(self) -> Self {
        Self {
            reopens: true,
            ..self
        }
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
