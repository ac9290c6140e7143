//! The bridge to the clock of the standard library: the one place in the core that names it.
#![expect(
    clippy::disallowed_types,
    reason = "converting them is what this module is for"
)]

use core::time::Duration;

use crate::Instant;

/// Converts between [`Instant`] and [`std::time::Instant`] through a base chosen once.
///
/// ```
/// use core::time::Duration;
/// use redial::{Clock, Instant};
///
/// let clock = Clock::starting_now();
/// let deadline = Instant::ORIGIN + Duration::from_secs(1);
/// let wake_up: Option<std::time::Instant> = clock.to_std(deadline);
/// assert_eq!(wake_up.map(|at| clock.from_std(at)), Some(deadline));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Clock {
    base: std::time::Instant,
}

impl Clock {
    /// A clock whose [`Instant::ORIGIN`] is this moment.
    #[must_use]
    pub fn starting_now() -> Self {
        Self::starting_at(std::time::Instant::now())
    }

    /// A clock whose [`Instant::ORIGIN`] is `base`.
    #[must_use]
    pub const fn starting_at(base: std::time::Instant) -> Self {
        Self { base }
    }

    /// This moment.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.from_std(std::time::Instant::now())
    }

    /// The same point for the core; what lies before the base becomes the origin.
    #[must_use]
    pub fn from_std(&self, at: std::time::Instant) -> Instant {
        Instant::ORIGIN + at.saturating_duration_since(self.base)
    }

    /// The same point for the standard library, `None` if it cannot represent it.
    #[must_use]
    pub fn to_std(&self, at: Instant) -> Option<std::time::Instant> {
        self.base.checked_add(Duration::from_nanos(at.as_nanos()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn now_goes_on_from_the_base() {
        let base = std::time::Instant::now();
        let clock = Clock::starting_at(base);
        while std::time::Instant::now() == base {}
        assert!(clock.now() > Instant::ORIGIN);
    }

    #[test]
    fn a_point_is_the_same_there_and_back() {
        let clock = Clock::starting_now();
        let at = Instant::from_nanos(1_234_567_890);
        let std = clock.to_std(at).expect("it is near");
        assert_eq!(clock.from_std(std), at);
    }
}
