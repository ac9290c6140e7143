//! Configurations that make sense.

use std::time::Duration;

use redial::{
    Backoff, BackoffReset, Candidate, Config, ConfigBuilder, HedgeDelay, Jitter, KeepaliveOn,
    Limit, Matching, OnRequestTimeout, RefreshAfterFailures, RetryBudget, Select, SelectionPolicy,
    SetupTimeout, Source, Warm,
};

use super::{Chance, Dialect};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// One of these many milliseconds, or never.
fn limit(chance: &mut Chance, millis: &[u64]) -> Limit {
    match chance.below(millis.len() as u64 + 1) as usize {
        index if index < millis.len() => Limit::After(ms(millis[index])),
        _ => Limit::Never,
    }
}

/// Any configuration for this protocol, with times from milliseconds to half a minute.
///
/// # Panics
///
/// Never: the choices make sense.
pub fn any(chance: &mut Chance, dialect: &Dialect) -> Config {
    let builder = Config::builder()
        .handshake(dialect.handshake)
        .matching(dialect.matching)
        .keepalive(dialect.keepalive)
        .one_session(dialect.session.is_some());
    let builder = requests(setup(builder, chance), chance);
    let builder = limits(policies(builder, chance), chance, dialect);
    let builder = sources(upkeep(builder, chance, dialect), chance, dialect);
    builder.build().expect("the choices make sense")
}

/// A preset, if one suits.
pub fn preset(chance: &mut Chance, dialect: &Dialect) -> Config {
    match dialect.session {
        Some(timeout) if dialect.keepalive => Config::zookeeper(timeout),
        _ => match chance.below(2) {
            0 => Config::default(),
            _ => Config::kafka(),
        },
    }
}

fn setup(builder: ConfigBuilder, chance: &mut Chance) -> ConfigBuilder {
    let share = SetupTimeout::SessionShare {
        session_timeout: ms(4_000),
    };
    builder
        .connection_setup_timeout(chance.pick(&[
            Backoff::new(ms(1_000), ms(4_000), 2).into(),
            Backoff::constant(ms(300)).into(),
            Backoff::new(ms(10_000), ms(30_000), 2).into(),
            share,
        ]))
        .handshake_timeout(limit(chance, &[700, 5_000]))
        .reconnect_backoff(chance.pick(&[
            Backoff::new(ms(100), ms(1_000), 2),
            Backoff::constant(ms(0)),
            Backoff::new(ms(50), ms(20), 3),
        ]))
        .jitter(chance.pick(&[
            Jitter::None,
            Jitter::Equal,
            Jitter::Full,
            Jitter::Band(200),
            Jitter::Clipped(200),
            Jitter::Decorrelated,
        ]))
        .backoff_reset(chance.pick(&[
            BackoffReset::OnFirstReply,
            BackoffReset::OnReady,
            BackoffReset::StableFor(ms(500)),
        ]))
        .address_attempt_delay(limit(chance, &[250, 2_000]))
        .dns_max_age(chance.pick(&[ms(30_000), ms(0), ms(400)]))
}

fn requests(builder: ConfigBuilder, chance: &mut Chance) -> ConfigBuilder {
    builder
        .delivery_timeout(limit(chance, &[2_000, 60_000]))
        .request_timeout(limit(chance, &[800, 30_000]))
        .max_attempts(chance.pick(&[None, Some(1), Some(3)]))
        .max_in_flight(chance.pick(&[1_024u32, 1, 3]))
        .queue_max_requests(chance.pick(&[10_000u32, 0, 4]))
        .queue_max_age(limit(chance, &[1_500]))
        .unhealthy_after(chance.pick(&[None, Some(1), Some(3)]))
        .write_timeout(limit(chance, &[600, 30_000]))
        .drain_timeout(chance.pick(&[ms(2_000), ms(0), ms(30_000)]))
}

