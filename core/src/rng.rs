//! Randomness from the seed: a generator whose output is fixed for ever, one independent stream a
//! purpose.

/// What a stream of random numbers is for. The number is part of the output that is fixed for ever.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    Selection = 1,
    DialOrder = 2,
    Retry = 3,
    Reconnect = 4,
    Setup = 5,
    Age = 6,
    Hint = 7,
    Rebalance = 8,
    Refresh = 9,
    StartDelay = 10,
    Decision = 11,
}

/// A bijection that changes half of the bits for any change of input: the finaliser of SplitMix64
/// (Steele, Lea, Flood 2014, with Stafford's constants).
pub(crate) const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

pub(crate) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A name for one of many streams with one purpose, such as a node's. FNV-1a, mixed.
pub(crate) fn stream_of(bytes: impl IntoIterator<Item = u8>) -> u64 {
    mix(bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    }))
}

/// A stream of random numbers: SplitMix64. Number n of it depends on seed, purpose, stream and n
/// alone.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Rng {
    state: u64,
}

impl Rng {
    pub(crate) const fn new(seed: u64, purpose: Purpose, stream: u64) -> Self {
        let seed = mix(seed.wrapping_add(GOLDEN));
        let seed = mix(seed ^ (purpose as u64).wrapping_mul(GOLDEN));
        Self {
            state: mix(seed ^ stream),
        }
    }

    /// The stream as it is after `draws` numbers.
    pub(crate) const fn skip(self, draws: u64) -> Self {
        Self {
            state: self.state.wrapping_add(GOLDEN.wrapping_mul(draws)),
        }
    }

    pub(crate) const fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        mix(self.state)
    }

    /// Uniform in `0..n`, 0 if `n` is 0. The bias is below 2^-32 for n up to 2^32, and one number
    /// is drawn whatever n is.
    pub(crate) const fn below(&mut self, n: u64) -> u64 {
        ((self.next_u64() as u128 * n as u128) >> 64) as u64
    }

    /// Uniform in `low..=high`; `low` if the range is empty.
    pub(crate) const fn between(&mut self, low: u64, high: u64) -> u64 {
        match high.saturating_sub(low) {
            u64::MAX => self.next_u64(),
            span => low + self.below(span + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_is_fixed_for_ever() {
        let mut rng = Rng::new(7, Purpose::Reconnect, stream_of(*b"a:9092"));
        let drawn = [
            rng.next_u64(),
            rng.next_u64(),
            rng.below(1000),
            rng.between(10, 20),
        ];
        assert_eq!(drawn, GOLDEN_DRAWS);
    }

    const GOLDEN_DRAWS: [u64; 4] = [735_749_473_605_889_265, 17_460_215_762_717_342_079, 399, 14];

    #[test]
    fn a_skipped_stream_goes_on_where_it_would_have_been() {
        let fresh = Rng::new(1, Purpose::Retry, 0);
        let mut walked = fresh.clone();
        for _ in 0..5 {
            walked.next_u64();
        }
        assert_eq!(fresh.skip(5), walked);
    }

    #[test]
    fn neighbouring_seeds_purposes_and_streams_share_no_numbers() {
        let mut seen = alloc::collections::BTreeSet::new();
        for seed in 0..10 {
            for purpose in [Purpose::Selection, Purpose::DialOrder, Purpose::Retry] {
                for stream in 0..10 {
                    let mut rng = Rng::new(seed, purpose, stream);
                    for _ in 0..10 {
                        assert!(seen.insert(rng.next_u64()));
                    }
                }
            }
        }
    }

    #[test]
    fn draws_reach_both_ends_and_nothing_beyond() {
        let mut rng = Rng::new(3, Purpose::Selection, 0);
        for (low, high) in [(0, 0), (5, 5), (9, 3), (0, u64::MAX), (u64::MAX, u64::MAX)] {
            for _ in 0..100 {
                let drawn = rng.between(low, high);
                assert!(
                    drawn >= low && drawn <= high.max(low),
                    "{drawn} not in {low}..={high}"
                );
            }
        }
        let drawn: alloc::collections::BTreeSet<_> = (0..100).map(|_| rng.between(7, 9)).collect();
        assert_eq!(drawn.into_iter().collect::<alloc::vec::Vec<_>>(), [7, 8, 9]);
        assert_eq!(rng.below(0), 0);
        assert!((0..1000).all(|_| rng.below(u64::MAX) < u64::MAX));
    }
}
