//! Random configurations that make sense.

use std::time::Duration;

use proptest::{prelude::*, sample::select};
use redial::{
    Backoff, BackoffReset, Candidate, Config, ConfigBuilder, Jitter, KeepaliveOn, Limit, Matching,
    OnRequestTimeout, RefreshAfterFailures, RetryBudget, Select, SelectionPolicy, SetupTimeout,
    Source, Warm,
};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A value of this list, of which the first is the simplest.
fn one_of<T: Clone + std::fmt::Debug + 'static>(values: Vec<T>) -> impl Strategy<Value = T> {
    select(values)
}

fn limit(millis: &[u64]) -> impl Strategy<Value = Limit> + use<> {
    let after = millis.iter().map(|millis| Limit::After(ms(*millis)));
    one_of(after.chain([Limit::Never]).collect())
}

/// Any configuration, with times from milliseconds to half a minute.
pub(crate) fn config() -> impl Strategy<Value = Config> {
    let parts = (
        setup(),
        requests(),
        policies(),
        limits(),
        upkeep(),
        sources(),
    );
    parts.prop_map(|(setup, requests, policies, limits, upkeep, sources)| {
        let builder = policies.0(requests.0(setup.0(Config::builder())));
        let builder = sources.0(upkeep.0(limits.0(builder)));
        builder.build().expect("the choices make sense")
    })
}

/// Some settings; the configuration that they make is what can be shown.
struct Settings(Box<dyn Fn(ConfigBuilder) -> ConfigBuilder>);

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Settings")
    }
}

fn setup() -> impl Strategy<Value = Settings> {
    let jitter = vec![
        Jitter::None,
        Jitter::Equal,
        Jitter::Full,
        Jitter::Band(200),
        Jitter::Clipped(200),
        Jitter::Decorrelated,
    ];
    let reset = vec![
        BackoffReset::OnFirstReply,
        BackoffReset::OnReady,
        BackoffReset::StableFor(ms(500)),
    ];
    (
        any::<bool>(),
        one_of(vec![
            Backoff::new(ms(1_000), ms(4_000), 2).into(),
            Backoff::constant(ms(300)).into(),
            Backoff::new(ms(10_000), ms(30_000), 2).into(),
            SetupTimeout::SessionShare {
                session_timeout: ms(4_000),
            },
        ]),
        limit(&[700, 5_000]),
        one_of(vec![
            Backoff::new(ms(100), ms(1_000), 2),
            Backoff::constant(ms(0)),
            Backoff::new(ms(50), ms(20), 3),
        ]),
        one_of(jitter),
        one_of(reset),
        limit(&[250, 2_000]),
        one_of(vec![ms(30_000), ms(0), ms(400)]),
    )
        .prop_map(
            |(handshake, setup, handshake_timeout, backoff, jitter, reset, race, dns)| {
                Settings(Box::new(move |builder: ConfigBuilder| {
                    builder
                        .handshake(handshake)
                        .connection_setup_timeout(setup)
                        .handshake_timeout(handshake_timeout)
                        .reconnect_backoff(backoff)
                        .jitter(jitter)
                        .backoff_reset(reset)
                        .address_attempt_delay(race)
                        .dns_max_age(dns)
                }))
            },
        )
}

fn requests() -> impl Strategy<Value = Settings> {
    (
        limit(&[2_000, 60_000]),
        limit(&[800, 30_000]),
        one_of(vec![None, Some(1), Some(3)]),
        one_of(vec![1_024u32, 1, 3]),
        one_of(vec![10_000u32, 0, 4]),
        limit(&[1_500]),
        one_of(vec![None, Some(1), Some(3)]),
        limit(&[600, 30_000]),
        one_of(vec![ms(2_000), ms(0), ms(30_000)]),
    )
        .prop_map(
            |(delivery, request, attempts, in_flight, queue, age, unhealthy, write, drain)| {
                Settings(Box::new(move |builder: ConfigBuilder| {
                    builder
                        .delivery_timeout(delivery)
                        .request_timeout(request)
                        .max_attempts(attempts)
                        .max_in_flight(in_flight)
                        .queue_max_requests(queue)
                        .queue_max_age(age)
                        .unhealthy_after(unhealthy)
                        .write_timeout(write)
                        .drain_timeout(drain)
                }))
            },
        )
}