fn policies(builder: ConfigBuilder, chance: &mut Chance) -> ConfigBuilder {
    builder
        .warm(chance.pick(&[Warm::ByPolicy, Warm::None, Warm::All, Warm::AtLeast(2)]))
        .selection(chance.pick(&[
            SelectionPolicy::LeastLoaded,
            SelectionPolicy::RoundRobin,
            SelectionPolicy::PowerOfTwoChoices,
            SelectionPolicy::Sticky,
            SelectionPolicy::custom(Picky),
        ]))
        .hedge_delay(chance.pick(&[
            HedgeDelay::After(ms(250)),
            HedgeDelay::After(ms(50)),
            HedgeDelay::Never,
            HedgeDelay::ByPolicy,
        ]))
        .max_hedges(chance.pick(&[8u32, 0, 1]))
        .lap_delay(chance.pick(&[ms(1_000), ms(0)]))
        .start_delay(chance.pick(&[ms(0), ms(500)]))
}

/// The governor, the retry budget, and what a timeout and a move do to connections.
fn limits(builder: ConfigBuilder, chance: &mut Chance, dialect: &Dialect) -> ConfigBuilder {
    let budget = |per_submit_milli, per_second, max| RetryBudget {
        per_submit_milli,
        per_second,
        max,
    };
    let on_timeout = match dialect.matching {
        Matching::Serial => chance.pick(&[OnRequestTimeout::Keep, OnRequestTimeout::Disconnect]),
        Matching::Order => OnRequestTimeout::ByProtocol,
    };
    let one_session = dialect.session.is_some();
    builder
        .max_concurrent_attempts(chance.pick(&[None, Some(1), Some(2)]))
        .attempts_per_second(chance.pick(&[None, Some(1), Some(3)]))
        .retry_budget(chance.pick(&[
            None,
            Some(RetryBudget::DEFAULT),
            Some(budget(200, 0, 1)),
            Some(budget(0, 3, 2)),
        ]))
        .on_request_timeout(on_timeout)
        .make_before_break(chance.below(2) > 0 && !one_session)
}

/// What keeps connections honest.
fn upkeep(builder: ConfigBuilder, chance: &mut Chance, dialect: &Dialect) -> ConfigBuilder {
    let interval = limit(chance, &[700, 5_000]);
    builder
        .max_idle(limit(chance, &[540_000, 900]))
        .max_age(limit(chance, &[3_000]))
        .keepalive_interval(if dialect.keepalive {
            interval
        } else {
            Limit::Never
        })
        .keepalive_on(chance.pick(&[
            KeepaliveOn::Received,
            KeepaliveOn::Sent,
            KeepaliveOn::Either,
        ]))
        .keepalive_timeout(chance.pick(&[ms(20_000), ms(300)]))
}

/// Where server lists come from, and when.
fn sources(builder: ConfigBuilder, chance: &mut Chance, dialect: &Dialect) -> ConfigBuilder {
    let (primary, fallback) = (Source::primary(), Source::fallback());
    let discovery = match dialect.discovery {
        true => Source::discovery(),
        false => primary,
    };
    builder
        .sources(chance.pick(&[
            vec![],
            vec![primary],
            vec![discovery],
            vec![primary, fallback],
            vec![discovery, primary, primary, fallback],
        ]))
        .refresh_interval(limit(chance, &[3_000, 400]))
        .refresh_jitter(chance.pick(&[ms(1_000), ms(0)]))
        .refresh_timeout(chance.pick(&[ms(10_000), ms(800)]))
        .refresh_min_interval(chance.pick(&[ms(1_000), ms(50)]))
        .refresh_after_failures(chance.pick(&[
            RefreshAfterFailures::ByListSize,
            RefreshAfterFailures::After(2),
            RefreshAfterFailures::EveryDisconnect,
        ]))
        .rebootstrap(chance.below(2) > 0)
        .rebootstrap_after(limit(chance, &[2_000, 300_000]))
}

/// A policy that draws among those that are not busy. (Whether it places a request may not depend on
/// chance: it is asked again at each call.)
#[derive(Debug)]
struct Picky;

impl Select for Picky {
    fn select(&self, candidates: &[Candidate<'_>], random: u64) -> Option<usize> {
        let free = |index: &usize| candidates[*index].in_flight < 3;
        let free: Vec<usize> = (0..candidates.len()).filter(free).collect();
        let nodes = u64::try_from(free.len()).ok()?;
        let drawn = usize::try_from(random.checked_rem(nodes)?).ok()?;
        Some(free[drawn])
    }
}
