//! Schedules by chance, after swarm testing: each run has only some of the kinds of fault, because
//! kinds that are always together hide what the others would have shown (Groce, Zhang, Eide, Chen,
//! Regehr: "Swarm Testing", ISSTA 2012).

use core::{ops::RangeInclusive, time::Duration};
use std::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{Occurrence, Schedule};
use crate::{
    Instant,
    sim::{
        fault::{Fault, Target, Way},
        rng::{Rng, Stream},
    },
};

/// No schedule is drawn with more faults: what follows from nonsense must still end.
const MAX_FAULTS: u64 = 10_000;

/// Of what schedules are drawn. The defaults make an hour of 3 to 5 servers with a fault a minute,
/// dozens of which overlap.
///
/// ```
/// use std::time::Duration;
/// use redial::sim::{Fault, Schedule, Swarm};
///
/// let mut swarm = Swarm { lasts: Duration::from_secs(600), ..Swarm::default() };
/// swarm.faults.retain(|fault| *fault != Fault::Sleep);
/// let schedule = Schedule::draw(7, &swarm);
/// assert_eq!(schedule, Schedule::draw(7, &swarm));
/// assert!(!schedule.to_string().contains("sleep"));
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Swarm {
    /// How many servers there are. 0 counts as 1; of an empty range, its start is taken. Default: 3
    /// to 5.
    pub servers: RangeInclusive<u32>,
    /// How long a run is. Default: an hour.
    pub lasts: Duration,
    /// How many faults an hour there are in the mean: a schedule has between half and one and a half
    /// times as many, at least 1 and at most 10,000. 0: none. Default: 60.
    pub faults_per_hour: u32,
    /// What may go wrong. A fault's values are the worst that is drawn: the longest duration, the
    /// narrowest bandwidth (up to 1,024 times as much is drawn), [both ways](Way::Both) for each of
    /// the three; the number in [`Fault::NameMoves`] means nothing. A seed picks about half of the
    /// faults listed here. Without any, nothing goes wrong. Default: [`Fault::KINDS`].
    pub faults: Vec<Fault>,
    /// How long a fault lasts at least, unless the run's calm end comes before. Under a millisecond
    /// counts as one. Default: 10 ms.
    pub shortest: Duration,
    /// How long a fault lasts at most; the same as [`shortest`](Self::shortest) if it is less. All
    /// scales between them are equally likely: 10 to 20 milliseconds as much as 5 to 10 minutes.
    /// Default: 20 minutes.
    pub longest: Duration,
    /// How long nothing goes wrong at the end, so that it can be seen whether the clients recover.
    /// None goes wrong at all if it is as long as the run. Default, `None`: a tenth of the run, but at
    /// most 2 minutes.
    pub calm: Option<Duration>,
}

impl Default for Swarm {
    fn default() -> Self {
        Self {
            servers: 3..=5,
            lasts: Duration::from_secs(3600),
            faults_per_hour: 60,
            faults: Fault::KINDS.to_vec(),
            shortest: Duration::from_millis(10),
            longest: Duration::from_secs(20 * 60),
            calm: None,
        }
    }
}

impl Fault {
    /// One of each kind. Their values are the worst that [`Swarm::default`] draws.
    pub const KINDS: [Self; 27] = [
        Self::Crash,
        Self::Pause,
        Self::Slow(Duration::from_secs(30)),
        Self::Mute,
        Self::Drain,
        Self::Throttle(Duration::from_secs(30)),
        Self::RejectCredentials,
        Self::Garble,
        Self::Refuse,
        Self::Unreachable,
        Self::BlackHole,
        Self::Reset,
        Self::HalfOpen,
        Self::Partition(Way::Both),
        Self::Stall(Way::Both),
        Self::Latency {
            by: Duration::from_secs(5),
            jitter: Duration::from_secs(5),
        },
        Self::Bandwidth(100),
        Self::Fragment,
        Self::NameFails,
        Self::NameHangs,
        Self::NameIsEmpty,
        Self::NameMoves(0),
        Self::NotListed,
        Self::ListFails,
        Self::ListHangs,
        Self::ListIsEmpty,
        Self::Sleep,
    ];
}

