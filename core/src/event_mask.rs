//! Which kinds of event are wanted.

use core::ops::{BitOr, Sub};

use crate::Event;

/// A set of kinds of [`Event`].
///
/// ```
/// use redial::EventMask;
///
/// let quiet = EventMask::ALL - EventMask::STATES - EventMask::ATTEMPTS;
/// assert!(quiet.contains(EventMask::CONNECTIONS));
/// assert!(!quiet.contains(EventMask::STATES));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct EventMask(u16);

impl EventMask {
    /// No event.
    pub const NONE: Self = Self(0);
    /// Every event.
    pub const ALL: Self = Self(u16::MAX);
    /// `StateChanged`.
    pub const STATES: Self = Self(1);
    /// `AttemptStarted` and `AttemptEnded`.
    pub const ATTEMPTS: Self = Self(1 << 1);
    /// `Connected` and `Disconnected`.
    pub const CONNECTIONS: Self = Self(1 << 2);
    /// `RetryScheduled`.
    pub const RETRIES: Self = Self(1 << 3);
    /// `ListChanged`.
    pub const LISTS: Self = Self(1 << 4);
    /// `Throttled`, `Unhealthy` and `Healed`.
    pub const HEALTH: Self = Self(1 << 5);
    /// `QueueFull`.
    pub const QUEUE: Self = Self(1 << 6);
    /// `SessionExpired`.
    pub const SESSIONS: Self = Self(1 << 7);

    /// Whether all kinds of `other` are in it.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The kind of this event.
    #[must_use]
    pub const fn of(event: &Event) -> Self {
        match event {
            Event::StateChanged { .. } => Self::STATES,
            Event::AttemptStarted { .. } | Event::AttemptEnded { .. } => Self::ATTEMPTS,
            Event::Connected { .. } | Event::Disconnected { .. } => Self::CONNECTIONS,
            Event::RetryScheduled { .. } => Self::RETRIES,
            Event::ListChanged { .. } => Self::LISTS,
            Event::Throttled { .. } | Event::Unhealthy { .. } | Event::Healed { .. } => {
                Self::HEALTH
            }
            Event::QueueFull => Self::QUEUE,
            Event::SessionExpired { .. } => Self::SESSIONS,
        }
    }
}

impl BitOr for EventMask {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl Sub for EventMask {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}
