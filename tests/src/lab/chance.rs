//! Chance.

use std::time::Duration;

/// Numbers that choose: from a seed, or given, so that whoever makes them smaller makes what is chosen
/// simpler.
#[derive(Clone, Debug)]
pub struct Chance(From);

#[derive(Clone, Debug)]
enum From {
    /// SplitMix64 (Steele, Lea, Flood 2014).
    Seed(u64),
    Given(std::vec::IntoIter<u32>),
}

impl Chance {
    /// From a seed. The same seed gives other numbers for another purpose.
    #[must_use]
    pub fn new(seed: u64, purpose: u64) -> Self {
        let mut chance = Self(From::Seed(
            seed ^ purpose.wrapping_mul(0xd134_2543_de82_ef95),
        ));
        chance.0 = From::Seed(chance.next());
        chance
    }

    /// These, and then zeros.
    #[must_use]
    pub fn given(numbers: Vec<u32>) -> Self {
        Self(From::Given(numbers.into_iter()))
    }

    fn next(&mut self) -> u64 {
        match &mut self.0 {
            From::Seed(state) => {
                *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                z ^ (z >> 31)
            }
            From::Given(numbers) => numbers.next().unwrap_or(0).into(),
        }
    }

    /// In `0..n`; 0 if `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next().checked_rem(n).unwrap_or(0)
    }

    /// Whether it comes true, `n` times out of 1,000.
    pub fn per_mille(&mut self, n: u32) -> bool {
        self.below(1000) >= 1000 - u64::from(n)
    }

    /// One of these, of which the first is the simplest.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize].clone()
    }

    /// Below so many milliseconds.
    pub fn millis(&mut self, below: u64) -> Duration {
        Duration::from_millis(self.below(below))
    }
}