impl Schedule {
    /// The schedule of a seed: the same for ever, on every platform. Its faults are sorted by their
    /// beginning and begin and end at whole milliseconds.
    #[must_use]
    pub fn draw(seed: u64, swarm: &Swarm) -> Self {
        let mut rng = Rng::new(seed, Stream::Schedule);
        let mut choose = |n| rng.below(n);
        let (fewest, most) = swarm.server_counts();
        let servers = fewest + choose(u64::from(most - fewest) + 1) as u32;
        let on = swarm.some_faults(&mut choose);
        let mean = swarm.mean_faults();
        let count = mean.div_ceil(2) + choose(mean / 2 * 2 + 1);
        let occurrence = |_| swarm.occurrence(servers, &on, &mut choose);
        let mut faults: Vec<_> = match on.is_empty() {
            true => Vec::new(),
            false => (0..count.min(MAX_FAULTS)).map(occurrence).collect(),
        };
        faults.sort_by_key(|fault| fault.at);
        Self {
            seed,
            servers,
            lasts: swarm.lasts,
            faults,
        }
    }
}

/// Chooses a number below its argument, 0 if that is 0. What a smaller number leads to is the milder
/// or the earlier, so that whoever makes numbers smaller makes a schedule simpler.
pub(in crate::sim) type Choose<'a> = dyn FnMut(u64) -> u64 + 'a;

impl Swarm {
    /// The least and the most.
    pub(in crate::sim) fn server_counts(&self) -> (u32, u32) {
        let fewest = *self.servers.start().max(&1);
        (fewest, *self.servers.end().max(&fewest))
    }

    /// How many faults there are in a run.
    pub(in crate::sim) fn mean_faults(&self) -> u64 {
        let active = self.active();
        if active == 0 || self.faults_per_hour == 0 {
            return 0;
        }
        let mean = u128::from(active) * u128::from(self.faults_per_hour) / 3_600_000;
        mean.clamp(1, MAX_FAULTS.into()) as u64
    }

    /// Each with one half, or one of them.
    pub(in crate::sim) fn some_faults(&self, choose: &mut Choose<'_>) -> Vec<Fault> {
        let mut on = self.faults.clone();
        on.retain(|_| choose(2) == 0);
        let one = choose(self.faults.len() as u64) as usize;
        if on.is_empty() {
            on.extend(self.faults.get(one));
        }
        on
    }

    /// In which something may go wrong, in milliseconds from the start.
    fn active(&self) -> u64 {
        let calm = self
            .calm
            .unwrap_or((self.lasts / 10).min(Duration::from_secs(120)));
        millis(self.lasts.saturating_sub(calm))
    }

    /// One of these faults, of which there must be one, somewhere in the run.
    pub(in crate::sim) fn occurrence(
        &self,
        servers: u32,
        on: &[Fault],
        choose: &mut Choose<'_>,
    ) -> Occurrence {
        let worst = on[choose(on.len() as u64) as usize];
        let active = self.active();
        let at = choose(active);
        let shortest = millis(self.shortest).max(1);
        let longest = millis(self.longest).max(shortest);
        // No longer than until it has to be calm.
        let lasts = scaled(shortest, longest, choose).min((active - at).max(1));
        let (everywhere, server) = (choose(8) == 7, choose(servers.into()) as u32);
        Occurrence {
            at: Instant::from_millis(at),
            lasts: match worst.is_instant() {
                true => Duration::ZERO,
                false => Duration::from_millis(lasts),
            },
            target: match everywhere || worst.has_no_target() {
                true => Target::All,
                false => Target::Server(server),
            },
            fault: milder(worst, servers, choose),
        }
    }
}

