//! Chance of the simulation itself: streams apart from the core's, so that neither shifts the other.

use crate::rng::{GOLDEN, mix};

/// What a stream is for. The number is part of the output that is fixed for ever.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stream {
    /// Drawing a schedule.
    Schedule = 1,
    /// What happens by chance in the world.
    World = 2,
    /// The seeds of the clients.
    Clients = 3,
}

/// SplitMix64. Number n of a stream depends on seed, stream and n alone, for ever.
#[derive(Clone, Debug)]
pub(super) struct Rng(u64);

impl Rng {
    pub(super) const fn new(seed: u64, stream: Stream) -> Self {
        // The core mixes once more, and never begins so.
        let stream = (stream as u64).wrapping_mul(GOLDEN);
        Self(mix(mix(seed ^ 0x5eed_0f5c_4ed0_1e00) ^ stream))
    }

    pub(super) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }

    /// Uniform in `0..n`, 0 if `n` is 0. Draws one number whatever `n` is.
    pub(super) const fn below(&mut self, n: u64) -> u64 {
        ((self.next() as u128 * n as u128) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_is_fixed_for_ever() {
        let mut rng = Rng::new(7, Stream::Schedule);
        let drawn = [rng.next(), rng.next(), rng.below(1000), rng.below(0)];
        let golden = [4_420_498_896_013_536_479, 1_255_816_287_028_929_984, 279, 0];
        assert_eq!(drawn, golden);
    }

    #[test]
    fn neighbouring_seeds_share_no_numbers() {
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..100 {
            let mut rng = Rng::new(seed, Stream::Schedule);
            assert!((0..100).all(|_| seen.insert(rng.next())));
        }
    }
}
