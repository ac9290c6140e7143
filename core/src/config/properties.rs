//! A configuration from the property names that Kafka's clients use (SEMANTICS 11).

use alloc::{
    borrow::ToOwned,
    collections::BTreeMap,
    string::{String, ToString},
    vec::Vec,
};
use core::time::Duration;

use thiserror::Error;

use super::{Config, ConfigError, RefreshAfterFailures, settings::SETUP_GROWTH};
use crate::{Backoff, Limit};

/// What to do with names that are not known.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Strictness {
    /// They are listed in [`Properties::unknown`].
    Lenient,
    /// They are an error.
    Strict,
}

/// What came of properties.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Properties {
    /// [`Config::kafka`] with what the properties say.
    pub config: Config,
    /// Names that mean nothing here, in the order in which they came.
    pub unknown: Vec<String>,
    /// Backoffs that do not grow, because the base was given and the maximum was not: the name of
    /// the base.
    pub growth_off: Vec<&'static str>,
}

/// Why properties were not accepted.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum PropertiesError {
    /// A value is no whole number, or is negative.
    #[error("{name}: {value:?} is not a whole number of at least 0")]
    Value {
        /// Of which property.
        name: &'static str,
        /// What was given.
        value: String,
    },
    /// A value is none of the words that are known.
    #[error("{name}: {value:?} is neither \"none\" nor \"rebootstrap\"")]
    Strategy {
        /// Of which property.
        name: &'static str,
        /// What was given.
        value: String,
    },
    /// `connect.timeout.ms` (KIP-148) was given beside the names that replaced it (KIP-601).
    #[error("{CONNECT} and {name} exclude each other")]
    Conflict {
        /// Which of them.
        name: &'static str,
    },
    /// Names are not known. [`Strictness::Strict`] only.
    #[error("unknown: {}", names.join(", "))]
    Unknown {
        /// Which, in the order in which they came.
        names: Vec<String>,
    },
    /// Together they make no sense.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

const RECONNECT: &str = "reconnect.backoff.ms";
const RECONNECT_MAX: &str = "reconnect.backoff.max.ms";
const SETUP: &str = "socket.connection.setup.timeout.ms";
const SETUP_MAX: &str = "socket.connection.setup.timeout.max.ms";
const CONNECT: &str = "connect.timeout.ms";
const RETRY: &str = "retry.backoff.ms";
const RETRY_MAX: &str = "retry.backoff.max.ms";
const REQUEST: &str = "request.timeout.ms";
const DELIVERY: &str = "delivery.timeout.ms";
const IN_FLIGHT: &str = "max.in.flight.requests.per.connection";
const MAX_IDLE: &str = "connections.max.idle.ms";
const MAX_METADATA_AGE: &str = "metadata.max.age.ms";
const STRATEGY: &str = "metadata.recovery.strategy";
const REBOOTSTRAP: &str = "metadata.recovery.rebootstrap.trigger.ms";
const REFRESH_AFTER: &str = "zookeeper.refreshAfterNumFailure";

const NAMES: [&str; 15] = [
    RECONNECT,
    RECONNECT_MAX,
    SETUP,
    SETUP_MAX,
    CONNECT,
    RETRY,
    RETRY_MAX,
    REQUEST,
    DELIVERY,
    IN_FLIGHT,
    MAX_IDLE,
    MAX_METADATA_AGE,
    STRATEGY,
    REBOOTSTRAP,
    REFRESH_AFTER,
];

