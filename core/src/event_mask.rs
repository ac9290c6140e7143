//! Which kinds of event are wanted.

use core::{
    fmt,
    ops::{BitOr, Sub},
};

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
///
/// Its text, which the feature `serde` uses too, is `NONE`, kinds such as `LISTS+HEALTH`, or `ALL`
/// without some, such as `ALL-STATES-ATTEMPTS`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct EventMask(u16);

/// The kinds, by name.
const KINDS: [(&str, EventMask); 9] = [
    ("STATES", EventMask::STATES),
    ("ATTEMPTS", EventMask::ATTEMPTS),
    ("CONNECTIONS", EventMask::CONNECTIONS),
    ("RETRIES", EventMask::RETRIES),
    ("LISTS", EventMask::LISTS),
    ("HEALTH", EventMask::HEALTH),
    ("QUEUE", EventMask::QUEUE),
    ("SESSIONS", EventMask::SESSIONS),
    ("REFRESHES", EventMask::REFRESHES),
];

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
    /// `ListChanged` and `Rebalanced`.
    pub const LISTS: Self = Self(1 << 4);
    /// `Throttled`, `Unhealthy` and `Healed`.
    pub const HEALTH: Self = Self(1 << 5);
    /// `QueueFull`.
    pub const QUEUE: Self = Self(1 << 6);
    /// `SessionExpired`.
    pub const SESSIONS: Self = Self(1 << 7);
    /// `Refreshed`.
    pub const REFRESHES: Self = Self(1 << 8);

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
            Event::ListChanged { .. } | Event::Rebalanced { .. } => Self::LISTS,
            Event::Throttled { .. } | Event::Unhealthy { .. } | Event::Healed { .. } => {
                Self::HEALTH
            }
            Event::QueueFull => Self::QUEUE,
            Event::SessionExpired { .. } => Self::SESSIONS,
            Event::Refreshed { .. } => Self::REFRESHES,
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

impl fmt::Display for EventMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = KINDS.iter().fold(Self::NONE, |all, (_, kind)| all | *kind);
        // `ALL` stands for kinds to come too, so it is not the sum of those that are known.
        let all = self.contains(Self::ALL - known);
        let (start, sign) = if all { ("ALL", "-") } else { ("NONE", "+") };
        let mut named = KINDS
            .iter()
            .filter(|(_, kind)| self.contains(*kind) != all)
            .map(|(name, _)| name);
        match named.next() {
            None => f.write_str(start)?,
            Some(name) if all => write!(f, "{start}-{name}")?,
            Some(name) => f.write_str(name)?,
        }
        named.try_for_each(|name| write!(f, "{sign}{name}"))
    }
}

impl fmt::Debug for EventMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for EventMask {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for EventMask {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = alloc::string::String::deserialize(deserializer)?;
        parse(&text).ok_or_else(|| {
            let expected = &"NONE, kinds such as LISTS+HEALTH, or ALL-STATES-ATTEMPTS";
            serde::de::Error::invalid_value(serde::de::Unexpected::Str(&text), expected)
        })
    }
}

/// What `Display` writes.
#[cfg(feature = "serde")]
fn parse(text: &str) -> Option<EventMask> {
    let kind = |name: &str| {
        let mut kinds = KINDS.iter();
        kinds.find_map(|(known, kind)| (*known == name).then_some(*kind))
    };
    if let Some(without) = text.strip_prefix("ALL") {
        let mut names = without.split('-');
        return match names.next() {
            Some("") => names.try_fold(EventMask::ALL, |mask, name| Some(mask - kind(name)?)),
            _ => None,
        };
    }
    if text == "NONE" {
        return Some(EventMask::NONE);
    }
    let mut names = text.split('+');
    names.try_fold(EventMask::NONE, |mask, name| Some(mask | kind(name)?))
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn its_text_names_the_kinds_or_those_that_are_missing() {
        for (mask, text) in [
            (EventMask::ALL, "ALL"),
            (EventMask::NONE, "NONE"),
            (EventMask::LISTS, "LISTS"),
            (EventMask::HEALTH | EventMask::LISTS, "LISTS+HEALTH"),
            (
                EventMask::ALL - EventMask::STATES - EventMask::QUEUE,
                "ALL-STATES-QUEUE",
            ),
        ] {
            assert_eq!(mask.to_string(), text);
            #[cfg(feature = "serde")]
            assert_eq!(parse(text), Some(mask), "{text}");
        }
    }

    #[test]
    fn a_kind_that_is_in_both_is_in_the_union() {
        let both = EventMask::HEALTH | EventMask::LISTS;
        assert_eq!(both | EventMask::LISTS, both);
    }

    #[test]
    #[cfg(feature = "serde")]
    fn a_text_that_is_no_mask_is_refused() {
        for text in [
            "",
            "all",
            "STATES-LISTS",
            "ALL+LISTS",
            "ALLSTATES",
            "LISTS+",
            "ALL-",
        ] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }
}
