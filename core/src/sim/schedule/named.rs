//! Outages that have a name.

use core::time::Duration;

use super::Schedule;
use crate::sim::fault::{Fault, Target, Way};

/// More servers would need more faults than anybody can look at.
const MAX_SERVERS: u32 = 1_000;

impl Schedule {
    /// The names that [`named`](Self::named) knows, each with what happens.
    pub const NAMED: [(&'static str, &'static str); 8] = [
        (
            "rolling-restart",
            "One server after the other drains, is down for a moment and comes back.",
        ),
        (
            "black-hole-at-start",
            "From the start dials to all servers but the last are lost, for half of the run.",
        ),
        (
            "half-open-at-night",
            "All connections die silently: three times while the client is idle, and once while \
             its machine sleeps.",
        ),
        (
            "split-brain",
            "Half of the servers are cut off; later the answers of the other half are.",
        ),
        (
            "dns-flap",
            "Names fail, hang, have no address or lead elsewhere, in turn, and connections are \
             reset meanwhile.",
        ),
        (
            "thundering-herd",
            "All servers crash together, twice, and are slow when they are back.",
        ),
        (
            "slow-node",
            "One server answers later and later, up to ten seconds, and then well again.",
        ),
        (
            "throttled-cluster",
            "All servers ask for fewer requests, first for a moment, then for longer, at last over \
             a narrow link.",
        ),
    ];

    /// The outage of this name, scaled to the servers and the duration, with nothing wrong in the
    /// last tenth at least; `None` if no outage has the name. 0 servers count as 1, and more than
    /// 1,000 as 1,000. In a run under a second the parts of an outage may be too short to matter.
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::sim::Schedule;
    ///
    /// for (name, _) in Schedule::NAMED {
    ///     assert!(Schedule::named(name, 7, 3, Duration::from_secs(600)).is_some());
    /// }
    /// ```
    #[must_use]
    pub fn named(name: &str, seed: u64, servers: u32, lasts: Duration) -> Option<Self> {
        let calm = Self::new(seed, servers.clamp(1, MAX_SERVERS), lasts);
        Some(match name {
            "rolling-restart" => calm.rolling_restart(),
            "black-hole-at-start" => calm.black_hole_at_start(),
            "half-open-at-night" => calm.half_open_at_night(),
            "split-brain" => calm.split_brain(),
            "dns-flap" => calm.dns_flap(),
            "thundering-herd" => calm.thundering_herd(),
            "slow-node" => calm.slow_node(),
            "throttled-cluster" => calm.throttled_cluster(),
            _ => return None,
        })
    }

    /// So many hundredths of the run.
    fn part(&self, hundredths: u32) -> Duration {
        self.lasts / 100 * hundredths
    }

    /// The same with a fault; times in hundredths of the run.
    fn with(self, at: u32, lasts: u32, target: Target, fault: Fault) -> Self {
        let (at, lasts) = (self.part(at), self.part(lasts));
        self.fault(at, lasts, target, fault)
    }

    fn rolling_restart(mut self) -> Self {
        let turn = self.part(80) / self.servers;
        let drain = (turn / 4).min(Duration::from_secs(10));
        let down = (turn / 4).min(Duration::from_secs(30));
        let mut at = self.part(5);
        for server in (0..self.servers).map(Target::Server) {
            self = self.fault(at, drain, server, Fault::Drain);
            self = self.fault(at + drain, down, server, Fault::Crash);
            at += turn;
        }
        self
    }

    fn black_hole_at_start(self) -> Self {
        let dead = 0..(self.servers - 1).max(1);
        dead.map(Target::Server).fold(self, |schedule, server| {
            schedule.with(0, 50, server, Fault::BlackHole)
        })
    }

    fn half_open_at_night(self) -> Self {
        self.with(20, 0, Target::All, Fault::HalfOpen)
            .with(35, 0, Target::All, Fault::HalfOpen)
            .with(50, 0, Target::All, Fault::HalfOpen)
            .with(60, 20, Target::All, Fault::Sleep)
            .with(70, 0, Target::All, Fault::HalfOpen)
    }

    fn split_brain(self) -> Self {
        let (servers, half) = (self.servers, self.servers.div_ceil(2));
        let cut = |schedule: Self, server| {
            let fault = Fault::Partition(Way::Both);
            schedule.with(10, 30, Target::Server(server), fault)
        };
        let silent = |schedule: Self, server| {
            let fault = Fault::Partition(Way::ToClient);
            schedule.with(60, 20, Target::Server(server), fault)
        };
        (half..servers).fold((0..half).fold(self, cut), silent)
    }