impl Config {
    /// [`Config::kafka`] with what these properties say. Where a name comes twice the last one holds.
    ///
    /// | property | setting |
    /// |---|---|
    /// | `reconnect.backoff.ms`, `reconnect.backoff.max.ms` | [`reconnect_backoff`](Self::reconnect_backoff) |
    /// | `socket.connection.setup.timeout.ms`, `socket.connection.setup.timeout.max.ms` | [`connection_setup_timeout`](Self::connection_setup_timeout) |
    /// | `connect.timeout.ms` (KIP-148) | the same, constant; not beside the two above |
    /// | `retry.backoff.ms`, `retry.backoff.max.ms` | [`retry_backoff`](Self::retry_backoff) |
    /// | `request.timeout.ms` | [`request_timeout`](Self::request_timeout) and, as in Kafka's clients, [`handshake_timeout`](Self::handshake_timeout) |
    /// | `delivery.timeout.ms` | [`delivery_timeout`](Self::delivery_timeout) |
    /// | `max.in.flight.requests.per.connection` | [`max_in_flight`](Self::max_in_flight) |
    /// | `connections.max.idle.ms`, −1: never | [`max_idle`](Self::max_idle) |
    /// | `metadata.max.age.ms` | [`refresh_interval`](Self::refresh_interval) |
    /// | `metadata.recovery.strategy`: `none` or `rebootstrap` | [`rebootstrap`](Self::rebootstrap) |
    /// | `metadata.recovery.rebootstrap.trigger.ms` | [`rebootstrap_after`](Self::rebootstrap_after) |
    /// | `zookeeper.refreshAfterNumFailure`, 0: at every disconnect | [`refresh_after_failures`](Self::refresh_after_failures) |
    ///
    /// If the base of the reconnect or retry backoff is given and the maximum is not, the maximum is
    /// the base: the backoff does not grow (KIP-144; KIP-580 as it was proposed), and
    /// [`Properties::growth_off`] says so. Every other name is unknown.
    ///
    /// ```
    /// use core::time::Duration;
    /// use redial::{Config, Limit, Strictness};
    ///
    /// let pairs = [("request.timeout.ms", "5000"), ("reconnect.backoff.ms", "20")];
    /// let read = Config::from_properties(pairs, Strictness::Strict)?;
    /// assert_eq!(read.config.request_timeout(), Limit::After(Duration::from_secs(5)));
    /// assert_eq!(read.growth_off, ["reconnect.backoff.ms"]);
    /// # Ok::<(), redial::PropertiesError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`PropertiesError`] for the first thing that is wrong.
    pub fn from_properties<N: AsRef<str>, V: AsRef<str>>(
        pairs: impl IntoIterator<Item = (N, V)>,
        strictness: Strictness,
    ) -> Result<Properties, PropertiesError> {
        let mut given = BTreeMap::new();
        let mut unknown = Vec::new();
        for (name, value) in pairs {
            match NAMES.iter().find(|known| **known == name.as_ref()) {
                Some(name) => _ = given.insert(*name, parse(name, value.as_ref())?),
                None => unknown.push(name.as_ref().to_owned()),
            }
        }
        if strictness == Strictness::Strict && !unknown.is_empty() {
            return Err(PropertiesError::Unknown { names: unknown });
        }
        let replaced = [SETUP, SETUP_MAX].into_iter();
        if given.contains_key(CONNECT)
            && let Some(name) = replaced.into_iter().find(|name| given.contains_key(name))
        {
            return Err(PropertiesError::Conflict { name });
        }
        let not_growing = [(RECONNECT, RECONNECT_MAX), (RETRY, RETRY_MAX)]
            .into_iter()
            .filter(|(base, max)| given.contains_key(base) && !given.contains_key(max));
        let growth_off = not_growing.map(|(base, _)| base).collect();
        Ok(Properties {
            config: config(&given)?,
            unknown,
            growth_off,
        })
    }
}

/// A limit in milliseconds, or a number.
type Value = Option<u64>;

/// `None` for −1, where it means never; a strategy as its place in the list of those known.
fn parse(name: &'static str, value: &str) -> Result<Value, PropertiesError> {
    if name == STRATEGY {
        let mut known = (0..).zip(["none", "rebootstrap"]);
        let strategy = known.find(|(_, word)| word.eq_ignore_ascii_case(value.trim()));
        let value = value.to_owned();
        return strategy.map_or(
            Err(PropertiesError::Strategy { name, value }),
            |(place, _)| Ok(Some(place)),
        );
    }
    let number = value.trim().parse::<i64>();
    match number.map(|number| (number, u64::try_from(number))) {
        Ok((_, Ok(number))) => Ok(Some(number)),
        Ok((-1, _)) if name == MAX_IDLE => Ok(None),
        _ => Err(PropertiesError::Value {
            name,
            value: value.to_string(),
        }),
    }
}

