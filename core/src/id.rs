//! Identifiers: an index and a generation, so that a stale one never reaches another object.

use core::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $word:literal) => {
        $(#[$doc])*
        ///
        /// An index and a generation: an id that has gone stale never names another object, however
        /// often the index is used again.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name {
            pub(crate) index: u32,
            pub(crate) generation: u32,
        }

        impl $name {
            /// The slot: small numbers, used again after the object is gone. Good for indexing a
            /// table of one's own beside the core, together with [`generation`](Self::generation).
            #[must_use]
            pub const fn index(self) -> usize {
                self.index as usize
            }

            /// How often the slot had been used before.
            #[must_use]
            pub const fn generation(self) -> u32 {
                self.generation
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($word, "{}"), self.index)?;
                if self.generation > 0 {
                    write!(f, ".{}", self.generation)?;
                }
                Ok(())
            }
        }

        #[cfg(feature = "serde")]
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        #[cfg(feature = "serde")]
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = alloc::string::String::deserialize(deserializer)?;
                let (index, generation) = parse(&text, $word).ok_or_else(|| {
                    serde::de::Error::invalid_value(
                        serde::de::Unexpected::Str(&text),
                        &concat!("an id such as ", $word, "7 or ", $word, "7.1"),
                    )
                })?;
                Ok(Self { index, generation })
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

id!(
    /// A node: one server of the list.
    NodeId,
    "n"
);
id!(
    /// An attempt: one try to bring a node to Ready, from resolving its name to its handshake.
    AttemptId,
    "a"
);
id!(
    /// A connection: one transport, from the Connect action to its end. An attempt that races
    /// several addresses has several.
    ConnectionId,
    "c"
);
id!(
    /// A request, from `submit` to its completion.
    RequestId,
    "r"
);
id!(
    /// A refresh: one question to a source of server lists, from its action to its answer or end.
    RefreshId,
    "f"
);

/// A source of server lists: its place in [`Config::sources`](crate::Config::sources).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct SourceId(pub(crate) u32);

impl SourceId {
    /// The source at this place in the configuration, from 0.
    #[must_use]
    pub const fn new(index: u32) -> Self {
        Self(index)
    }

    /// Its place in the configuration, from 0.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for SourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{}", self.0)
    }
}

impl fmt::Debug for SourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Index and generation, from what `Display` writes.
#[cfg(feature = "serde")]
fn parse(text: &str, word: &str) -> Option<(u32, u32)> {
    let numbers = text.strip_prefix(word)?;
    let (index, generation) = numbers.split_once('.').unwrap_or((numbers, "0"));
    Some((index.parse().ok()?, generation.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    #[test]
    fn debug_is_as_short_as_display() {
        let (node, source) = (
            NodeId {
                index: 3,
                generation: 2,
            },
            SourceId::new(1),
        );
        assert_eq!(format!("{node} {node:?}"), "n3.2 n3.2");
        assert_eq!(format!("{source} {source:?}"), "s1 s1");
    }
}
