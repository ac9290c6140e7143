//! Backoff and jitter, exact on every platform (SEMANTICS 3.4).

use core::time::Duration;

use crate::{rng::Rng, time::nanos};

/// A wait that grows with consecutive failures: `min(max, base × multiplier^k)`.
///
/// Exact for any `k`, in integers. A base above the maximum means a constant maximum, base zero
/// gives zero. Nanoseconds; a duration over 584 years counts as that.
///
/// ```
/// use core::time::Duration;
/// use redial::Backoff;
///
/// let ms = Duration::from_millis;
/// let backoff = Backoff::new(ms(100), ms(1_000), 2);
/// assert_eq!(backoff.delay(0), ms(100));
/// assert_eq!(backoff.delay(3), ms(800));
/// assert_eq!(backoff.delay(u32::MAX), ms(1_000));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Backoff {
    /// The wait after the first failure.
    pub base: Duration,
    /// The longest wait.
    pub max: Duration,
    /// By how much each further failure multiplies it; at least 1.
    pub multiplier: u32,
}

impl Backoff {
    /// A backoff from `base` to `max`.
    #[must_use]
    pub const fn new(base: Duration, max: Duration, multiplier: u32) -> Self {
        Self {
            base,
            max,
            multiplier,
        }
    }

    /// One that never grows.
    #[must_use]
    pub const fn constant(delay: Duration) -> Self {
        Self::new(delay, delay, 1)
    }

    /// The wait, without jitter, after `k` failures that came before the last one.
    #[must_use]
    pub fn delay(&self, k: u32) -> Duration {
        let (base, max) = (u128::from(nanos(self.base)), u128::from(nanos(self.max)));
        let delay = u128::from(self.multiplier)
            .checked_pow(k)
            .and_then(|factor| base.checked_mul(factor))
            .map_or(max, |delay| delay.min(max));
        // Zero times anything is zero, also where the power overflows.
        Duration::from_nanos(if base == 0 { 0 } else { delay as u64 })
    }

    /// After how many failures it no longer grows.
    pub(crate) fn steps(&self) -> u32 {
        let longest = self.delay(u32::MAX);
        let grown = |k: &u32| self.delay(*k) == longest;
        // Even doubled each time, a nanosecond fills 64 bits then.
        (0..64).find(grown).unwrap_or(64)
    }
}

/// How a wait is spread, drawn once, at the event, in whole nanoseconds. `v` is the wait without
/// jitter; parts are given in per mille, 0 to 1000.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Jitter {
    /// Uniform in \[v/2, v\].
    Equal,
    /// Uniform in \[0, v\].
    Full,
    /// Exactly v.
    None,
    /// Uniform in a band of the same width around v, moved down where it would cross the maximum:
    /// with `hi = min(max, v(1+j))`, uniform in \[max(0, hi − 2jv), hi\].
    Band(u32),
    /// v × \[1−j, 1+j), cut at the maximum, as Kafka's clients do; none when the maximum does not
    /// exceed the base.
    Clipped(u32),
    /// Uniform in \[base, 3 × the last wait\], at most the maximum; the first is the base.
    Decorrelated,
}

impl Jitter {
    /// The wait after `k` failures before the last one. `previous` is the last wait drawn, in
    /// nanoseconds, zero after a success; it is set to the one returned.
    pub(crate) fn draw(
        self,
        backoff: &Backoff,
        k: u32,
        previous: &mut u64,
        rng: &mut Rng,
    ) -> Duration {
        let (base, max) = (nanos(backoff.base), nanos(backoff.max));
        let v = nanos(backoff.delay(k));
        let part = |per_mille: u32| (u128::from(v) * u128::from(per_mille) / 1000) as u64;
        let drawn = match self {
            Self::Equal => rng.between(v / 2, v),
            Self::Full => rng.between(0, v),
            Self::None => v,
            Self::Band(j) => {
                let high = v.saturating_add(part(j)).min(max);
                rng.between(high.saturating_sub(part(j).saturating_mul(2)), high)
            }
            Self::Clipped(_) if max <= base => v,
            Self::Clipped(j) => {
                let (low, high) = (v - part(j), v.saturating_add(part(j)));
                rng.between(low, high.saturating_sub(1).max(low)).min(max)
            }
            // After a success, the range is empty, and the base is drawn.
            Self::Decorrelated => rng.between(base, previous.saturating_mul(3)).min(max),
        };
        *previous = drawn;
        Duration::from_nanos(drawn)
    }
}
