//! In-flight counts equal the open requests plus tombstones, and stay within the limits.

use super::{
    Rule, Seen, Violation, ensure,
    ledger::{Frame, Ledger},
};
use crate::{Cluster, Config, Input, Instant, Limit, record::Call};

/// DESIGN 4.3; SEMANTICS 4.3, 4.9; R059.
#[derive(Clone)]
pub(super) struct Slots {
    max_in_flight: u32,
    request_timeout: Limit,
    /// Throttles move the deadlines of attempts.
    throttles: bool,
}

pub(super) const COUNT: &str = "in flight are the open requests and the tombstones (DESIGN 4.3)";
pub(super) const LIMIT: &str = "no more are in flight than is allowed (SEMANTICS 4.3)";
pub(super) const TOMBSTONE: &str =
    "a request cancelled after its hand-over keeps its slot (SEMANTICS 4.9)";
pub(super) const ENDS: &str = "a tombstone ends with its attempt deadline (SEMANTICS 4.5)";
pub(super) const ZERO: &str = "at the end nothing is in flight (DESIGN 4.3)";

impl Slots {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            max_in_flight: config.max_in_flight(),
            request_timeout: config.request_timeout(),
            throttles: false,
        }
    }
}

impl Slots {
    /// Whether the attempt's time is over, the request's own if that is longer (SEMANTICS 4.5).
    fn is_over(&self, frame: &Frame, now: Instant) -> bool {
        let own = frame.timeout.unwrap_or(self.request_timeout);
        let started = frame.started.unwrap_or(now);
        let end = started.after(own).max(started.after(self.request_timeout));
        end <= now && end < Instant::MAX
    }
}

impl Rule for Slots {
    fn after_step(&mut self, seen: &Seen<'_>, ledger: &Ledger) -> Result<(), Violation> {
        let now = seen.step.now;
        self.throttles |= matches!(seen.step.call, Call::Input(Input::Throttled { .. }));
        let (mut in_flight, mut tombstones) = (0, 0);
        for (id, entry) in &ledger.connections {
            let Some(view) = seen.cluster.connection(*id) else {
                continue;
            };
            let (open, taken) = (entry.open, view.in_flight as usize);
            let dead = view.tombstones as usize;
            ensure!(
                taken == open + dead,
                COUNT,
                "{id} has {open} open requests and {dead} tombstones, not {taken}"
            );
            let limit = entry.limit.unwrap_or(u32::MAX).min(self.max_in_flight);
            ensure!(
                taken <= limit as usize,
                LIMIT,
                "{id} has {taken} of {limit}"
            );
            // Those whose request has left, and that may still hold a slot.
            let (mut least, mut most, mut over) = (0, 0, 0);
            for frame in entry.frames.values().filter(|frame| !frame.open) {
                let handed_over = frame.started.unwrap_or(now);
                let must = frame.cancelled && handed_over.after(self.request_timeout) > now;
                least += usize::from(must);
                most += 1;
                over += usize::from(frame.done && self.is_over(frame, now));
            }
            ensure!(
                dead <= most,
                COUNT,
                "{id} has {dead} tombstones, at most {most} can be"
            );
            ensure!(
                least <= dead,
                TOMBSTONE,
                "{id} has {dead} tombstones, at least {least} must be"
            );
            ensure!(
                !seen.step.is_timeout() || self.throttles || dead <= most - over,
                ENDS,
                "{id} has {dead} tombstones, the time of {over} of {most} is over"
            );
            in_flight += taken;
            tombstones += dead;
        }
        let stats = &seen.stats;
        ensure!(
            (stats.in_flight, stats.tombstones) == (in_flight, tombstones),
            COUNT,
            "{in_flight} in flight, {tombstones} of them tombstones; stats say {} and {}",
            stats.in_flight,
            stats.tombstones
        );
        for node in &seen.nodes {
            let taken = node.connection.and_then(|id| seen.cluster.connection(id));
            let taken = taken.map_or(0, |connection| connection.in_flight);
            ensure!(
                node.in_flight == taken,
                COUNT,
                "{} has {taken} in flight, its view says {}",
                node.id,
                node.in_flight
            );
        }
        Ok(())
    }

    fn at_end(&mut self, cluster: &Cluster, _ledger: &Ledger) -> Result<(), Violation> {
        let stats = cluster.stats();
        let left = (
            stats.in_flight,
            stats.tombstones,
            stats.waiting_requests,
            stats.connections,
        );
        ensure!(
            left == (0, 0, 0, 0),
            ZERO,
            "in flight, tombstones, waiting requests and connections are {left:?}"
        );
        Ok(())
    }
}
