//! Every setting, with its default, unit, range and reason, once.

use alloc::vec::Vec;
use core::time::Duration;

use crate::{
    Backoff, EventMask, Jitter, Limit, Source,
    config::{
        BackoffReset, HedgeDelay, KeepaliveOn, Matching, OnRequestTimeout, RefreshAfterFailures,
        RetryBudget, SelectionPolicy, SetupTimeout, Warm,
    },
};

/// One list of settings makes the fields of `Config`, its getters and the builder's setters.
macro_rules! settings {
    ($($(#[doc = $doc:literal])+ $name:ident: $type:ty = $default:expr;)+) => {
        /// How a [`Cluster`](crate::Cluster) behaves. Start from [`Config::default`],
        /// [`Config::kafka`] or [`Config::builder`]; a `Config` is always valid.
        ///
        /// With the feature `serde` it is read with what is missing as in [`Config::default`]. A
        /// setting that is unknown or makes no sense is an error.
        #[derive(Clone, PartialEq, Eq, Debug)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "serde", serde(try_from = "Unchecked"))]
        pub struct Config {
            $(pub(crate) $name: $type,)+
        }

        /// A configuration as it was read. A setting that is missing has its default.
        #[cfg(feature = "serde")]
        #[derive(serde::Deserialize)]
        #[serde(rename = "Config", default, deny_unknown_fields)]
        struct Unchecked {
            $($name: $type,)+
        }

        #[cfg(feature = "serde")]
        impl Default for Unchecked {
            fn default() -> Self {
                let Config { $($name,)+ } = Config::DEFAULT;
                Self { $($name,)+ }
            }
        }

        #[cfg(feature = "serde")]
        impl TryFrom<Unchecked> for Config {
            type Error = super::ConfigError;

            fn try_from(read: Unchecked) -> Result<Self, Self::Error> {
                Self::builder()$(.$name(read.$name))+.build()
            }
        }

        impl Config {
            pub(super) const DEFAULT: Self = Self {
                $($name: $default,)+
            };

            /// Each setting by name, as text.
            #[cfg(test)]
            pub(super) fn fields(&self) -> alloc::vec::Vec<(&'static str, alloc::string::String)> {
                alloc::vec![$((stringify!($name), alloc::format!("{:?}", self.$name)),)+]
            }

            $(
                $(#[doc = $doc])+
                #[must_use]
                #[allow(clippy::clone_on_copy, reason = "not all settings are Copy")]
                pub fn $name(&self) -> $type {
                    self.$name.clone()
                }
            )+
        }

        impl super::ConfigBuilder {
            $(
                $(#[doc = $doc])+
                pub fn $name(mut self, value: impl Into<$type>) -> Self {
                    self.config.$name = value.into();
                    self
                }
            )+
        }
    };
}

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(super) const SETUP_GROWTH: Backoff = Backoff::new(millis(10_000), millis(30_000), 2);

settings! {
    /// Whether the protocol has a handshake after the transport is up. Default: true. Without, a
    /// node is Ready once its transport is up. Known by the protocol; `Client` sets it.
    handshake: bool = true;

    /// Whether the protocol has a keepalive: something to send that the peer answers. Known by the
    /// protocol; `Client` sets it. Default: `None`, it has one if there is a `keepalive_interval`.
    keepalive: Option<bool> = None;

    /// How replies find their requests. Default: by correlation id. Known by the protocol;
    /// `Client` sets it.
    matching: Matching = Matching::Serial;

    /// From the start of an attempt, resolving included, to Ready: the time that consecutive
    /// failures in setup let grow. Default: 10 s, doubling to 30 s. Base and maximum above zero.
    /// Jittered with `Clipped(200)` except with `Jitter::None` or where the maximum does not exceed
    /// the base: KIP-601; a constant is KIP-148's `connect.timeout.ms`. Or a share of the session's
    /// timeout.
    connection_setup_timeout: SetupTimeout = SetupTimeout::Growing(SETUP_GROWTH);

    /// The handshake's own deadline. Default: never, that is, the handshake spends what is left of
    /// the setup timeout. With it the setup timeout ends, and its growth resets, when the transport
    /// is up (Kafka's clients do so, with their request timeout). Above zero.
    handshake_timeout: Limit = Limit::Never;

    /// How long a node rests after its k-th consecutive failure, counted from the failure.
    /// Default: 100 ms, doubling to 10 s. A base above the maximum means a constant maximum, base
    /// zero no rest at all: KIP-144.
    reconnect_backoff: Backoff = Backoff::new(millis(100), millis(10_000), 2);

    /// How `reconnect_backoff` and `retry_backoff` are spread. Default: `Equal`, uniform in
    /// \[v/2, v\], so that clients that lost a server together do not come back together.
    jitter: Jitter = Jitter::Equal;

    /// When a node's count of failures starts anew. Default: `OnFirstReply`, so that a server
    /// that accepts and dies at the first request is backed off.
    backoff_reset: BackoffReset = BackoffReset::OnFirstReply;

    /// Racing the addresses of one name (RFC 8305): when one has not connected after this long, the
    /// next is dialled beside it. Default: 250 ms; 100 ms to 2 s, or never: one address an attempt.
    address_attempt_delay: Limit = Limit::After(millis(250));

    /// How old a look-up's answer may be when it is used. Default: 30 s.
    dns_max_age: Duration = millis(30_000);

    /// While a request for any node waits and everything in setup is older than this, one more node
    /// is dialled. Default: 250 ms, and never under `Sticky`. Above zero, or never.
    hedge_delay: HedgeDelay = HedgeDelay::ByPolicy;

    /// How many such hedges may be in setup beside the first. Default: 8.
    max_hedges: u32 = 8;

    /// At most this many attempts are under way in the whole cluster; one that is older than
    /// `hedge_delay` no longer counts, a race counts as one. Default: `None`, no limit. At least 1.
    max_concurrent_attempts: Option<u32> = None;

    /// At most this many attempts begin in a second, in the whole cluster: a token bucket that holds
    /// as many and starts full. Default: `None`, no limit. At least 1.
    attempts_per_second: Option<u32> = None;

    /// Which nodes are kept connected without a request. Default: what the policy wants.
    warm: Warm = Warm::ByPolicy;

    /// Who gets a request that names no node. Default: `LeastLoaded`.
    selection: SelectionPolicy = SelectionPolicy::LeastLoaded;

    /// Under `Sticky`: how long it waits after a lap of all nodes without success, besides each node's
    /// own backoff. Default: 1 s.
    lap_delay: Duration = millis(1_000);

    /// Under `Sticky`: before each attempt after the first connection it waits for a time drawn from
    /// \\[0, this), so that clients that lost a server together do not come back together. Default:
    /// none.
    start_delay: Duration = Duration::ZERO;

    /// Under `Sticky`: a client that moves to another server keeps its connection until the new one
    /// is Ready, for at most `drain_timeout`; then it keeps it for good. Default: no. Not with
    /// `one_session`.
    make_before_break: bool = false;

    /// Whether the servers allow a client one session only, and so one connection. Known by the
    /// protocol; `Client` sets it. Default: no.
    one_session: bool = false;

    /// From `submit` to the completion, everything included. Default: 120 s. Can be overridden by a
    /// request.
    delivery_timeout: Limit = Limit::After(millis(120_000));

    /// From the hand-over to the reply, for one attempt: KIP-19. Default: 30 s. Above zero. Can be
    /// overridden by a request.
    request_timeout: Limit = Limit::After(millis(30_000));

    /// What an attempt's timeout does to its connection. Default: `ByProtocol`.
    on_request_timeout: OnRequestTimeout = OnRequestTimeout::ByProtocol;

    /// At most this many attempts that count for one request; `None` for no limit but the deadline.
    /// Default: `None`. At least 1.
    max_attempts: Option<u32> = None;

    /// The wait before the k-th retry that counts. Default: 100 ms, doubling to 1 s: KIP-580.
    retry_backoff: Backoff = Backoff::new(millis(100), millis(1_000), 2);

    /// What retries that count may cost in relation to requests, so that an outage does not multiply
    /// the load. Default: each submit deposits 0.2 token and each second 10; at most 100 are held.
    /// `None`: no limit.
    retry_budget: Option<RetryBudget> = Some(RetryBudget::DEFAULT);

    /// At most this many requests in flight on a connection. Default: 1024. 1 to 65,536.
    max_in_flight: u32 = 1024;

    /// At most this many requests wait for a node. Default: 10,000. Zero: nothing waits.
    queue_max_requests: u32 = 10_000;

    /// At most this many bytes wait for a node, where their number is known. Default: 64 MiB.
    queue_max_bytes: u64 = 64 * 1024 * 1024;

    /// A request that has waited this long and was never handed over fails as Expired. Default:
    /// never. Above zero.
    queue_max_age: Limit = Limit::Never;

    /// So many attempt timeouts in a row make a connection unhealthy: it is chosen last. `None`:
    /// never. Default: 3. At least 1.
    unhealthy_after: Option<u32> = Some(3);

    /// While there is something to write and the transport accepts nothing for this long, the
    /// connection is closed. Default: 30 s. Above zero.
    write_timeout: Limit = Limit::After(millis(30_000));

    /// A connection on which no application frame was written and no reply or push read for this
    /// long, and nothing is in flight, is closed. Not those that `warm` keeps. Default: 9 min, less
    /// than the 10 min after which Kafka's brokers close. Above zero.
    max_idle: Limit = Limit::After(millis(540_000));

    /// A connection is replaced when it has been Ready for this long, times a factor drawn from
    /// \[0.9, 1\]. Default: never. Above zero.
    max_age: Limit = Limit::Never;

    /// After this long without a byte in the direction of `keepalive_on` the protocol's keepalive is
    /// sent. Default: never. Above zero; needs a protocol that has a keepalive.
    keepalive_interval: Limit = Limit::Never;

    /// Whose silence counts for `keepalive_interval`. Default: `Received`, since only bytes that
    /// come prove that the peer lives.
    keepalive_on: KeepaliveOn = KeepaliveOn::Received;

    /// If no byte comes for this long after a keepalive or probe was sent, the connection is closed.
    /// Default: 20 s. Above zero.
    keepalive_timeout: Duration = millis(20_000);

    /// How long a detached connection may take to finish what is in flight. Default: 30 s.
    drain_timeout: Duration = millis(30_000);

    /// At most this many nodes in a list. Default: 200,000. At least 1.
    max_nodes: u32 = 200_000;

    /// Where server lists come from, beside the application's `set_nodes`. Default: nowhere else. At
    /// most 32. [`ConfigBuilder::source`](crate::ConfigBuilder::source) adds one.
    sources: Vec<Source> = Vec::new();

    /// How long after the end of a refresh the next one begins, before `refresh_jitter`. Default:
    /// 60 s. Above zero, or never: then only what makes one due early does (SEMANTICS 7.4).
    refresh_interval: Limit = Limit::After(millis(60_000));

    /// What is added to each `refresh_interval`: drawn uniformly from zero to this, exclusive, so
    /// that clients that began together do not ask together. Default: 10 s. Zero: nothing.
    refresh_jitter: Duration = millis(10_000);

    /// A refresh without an answer for this long has failed. Default: 10 s. Above zero.
    refresh_timeout: Duration = millis(10_000);

    /// From the start of a source's refresh to the start of its next one, at least, whatever asks
    /// for it. Default: 1 s. Above zero.
    refresh_min_interval: Duration = millis(1_000);

    /// After how many successive failed attempts a refresh is due early. Default: `ByListSize`, a
    /// third of the nodes and one. `After` at least 1.
    refresh_after_failures: RefreshAfterFailures = RefreshAfterFailures::ByListSize;

    /// Whether the fallback nodes join the list when the others are of no use (KIP-899, KIP-1102;
    /// SEMANTICS 7.9). Default: true. Where there are no fallback nodes it means nothing.
    rebootstrap: bool = true;

    /// The fallback nodes join the list when the cluster has not said its list for this long since
    /// it was first due to be asked. Default: 300 s. Above zero, or never: then they join only when
    /// all other nodes have failed.
    rebootstrap_after: Limit = Limit::After(millis(300_000));

    /// At most this many events wait to be drained; the oldest is dropped and counted. Default:
    /// 4,096. Zero: none.
    max_pending_events: u32 = 4_096;

    /// Which kinds of event are given out. Default: all.
    events: EventMask = EventMask::ALL;
}
