//! A run under way.

use core::time::Duration;
use std::{
    boxed::Box,
    format,
    string::ToString,
    sync::{Arc, Mutex},
    vec::Vec,
};

use super::{Failure, Outcome, Run, Simulation, Wrong};
use crate::{
    Instant,
    client::{Client, Protocol},
    sim::{
        embedder::{Done, Embedder},
        rng::{Rng, Stream},
        schedule::Schedule,
        tap::{Seen, Tap, lock},
        trace::Trace,
        watch::{Broken, Watch},
        world::{Notice, World},
    },
};

/// So many events of the world at one instant, and so many more a client: nothing goes on for ever.
const MAX_AT_ONE_INSTANT: u64 = 100_000;
const MORE_A_CLIENT: u64 = 1_000;

/// A run under way.
pub(super) struct Play<'a, P: Protocol> {
    simulation: &'a Simulation<P>,
    schedule: &'a Schedule,
    world: World,
    clients: Vec<Embedder<P>>,
    /// Of the clients, unless nothing is checked.
    watches: Vec<Watch>,
    seen: Arc<Mutex<Seen>>,
    /// The clients' own.
    seeds: Rng,
    /// How many clients have not ended.
    running: usize,
    /// How many events there were at this instant.
    at_this_instant: u64,
}

impl<'a, P: Protocol + 'static> Play<'a, P> {
    pub(super) fn new(
        simulation: &'a Simulation<P>,
        schedule: &'a Schedule,
    ) -> Result<Self, Box<Failure>> {
        let server = |number| (simulation.server)(number);
        let mut happens = schedule.clone();
        let end = Instant::ORIGIN + schedule.lasts;
        happens.faults.retain(|fault| fault.at < end);
        let mut play = Self {
            simulation,
            schedule,
            world: World::new(happens, simulation.latency, simulation.jitter, server),
            clients: Vec::new(),
            watches: Vec::new(),
            seen: Arc::new(Mutex::new(Seen {
                trace: simulation.traced.then(Trace::default),
                events: 0,
            })),
            seeds: Rng::new(schedule.seed, Stream::Clients),
            running: 0,
            at_this_instant: 0,
        };
        for _ in 0..simulation.clients {
            play.add_client()?;
        }
        Ok(play)
    }

    fn add_client(&mut self) -> Result<(), Box<Failure>> {
        let simulation = self.simulation;
        let number = self.clients.len() as u32;
        let watch = simulation.checked.then(|| {
            let checkers = simulation.checkers.iter().map(|new| new());
            Watch::new(checkers.collect())
        });
        self.watches.extend(watch.clone());
        let client = Client::observe(
            (simulation.protocol)(),
            simulation.config.clone(),
            self.seeds.next(),
            self.world.now,
            Box::new(Tap::new(number, Arc::clone(&self.seen), watch)),
        );
        let client = client.map_err(|error| self.failure(Wrong::Config(error)))?;
        let workload = (simulation.workload)(number);
        let lists = simulation.config.sources().is_empty();
        let mut embedder = Embedder::new(number, client, workload, simulation.named, lists);
        if !simulation.properties.is_empty() {
            embedder.keep_outcomes();
        }
        self.clients.push(embedder);
        self.running += 1;
        Ok(())
    }

    pub(super) fn play(mut self) -> Result<Run, Box<Failure>> {
        for number in 0..self.clients.len() {
            self.start(number)?;
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
            self.look_at(number)?;
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
            checks: self.watches.iter().map(Watch::checks).sum(),
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
        self.look_at(number)
    }

    /// Sees what a client has completed, whether it has ended, and that all is well with it.
    fn look_at(&mut self, number: usize) -> Result<(), Box<Failure>> {
        let outcomes = self.clients[number].take_outcomes();
        self.check_outcomes(number as u32, outcomes)?;
        let has_ended = self.clients[number].takes_end();
        if has_ended {
            self.running -= 1;
            if let Some(watch) = self.watches.get(number) {
                watch.end(self.world.now, self.clients[number].client().cluster());
            }
        }
        self.check(number)?;
        if has_ended && self.simulation.reopens && !self.clients[number].is_over() {
            self.add_client()?;
            self.start(self.clients.len() - 1)?;
        }
        Ok(())
    }

    fn start(&mut self, number: usize) -> Result<(), Box<Failure>> {
        self.clients[number].start(&mut self.world);
        self.check(number)
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
        if self.at_this_instant > most || self.clients[number].is_stuck {
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