fn policies() -> impl Strategy<Value = Settings> {
    let matching = vec![
        (Matching::Serial, OnRequestTimeout::Keep),
        (Matching::Serial, OnRequestTimeout::Disconnect),
        (Matching::Order, OnRequestTimeout::ByProtocol),
    ];
    let warm = vec![Warm::ByPolicy, Warm::None, Warm::All, Warm::AtLeast(2)];
    (
        one_of(matching),
        one_of(warm),
        one_of(vec![
            SelectionPolicy::LeastLoaded,
            SelectionPolicy::RoundRobin,
            SelectionPolicy::PowerOfTwoChoices,
            SelectionPolicy::Sticky,
            SelectionPolicy::custom(Picky),
        ]),
        limit(&[250, 50]),
        one_of(vec![8u32, 0, 1]),
    )
        .prop_map(|((matching, on_timeout), warm, selection, hedge, hedges)| {
            Settings(Box::new(move |builder: ConfigBuilder| {
                builder
                    .matching(matching)
                    .on_request_timeout(on_timeout)
                    .warm(warm)
                    .selection(selection.clone())
                    .hedge_delay(hedge)
                    .max_hedges(hedges)
            }))
        })
}

/// The governor and the retry budget.
fn limits() -> impl Strategy<Value = Settings> {
    let budget = |per_submit_milli, per_second, max| RetryBudget {
        per_submit_milli,
        per_second,
        max,
    };
    (
        one_of(vec![None, Some(1), Some(2)]),
        one_of(vec![None, Some(1), Some(3)]),
        one_of(vec![
            None,
            Some(RetryBudget::DEFAULT),
            Some(budget(200, 0, 1)),
            Some(budget(0, 3, 2)),
        ]),
    )
        .prop_map(|(concurrent, rate, budget)| {
            Settings(Box::new(move |builder: ConfigBuilder| {
                builder
                    .max_concurrent_attempts(concurrent)
                    .attempts_per_second(rate)
                    .retry_budget(budget)
            }))
        })
}

/// What keeps connections honest.
fn upkeep() -> impl Strategy<Value = Settings> {
    let on = vec![
        KeepaliveOn::Received,
        KeepaliveOn::Sent,
        KeepaliveOn::Either,
    ];
    (
        limit(&[540_000, 900]),
        limit(&[3_000]),
        any::<bool>(),
        limit(&[700, 5_000]),
        one_of(on),
        one_of(vec![ms(20_000), ms(300)]),
    )
        .prop_map(|(idle, age, keepalive, interval, on, timeout)| {
            Settings(Box::new(move |builder: ConfigBuilder| {
                builder
                    .max_idle(idle)
                    .max_age(age)
                    .keepalive(keepalive)
                    .keepalive_interval(if keepalive { interval } else { Limit::Never })
                    .keepalive_on(on)
                    .keepalive_timeout(timeout)
            }))
        })
}

/// Where server lists come from, and when.
fn sources() -> impl Strategy<Value = Settings> {
    let (primary, discovery, fallback) =
        (Source::primary(), Source::discovery(), Source::fallback());
    let sources = vec![
        vec![],
        vec![primary],
        vec![discovery],
        vec![primary, fallback],
        vec![discovery, primary, primary, fallback],
    ];
    let failures = vec![
        RefreshAfterFailures::ByListSize,
        RefreshAfterFailures::After(2),
        RefreshAfterFailures::EveryDisconnect,
    ];
    (
        one_of(sources),
        limit(&[3_000, 400]),
        one_of(vec![ms(1_000), ms(0)]),
        one_of(vec![ms(10_000), ms(800)]),
        one_of(vec![ms(1_000), ms(50)]),
        one_of(failures),
        any::<bool>(),
        limit(&[2_000, 300_000]),
    )
        .prop_map(
            |(sources, interval, jitter, timeout, apart, failures, rebootstrap, after)| {
                Settings(Box::new(move |builder: ConfigBuilder| {
                    builder
                        .sources(sources.clone())
                        .refresh_interval(interval)
                        .refresh_jitter(jitter)
                        .refresh_timeout(timeout)
                        .refresh_min_interval(apart)
                        .refresh_after_failures(failures)
                        .rebootstrap(rebootstrap)
                        .rebootstrap_after(after)
                }))
            },
        )
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
