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

/// From the start of an attempt to Ready (SEMANTICS 3.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum SetupTimeout {
    /// Growing with consecutive failures in setup.
    Growing(Backoff),
    /// The session's timeout divided by the number of servers, at least 1 ms, for the transport and
    /// once more for the handshake, so that all servers can be tried before the session is over. It
    /// follows the list and the session's timeout at once.
    SessionShare {
        /// As long as no handshake has given another.
        session_timeout: Duration,
    },
}

impl From<Backoff> for SetupTimeout {
    fn from(backoff: Backoff) -> Self {
        Self::Growing(backoff)
    }
}

/// How long an attempt is waited for before another node is dialled beside it (SEMANTICS 3.7).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum HedgeDelay {
    /// 250 ms; under `Sticky`, which wants one connection, for ever.
    ByPolicy,
    /// So long.
    After(Duration),
    /// For ever.
    Never,
}

impl From<Limit> for HedgeDelay {
    fn from(limit: Limit) -> Self {
        match limit {
            Limit::After(delay) => Self::After(delay),
            Limit::Never => Self::Never,
        }
    }
}

impl From<Duration> for HedgeDelay {
    fn from(delay: Duration) -> Self {
        Self::After(delay)
    }
}

/// Which nodes are kept connected without a request (SEMANTICS 2.2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Warm {
    /// What the selection policy wants: none for `LeastLoaded`, one for `Sticky`, all for the others.
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
    /// The one node that the client is connected to, until it is lost or a new list moves the client
    /// (SEMANTICS 7.7, 7.8): for servers that hold a session.
    Sticky,
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
            hedge_delay: HedgeDelay::Never,
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

    /// The values of ZooKeeper's Java client, for this session timeout (below 3 ms it counts as
    /// 3 ms): one server at a time, in a random order of the client's own; an attempt has the session
    /// timeout divided by the number of servers, and its handshake once more; a lap of all servers
    /// without success is followed by 1 s, and after the first connection each attempt by up to 1 s;
    /// no other backoff; a ping after a third of the session timeout, and as long again for its
    /// answer; requests end with their connection.
    ///
    /// Differs from ZooKeeper where ZooKeeper has defects: the share follows the list, an equal list
    /// is no new list, and the session's end is told once.
    #[must_use]
    pub fn zookeeper(session_timeout: Duration) -> Self {
        let session_timeout = session_timeout.max(Duration::from_millis(3));
        let second = Duration::from_secs(1);
        Self {
            selection: SelectionPolicy::Sticky,
            connection_setup_timeout: SetupTimeout::SessionShare { session_timeout },
            reconnect_backoff: Backoff::constant(Duration::ZERO),
            backoff_reset: BackoffReset::OnReady,
            address_attempt_delay: Limit::Never,
            lap_delay: second,
            start_delay: second,
            one_session: true,
            request_timeout: Limit::Never,
            retry_budget: None,
            unhealthy_after: None,
            write_timeout: Limit::Never,
            max_idle: Limit::Never,
            keepalive_interval: Limit::After(session_timeout / 3),
            keepalive_on: KeepaliveOn::Either,
            keepalive_timeout: session_timeout / 3,
            ..Self::DEFAULT
        }
    }

    /// Which nodes are kept connected, with the policy's wish filled in.
    pub(crate) const fn effective_warm(&self) -> Warm {
        match (self.warm, &self.selection) {
            (Warm::ByPolicy, SelectionPolicy::LeastLoaded) => Warm::None,
            (Warm::ByPolicy, SelectionPolicy::Sticky) => Warm::AtLeast(1),
            (Warm::ByPolicy, _) => Warm::All,
            (warm, _) => warm,
        }
    }

    /// The delay before a hedge, with the policy's wish filled in.
    #[must_use]
    pub const fn effective_hedge_delay(&self) -> Limit {
        match (self.hedge_delay, &self.selection) {
            (HedgeDelay::After(delay), _) => Limit::After(delay),
            (HedgeDelay::Never, _) | (HedgeDelay::ByPolicy, SelectionPolicy::Sticky) => {
                Limit::Never
            }
            (HedgeDelay::ByPolicy, _) => Limit::After(Duration::from_millis(250)),
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
        let setup = match c.connection_setup_timeout {
            SetupTimeout::Growing(backoff) => backoff,
            SetupTimeout::SessionShare { session_timeout } => Backoff::constant(session_timeout),
        };
        for (setting, backoff) in [
            ("connection_setup_timeout", setup),
            ("reconnect_backoff", c.reconnect_backoff),
            ("retry_backoff", c.retry_backoff),
        ] {
            if backoff.multiplier == 0 {
                return Err(ConfigError::Multiplier { setting });
            }
        }
        positive("connection_setup_timeout", setup.base.into())?;
        positive("connection_setup_timeout", setup.max.into())?;
        positive("handshake_timeout", c.handshake_timeout)?;
        positive("hedge_delay", c.effective_hedge_delay())?;
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
        if c.make_before_break && c.one_session {
            return Err(ConfigError::TwoSessions);
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
    /// The protocol cannot ask for the servers of its cluster.
    #[error("sources: the protocol has no discovery")]
    NoDiscovery,
    /// The protocol allows one session only.
    #[error("make_before_break: the protocol allows one session only")]
    TwoSessions,
}

#[cfg(test)]
mod tests {
    use alloc::{format, string::String};

    use super::*;

    /// What the crate's documentation includes.
    fn table() -> String {
        let mut text = String::from(
            "| setting | `default()` | `kafka()` | `zookeeper(30 s)` |\n|---|---|---|---|\n",
        );
        let kafka = Config::kafka().fields();
        let zookeeper = Config::zookeeper(Duration::from_secs(30)).fields();
        for (row, (name, default)) in Config::default().fields().into_iter().enumerate() {
            let preset = |preset: &[(_, String)]| match &preset[row].1 {
                same if *same == default => String::from("the same"),
                other => format!("`{other}`"),
            };
            let (kafka, zookeeper) = (preset(&kafka), preset(&zookeeper));
            text +=
                &format!("| [`{name}`](Config::{name}) | `{default}` | {kafka} | {zookeeper} |\n");
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
