//! Time without a clock: [`Instant`] is a number that the caller hands in, [`Limit`] a duration
//! that may be absent (SEMANTICS 1).

use core::{
    fmt,
    ops::{Add, AddAssign, Sub},
    time::Duration,
};

/// A point in time: nanoseconds since an origin that the caller chooses.
///
/// Arithmetic is total: it saturates at [`Instant::ORIGIN`] and [`Instant::MAX`] and never panics.
/// A deadline that reaches [`Instant::MAX`] (584 years after the origin) is not armed.
///
/// The clock behind it must be monotonic. A `now` that lies before the last one is taken as the
/// last one.
///
/// ```
/// use core::time::Duration;
/// use redial::Instant;
///
/// let start = Instant::ORIGIN + Duration::from_millis(5);
/// assert_eq!(start.as_nanos(), 5_000_000);
/// assert_eq!(Instant::ORIGIN - start, Duration::ZERO);
/// assert_eq!(start + Duration::MAX, Instant::MAX);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct Instant(u64);

impl Instant {
    /// The caller's origin, the earliest point.
    pub const ORIGIN: Self = Self(0);
    /// The latest point. No deadline is armed for it.
    pub const MAX: Self = Self(u64::MAX);

    /// The point `nanos` nanoseconds after the origin.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// The point `millis` milliseconds after the origin, saturating.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// Nanoseconds since the origin.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The time from `earlier` to `self`, zero if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// `limit` after this point, or [`Instant::MAX`] if there is no limit.
    #[must_use]
    pub fn after(self, limit: Limit) -> Self {
        match limit {
            Limit::After(duration) => self + duration,
            Limit::Never => Self::MAX,
        }
    }
}

/// The nanoseconds of a duration, saturating at 584 years.
pub(crate) const fn nanos(duration: Duration) -> u64 {
    // Not by `as_nanos`: this is on every request's way, and 128 bits are slow.
    let seconds = duration.as_secs().saturating_mul(1_000_000_000);
    seconds.saturating_add(duration.subsec_nanos() as u64)
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(nanos(duration)))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

impl Sub for Instant {
    type Output = Duration;

    fn sub(self, earlier: Self) -> Duration {
        self.since(earlier)
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Seconds since the origin with nanosecond digits, trailing zeros cut: `12.5s`.
impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::MAX {
            return f.write_str("never");
        }
        let (seconds, mut fraction) = (self.0 / 1_000_000_000, self.0 % 1_000_000_000);
        write!(f, "{seconds}")?;
        if fraction > 0 {
            let mut digits = 9;
            while fraction % 10 == 0 {
                fraction /= 10;
                digits -= 1;
            }
            write!(f, ".{fraction:0digits$}")?;
        }
        f.write_str("s")
    }
}

/// A duration that can be absent, so that no number has to mean "never".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Limit {
    /// The limit is reached after this long.
    After(Duration),
    /// There is no limit.
    Never,
}

impl Limit {
    /// The duration, if there is one.
    #[must_use]
    pub const fn duration(self) -> Option<Duration> {
        match self {
            Self::After(duration) => Some(duration),
            Self::Never => None,
        }
    }
}

impl From<Duration> for Limit {
    fn from(duration: Duration) -> Self {
        Self::After(duration)
    }
}

#[cfg(test)]
mod tests {
    use alloc::{format, string::ToString};

    use super::*;

    #[test]
    fn a_text_has_the_digits_that_are_needed() {
        for (nanos, text) in [
            (0, "0s"),
            (1, "0.000000001s"),
            (50_000_000, "0.05s"),
            (12_500_000_000, "12.5s"),
            (3_600_000_000_000, "3600s"),
            (61_000_001_000, "61.000001s"),
            (u64::MAX, "never"),
        ] {
            let instant = Instant::from_nanos(nanos);
            assert_eq!(
                (instant.to_string(), format!("{instant:?}")),
                (text.into(), text.into())
            );
        }
    }
}
