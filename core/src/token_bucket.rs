//! A token bucket in integers: the governor's (SEMANTICS 3.6) and the retry budget's (4.7).

use crate::Instant;

/// The parts of a token: with a rate in tokens a second, one nanosecond brings `rate` parts.
pub(crate) const TOKEN: u64 = 1_000_000_000;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct TokenBucket {
    parts: u64,
    filled_at: Instant,
    per_second: u32,
    max: u64,
}

impl TokenBucket {
    /// A full bucket of so many tokens.
    pub(crate) const fn new(max_tokens: u32, per_second: u32, now: Instant) -> Self {
        let max = max_tokens as u64 * TOKEN;
        Self {
            parts: max,
            filled_at: now,
            per_second,
            max,
        }
    }

    /// Takes a token, if there is one.
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        self.fill(now);
        let rest = self.parts.checked_sub(TOKEN);
        self.parts = rest.unwrap_or(self.parts);
        rest.is_some()
    }

    /// Adds parts of a token.
    pub(crate) fn deposit(&mut self, now: Instant, parts: u64) {
        self.fill(now);
        self.parts = self.parts.saturating_add(parts).min(self.max);
    }

    /// When there is a token; not later than `now` if there is one.
    pub(crate) fn next_token(&self, now: Instant) -> Instant {
        let missing = TOKEN.saturating_sub(self.level(now));
        match (missing, self.per_second) {
            (0, _) => now,
            (_, 0) => Instant::MAX,
            (missing, rate) => {
                let wait = missing.div_ceil(rate.into());
                Instant::from_nanos(now.as_nanos().saturating_add(wait))
            }
        }
    }

    fn fill(&mut self, now: Instant) {
        self.parts = self.level(now);
        self.filled_at = now;
    }

    /// How many parts it holds.
    pub(crate) fn level(&self, now: Instant) -> u64 {
        let elapsed = u128::from(now.as_nanos().saturating_sub(self.filled_at.as_nanos()));
        let level = u128::from(self.parts) + elapsed * u128::from(self.per_second);
        level.min(self.max.into()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    #[test]
    fn it_starts_full_and_brings_tokens_at_its_rate_to_the_nanosecond() {
        let mut bucket = TokenBucket::new(2, 3, at(0));
        assert!(bucket.take(at(0)) && bucket.take(at(0)) && !bucket.take(at(0)));
        let next = bucket.next_token(at(0));
        assert_eq!(next, Instant::from_nanos(333_333_334));
        assert!(!bucket.take(Instant::from_nanos(333_333_333)));
        assert!(bucket.take(next));
    }

    #[test]
    fn fractions_are_kept_and_the_bucket_never_overflows() {
        let mut bucket = TokenBucket::new(1, 1, at(0));
        assert!(bucket.take(at(0)));
        for _ in 0..5 {
            assert!(!bucket.take(at(0)));
            bucket.deposit(at(0), TOKEN / 5);
        }
        assert!(bucket.take(at(0)));
        bucket.deposit(at(0), u64::MAX);
        assert!(bucket.take(Instant::MAX) && !bucket.take(Instant::MAX));
    }

    #[test]
    fn without_a_rate_there_is_never_a_next_token() {
        let mut bucket = TokenBucket::new(1, 0, at(0));
        bucket.take(at(0));
        assert_eq!(bucket.next_token(at(9)), Instant::MAX);
    }
}
