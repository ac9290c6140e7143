//! SEMANTICS 7.7, 7.8: what holds for a client under `Sticky` in every small world, however the list
//! and the servers change. `PROPTEST_CASES` raises the number of runs.

mod life;
mod one_server;

use std::collections::BTreeSet;

use proptest::{collection::vec, prelude::*, sample::select};
use redial::{
    Backoff, Config, Event, Instant, Jitter, Limit, NodeState, Output, RequestId, SelectionPolicy,
    SetupTimeout,
    record::{Answer, Call},
};
use redial_tests::world::{Line, Op, Plan, Run, World};

use life::{Change, HOSTS, Life, MANNERS, Manner, ms, request};
use one_server::OneServer;

const LAP: u64 = 1_000;

fn config() -> impl Strategy<Value = Config> {
    let zookeeper = Config::zookeeper(ms(9_000))
        .to_builder()
        .max_in_flight(2u32);
    let zookeeper = zookeeper.drain_timeout(ms(3_000)).build();
    prop_oneof![4 => own_config(), 1 => Just(zookeeper.expect("it makes sense"))]
}

fn own_config() -> impl Strategy<Value = Config> {
    let share = SetupTimeout::SessionShare {
        session_timeout: ms(6_000),
    };
    let setup = select(vec![share, Backoff::constant(ms(2_000)).into()]);
    let hedge = select(vec![Limit::Never, Limit::After(ms(100))]);
    let backoff = select(vec![
        Backoff::constant(ms(0)),
        Backoff::constant(ms(300)),
        Backoff::new(ms(50), ms(1_000), 2),
    ]);
    let start = select(vec![0, 500]);
    (setup, hedge, backoff, start, any::<[bool; 3]>()).prop_map(
        |(setup, hedge, backoff, start, [keeps, handshake, drops])| {
            Config::builder()
                .selection(SelectionPolicy::Sticky)
                .connection_setup_timeout(setup)
                .hedge_delay(hedge)
                .reconnect_backoff(backoff)
                .jitter(if drops { Jitter::None } else { Jitter::Full })
                .make_before_break(keeps)
                .handshake(handshake)
                .lap_delay(ms(LAP))
                .start_delay(ms(start))
                .drain_timeout(ms(3_000))
                .address_attempt_delay(Limit::Never)
                .max_in_flight(2u32)
                .keepalive_interval(Limit::After(ms(3_000)))
                .keepalive_timeout(ms(3_000))
                .build()
                .expect("it makes sense")
        },
    )
}

fn change() -> impl Strategy<Value = Change> {
    let host = || 0..HOSTS;
    prop_oneof![
        4 => (1..1u8 << HOSTS, host()).prop_map(|(mask, turn)| Change::List(mask, turn)),
        1 => (1..4usize).prop_map(Change::Equal),
        3 => (host(), select(&MANNERS[..])).prop_map(|(host, manner)| Change::Manner(host, manner)),
        1 => host().prop_map(Change::Cut),
        1 => (host(), 1..3_000u64).prop_map(|(host, until)| Change::Throttle(host, until)),
        2 => Just(Change::Submit),
        1 => host().prop_map(Change::SubmitOn),
    ]
}

fn life() -> impl Strategy<Value = Life> {
    let pause = prop_oneof![0..3u64, 0..100u64, 0..3_000u64];
    let manners = vec(select(&MANNERS[..]), HOSTS);
    let changes = vec((pause, change()), 1..40);
    (
        any::<u64>(),
        config(),
        any::<[bool; 2]>(),
        1..30u64,
        manners,
        changes,
    )
        .prop_map(
            |(seed, config, [bound, session], latency, manners, changes)| Life {
                seed,
                config,
                bound,
                session,
                latency,
                manners,
                changes,
            },
        )
}