/// The fault with values that are not worse.
fn milder(worst: Fault, servers: u32, choose: &mut Choose<'_>) -> Fault {
    match worst {
        Fault::Slow(most) => Fault::Slow(shorter(most, choose)),
        Fault::Throttle(most) => Fault::Throttle(shorter(most, choose)),
        Fault::Latency { by, jitter } => Fault::Latency {
            by: shorter(by, choose),
            jitter: shorter(jitter, choose),
        },
        Fault::Bandwidth(least) => Fault::Bandwidth(least.saturating_mul(1 << (10 - choose(11)))),
        Fault::Partition(way) => Fault::Partition(narrower(way, choose)),
        Fault::Stall(way) => Fault::Stall(narrower(way, choose)),
        Fault::NameMoves(_) => Fault::NameMoves(choose(servers.into()) as u32),
        plain => plain,
    }
}

fn narrower(way: Way, choose: &mut Choose<'_>) -> Way {
    match way {
        Way::Both => [Way::ToServer, Way::ToClient, Way::Both][choose(3) as usize],
        one => one,
    }
}

fn shorter(most: Duration, choose: &mut Choose<'_>) -> Duration {
    match millis(most) {
        0 => most,
        most => Duration::from_millis(scaled(1, most, choose)),
    }
}

/// In `least..=most`, each doubling as likely as the others. `least` is not 0.
fn scaled(least: u64, most: u64, choose: &mut Choose<'_>) -> u64 {
    let doublings = (most / least).ilog2();
    let low = least << choose(u64::from(doublings) + 1);
    let high = (low - 1).saturating_add(low).min(most);
    low + choose((high - low).saturating_add(1))
}

