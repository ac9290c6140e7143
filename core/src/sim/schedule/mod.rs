//! A [`Schedule`]: a run from outside, as data.

mod display;
mod draw;
mod duration;
mod named;
mod parse;
mod shrink;
mod syntax;
mod to_test;

use core::time::Duration;
use std::vec::Vec;

use serde::{Deserialize, Serialize};

pub use {
    draw::Swarm,
    shrink::shrink,
    syntax::{Expected, ScheduleError},
};

use super::fault::{Fault, Target};
use crate::Instant;

/// What happens to a simulation from outside: the same schedule gives the same run.
///
/// It is written by hand, [drawn](Self::draw) from a seed, or has a [name](Self::NAMED). As text it
/// has a line for each of seed, number of servers and duration, and one for each fault: when it
/// begins, for how long, whom it strikes, and what it is, with its values. Reading gives exactly what
/// was written.
///
/// ```
/// use redial::sim::Schedule;
///
/// let text = "
///     seed 7
///     servers 3
///     lasts 1h
///     at 12.5s for 30s server 2 black-hole
///     at 1m for 10s all latency 200ms jitter 50ms
///     at 90s server 0 half-open              # at one instant: no duration
///     at 2m for 1m server 1 partition to-client
///     at 30m for 20m sleep                   # strikes no server: no target
/// ";
/// let schedule: Schedule = text.parse()?;
/// assert_eq!(schedule.faults.len(), 5);
/// assert_eq!(schedule.to_string().parse(), Ok(schedule));
///
/// let error = "seed 7\nservers three".parse::<Schedule>().unwrap_err();
/// assert_eq!(error.to_string(), "line 2, column 9: expected a whole number below 2^32");
/// # Ok::<(), redial::sim::ScheduleError>(())
/// ```
///
/// | in the text | is |
/// |---|---|
/// | `#` | a comment to the end of the line; empty lines are skipped |
/// | `1h2m3.000000004s`, `200ms`, `5us`, `1ns` | a duration: units in falling order, each with or without a fraction, in whole nanoseconds |
/// | `all`, `server 2` | a [`Target`]; may be left out where [it means nothing](Fault::has_no_target), and is `all` then |
/// | `for 30s` | may be left out where [it means nothing](Fault::is_instant), and is 0 then |
/// | `slow 2s`, `throttle 5s` | the fault's duration |
/// | `latency 200ms jitter 50ms` | without jitter it is 0 |
/// | `bandwidth 1000` | bytes a second |
/// | `partition to-server`, `stall both` | a [`Way`](super::Way): `to-server`, `to-client` or `both` |
/// | `name-moves to server 1` | the server whose address it gets |
///
/// All other faults are their [name](Fault::kind) alone.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Schedule {
    /// All chance of the run follows from it: the clients' and the network's.
    pub seed: u64,
    /// How many servers there are. 0 counts as 1.
    pub servers: u32,
    /// For how long the run goes on. Then the clients are shut down. What should go wrong later does
    /// not happen.
    pub lasts: Duration,
    /// What goes wrong, in any order.
    pub faults: Vec<Occurrence>,
}

/// A fault, when and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Occurrence {
    /// When it begins.
    pub at: Instant,
    /// For how long it lasts. Of no meaning for a fault that is [instant](Fault::is_instant).
    pub lasts: Duration,
    /// Whom it strikes.
    pub target: Target,
    /// What goes wrong.
    pub fault: Fault,
}

impl Occurrence {
    /// When it is over.
    #[must_use]
    pub fn ends(&self) -> Instant {
        match self.fault.is_instant() {
            true => self.at,
            false => self.at + self.lasts,
        }
    }

    /// Whether there is an instant at which both are there. The end does not belong to a fault.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        let (first, second) = match self.at <= other.at {
            true => (self, other),
            false => (other, self),
        };
        second.at < first.ends() || second.at == first.at
    }
}

impl Schedule {
    /// So many servers, and nothing that goes wrong.
    #[must_use]
    pub const fn new(seed: u64, servers: u32, lasts: Duration) -> Self {
        Self {
            seed,
            servers,
            lasts,
            faults: Vec::new(),
        }
    }

    /// The same with a fault that begins so long after the start.
    #[must_use]
    pub fn fault(mut self, after: Duration, lasts: Duration, target: Target, fault: Fault) -> Self {
        self.faults.push(Occurrence {
            at: Instant::ORIGIN + after,
            lasts,
            target,
            fault,
        });
        self
    }

    /// How many pairs of faults [overlap](Occurrence::overlaps) in time, whomever they strike. Takes
    /// the square of their number.
    #[must_use]
    pub fn overlaps(&self) -> usize {
        let pairs = self.faults.iter().enumerate().map(|(place, fault)| {
            let later = self.faults.iter().skip(place + 1);
            later.filter(|other| fault.overlaps(other)).count()
        });
        pairs.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_overlap_while_both_are_there() {
        let fault = |at, lasts, fault| {
            let schedule = Schedule::new(0, 1, Duration::ZERO);
            let secs = Duration::from_secs;
            schedule
                .fault(secs(at), secs(lasts), Target::All, fault)
                .faults[0]
        };
        let crash = |at, lasts| fault(at, lasts, Fault::Crash);
        let reset = |at| fault(at, 9, Fault::Reset);
        for (a, b, overlap) in [
            (crash(1, 2), crash(2, 2), true),
            (crash(1, 9), crash(2, 1), true),
            (crash(1, 2), crash(1, 5), true),
            (crash(1, 2), crash(3, 1), false),
            (crash(1, 2), reset(1), true),
            (crash(1, 2), reset(2), true),
            (crash(1, 2), reset(3), false),
            (reset(1), reset(1), true),
            (reset(1), reset(2), false),
        ] {
            assert_eq!(a.overlaps(&b), overlap, "{a} and {b}");
            assert_eq!(b.overlaps(&a), overlap, "{b} and {a}");
        }
    }

    #[test]
    fn pairs_of_overlapping_faults_are_counted() {
        let mut schedule = Schedule::new(0, 1, Duration::from_secs(60));
        assert_eq!(schedule.overlaps(), 0);
        for at in 0..4 {
            let (at, lasts) = (Duration::from_secs(at), Duration::from_millis(2_500));
            schedule = schedule.fault(at, lasts, Target::All, Fault::Mute);
        }
        assert_eq!(schedule.overlaps(), 5);
    }
}
