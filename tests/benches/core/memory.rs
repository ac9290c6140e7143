//! Bytes a node and bytes a request, by an allocator that counts.

use allocation_counter::measure;
use redial::{Cluster, Instant};

use crate::cycle::{self, Cycle};

/// Tables double when they are full. This fills them: with one more, up to twice as much is taken.
const NODES: usize = 1 << 17;
const REQUESTS: usize = 1 << 17;

/// Bytes in the core for a node that was never dialled, its name included.
pub(crate) fn per_idle_node() -> f64 {
    let list = cycle::specs(NODES);
    let mut cluster = Cluster::new(redial::Config::default(), 1, Instant::ORIGIN);
    let info = measure(|| {
        let set = cluster.set_nodes(Instant::ORIGIN, &list);
        set.expect("a valid list");
        while cluster.poll_output().is_some() {}
    });
    info.bytes_current as f64 / NODES as f64
}

/// Bytes in the core for a request that is written and not answered.
pub(crate) fn per_request() -> f64 {
    let mut cycle = Cycle::new(3);
    let info = measure(|| {
        for _ in 0..REQUESTS {
            cycle.send();
        }
    });
    let own = cycle.bytes_of_its_own() as f64;
    (info.bytes_current as f64 - own) / REQUESTS as f64
}

/// Allocations a cycle, once warm.
pub(crate) fn allocations_per_cycle(in_flight: usize) -> f64 {
    const CYCLES: u64 = 100_000;
    let mut cycle = Cycle::new(3).with_in_flight(in_flight - 1);
    cycle.run(in_flight as u64 + 1_000);
    let info = measure(|| cycle.run(CYCLES));
    info.count_total as f64 / CYCLES as f64
}