fn cases(default: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|cases| cases.parse().ok());
    ProptestConfig {
        cases: asked.unwrap_or(default),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn run(plan: &Plan, life: &Life) -> Run {
    World::run_with(plan, OneServer::new(life.bound)).unwrap_or_else(|wrong| panic!("{wrong}"))
}

proptest! {
    #![proptest_config(cases(300))]

    /// 7.7, Z17, Z27, Z29, Z35: in every step; and when the servers work again, the client is connected soon, to a
    /// listed one, and everything completes.
    #[test]
    fn a_client_has_one_listed_server_and_finds_one_that_works(life in life()) {
        let (mut plan, end) = life.plan();
        for host in 0..HOSTS {
            plan = life.treat(plan, end, host, Manner::Works);
        }
        // A hanging attempt, a rest, a lap, a start delay, and the way to Ready; a throttle besides.
        let soon = end + 3_000 + 9_000 + 1_000 + LAP + 500 + 200 + 3_000;
        let mut plan = plan
            .at(end + 3_000, Op::Submit(request().idempotent()))
            .at(soon, Op::Submit(request()))
            .until(soon + 60_000);
        plan.drain = ms(500);
        let run = run(&plan, &life);
        let expiry = run.trace.outputs().find(|(_, output)| is_expiry(output));
        if let Some((at, _)) = expiry {
            prop_assert!(life.session && at < Instant::from_millis(soon), "at {at}");
            return Ok(());
        }
        let late = open_at(&run, soon);
        prop_assert!(late.is_empty(), "{late:?} wait");
        // Then it is quiet: requests are answered, and nothing is dialled.
        let late = open_at(&run, soon + 200);
        prop_assert!(late.is_empty(), "{late:?} wait");
        let quiet = run.trace.outputs().filter(|(at, _)| *at >= Instant::from_millis(soon));
        let dials = quiet.filter(|(_, output)| is_attempt(output)).count();
        prop_assert_eq!(dials, 0);
    }

    /// 7.8: lists that flap make no client dial more often than laps allow.
    #[test]
    fn flapping_lists_reset_no_lap(life in life(), lists in vec(1..1u8 << HOSTS, 2), pause in 1..50u64) {
        let config = life.config.to_builder().hedge_delay(Limit::Never);
        let flap = |round: usize| (pause, Change::List(lists[round % 2], round % HOSTS));
        let life = Life {
            config: config.build().expect("it makes sense"),
            manners: vec![Manner::Refuses; HOSTS],
            changes: (0..200).map(flap).collect(),
            ..life
        };
        let (plan, end) = life.plan();
        let run = run(&plan.until(end), &life);
        let laps = end / LAP + 2;
        let attempts = count(&run, is_attempt);
        // An update may take an attempt away, and another begins in the same step.
        let aborted = updates(&run).min(attempts - run.stats.failures_connect);
        let most = laps * HOSTS as u64 + aborted;
        prop_assert!(attempts <= most, "{attempts} attempts, {laps} laps");
    }
}

fn count(run: &Run, is_it: impl Fn(&Output) -> bool) -> u64 {
    run.trace
        .outputs()
        .filter(|(_, output)| is_it(output))
        .count() as u64
}

fn is_attempt(output: &Output) -> bool {
    matches!(output, Output::Event(Event::AttemptStarted { .. }))
}

fn is_expiry(output: &Output) -> bool {
    matches!(output, Output::Event(Event::SessionExpired { .. }))
}

fn is_ready(output: &Output) -> bool {
    let to_ready = |event: &Event| {
        matches!(
            event,
            Event::StateChanged {
                to: NodeState::Ready,
                ..
            }
        )
    };
    matches!(output, Output::Event(event) if to_ready(event))
}

fn updates(run: &Run) -> u64 {
    let lines = run.trace.lines.iter();
    lines
        .filter(|line| matches!(line, Line::Call(_, Call::SetNodes(_), _)))
        .count() as u64
}

/// What was submitted before then and not completed.
fn open_at(run: &Run, millis: u64) -> BTreeSet<RequestId> {
    let mut open = BTreeSet::new();
    for line in &run.trace.lines {
        match *line {
            Line::Call(at, Call::Submit(_), Answer::Submit(Ok(request)))
                if at < Instant::from_millis(millis) =>
            {
                open.insert(request);
            }
            Line::Output(at, Output::Completion(completion))
                if at <= Instant::from_millis(millis) =>
            {
                open.remove(&completion.request);
            }
            _ => {}
        }
    }
    open
}

/// A property of lives in which nothing happens would say nothing.
#[test]
fn the_lives_are_eventful() {
    use proptest::{strategy::ValueTree, test_runner::TestRunner};
    let mut runner = TestRunner::deterministic();
    let (mut readies, mut attempts, mut moves) = (0, 0, 0);
    for _ in 0..50 {
        let life = life().new_tree(&mut runner).expect("a life").current();
        let (plan, end) = life.plan();
        let run = run(&plan.until(end), &life);
        readies += count(&run, is_ready);
        attempts += count(&run, is_attempt);
        moves += updates(&run);
    }
    assert!(
        readies > 200 && attempts > 400 && moves > 300,
        "{readies} {attempts} {moves}"
    );
}
