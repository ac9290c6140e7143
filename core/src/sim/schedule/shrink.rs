//! The simplest schedule that still fails: delta debugging (Zeller, Hildebrandt: "Simplifying and
//! Isolating Failure-Inducing Input", 2002) over faults, then everything else made smaller.

use core::time::Duration;
use std::{
    collections::BTreeSet,
    string::{String, ToString},
};

use super::{Occurrence, Schedule};
use crate::{
    Instant,
    sim::fault::{Fault, Target, Way},
};

/// A simpler schedule that fails too: with fewer faults, fewer servers, a shorter run, earlier and
/// shorter faults that strike one server instead of all, smaller values and rounder times. The seed
/// stays.
///
/// `fails` says whether a schedule fails; it must say the same of the same schedule. It is called at
/// most `budget` times, never twice with the same schedule, and not with the one that is given, which
/// is taken to fail: if nothing simpler fails, or that did not fail either, it is what is returned.
/// For a schedule of sixty faults of which one or two matter, a hundred calls do.
///
/// ```
/// use redial::sim::{Fault, Schedule, Swarm, shrink};
///
/// // Fails whenever a client's connections go silent.
/// let fails = |s: &Schedule| s.faults.iter().any(|f| f.fault == Fault::HalfOpen);
/// let failing = (0..).map(|seed| Schedule::draw(seed, &Swarm::default())).find(fails).unwrap();
/// let shrunk = shrink(&failing, fails, 1_000);
/// assert_eq!(shrunk.faults[0].to_string(), "at 0s server 0 half-open");
/// assert_eq!((shrunk.servers, shrunk.faults.len()), (1, 1));
/// ```
#[must_use]
pub fn shrink(
    schedule: &Schedule,
    fails: impl FnMut(&Schedule) -> bool,
    budget: usize,
) -> Schedule {
    let mut shrinker = Shrinker {
        best: schedule.clone(),
        fails,
        left: budget,
        tried: BTreeSet::from([schedule.to_string()]),
    };
    loop {
        let before = shrinker.best.clone();
        shrinker.fewer_faults();
        shrinker.fewer_servers();
        shrinker.everything_earlier();
        shrinker.shorter_run();
        for place in 0..shrinker.best.faults.len() {
            shrinker.simpler_fault(place);
        }
        if shrinker.best == before {
            return before;
        }
    }
}

/// How many servers are tried in the place of all, or of one with a higher number.
const MAX_OTHERS: u32 = 8;

struct Shrinker<F> {
    /// The simplest that fails.
    best: Schedule,
    fails: F,
    /// How many more may be tried.
    left: usize,
    /// The texts of all that were tried.
    tried: BTreeSet<String>,
}

impl<F: FnMut(&Schedule) -> bool> Shrinker<F> {
    /// Takes the schedule over if it fails.
    fn attempt(&mut self, change: impl FnOnce(&mut Schedule)) -> bool {
        if self.left == 0 {
            return false;
        }
        let mut candidate = self.best.clone();
        change(&mut candidate);
        if !self.tried.insert(candidate.to_string()) {
            return false;
        }
        self.left -= 1;
        let fails = (self.fails)(&candidate);
        if fails {
            self.best = candidate;
        }
        fails
    }

    /// As `attempt`, for one of the faults.
    fn attempt_fault(&mut self, place: usize, change: impl FnOnce(&mut Occurrence)) -> bool {
        self.attempt(|schedule| {
            if let Some(fault) = schedule.faults.get_mut(place) {
                change(fault);
            }
        })
    }

    /// Takes away chunks of half of them, of a quarter, and so on; those in the end first, since
    /// they often follow from those before.
    fn fewer_faults(&mut self) {
        self.attempt(|schedule| schedule.faults.clear());
        let mut chunk = self.best.faults.len();
        while chunk > 1 {
            chunk = chunk.div_ceil(2);
            let mut end = self.best.faults.len();
            while end > 0 {
                let start = end.saturating_sub(chunk);
                self.attempt(|schedule| _ = schedule.faults.drain(start..end));
                end = start;
            }
        }
    }

    fn fewer_servers(&mut self) {
        let retarget = |schedule: &mut Schedule, servers: u32| {
            schedule.servers = servers;
            for fault in &mut schedule.faults {
                if let Target::Server(server) = &mut fault.target {
                    *server %= servers;
                }
                if let Fault::NameMoves(server) = &mut fault.fault {
                    *server %= servers;
                }
            }
        };
        let most = self.best.servers;
        // The fewest first, and then ever closer to what there is.
        let fewer = (0..32).map(|halves| (most - (most >> halves)).max(1));
        let _ = fewer
            .filter(|servers| *servers < most)
            .any(|servers| self.attempt(|schedule| retarget(schedule, servers)));
    }