fn config(given: &BTreeMap<&str, Value>) -> Result<Config, ConfigError> {
    let limit = |name| given.get(name).map(|value| limit(*value));
    let duration = |name| limit(name).and_then(Limit::duration);
    let kafka = Config::kafka();
    let backoff = |preset: Backoff, base, max| Backoff {
        base: duration(base).unwrap_or(preset.base),
        max: duration(max)
            .or_else(|| duration(base))
            .unwrap_or(preset.max),
        ..preset
    };
    let setup = match duration(CONNECT) {
        Some(timeout) => Backoff::constant(timeout),
        // Its maximum is not bound to its base (KIP-601).
        None => Backoff {
            base: duration(SETUP).unwrap_or(SETUP_GROWTH.base),
            max: duration(SETUP_MAX).unwrap_or(SETUP_GROWTH.max),
            ..SETUP_GROWTH
        },
    };
    let number = |name| {
        let number = given.get(name).copied().flatten();
        number.map(|number| u32::try_from(number).unwrap_or(u32::MAX))
    };
    let in_flight = number(IN_FLIGHT);
    let rebootstrap = number(STRATEGY).map(|strategy| strategy > 0);
    let refresh_after = number(REFRESH_AFTER).map(|count| match count {
        0 => RefreshAfterFailures::EveryDisconnect,
        _ => RefreshAfterFailures::After(count),
    });
    let builder = kafka.to_builder().connection_setup_timeout(setup);
    builder
        .reconnect_backoff(backoff(kafka.reconnect_backoff, RECONNECT, RECONNECT_MAX))
        .retry_backoff(backoff(kafka.retry_backoff, RETRY, RETRY_MAX))
        .request_timeout(limit(REQUEST).unwrap_or(kafka.request_timeout))
        .handshake_timeout(limit(REQUEST).unwrap_or(kafka.handshake_timeout))
        .delivery_timeout(limit(DELIVERY).unwrap_or(kafka.delivery_timeout))
        .max_in_flight(in_flight.unwrap_or(kafka.max_in_flight))
        .max_idle(limit(MAX_IDLE).unwrap_or(kafka.max_idle))
        .refresh_interval(limit(MAX_METADATA_AGE).unwrap_or(kafka.refresh_interval))
        .refresh_after_failures(refresh_after.unwrap_or(kafka.refresh_after_failures))
        .rebootstrap(rebootstrap.unwrap_or(kafka.rebootstrap))
        .rebootstrap_after(limit(REBOOTSTRAP).unwrap_or(kafka.rebootstrap_after))
        .build()
}

