//! Configuration: a validating builder, presets, and the choices that settings offer.

mod properties;
mod refresh;
mod settings;

use alloc::sync::Arc;
use core::time::Duration;

use thiserror::Error;

pub use properties::{Properties, PropertiesError, Strictness};
pub use refresh::RefreshAfterFailures;
pub use settings::Config;

use crate::{
    Backoff, CustomPolicy, Instant, Jitter, Limit, Select,
    token_bucket::{TOKEN, TokenBucket},
};

/// How replies find their requests.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Matching {
    /// By correlation id.
    Serial,
    /// In the order of the requests.
    Order,
}

/// Whose silence makes a keepalive due (SEMANTICS 8.2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum KeepaliveOn {
    /// The peer's.
    Received,
    /// Ours.
    Sent,
    /// Whoever has been silent for longer.
    Either,
}

/// When a node's count of consecutive failures starts anew (SEMANTICS 3.3).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum BackoffReset {
    /// At the first reply on a connection, or after it has been Ready for the maximum backoff.
    OnFirstReply,
    /// When the node is Ready.
    OnReady,
    /// After the connection has been Ready for this long.
    StableFor(Duration),
}

/// Which nodes are kept connected without a request (SEMANTICS 2.2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Warm {
    /// What the selection policy wants: none for `LeastLoaded`, all for the others.
    ByPolicy,
    /// None.
    None,
    /// All.
    All,
    /// So many, Ready and in setup together.
    AtLeast(u32),
}

/// Who gets a request that names no node (SEMANTICS 5.2).
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum SelectionPolicy {
    /// The Ready node with the fewest requests in flight; ties are drawn.
    LeastLoaded,
    /// The Ready node that was chosen longest ago.
    RoundRobin,
    /// The less loaded of two Ready nodes drawn at random.
    PowerOfTwoChoices,
    /// The user's own; make one with [`SelectionPolicy::custom`]. With the feature `serde` it can
    /// neither be serialised nor deserialised.
    #[cfg_attr(feature = "serde", serde(skip))]
    Custom(CustomPolicy),
}

impl SelectionPolicy {
    /// A policy of the user's own.
    #[must_use]
    pub fn custom(policy: impl Select + 'static) -> Self {
        Self::Custom(CustomPolicy(Arc::new(policy)))
    }
}

/// A limit on retries in relation to requests (SEMANTICS 4.7): a token bucket from which each retry
/// that counts takes one token. It starts full.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct RetryBudget {
    /// What each submit deposits, in thousandths of a token. Default: 200.
    pub per_submit_milli: u32,
    /// What each second deposits, in tokens. Default: 10.
    pub per_second: u32,
    /// How many tokens it holds. Default: 100. At least 1.
    pub max: u32,
}

impl RetryBudget {
    /// 0.2 token a submit, 10 a second, at most 100.
    pub const DEFAULT: Self = Self {
        per_submit_milli: 200,
        per_second: 10,
        max: 100,
    };

    pub(crate) const fn bucket(self, now: Instant) -> TokenBucket {
        TokenBucket::new(self.max, self.per_second, now)
    }

    /// What a submit deposits, in parts of a token.
    pub(crate) const fn per_submit(self) -> u64 {
        self.per_submit_milli as u64 * (TOKEN / 1000)
    }
}

impl Default for RetryBudget {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What an attempt's timeout does to its connection (SEMANTICS 4.5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum OnRequestTimeout {
    /// `Keep` where replies are matched by correlation id, else `Disconnect`.
    ByProtocol,
    /// The connection stays; a late reply is dropped.
    Keep,
    /// The connection is closed, and all that is on it is settled.
    Disconnect,
}

impl Config {
    /// A builder that starts from the defaults.
    pub fn builder() -> ConfigBuilder {
        Self::DEFAULT.to_builder()
    }

    /// A builder that starts from this configuration.
    pub fn to_builder(&self) -> ConfigBuilder {
        ConfigBuilder {
            config: self.clone(),
        }
    }