    fn dns_flap(self) -> Self {
        (0..16).fold(self, |schedule, turn| {
            let server = turn % schedule.servers;
            let fault = match turn % 4 {
                0 => Fault::NameFails,
                1 => Fault::NameHangs,
                2 => Fault::NameIsEmpty,
                _ => Fault::NameMoves((server + 1) % schedule.servers),
            };
            // Whoever stays connected asks for no name.
            let (at, server) = (5 + 5 * turn, Target::Server(server));
            schedule
                .with(at, 4, server, fault)
                .with(at + 1, 0, server, Fault::Reset)
        })
    }

    fn thundering_herd(self) -> Self {
        let slow = Fault::Slow(Duration::from_secs(2));
        self.with(20, 10, Target::All, Fault::Crash)
            .with(30, 10, Target::All, slow)
            .with(60, 5, Target::All, Fault::Crash)
            .with(65, 10, Target::All, slow)
    }

    fn slow_node(self) -> Self {
        let slow = |millis| Fault::Slow(Duration::from_millis(millis));
        self.with(10, 20, Target::Server(0), slow(100))
            .with(30, 20, Target::Server(0), slow(1_000))
            .with(50, 20, Target::Server(0), slow(10_000))
    }

    fn throttled_cluster(self) -> Self {
        let throttle = |millis| Fault::Throttle(Duration::from_millis(millis));
        self.with(10, 20, Target::All, throttle(200))
            .with(40, 20, Target::All, throttle(5_000))
            .with(70, 15, Target::All, throttle(1_000))
            .with(70, 15, Target::All, Fault::Bandwidth(10_000))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::Instant;

    fn all(servers: u32, lasts: Duration) -> impl Iterator<Item = (&'static str, Schedule)> {
        Schedule::NAMED.into_iter().map(move |(name, _)| {
            let schedule = Schedule::named(name, 7, servers, lasts);
            (name, schedule.expect(name))
        })
    }

    #[test]
    fn an_unknown_name_has_no_schedule() {
        assert_eq!(Schedule::named("", 7, 3, Duration::from_secs(60)), None);
    }

    #[test]
    fn each_name_has_a_schedule_whatever_servers_and_duration() {
        for servers in [0, 1, 2, 3, 30, u32::MAX] {
            for lasts in [0, 1, 3_600_000, u64::MAX].map(Duration::from_millis) {
                for (name, schedule) in all(servers, lasts) {
                    assert_eq!(schedule.servers, servers.clamp(1, 1_000), "{name}");
                    assert_eq!((schedule.seed, schedule.lasts), (7, lasts), "{name}");
                    assert!(!schedule.faults.is_empty(), "{name}");
                }
            }
        }
    }

    #[test]
    fn the_last_tenth_is_calm() {
        let hour = Duration::from_secs(3600);
        for (name, schedule) in [1, 2, 3, 30].into_iter().flat_map(|n| all(n, hour)) {
            let ends = schedule.faults.iter().map(|fault| fault.ends()).max();
            assert!(ends <= Some(Instant::ORIGIN + hour / 10 * 9), "{name}");
        }
    }

    #[test]
    fn targets_are_servers_that_there_are() {
        let hour = Duration::from_secs(3600);
        for (name, schedule) in [1, 2, 3, 30].into_iter().flat_map(|n| all(n, hour)) {
            for fault in &schedule.faults {
                let is_there = |server| server < schedule.servers;
                assert!(
                    match (fault.target, fault.fault) {
                        (Target::Server(server), Fault::NameMoves(to)) => {
                            is_there(server) && is_there(to)
                        }
                        (Target::Server(server), _) => is_there(server),
                        (Target::All, _) => true,
                    },
                    "{name}: {fault}"
                );
            }
        }
    }

    #[test]
    fn a_rolling_restart_takes_each_server_down_and_never_two_at_once() {
        for servers in [1, 3, 1_000] {
            let day = Duration::from_secs(86_400);
            let schedule = Schedule::named("rolling-restart", 7, servers, day).unwrap();
            let struck: BTreeSet<_> = schedule.faults.iter().map(|fault| fault.target).collect();
            assert_eq!(struck.len(), servers as usize);
            assert_eq!(schedule.overlaps(), 0);
        }
    }
}