fn limit(value: Value) -> Limit {
    value.map_or(Limit::Never, |millis| Duration::from_millis(millis).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ConfigBuilder;

    fn read(pairs: &[(&str, &str)]) -> Result<Properties, PropertiesError> {
        Config::from_properties(pairs.iter().copied(), Strictness::Lenient)
    }

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// The pairs give Kafka's preset with `change`, and no growth where `growth_off` says so.
    #[track_caller]
    fn assert_reads(
        pairs: &[(&str, &str)],
        change: impl FnOnce(ConfigBuilder) -> ConfigBuilder,
        growth_off: &[&str],
    ) {
        let read = read(pairs).unwrap();
        let expected = change(Config::kafka().to_builder()).build().unwrap();
        assert_eq!(read.config, expected, "{pairs:?}");
        assert_eq!(read.growth_off, growth_off, "{pairs:?}");
        assert_eq!(read.unknown, [""; 0], "{pairs:?}");
    }

    #[test]
    fn without_properties_it_is_kafkas_preset() {
        assert_reads(&[], |kafka| kafka, &[]);
    }

    #[test]
    fn each_property_sets_its_setting() {
        let backoff = |base, max| Backoff::new(ms(base), ms(max), 2);
        assert_reads(
            &[(RECONNECT, "20"), (RECONNECT_MAX, "3000")],
            |kafka| kafka.reconnect_backoff(backoff(20, 3_000)),
            &[],
        );
        assert_reads(
            &[(RETRY, "30"), (RETRY_MAX, "400")],
            |kafka| kafka.retry_backoff(backoff(30, 400)),
            &[],
        );
        assert_reads(
            &[(SETUP, "7000"), (SETUP_MAX, "8000")],
            |kafka| kafka.connection_setup_timeout(backoff(7_000, 8_000)),
            &[],
        );
        assert_reads(
            &[(CONNECT, "5000")],
            |kafka| kafka.connection_setup_timeout(Backoff::constant(ms(5_000))),
            &[],
        );
        assert_reads(
            &[(REQUEST, "4000")],
            |kafka| {
                kafka
                    .request_timeout(ms(4_000))
                    .handshake_timeout(ms(4_000))
            },
            &[],
        );
        assert_reads(
            &[(DELIVERY, "9000")],
            |kafka| kafka.delivery_timeout(ms(9_000)),
            &[],
        );
        assert_reads(&[(IN_FLIGHT, "1")], |kafka| kafka.max_in_flight(1u32), &[]);
        assert_reads(&[(MAX_IDLE, "1")], |kafka| kafka.max_idle(ms(1)), &[]);
        assert_reads(
            &[(MAX_IDLE, "-1")],
            |kafka| kafka.max_idle(Limit::Never),
            &[],
        );
        assert_reads(
            &[(MAX_METADATA_AGE, "7"), (REBOOTSTRAP, "8")],
            |kafka| kafka.refresh_interval(ms(7)).rebootstrap_after(ms(8)),
            &[],
        );
        for (text, rebootstrap) in [("None", false), ("REBOOTSTRAP", true)] {
            assert_reads(
                &[(STRATEGY, text)],
                |kafka| kafka.rebootstrap(rebootstrap),
                &[],
            );
        }
        for (text, after) in [
            ("0", RefreshAfterFailures::EveryDisconnect),
            ("3", RefreshAfterFailures::After(3)),
        ] {
            assert_reads(
                &[(REFRESH_AFTER, text)],
                |kafka| kafka.refresh_after_failures(after),
                &[],
            );
        }
    }

    #[test]
    fn a_maximum_backoff_that_is_not_given_is_the_base() {
        let flat = |base| Backoff::new(ms(base), ms(base), 2);
        assert_reads(
            &[(RECONNECT, "2000")],
            |kafka| kafka.reconnect_backoff(flat(2_000)),
            &[RECONNECT],
        );
        assert_reads(
            &[(RETRY, "0"), (RECONNECT, "1")],
            |kafka| kafka.retry_backoff(flat(0)).reconnect_backoff(flat(1)),
            &[RECONNECT, RETRY],
        );
    }

    #[test]
    fn a_maximum_alone_leaves_the_base_as_it_is() {
        assert_reads(
            &[(RECONNECT_MAX, "5000")],
            |kafka| kafka.reconnect_backoff(Backoff::new(ms(50), ms(5_000), 2)),
            &[],
        );
    }

    #[test]
    fn the_setup_timeouts_maximum_stays_where_it_is_not_given() {
        assert_reads(
            &[(SETUP, "2000")],
            |kafka| kafka.connection_setup_timeout(Backoff::new(ms(2_000), ms(30_000), 2)),
            &[],
        );
    }

    #[test]
    fn blanks_do_not_matter_and_the_last_of_two_holds() {
        assert_reads(
            &[(IN_FLIGHT, "1"), (IN_FLIGHT, " 7\t")],
            |kafka| kafka.max_in_flight(7u32),
            &[],
        );
    }

    #[test]
    fn a_value_that_is_no_number_or_negative_is_an_error_with_its_name() {
        for name in NAMES.into_iter().filter(|name| *name != STRATEGY) {
            for value in ["", "ten", "1.5", "10s", "-2", "99999999999999999999"] {
                let value = value.to_owned();
                assert_eq!(
                    read(&[(DELIVERY, "1"), (name, &value)]),
                    Err(PropertiesError::Value { name, value })
                );
            }
            let never = read(&[(name, "-1")]);
            assert_eq!(never.is_ok(), name == MAX_IDLE, "{name}");
        }
    }

    #[test]
    fn a_strategy_that_is_not_known_is_an_error() {
        for value in ["", "0", "resolve"] {
            let (name, value) = (STRATEGY, value.to_owned());
            assert_eq!(
                read(&[(name, &value)]),
                Err(PropertiesError::Strategy { name, value })
            );
        }
    }

    #[test]
    fn the_old_name_of_the_setup_timeout_excludes_the_new_ones() {
        for name in [SETUP, SETUP_MAX] {
            for pairs in [[(CONNECT, "1"), (name, "2")], [(name, "2"), (CONNECT, "1")]] {
                assert_eq!(read(&pairs), Err(PropertiesError::Conflict { name }));
            }
        }
    }

    #[test]
    fn unknown_names_are_listed_or_in_strict_mode_an_error() {
        let pairs = [("acks", "all"), (IN_FLIGHT, "7"), ("linger.ms", "1")];
        let names = ["acks", "linger.ms"].map(str::to_owned).to_vec();
        let read = read(&pairs).unwrap();
        assert_eq!((&read.unknown, read.config.max_in_flight), (&names, 7));
        let error = Config::from_properties(pairs, Strictness::Strict).unwrap_err();
        assert_eq!(error, PropertiesError::Unknown { names });
        assert_eq!(error.to_string(), "unknown: acks, linger.ms");
    }

    #[test]
    fn what_the_builder_refuses_is_refused() {
        let zero = |setting| Err(PropertiesError::Config(ConfigError::Zero { setting }));
        assert_eq!(read(&[(CONNECT, "0")]), zero("connection_setup_timeout"));
        assert_eq!(read(&[(IN_FLIGHT, "0")]), zero("max_in_flight"));
        assert_eq!(read(&[(MAX_METADATA_AGE, "0")]), zero("refresh_interval"));
        assert_eq!(read(&[(REBOOTSTRAP, "0")]), zero("rebootstrap_after"));
        let (setting, max) = ("max_in_flight", 65_536);
        assert_eq!(
            read(&[(IN_FLIGHT, "9999999999")]),
            Err(PropertiesError::Config(ConfigError::TooLarge {
                setting,
                max
            }))
        );
    }
}
