//! In-flight counts equal the open requests plus tombstones, and stay within the limits.

use redial::{Cluster, Config, Limit};

use super::{Checker, Violation, ensure, ledger::Ledger};
use crate::step::Step;

/// DESIGN 4.3; SEMANTICS 4.3, 4.9; R059.
pub(super) struct Slots {
    ledger: Ledger,
    max_in_flight: u32,
    request_timeout: Limit,
}

pub(super) const COUNT: &str = "in flight are the open requests and the tombstones (DESIGN 4.3)";
pub(super) const LIMIT: &str = "no more are in flight than is allowed (SEMANTICS 4.3)";
pub(super) const TOMBSTONE: &str =
    "a request cancelled after its hand-over keeps its slot (SEMANTICS 4.9)";

impl Slots {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            ledger: Ledger::new(config),
            max_in_flight: config.max_in_flight(),
            request_timeout: config.request_timeout(),
        }
    }
}

impl Checker for Slots {
    fn after_step(&mut self, step: &Step, cluster: &Cluster) -> Result<(), Violation> {
        self.ledger.apply(step, cluster);
        let (mut in_flight, mut tombstones) = (0, 0);
        for (id, entry) in &self.ledger.connections {
            let Some(view) = cluster.connection(*id) else {
                continue;
            };
            let (open, taken) = (self.ledger.open_on(*id), view.in_flight as usize);
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
            let most = self.ledger.dead_frames(*id).count();
            ensure!(
                dead <= most,
                COUNT,
                "{id} has {dead} tombstones, at most {most} can be"
            );
            let least = self
                .ledger
                .dead_frames(*id)
                .filter(|frame| {
                    let handed_over = frame.started.unwrap_or(step.now);
                    frame.cancelled && handed_over.after(self.request_timeout) > step.now
                })
                .count();
            ensure!(
                least <= dead,
                TOMBSTONE,
                "{id} has {dead} tombstones, at least {least} must be"
            );
            in_flight += taken;
            tombstones += dead;
        }
        let stats = cluster.stats();
        ensure!(
            (stats.in_flight, stats.tombstones) == (in_flight, tombstones),
            COUNT,
            "{in_flight} in flight, {tombstones} of them tombstones; stats say {} and {}",
            stats.in_flight,
            stats.tombstones
        );
        for node in cluster.nodes() {
            let taken = node.connection.and_then(|id| cluster.connection(id));
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
}
