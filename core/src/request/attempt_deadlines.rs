//! The deadlines of what is handed over (SEMANTICS 4.5, 4.6).
//!
//! Those of all connections are in common queues, so that few timers serve them. A throttle moves the
//! deadlines of one connection alone: with its first throttle they move into queues of its own, which
//! move as a whole from then on.

use alloc::vec::Vec;
use core::time::Duration;

use crate::{
    Cluster, Instant,
    cluster::Digest,
    collections::{DeadlineLinks, DeadlineQueues},
    time::nanos,
    timers::{Timer, TimerSlot},
};

/// The attempt deadlines of flights.
#[derive(Clone, Debug)]
pub(crate) struct AttemptDeadlines {
    /// Of open requests and tombstones.
    pub(crate) attempts: DeadlineQueues,
    /// Shorter timeouts that give up one request alone.
    pub(crate) give_ups: DeadlineQueues,
}

/// Where they are, by flight.
#[derive(Clone, Debug, Default)]
pub(crate) struct AttemptLinks {
    pub(crate) attempts: DeadlineLinks,
    pub(crate) give_ups: DeadlineLinks,
}

impl AttemptDeadlines {
    pub(crate) fn new(first_timer: TimerSlot) -> Self {
        Self {
            attempts: DeadlineQueues::new(first_timer),
            give_ups: DeadlineQueues::new(TimerSlot::UNARMED),
        }
    }

    pub(crate) fn digest(&self, to: &mut Digest<'_>) {
        let Self { attempts, give_ups } = self;
        let cluster = to.cluster;
        let links = &cluster.attempt_links;
        let name = |to: &mut Digest<'_>, f| {
            let flight = &cluster.flights[f];
            to.add(flight.connection);
            to.serial(flight.connection, flight.serial);
        };
        attempts.digest(&links.attempts, to, name);
        give_ups.digest(&links.give_ups, to, name);
    }
}

impl Cluster {
    /// The flight is handed over: its attempt begins.
    pub(crate) fn arm_attempt(&mut self, f: u32, own: Option<Duration>) {
        let c = self.flights[f].connection;
        // While the peer throttles us its replies wait, so the attempt's time does not run yet.
        let from = self.now.max(self.connections[c].throttled_until);
        let configured = self.config.request_timeout.duration();
        let configured = configured.unwrap_or(Duration::MAX);
        let attempt = own.unwrap_or(configured).max(configured);
        self.push_attempt(f, from, attempt);
        if let Some(own) = own
            && own < configured
        {
            self.push_give_up(f, from, own);
        }
    }

    fn push_attempt(&mut self, f: u32, from: Instant, timeout: Duration) {
        let (links, timers) = (&mut self.attempt_links.attempts, &mut self.timers);
        let c = self.flights[f].connection;
        match &mut self.connections[c].own_deadlines {
            None => {
                let timer = |class| Timer::Attempt { class };
                let queues = &mut self.attempt_deadlines.attempts;
                queues.push(links, timers, (f, from, timeout), timer);
            }
            Some(own) => {
                let connection = c;
                let timer = |class| Timer::OwnAttempt { connection, class };
                own.attempts.push(links, timers, (f, from, timeout), timer);
            }
        }
    }

    fn push_give_up(&mut self, f: u32, from: Instant, timeout: Duration) {
        let (links, timers) = (&mut self.attempt_links.give_ups, &mut self.timers);
        let c = self.flights[f].connection;
        match &mut self.connections[c].own_deadlines {
            None => {
                let timer = |class| Timer::GiveUp { class };
                let queues = &mut self.attempt_deadlines.give_ups;
                queues.push(links, timers, (f, from, timeout), timer);
            }
            Some(own) => {
                let connection = c;
                let timer = |class| Timer::OwnGiveUp { connection, class };
                own.give_ups.push(links, timers, (f, from, timeout), timer);
            }
        }
    }

    /// When the reply must be there, if there is such a deadline.
    pub(crate) fn attempt_deadline(&self, f: u32) -> Option<Instant> {
        let connection = &self.connections[self.flights[f].connection];
        let own = connection.own_deadlines.as_deref();
        let deadlines = own.unwrap_or(&self.attempt_deadlines);
        deadlines.attempts.deadline(&self.attempt_links.attempts, f)
    }

    /// The flight has no deadlines any more.
    pub(crate) fn disarm_attempt(&mut self, f: u32) {
        let connection = &mut self.connections[self.flights[f].connection];
        let own = connection.own_deadlines.as_deref_mut();
        let deadlines = own.unwrap_or(&mut self.attempt_deadlines);
        let (links, timers) = (&mut self.attempt_links, &mut self.timers);
        deadlines.attempts.remove(&mut links.attempts, timers, f);
        deadlines.give_ups.remove(&mut links.give_ups, timers, f);
    }

    /// The request of the flight is given up; what is left of it keeps its attempt deadline.
    pub(crate) fn disarm_give_up(&mut self, f: u32) {
        let connection = &mut self.connections[self.flights[f].connection];
        let own = connection.own_deadlines.as_deref_mut();
        let deadlines = own.unwrap_or(&mut self.attempt_deadlines);
        let (links, timers) = (&mut self.attempt_links.give_ups, &mut self.timers);
        deadlines.give_ups.remove(links, timers, f);
    }

    /// The peer throttles us: all deadlines on its connection move by so much.
    pub(crate) fn shift_deadlines(&mut self, c: u32, by: Duration) {
        self.separate_deadlines(c);
        if let Some(own) = &mut self.connections[c].own_deadlines {
            let (links, timers) = (&self.attempt_links, &mut self.timers);
            own.attempts.shift(&links.attempts, timers, by);
            own.give_ups.shift(&links.give_ups, timers, by);
        }
    }

    /// Moves the deadlines of a connection into queues of its own, once.
    fn separate_deadlines(&mut self, c: u32) {
        if self.connections[c].own_deadlines.is_some() {
            return;
        }
        let mut moved = Vec::new();
        for f in self.connections[c].flights.iter(&self.flight_links) {
            let AttemptDeadlines { attempts, give_ups } = &self.attempt_deadlines;
            let links = &self.attempt_links;
            let entry = |queues: &DeadlineQueues, links| {
                Some((queues.deadline(links, f)?, queues.timeout(links, f)?))
            };
            let attempt = entry(attempts, &links.attempts);
            moved.push((f, attempt, entry(give_ups, &links.give_ups)));
        }
        // Each queue has its deadlines in order, and frames need not begin in the order of serials.
        moved.sort_by_key(|&(_, attempt, give_up)| attempt.or(give_up));
        for &(f, ..) in &moved {
            self.disarm_attempt(f);
        }
        let own = AttemptDeadlines::new(TimerSlot::UNARMED);
        self.connections[c].own_deadlines = Some(alloc::boxed::Box::new(own));
        let start = |at: Instant, timeout| {
            Instant::from_nanos(at.as_nanos().saturating_sub(nanos(timeout)))
        };
        for (f, attempt, give_up) in moved {
            if let Some((at, timeout)) = attempt {
                self.push_attempt(f, start(at, timeout), timeout);
            }
            if let Some((at, timeout)) = give_up {
                self.push_give_up(f, start(at, timeout), timeout);
            }
        }
    }
}