/// Saturating at 584 million years.
fn millis(duration: Duration) -> u64 {
    duration.as_millis().try_into().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, string::ToString};

    use super::*;

    fn some() -> impl Iterator<Item = Schedule> {
        (0..200).map(|seed| Schedule::draw(seed, &Swarm::default()))
    }

    #[test]
    fn a_seeds_schedule_is_fixed_for_ever() {
        let swarm = Swarm {
            lasts: Duration::from_secs(600),
            ..Swarm::default()
        };
        let text = "\
seed 7
servers 3
lasts 10m
at 1m30.524s for 1.501s server 2 name-is-empty
at 3m25.608s for 37.64s server 0 pause
at 3m55.887s for 4.395s server 0 fragment
at 5m5.19s for 3m54.81s all slow 23.62s
at 5m55.145s for 19.456s server 1 garble
at 7m44.821s for 6.622s all bandwidth 6400
";
        assert_eq!(Schedule::draw(7, &swarm).to_string(), text);
    }

    #[test]
    fn all_kinds_of_fault_are_there_to_be_drawn() {
        let kinds = include_str!("../fault.rs").matches("=> \"").count();
        assert_eq!(Fault::KINDS.len(), kinds);
        let names: BTreeSet<_> = Fault::KINDS.iter().map(|fault| fault.kind()).collect();
        assert_eq!(names.len(), kinds);
        let drawn = some().flat_map(|schedule| schedule.faults);
        let drawn: BTreeSet<_> = drawn.map(|fault| fault.fault.kind()).collect();
        assert_eq!(drawn, names);
    }

    #[test]
    fn a_seed_picks_about_half_of_the_kinds() {
        for schedule in some() {
            let kinds = schedule.faults.iter().map(|fault| fault.fault.kind());
            let kinds = kinds.collect::<BTreeSet<_>>().len();
            assert!((3..=23).contains(&kinds), "{kinds} kinds:\n{schedule}");
        }
    }

    #[test]
    fn an_hour_has_many_faults_that_overlap() {
        for schedule in some() {
            let (faults, overlaps) = (schedule.faults.len(), schedule.overlaps());
            assert!((29..=87).contains(&faults), "{faults} faults:\n{schedule}");
            assert!(overlaps > 5, "{overlaps} pairs overlap:\n{schedule}");
        }
    }

    #[test]
    fn servers_targets_ways_and_lengths_of_all_scales_are_drawn() {
        let schedules: Vec<_> = some().collect();
        let servers: BTreeSet<_> = schedules.iter().map(|schedule| schedule.servers).collect();
        assert_eq!(servers, [3, 4, 5].into());
        let faults = || schedules.iter().flat_map(|schedule| &schedule.faults);
        let targets: BTreeSet<_> = faults().map(|fault| fault.target).collect();
        assert_eq!(targets.len(), 6);
        for way in [Way::ToServer, Way::ToClient, Way::Both] {
            assert!(faults().any(|fault| fault.fault == Fault::Partition(way)));
        }
        let lasting = faults().filter(|fault| !fault.fault.is_instant());
        let scales: Vec<_> = lasting.map(|fault| millis(fault.lasts).ilog10()).collect();
        for scale in 1..=6 {
            let count = scales.iter().filter(|drawn| **drawn == scale).count();
            assert!(
                count * 100 > scales.len(),
                "{count} faults of 10^{scale} ms"
            );
        }
    }

    #[test]
    fn at_the_end_it_is_calm() {
        for (lasts, calm, end) in [
            (3600, None, 3480),
            (100, None, 90),
            (100, Some(0), 100),
            (100, Some(60), 40),
        ] {
            let swarm = Swarm {
                lasts: Duration::from_secs(lasts),
                faults_per_hour: 3000,
                calm: calm.map(Duration::from_secs),
                ..Swarm::default()
            };
            let end = Instant::ORIGIN + Duration::from_secs(end);
            for seed in 0..20 {
                let schedule = Schedule::draw(seed, &swarm);
                let last = schedule.faults.iter().map(Occurrence::ends).max();
                assert!(last <= Some(end), "{last:?} is after {end}:\n{schedule}");
            }
        }
    }

    #[test]
    fn values_are_not_worse_than_the_swarms() {
        let (ms, way) = (Duration::from_millis, Way::ToClient);
        let swarm = Swarm {
            faults: [
                Fault::Slow(ms(20)),
                Fault::Throttle(Duration::ZERO),
                Fault::Latency {
                    by: ms(50),
                    jitter: Duration::from_nanos(5),
                },
                Fault::Bandwidth(1 << 30),
                Fault::Stall(way),
            ]
            .into(),
            ..Swarm::default()
        };
        for fault in (0..50).flat_map(|seed| Schedule::draw(seed, &swarm).faults) {
            assert!(match fault.fault {
                Fault::Slow(time) => time <= ms(20) && time > ms(0),
                Fault::Throttle(time) => time.is_zero(),
                Fault::Latency { by, jitter } => by <= ms(50) && jitter.as_nanos() == 5,
                Fault::Bandwidth(rate) => rate >= 1 << 30,
                fault => fault == Fault::Stall(way),
            });
        }
    }

    #[test]
    fn nonsense_is_drawn_from_without_harm() {
        let (zero, longest) = (Duration::ZERO, Duration::MAX);
        let empty = RangeInclusive::new(7, 2);
        for (servers, drawn) in [(0..=0, 1), (empty, 7), (u32::MAX..=u32::MAX, u32::MAX)] {
            for (lasts, longest, calm) in [
                (zero, zero, None),
                (longest, longest, None),
                (longest, zero, Some(longest)),
                (Duration::from_millis(1), longest, Some(zero)),
            ] {
                for faults_per_hour in [0, 1, u32::MAX] {
                    let swarm = Swarm {
                        servers: servers.clone(),
                        lasts,
                        faults_per_hour,
                        shortest: longest,
                        longest,
                        calm,
                        ..Swarm::default()
                    };
                    let schedule = Schedule::draw(1, &swarm);
                    assert_eq!(schedule.servers, drawn);
                    let is_calm = swarm.active() == 0 || faults_per_hour == 0;
                    assert_eq!(schedule.faults.is_empty(), is_calm);
                    assert!(schedule.faults.len() <= 10_000);
                    assert_eq!(schedule.to_string().parse(), Ok(schedule));
                }
            }
        }
        let swarm = Swarm {
            faults: Vec::new(),
            ..Swarm::default()
        };
        assert_eq!(Schedule::draw(1, &swarm).faults, []);
    }

    #[test]
    fn of_one_fault_there_is_always_some() {
        let swarm = Swarm {
            faults: [Fault::Mute].into(),
            faults_per_hour: 1,
            lasts: Duration::from_secs(1),
            ..Swarm::default()
        };
        assert!((0..50).all(|seed| Schedule::draw(seed, &swarm).faults.len() == 1));
    }
}
