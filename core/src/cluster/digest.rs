//! The hash that a fingerprint is made of, and how it says what is no plain value: times, numbers of the
//! common sequence, ids.

use alloc::vec::Vec;
use core::{
    fmt,
    hash::{Hash, Hasher},
};

use crate::{
    Cluster, ConnectionId, Instant, Jitter, NodeId, SetupTimeout,
    collections::NONE,
    rng::{GOLDEN, mix},
};

/// A fingerprint in the making: a chain of SplitMix64's finaliser over words of 64 bits, the same on
/// every platform.
pub(crate) struct Digest<'a> {
    hash: u64,
    pub(crate) cluster: &'a Cluster,
    sequence: Ranks<u64>,
    /// When nodes were last dialled or failed.
    attempts: Ranks<Instant>,
    /// Next-attempt times.
    rests: Ranks<Instant>,
    /// So many failures make the reconnect backoff the longest.
    pub(crate) most_failures: u32,
    /// So many make the setup timeout the longest.
    pub(crate) most_setup_failures: u32,
    /// Waits are drawn, so that it matters which draws come next.
    pub(crate) draws: bool,
    /// Waits depend on the last one.
    pub(crate) decorrelated: bool,
}

impl<'a> Digest<'a> {
    pub(super) fn new(cluster: &'a Cluster) -> Self {
        let config = &cluster.config;
        let nodes = || cluster.nodes.iter().map(|(_, node)| node);
        let requests = cluster.requests.iter().map(|(_, request)| request.seq);
        let failures = cluster.failed_last.iter().map(|((number, _), _)| number);
        let setups = cluster.setups.iter();
        let setups = setups.map(|(core::cmp::Reverse((_, number)), _)| number);
        Self {
            hash: 0,
            cluster,
            sequence: Ranks::of(requests.chain(failures).chain(setups)),
            attempts: Ranks::of(nodes().filter_map(|node| node.last_attempt)),
            rests: Ranks::of(nodes().filter_map(|node| node.next_attempt)),
            most_failures: config.reconnect_backoff.steps().saturating_add(1),
            most_setup_failures: match config.connection_setup_timeout {
                SetupTimeout::Growing(growth) => growth.steps(),
                SetupTimeout::SessionShare { .. } => 0,
            },
            draws: config.jitter != Jitter::None,
            decorrelated: config.jitter == Jitter::Decorrelated,
        }
    }

    /// Adds what is equal only to itself.
    pub(crate) fn add(&mut self, value: impl Hash) {
        value.hash(self);
    }

    /// Adds so many, and what `add` adds for each.
    pub(crate) fn all<T>(
        &mut self,
        items: impl Iterator<Item = T>,
        mut add: impl FnMut(&mut Self, T),
    ) {
        let mut count = 0_u64;
        for item in items {
            add(self, item);
            count += 1;
        }
        self.add(count);
    }

    /// Adds a time that matters only until it is reached.
    pub(crate) fn deadline(&mut self, at: Instant) {
        self.exact(at.max(self.cluster.now));
    }

    /// Adds how far away a time is, before or after now.
    pub(crate) fn exact(&mut self, at: Instant) {
        let now = self.cluster.now;
        self.add((at < now, at == Instant::MAX));
        let distance = at.as_nanos().abs_diff(now.as_nanos());
        self.add(if at == Instant::MAX { 0 } else { distance });
    }

    /// Adds a past time of which matters only whether it is that long ago.
    pub(crate) fn age(&mut self, at: Instant, at_most: core::time::Duration) {
        self.add((self.cluster.now - at).min(at_most));
    }

    /// Adds which of the live numbers of the common sequence this is.
    pub(crate) fn number(&mut self, number: u64) {
        let rank = self.sequence.rank(number);
        self.add(rank);
    }

    /// Adds a time at which a node was last dialled or failed: only their order matters, and the next
    /// one may be now.
    pub(crate) fn last_attempt(&mut self, at: Option<Instant>) {
        let rank = at.map(|at| (self.attempts.rank(at), at == self.cluster.now));
        self.add(rank);
    }

    /// Adds a next-attempt time, of which only the order matters once it is reached.
    pub(crate) fn next_attempt(&mut self, at: Option<Instant>) {
        let rank = at.map(|at| self.rests.rank(at));
        self.add(rank);
        self.deadline(at.unwrap_or(Instant::ORIGIN));
    }

    /// Adds an id without its generation: all stale ones are equal.
    pub(crate) fn node(&mut self, id: NodeId) {
        let nodes = &self.cluster.nodes;
        let live = nodes.get(id.index, id.generation).is_some();
        self.add(if live { id.index } else { NONE });
    }

    /// The same for a connection. Whether it is live.
    pub(crate) fn connection(&mut self, id: ConnectionId) -> bool {
        let connections = &self.cluster.connections;
        let live = connections.get(id.index, id.generation).is_some();
        self.add(if live { id.index } else { NONE });
        live
    }

    /// Adds a serial of a connection: how long ago it was the next.
    pub(crate) fn serial(&mut self, connection: u32, serial: u32) {
        let next = self.cluster.connections[connection].next_serial;
        self.add(next.wrapping_sub(serial));
    }

    fn word(&mut self, word: u64) {
        self.hash = mix(self.hash.wrapping_add(GOLDEN) ^ word);
    }
}

impl Hasher for Digest<'_> {
    fn finish(&self) -> u64 {
        self.hash
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.word(u64::from_le_bytes(word));
        }
        self.word(bytes.len() as u64);
    }

    fn write_u8(&mut self, n: u8) {
        self.word(n.into());
    }

    fn write_u16(&mut self, n: u16) {
        self.word(n.into());
    }

    fn write_u32(&mut self, n: u32) {
        self.word(n.into());
    }

    fn write_u64(&mut self, n: u64) {
        self.word(n);
    }

    fn write_u128(&mut self, n: u128) {
        self.word(n as u64);
        self.word((n >> 64) as u64);
    }

    fn write_usize(&mut self, n: usize) {
        self.word(n as u64);
    }
}

/// For what is written as text.
impl fmt::Write for Digest<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.write(text.as_bytes());
        Ok(())
    }
}

/// Numbers of which only the order matters.
struct Ranks<T>(Vec<T>);

impl<T: Ord> Ranks<T> {
    fn of(values: impl Iterator<Item = T>) -> Self {
        let mut ranks: Vec<_> = values.collect();
        ranks.sort_unstable();
        ranks.dedup();
        Self(ranks)
    }

    /// How many are smaller. Distinct for all that are among them.
    fn rank(&self, value: T) -> u64 {
        self.0.partition_point(|other| *other < value) as u64
    }
}