    /// The values of Kafka's Java clients: reconnect backoff 50 ms to 1 s, ±20 % clipped at the
    /// maximum, reset at Ready; setup 10 s to 30 s for the transport, the handshake on the request
    /// timeout; 5 in flight, a request timeout disconnects; no race, no hedge, no write timeout,
    /// no health state; lists are refreshed every 300 s and at every disconnect.
    ///
    /// Differs from Kafka where Kafka has defects: an authentication failure or a double report
    /// counts once, planned closes not at all, and every timeout is exact.
    #[must_use]
    pub fn kafka() -> Self {
        let ms = Duration::from_millis;
        Self {
            handshake_timeout: Limit::After(ms(30_000)),
            reconnect_backoff: Backoff::new(ms(50), ms(1_000), 2),
            jitter: Jitter::Clipped(200),
            backoff_reset: BackoffReset::OnReady,
            address_attempt_delay: Limit::Never,
            hedge_delay: Limit::Never,
            warm: Warm::None,
            retry_budget: None,
            on_request_timeout: OnRequestTimeout::Disconnect,
            max_in_flight: 5,
            unhealthy_after: None,
            write_timeout: Limit::Never,
            refresh_interval: Limit::After(ms(300_000)),
            refresh_jitter: Duration::ZERO,
            refresh_after_failures: RefreshAfterFailures::EveryDisconnect,
            ..Self::DEFAULT
        }
    }

    /// Which nodes are kept connected, with the policy's wish filled in.
    pub(crate) const fn effective_warm(&self) -> Warm {
        match (self.warm, &self.selection) {
            (Warm::ByPolicy, SelectionPolicy::LeastLoaded) => Warm::None,
            (Warm::ByPolicy, _) => Warm::All,
            (warm, _) => warm,
        }
    }

    /// Whether there is something to probe a connection with.
    pub(crate) fn has_keepalive(&self) -> bool {
        let by_interval = self.keepalive_interval != Limit::Never;
        self.keepalive.unwrap_or(by_interval)
    }

