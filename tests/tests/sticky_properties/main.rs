//! SEMANTICS 7.7, 7.8: what holds for a client under `Sticky` in every small world, however the list
//! and the servers change. `PROPTEST_CASES` raises the number of runs.

mod world;

use proptest::{collection::vec, prelude::*, sample::select};
use redial::{Backoff, Config, Jitter, Limit, SelectionPolicy, SetupTimeout, record::Call};

use world::{HOSTS, LAP, MANNERS, Manner, Op, Plan, World, ms};

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

fn op() -> impl Strategy<Value = Op> {
    let host = || 0..HOSTS;
    prop_oneof![
        4 => (1..1u8 << HOSTS, host()).prop_map(|(mask, turn)| Op::List(mask, turn)),
        1 => (1..4usize).prop_map(Op::Equal),
        3 => (host(), select(&MANNERS[..])).prop_map(|(host, manner)| Op::Manner(host, manner)),
        1 => host().prop_map(Op::Crash),
        1 => (host(), 1..3_000u64).prop_map(|(host, until)| Op::Throttle(host, until)),
        2 => Just(Op::Submit),
        1 => host().prop_map(Op::SubmitOn),
    ]
}

fn plan() -> impl Strategy<Value = Plan> {
    let pause = prop_oneof![0..3u64, 0..100u64, 0..3_000u64];
    let manners = vec(select(&MANNERS[..]), HOSTS);
    let ops = vec((pause, op()), 1..40);
    (
        any::<u64>(),
        config(),
        any::<[bool; 2]>(),
        1..60u64,
        manners,
        ops,
    )
        .prop_map(
            |(seed, config, [bound, session], latency, manners, ops)| Plan {
                seed,
                config,
                bound,
                session,
                latency,
                manners,
                ops,
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

proptest! {
    #![proptest_config(cases(300))]

    /// 7.7, Z17, Z27, Z29, Z35: in every step; and when the servers work again, the client is connected soon, to a
    /// listed one, and everything completes.
    #[test]
    fn a_client_has_one_listed_server_and_finds_one_that_works(plan in plan()) {
        let mut world = World::new(plan);
        world.run_ops();
        world.plan.manners = vec![Manner::Works; HOSTS];
        world.run_until(world.now + ms(3_000));
        world.op(&Op::Submit);
        // A hanging attempt, a rest, a lap, a start delay, and the way to Ready; a throttle besides.
        world.run_until(world.now + ms(9_000 + 1_000 + LAP + 500 + 200 + 3_000));
        if world.terminated {
            prop_assert!(world.plan.session && world.open.is_empty(), "the session was over");
            return Ok(());
        }
        let stats = world.cluster().stats();
        prop_assert!(stats.nodes_ready >= 1, "{stats:?}");
        prop_assert!(world.open.is_empty(), "{:?} wait", world.open);
        // Then it is quiet: a keepalive now and then, and nothing is dialled.
        let attempts = world.attempts;
        world.run_until(world.now + ms(60_000));
        prop_assert_eq!(world.attempts, attempts);
        world.call(Call::Shutdown(ms(500)));
        world.run_until(world.now + ms(500));
        prop_assert!(world.terminated && world.open.is_empty());
        prop_assert_eq!(world.cluster().poll_timeout(), None);
    }

    /// 7.8: lists that flap make no client dial more often than laps allow.
    #[test]
    fn flapping_lists_reset_no_lap(plan in plan(), lists in vec(1..1u8 << HOSTS, 2), pause in 1..50u64) {
        let mut plan = plan;
        let config = plan.config.to_builder().hedge_delay(Limit::Never);
        plan.config = config.build().expect("it makes sense");
        let mut world = World::new(plan);
        world.plan.manners = vec![Manner::Refuses; HOSTS];
        world.set_nodes((0..HOSTS).collect());
        for round in 0..200 {
            world.run_until(world.now + ms(pause));
            world.op(&Op::List(lists[round % 2], round % HOSTS));
        }
        let laps = world.now.as_nanos() / 1_000_000 / LAP + 2;
        let most = laps * HOSTS as u64 + aborted_by_updates(&world);
        prop_assert!(world.attempts <= most, "{} attempts, {laps} laps", world.attempts);
    }
}

/// An update may take an attempt away, and another begins in the same step.
fn aborted_by_updates(world: &World) -> u64 {
    world
        .updates
        .min(world.attempts - world.cluster().stats().failures_connect)
}

/// A property of worlds in which nothing happens would say nothing.
#[test]
fn the_worlds_are_eventful() {
    use proptest::{strategy::ValueTree, test_runner::TestRunner};
    let mut runner = TestRunner::deterministic();
    let (mut readies, mut attempts, mut moves) = (0, 0, 0);
    for _ in 0..50 {
        let plan = plan().new_tree(&mut runner).expect("a plan").current();
        let mut world = World::new(plan);
        world.run_ops();
        readies += world.readies;
        attempts += world.attempts;
        moves += world.updates;
    }
    assert!(
        readies > 200 && attempts > 400 && moves > 300,
        "{readies} {attempts} {moves}"
    );
}