    /// Moves all faults and the end of the run, so that the first fault comes sooner.
    fn everything_earlier(&mut self) {
        let first = |schedule: &Schedule| schedule.faults.iter().map(|fault| fault.at).min();
        self.shorten(
            |schedule| first(schedule).unwrap_or_default() - Instant::ORIGIN,
            |schedule, to| {
                let by = first(schedule).unwrap_or_default() - (Instant::ORIGIN + to);
                schedule.lasts = schedule.lasts.saturating_sub(by);
                for fault in &mut schedule.faults {
                    fault.at = Instant::ORIGIN + (fault.at - (Instant::ORIGIN + by));
                }
            },
        );
    }

    fn shorter_run(&mut self) {
        self.shorten(
            |schedule| schedule.lasts,
            |schedule, lasts| schedule.lasts = lasts,
        );
    }

    fn simpler_fault(&mut self, place: usize) {
        let Some(fault) = self.best.faults.get(place).copied() else {
            return;
        };
        let others = match fault.target {
            _ if fault.fault.has_no_target() => 0,
            Target::All => self.best.servers,
            Target::Server(server) => server,
        };
        let mut others = (0..others.min(MAX_OTHERS)).map(Target::Server);
        others.any(|server| self.attempt_fault(place, |fault| fault.target = server));
        if let Fault::Partition(Way::Both) | Fault::Stall(Way::Both) = fault.fault {
            let _ = [Way::ToServer, Way::ToClient].into_iter().any(|one| {
                self.attempt_fault(place, |fault| {
                    if let Fault::Partition(way) | Fault::Stall(way) = &mut fault.fault {
                        *way = one;
                    }
                })
            });
        }
        self.shorten_fault(
            place,
            |fault| fault.at - Instant::ORIGIN,
            |fault, to| {
                fault.at = Instant::ORIGIN + to;
            },
        );
        self.shorten_fault(place, |fault| fault.lasts, |fault, to| fault.lasts = to);
        for value in 0..2 {
            self.shorten_fault(
                place,
                |fault| {
                    let mut fault = fault.fault;
                    durations(&mut fault)[value]
                        .as_deref()
                        .copied()
                        .unwrap_or_default()
                },
                |fault, to| {
                    if let Some(duration) = &mut durations(&mut fault.fault)[value] {
                        **duration = to;
                    }
                },
            );
        }
    }

    fn shorten_fault(
        &mut self,
        place: usize,
        read: impl Fn(&Occurrence) -> Duration,
        write: impl Fn(&mut Occurrence, Duration),
    ) {
        self.shorten(
            |schedule| schedule.faults.get(place).map_or(Duration::ZERO, &read),
            |schedule, to| {
                if let Some(fault) = schedule.faults.get_mut(place) {
                    write(fault, to);
                }
            },
        );
    }

    /// Makes a time of the schedule shorter and rounder while it fails.
    fn shorten(
        &mut self,
        read: impl Fn(&Schedule) -> Duration,
        write: impl Fn(&mut Schedule, Duration),
    ) {
        while shorter(read(&self.best)).any(|to| self.attempt(|schedule| write(schedule, to))) {}
    }
}

/// The durations among a fault's values.
fn durations(fault: &mut Fault) -> [Option<&mut Duration>; 2] {
    match fault {
        Fault::Slow(time) | Fault::Throttle(time) => [Some(time), None],
        Fault::Latency { by, jitter } => [Some(by), Some(jitter)],
        _ => [None, None],
    }
}