    /// Whether an attempt's timeout closes its connection.
    pub(crate) const fn timeout_disconnects(&self) -> bool {
        match self.on_request_timeout {
            OnRequestTimeout::ByProtocol => matches!(self.matching, Matching::Order),
            OnRequestTimeout::Keep => false,
            OnRequestTimeout::Disconnect => true,
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Builds a [`Config`] and checks it. No setting changes another.
///
/// ```
/// use core::time::Duration;
/// use redial::{Backoff, Config, Limit};
///
/// let config = Config::builder()
///     .reconnect_backoff(Backoff::new(Duration::from_millis(50), Duration::from_secs(1), 2))
///     .request_timeout(Limit::After(Duration::from_secs(5)))
///     .build()?;
/// assert_eq!(config.request_timeout(), Limit::After(Duration::from_secs(5)));
/// # Ok::<(), redial::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct ConfigBuilder {
    config: Config,
}

impl ConfigBuilder {
    /// The configuration, if it makes sense.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] names the setting that does not.
    pub fn build(self) -> Result<Config, ConfigError> {
        let c = &self.config;
        let positive = |setting, limit: Limit| match limit {
            Limit::After(Duration::ZERO) => Err(ConfigError::Zero { setting }),
            _ => Ok(()),
        };
        let at_least_one = |setting, value| match value {
            0 => Err(ConfigError::Zero { setting }),
            _ => Ok(()),
        };
        if let Jitter::Band(per_mille) | Jitter::Clipped(per_mille) = c.jitter
            && per_mille > 1000
        {
            return Err(ConfigError::Jitter { per_mille });
        }
        for (setting, backoff) in [
            ("connection_setup_timeout", c.connection_setup_timeout),
            ("reconnect_backoff", c.reconnect_backoff),
            ("retry_backoff", c.retry_backoff),
        ] {
            if backoff.multiplier == 0 {
                return Err(ConfigError::Multiplier { setting });
            }
        }
        let setup = c.connection_setup_timeout;
        positive("connection_setup_timeout", setup.base.into())?;
        positive("connection_setup_timeout", setup.max.into())?;
        positive("handshake_timeout", c.handshake_timeout)?;
        positive("hedge_delay", c.hedge_delay)?;
        positive("request_timeout", c.request_timeout)?;
        positive("queue_max_age", c.queue_max_age)?;
        positive("write_timeout", c.write_timeout)?;
        positive("max_idle", c.max_idle)?;
        positive("max_age", c.max_age)?;
        positive("keepalive_interval", c.keepalive_interval)?;
        positive("keepalive_timeout", c.keepalive_timeout.into())?;
        if c.keepalive_interval != Limit::Never && c.keepalive == Some(false) {
            return Err(ConfigError::NoKeepalive);
        }
        if let BackoffReset::StableFor(Duration::ZERO) = c.backoff_reset {
            return Err(ConfigError::Zero {
                setting: "backoff_reset",
            });
        }
        if let Limit::After(delay) = c.address_attempt_delay
            && !(Duration::from_millis(100)..=Duration::from_secs(2)).contains(&delay)
        {
            return Err(ConfigError::AddressAttemptDelay { delay });
        }
        at_least_one("max_in_flight", c.max_in_flight)?;
        if c.max_in_flight > 65_536 {
            return Err(ConfigError::TooLarge {
                setting: "max_in_flight",
                max: 65_536,
            });
        }
        at_least_one("max_nodes", c.max_nodes)?;
        at_least_one("max_attempts", c.max_attempts.unwrap_or(1))?;
        at_least_one("unhealthy_after", c.unhealthy_after.unwrap_or(1))?;
        at_least_one(
            "max_concurrent_attempts",
            c.max_concurrent_attempts.unwrap_or(1),
        )?;
        at_least_one("attempts_per_second", c.attempts_per_second.unwrap_or(1))?;
        at_least_one(
            "retry_budget",
            c.retry_budget.map_or(1, |budget| budget.max),
        )?;
        if let Warm::AtLeast(0) = c.warm {
            return Err(ConfigError::Zero { setting: "warm" });
        }
        if c.on_request_timeout == OnRequestTimeout::Keep && c.matching == Matching::Order {
            return Err(ConfigError::KeepWithOrder);
        }
        refresh::check(c)?;
        Ok(self.config)
    }
}

/// A configuration that makes no sense, and which setting it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A setting is zero where zero makes no sense.
    #[error("{setting} must not be zero")]
    Zero {
        /// Its name.
        setting: &'static str,
    },
    /// A setting is too large.
    #[error("{setting} must be at most {max}")]
    TooLarge {
        /// Its name.
        setting: &'static str,
        /// The largest value.
        max: u32,
    },
    /// A jitter over 1000 per mille.
    #[error("jitter: {per_mille} per mille is over 1000")]
    Jitter {
        /// What was given.
        per_mille: u32,
    },
    /// A backoff's multiplier is zero.
    #[error("{setting}: the multiplier must be at least 1")]
    Multiplier {
        /// Its name.
        setting: &'static str,
    },
    /// The race's delay is outside RFC 8305's bounds.
    #[error("address_attempt_delay: {delay:?} is not in 100 ms to 2 s")]
    AddressAttemptDelay {
        /// What was given.
        delay: Duration,
    },
    /// The protocol has no keepalive.
    #[error("keepalive_interval: the protocol has no keepalive")]
    NoKeepalive,
    /// After a timeout a protocol that matches by order cannot keep its connection.
    #[error("on_request_timeout: Keep needs replies that are matched by correlation id")]
    KeepWithOrder,
}

#[cfg(test)]
mod tests {
    use alloc::{format, string::String};

    use super::*;

    /// What the crate's documentation includes.
    fn table() -> String {
        let mut text = String::from("| setting | `default()` | `kafka()` |\n|---|---|---|\n");
        let rows = Config::default().fields();
        for ((name, default), (_, kafka)) in rows.into_iter().zip(Config::kafka().fields()) {
            let kafka = if kafka == default {
                "the same"
            } else {
                &*format!("`{kafka}`")
            };
            text += &format!("| [`{name}`](Config::{name}) | `{default}` | {kafka} |\n");
        }
        text
    }

    #[test]
    fn the_table_of_settings_is_the_one_checked_in() {
        assert_eq!(
            include_str!("table.md"),
            table(),
            "if meant, put the right side there"
        );
    }
}
