//! Chance, from the seed.

/// SplitMix64 (Steele, Lea, Flood 2014): the world's own, so that it shares no numbers with the
/// core's.
#[derive(Clone, Debug)]
pub(super) struct Rng {
    state: u64,
}

impl Rng {
    pub(super) const fn new(seed: u64) -> Self {
        Self {
            state: seed ^ 0x5eed_0f7e_57ed_c1c5,
        }
    }

    /// Uniform in `0..n`; `n` is small.
    pub(super) const fn below(&mut self, n: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}