/// What to try instead, boldest first: what is left when it is rounded down, to hours first; then a
/// half, three quarters and so on.
fn shorter(time: Duration) -> impl Iterator<Item = Duration> {
    const HOUR: u64 = 3_600_000_000;
    const UNITS_US: [u64; 9] = [
        HOUR,
        HOUR / 6,
        HOUR / 60,
        10_000_000,
        1_000_000,
        100_000,
        10_000,
        1_000,
        1,
    ];
    let rounded = UNITS_US.into_iter().map(move |unit| {
        let unit = u128::from(unit) * 1_000;
        let nanos = time.as_nanos() / unit * unit;
        Duration::new(
            (nanos / 1_000_000_000) as u64,
            (nanos % 1_000_000_000) as u32,
        )
    });
    let steps = (0..5).map(move |halves| time - time / (1 << halves));
    rounded.chain(steps).filter(move |to| *to < time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Swarm;

    fn drawn() -> Schedule {
        Schedule::draw(7, &Swarm::default())
    }

    fn find(mut fails: impl FnMut(&Schedule) -> bool) -> Schedule {
        let mut drawn = (0..1000).map(|seed| Schedule::draw(seed, &Swarm::default()));
        drawn
            .find(|schedule| fails(schedule))
            .expect("one of them fails")
    }

    #[track_caller]
    fn assert_shrinks(fails: impl Fn(&Schedule) -> bool, expected: &str) {
        let mut trials = 0;
        let failing = find(&fails);
        let count = |schedule: &Schedule| {
            trials += 1;
            fails(schedule)
        };
        let shrunk = shrink(&failing, count, 2_000);
        let text = shrunk.to_string();
        let (_, text) = text.split_once('\n').unwrap();
        assert_eq!(text, expected, "after {trials} trials");
        assert_eq!(shrunk.seed, failing.seed);
    }

    #[test]
    fn what_always_fails_becomes_nothing() {
        assert_shrinks(|_| true, "servers 1\nlasts 0s\n");
    }

    #[test]
    fn one_fault_that_matters_is_left_with_what_matters_of_it() {
        let is_it = |fault: &Occurrence| match fault.fault {
            Fault::Slow(time) => time > Duration::from_millis(1_200) && fault.lasts > time,
            _ => false,
        };
        assert_shrinks(
            |schedule| schedule.faults.iter().any(is_it),
            "servers 1\nlasts 0s\nat 0s for 1.218s server 0 slow 1.21s\n",
        );
    }

    #[test]
    fn two_faults_that_must_overlap_keep_their_distance() {
        let is_there = |schedule: &Schedule| {
            let mut crashes = schedule.faults.iter().filter(|f| f.fault == Fault::Crash);
            crashes.any(|crash| {
                let mut mutes = schedule.faults.iter().filter(|f| f.fault == Fault::Mute);
                let apart = Duration::from_secs(5);
                mutes.any(|mute| mute.at - crash.at >= apart && crash.overlaps(mute))
            })
        };
        assert_shrinks(
            is_there,
            "servers 1\nlasts 0s\nat 0s for 5.2s server 0 crash\nat 5s for 0s server 0 mute\n",
        );
    }

    #[test]
    fn the_run_stays_as_long_and_the_servers_as_many_as_they_must() {
        assert_shrinks(
            |schedule| schedule.servers >= 3 && schedule.lasts >= Duration::from_secs(1_234),
            "servers 3\nlasts 20m37s\n",
        );
    }

    #[test]
    fn faults_that_must_strike_all_and_both_ways_do() {
        let partition = Fault::Partition(Way::Both);
        assert_shrinks(
            |schedule| {
                let mut faults = schedule.faults.iter();
                faults.any(|f| f.target == Target::All && f.fault == partition)
            },
            "servers 1\nlasts 0s\nat 0s for 0s all partition both\n",
        );
    }

    #[test]
    fn servers_that_go_leave_their_faults_to_others() {
        let strikes = |fault: &Occurrence| {
            let is_first = matches!(fault.target, Target::All | Target::Server(0));
            fault.fault == Fault::Crash && !is_first
        };
        assert_shrinks(
            |schedule| schedule.servers > 1 && schedule.faults.iter().any(strikes),
            "servers 2\nlasts 0s\nat 0s for 0s server 1 crash\n",
        );
    }

    #[test]
    fn what_does_not_fail_otherwise_stays_as_it_is() {
        assert_eq!(shrink(&drawn(), |_| false, usize::MAX), drawn());
    }

    #[test]
    fn no_more_are_tried_than_the_budget_allows_and_none_twice() {
        for budget in [0, 1, 10, 100, 10_000] {
            let mut tried = BTreeSet::from([drawn().to_string()]);
            let needs = |schedule: &Schedule| schedule.faults.len() >= 7;
            let fails = |schedule: &Schedule| {
                assert!(tried.insert(schedule.to_string()));
                needs(schedule)
            };
            assert!(needs(&shrink(&drawn(), fails, budget)));
            assert!(tried.len() - 1 <= budget);
        }
    }

    #[test]
    fn nonsense_is_shrunk_without_harm() {
        let longest = Duration::MAX;
        let mut schedule = Schedule::new(1, 0, longest);
        for fault in Fault::KINDS {
            schedule = schedule.fault(longest, longest, Target::Server(u32::MAX), fault);
        }
        for servers in [0, 1, u32::MAX] {
            schedule.servers = servers;
            for faults in [0, 1, 27] {
                let _ = shrink(&schedule, |schedule| schedule.faults.len() >= faults, 500);
            }
        }
    }
}
