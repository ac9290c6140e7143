//! When the server list is refreshed: what can be chosen, and what makes no sense (SEMANTICS 7.2 to
//! 7.4).

use core::time::Duration;

use super::{Config, ConfigBuilder, ConfigError};
use crate::{Limit, Source, servers::MAX_SOURCES};

/// After how many failures the server list is refreshed early (SEMANTICS 7.4). Counted are successive
/// failed attempts of whatever nodes; a node that gets Ready sets the count to zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum RefreshAfterFailures {
    /// After `s / 3 + 1`, where `s` is the number of nodes.
    ByListSize,
    /// After so many; at least 1.
    After(u32),
    /// At every failure, also that of an established connection. What is closed as planned, or
    /// aborted because another was faster, is none.
    EveryDisconnect,
}

impl RefreshAfterFailures {
    /// The count that asks for a refresh, with so many nodes in the list.
    pub(crate) const fn count(self, nodes: usize) -> u32 {
        match self {
            Self::ByListSize => nodes as u32 / 3 + 1,
            Self::After(count) => count,
            Self::EveryDisconnect => 1,
        }
    }
}

impl ConfigBuilder {
    /// Adds a source of server lists, whose [`SourceId`](crate::SourceId) is its place: the first
    /// is number 0.
    pub fn source(mut self, source: Source) -> Self {
        self.config.sources.push(source);
        self
    }
}

/// What is wrong with the settings of the refresh, if anything.
pub(super) fn check(config: &Config) -> Result<(), ConfigError> {
    if config.sources.len() > MAX_SOURCES {
        return Err(ConfigError::TooLarge {
            setting: "sources",
            max: MAX_SOURCES as u32,
        });
    }
    let zero: Limit = Duration::ZERO.into();
    let after_failures = config.refresh_after_failures == RefreshAfterFailures::After(0);
    for (setting, is_zero) in [
        ("refresh_interval", config.refresh_interval == zero),
        ("refresh_timeout", config.refresh_timeout.is_zero()),
        (
            "refresh_min_interval",
            config.refresh_min_interval.is_zero(),
        ),
        ("refresh_after_failures", after_failures),
        ("rebootstrap_after", config.rebootstrap_after == zero),
    ] {
        if is_zero {
            return Err(ConfigError::Zero { setting });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_grows_with_the_list() {
        for (nodes, count) in [(0, 1), (1, 1), (2, 1), (3, 2), (5, 2), (6, 3), (9, 4)] {
            assert_eq!(RefreshAfterFailures::ByListSize.count(nodes), count);
        }
    }
}
