//! SEMANTICS 7.7: what `plan` promises, in exact fractions, and that the draws keep to it.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::{Add, Mul, Sub},
};

use proptest::prelude::*;
use redial::{Decision, Plan, Ratio, plan};

/// A fraction in lowest terms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Fraction(u128, u128);

fn fraction(numerator: u128, denominator: u128) -> Fraction {
    let (mut divisor, mut rest) = (numerator, denominator);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    Fraction(numerator / divisor, denominator / divisor)
}

const NONE: Fraction = Fraction(0, 1);
const ALL: Fraction = Fraction(1, 1);

fn exact(ratio: Ratio) -> Fraction {
    fraction(ratio.numerator(), ratio.denominator())
}

fn one_of(n: usize) -> Fraction {
    fraction(1, n as u128)
}

impl Add for Fraction {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        fraction(self.0 * other.1 + other.0 * self.1, self.1 * other.1)
    }
}

impl Sub for Fraction {
    type Output = Self;

    /// Panics below zero.
    fn sub(self, other: Self) -> Self {
        fraction(self.0 * other.1 - other.0 * self.1, self.1 * other.1)
    }
}

impl Mul for Fraction {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        fraction(self.0 * other.0, self.1 * other.1)
    }
}

/// The share of the clients on `own` that is on each server after the update, if the first server
/// that a client tries is the one it stays on.
fn shares(plan: &Plan<u32>, own: u32) -> BTreeMap<u32, Fraction> {
    let moves = exact(plan.moves);
    let mut shares = BTreeMap::from([(own, ALL - moves)]);
    for (group, probability) in [(&plan.added, plan.p_new()), (&plan.kept, plan.p_old)] {
        for server in group {
            let share = moves * exact(probability) * one_of(group.len());
            assert!(shares.insert(*server, share).is_none(), "{plan:?}");
        }
        assert!(
            !group.is_empty() || moves == NONE || probability == Ratio::ZERO,
            "{plan:?} sends somebody to an empty group"
        );
    }
    shares
}

/// Everything that holds for any two lists.
fn check(old: &[u32], new: &[u32]) {
    let (is_old, is_new): (BTreeSet<u32>, BTreeSet<u32>) =
        (old.iter().copied().collect(), new.iter().copied().collect());
    let (n0, n1) = (is_old.len(), is_new.len());
    let mut load: BTreeMap<u32, Fraction> = BTreeMap::new();
    let (mut moved, mut least) = (NONE, NONE);

    for &own in &is_old {
        let plan = plan(old, Some(&own), new);
        let moves = exact(plan.moves);
        let is_kept = is_new.contains(&own);
        assert_eq!(exact(plan.p_old) + exact(plan.p_new()), ALL);
        if is_kept {
            // To an added server only, and only if the list grows.
            assert_eq!(moves != NONE, n1 > n0, "{plan:?}");
            assert!(moves == NONE || plan.p_new() == Ratio::ONE, "{plan:?}");
        } else {
            assert_eq!(moves, ALL, "{plan:?}");
            assert_eq!(plan.p_old == Ratio::ONE, plan.added.is_empty(), "{plan:?}");
        }
        for (server, share) in shares(&plan, own) {
            let sum = load.entry(server).or_insert(NONE);
            *sum = *sum + one_of(n0) * share;
        }
        moved = moved + one_of(n0) * moves;
        least = least
            + match is_kept {
                true if n1 <= n0 => NONE,
                true => one_of(n0) - one_of(n1),
                false => one_of(n0),
            };
    }

    load.retain(|_, share| *share != NONE);
    let uniform: BTreeMap<u32, Fraction> = is_new.iter().map(|&s| (s, one_of(n1))).collect();
    assert_eq!(load, uniform, "from {old:?} to {new:?}");
    // Each old server has to lose what it has more than its share; nobody moves beyond that.
    assert_eq!(moved, least, "from {old:?} to {new:?}");
}

fn lists(n0: u32, n1: u32, k: u32) -> (Vec<u32>, Vec<u32>) {
    ((0..n0).collect(), (n0 - k..n0 + n1 - k).collect())
}

#[test]
fn uniform_load_stays_uniform_with_the_fewest_moves_for_all_sizes_up_to_7_and_7() {
    for (n0, n1) in (1..=7).flat_map(|n0| (1..=7).map(move |n1| (n0, n1))) {
        for k in 0..=n0.min(n1) {
            let (old, new) = lists(n0, n1, k);
            check(&old, &new);
        }
    }
}

#[test]
fn uniform_load_stays_uniform_with_the_fewest_moves_for_all_lists_of_7_servers() {
    let list =
        |mask: u32| -> Vec<u32> { (0..7).filter(|server| mask >> server & 1 == 1).collect() };
    for old in 1..1 << 7 {
        for new in 1..1 << 7 {
            check(&list(old), &list(new));
        }
    }
}

fn random_lists() -> impl Strategy<Value = (Vec<u32>, Vec<u32>)> {
    let sizes = (1..120_u32, 1..120_u32).prop_flat_map(|(n0, n1)| (Just((n0, n1)), 0..=n0.min(n1)));
    sizes.prop_flat_map(|((n0, n1), k)| {
        let (old, new) = lists(n0, n1, k);
        (Just(old).prop_shuffle(), Just(new).prop_shuffle())
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..Default::default() })]

    #[test]
    fn uniform_load_stays_uniform_with_the_fewest_moves_for_large_lists(
        (old, new) in random_lists(),
    ) {
        check(&old, &new);
    }

    #[test]
    fn neither_the_order_nor_a_repetition_matters(
        (old, new) in random_lists(),
        own in 0..250_u32,
    ) {
        let plan_of = |old: &[u32], new: &[u32]| {
            let mut plan = plan(old, Some(&own), new);
            plan.added.sort_unstable();
            plan.kept.sort_unstable();
            plan
        };
        let twice = |list: &[u32]| -> Vec<u32> { list.iter().rev().chain(list).copied().collect() };
        prop_assert_eq!(plan_of(&old, &new), plan_of(&twice(&old), &twice(&new)));
    }

    #[test]
    fn a_client_that_moves_tries_every_other_server_once((old, new) in random_lists(), seed: u64) {
        let own = old[0];
        let Decision::Move(moving) = plan(&old, Some(&own), &new).decide(seed) else {
            return Ok(());
        };
        let length = moving.len();
        let mut tried: Vec<u32> = moving.collect();
        prop_assert_eq!(tried.len(), length);
        tried.sort_unstable();
        let mut others: Vec<u32> = new.into_iter().filter(|server| *server != own).collect();
        others.sort_unstable();
        prop_assert_eq!(tried, others);
    }
}

/// Kept, removed and added; the probability to move for a kept own; pOld for a removed one.
type Row = ((u32, u32, u32), Option<(u128, u128)>, Option<(u128, u128)>);

#[test]
fn the_ratios_are_those_of_zookeepers_worked_table() {
    let table: [Row; 16] = [
        ((3, 0, 0), Some((0, 1)), None),
        ((3, 0, 2), Some((2, 5)), None),
        ((9, 0, 1), Some((1, 10)), None),
        ((1, 0, 2), Some((2, 3)), None),
        ((3, 2, 0), Some((0, 1)), Some((1, 1))),
        ((9, 1, 0), Some((0, 1)), Some((1, 1))),
        ((2, 1, 1), Some((0, 1)), Some((0, 1))),
        ((1, 4, 4), Some((0, 1)), Some((0, 1))),
        ((3, 2, 1), Some((0, 1)), Some((3, 8))),
        ((5, 3, 1), Some((0, 1)), Some((5, 9))),
        ((6, 4, 2), Some((0, 1)), Some((3, 8))),
        ((2, 1, 3), Some((2, 5)), Some((0, 1))),
        ((4, 1, 2), Some((1, 6)), Some((0, 1))),
        ((5, 1, 3), Some((1, 4)), Some((0, 1))),
        ((0, 3, 2), None, Some((0, 1))),
        ((0, 2, 5), None, Some((0, 1))),
    ];
    for ((kept, removed, added), moves_if_kept, p_old_if_removed) in table {
        let (old, new) = lists(removed + kept, kept + added, kept);
        if let Some((numerator, denominator)) = moves_if_kept {
            let plan = plan(&old, old.last(), &new);
            assert_eq!(plan.moves, Ratio::new(numerator, denominator), "{plan:?}");
        }
        if let Some((numerator, denominator)) = p_old_if_removed {
            let plan = plan(&old, old.first(), &new);
            assert_eq!(plan.p_old, Ratio::new(numerator, denominator), "{plan:?}");
        }
    }
}

#[test]
fn an_own_server_that_is_only_in_the_new_list_is_kept() {
    for (old, new) in [
        (&[1, 2][..], &[1, 9][..]),
        (&[1, 2], &[1, 2, 9]),
        (&[1, 2], &[9]),
        (&[], &[9]),
    ] {
        assert_eq!(plan(old, Some(&9), new).moves, Ratio::ZERO);
    }
}

#[test]
fn who_has_never_been_connected_does_not_move() {
    let plan = plan(&[1, 2], None, &[3, 4, 5]);
    assert_eq!(plan.moves, Ratio::ZERO);
    assert_eq!(plan.decide(1), Decision::Stay);
}

#[test]
fn an_own_server_in_neither_list_is_left_also_if_the_lists_are_equal() {
    for (old, new) in [
        (&[1, 2][..], &[1, 2][..]),
        (&[1, 2], &[2, 1]),
        (&[1, 2], &[1]),
    ] {
        let plan = plan(old, Some(&9), new);
        assert_eq!((plan.moves, plan.p_old), (Ratio::ONE, Ratio::ONE));
        assert_eq!((&plan.kept[..], &plan.added[..]), (new, &[][..]));
    }
    let growth = plan(&[1, 2], Some(&9), &[1, 2, 3]);
    assert_eq!((growth.moves, growth.p_old), (Ratio::ONE, Ratio::ZERO));
}

#[test]
fn an_empty_list_moves_nobody_anywhere() {
    for (old, own) in [(&[1, 2][..], 1), (&[], 1)] {
        let plan = plan(old, Some(&own), &[]);
        let Decision::Move(mut moving) = plan.decide(1) else {
            panic!("own is not listed any more");
        };
        assert_eq!(moving.next(), None);
    }
}

#[test]
fn the_own_server_is_not_tried_again() {
    let plan = plan(&[1, 2, 3], Some(&2), &[1, 2, 3, 4]);
    assert_eq!((&plan.added[..], &plan.kept[..]), (&[4][..], &[1, 3][..]));
}

#[test]
fn the_added_servers_come_first_where_p_old_is_0() {
    let plan = plan(&[1, 2, 3], Some(&3), &[1, 2, 4, 5]);
    assert_eq!(plan.p_old, Ratio::ZERO);
    for seed in 0..1000 {
        let Decision::Move(moving) = plan.clone().decide(seed) else {
            panic!("own is removed");
        };
        let tried: Vec<u32> = moving.collect();
        assert!(tried[..2].iter().all(|server| *server >= 4), "{tried:?}");
    }
}

/// Whether a count is within five standard deviations of what a probability gives.
fn is_likely(count: u32, trials: u32, probability: Fraction) -> bool {
    let (n, p) = (
        f64::from(trials),
        probability.0 as f64 / probability.1 as f64,
    );
    (f64::from(count) - n * p).abs() <= 5.0 * (n * p * (1.0 - p)).sqrt()
}

#[test]
fn over_many_seeds_the_first_server_is_distributed_as_planned() {
    const TRIALS: u32 = 20_000;
    for (old, own, new) in [
        (&[1, 2, 3][..], 1, &[1, 2, 3, 4, 5][..]),
        (&[1, 2, 3, 4, 5], 5, &[1, 2, 3, 6]),
        (&[1, 2, 3, 4, 5], 5, &[1, 2, 3]),
        (&[1, 2, 3], 3, &[1, 2, 4, 5, 6]),
        (&[1, 2], 9, &[1, 2]),
    ] {
        let plan = plan(old, Some(&own), new);
        let mut ends_on: BTreeMap<u32, u32> = BTreeMap::new();
        for seed in 0..u64::from(TRIALS) {
            let server = match plan.clone().decide(seed) {
                Decision::Stay => own,
                Decision::Move(mut moving) => moving.next().unwrap(),
            };
            *ends_on.entry(server).or_default() += 1;
        }
        for (server, share) in shares(&plan, own) {
            let count = ends_on.remove(&server).unwrap_or_default();
            assert!(
                is_likely(count, TRIALS, share),
                "{plan:?}: {server}: {count}"
            );
        }
        assert_eq!(ends_on, BTreeMap::new());
    }
}

#[test]
fn over_many_seeds_every_order_is_as_likely_and_the_groups_mix_as_planned() {
    const TRIALS: u32 = 20_000;
    // pOld is 3/8; of the six orders of the three kept each is as likely.
    let plan = plan(&[1, 2, 3, 4, 5], Some(&5), &[1, 2, 3, 6]);
    let (mut orders, mut third): (BTreeMap<Vec<u32>, u32>, u32) = (BTreeMap::new(), 0);
    for seed in 0..u64::from(TRIALS) {
        let Decision::Move(moving) = plan.clone().decide(seed) else {
            panic!("own is removed");
        };
        let tried: Vec<u32> = moving.collect();
        third += u32::from(tried[2] == 6);
        let kept = tried.into_iter().filter(|server| *server != 6).collect();
        *orders.entry(kept).or_default() += 1;
    }
    assert_eq!(orders.len(), 6);
    for (order, count) in orders {
        assert!(is_likely(count, TRIALS, one_of(6)), "{order:?}: {count}");
    }
    // Twice a kept one, then the added one.
    let expected = fraction(3 * 3 * 5, 8 * 8 * 8);
    assert!(is_likely(third, TRIALS, expected), "{third}");
}

#[test]
fn a_fleet_stays_evenly_spread_over_a_chain_of_lists() {
    const CLIENTS: u32 = 36_000;
    let chain: [Vec<u32>; 5] = [
        (1..=9).collect(),
        (1..=8).collect(),
        (1..=6).collect(),
        (2..=9).collect(),
        (1..=9).collect(),
    ];
    let mut fleet: Vec<u32> = (0..CLIENTS).map(|client| client % 9 + 1).collect();
    for (step, lists) in (0..).zip(chain.windows(2)) {
        let mut load: BTreeMap<u32, u32> = BTreeMap::new();
        for (client, server) in (0..).zip(&mut fleet) {
            let plan = plan(&lists[0], Some(server), &lists[1]);
            if let Decision::Move(mut moving) = plan.decide(client * 10 + step) {
                *server = moving.next().unwrap();
            }
            *load.entry(*server).or_default() += 1;
        }
        assert!(load.keys().eq(&lists[1]), "{load:?}");
        let share = one_of(lists[1].len());
        let even = |&count: &u32| is_likely(count, CLIENTS, share);
        assert!(load.values().all(even), "step {step}: {load:?}");
    }
}

/// A recorded run is replayed by these.
#[test]
fn the_draws_are_fixed_for_ever() {
    let growth = plan(&[1, 2, 3], Some(&3), &[1, 2, 3, 4, 5, 6]);
    let mixed = plan(&[1, 2, 3, 4, 5, 6], Some(&6), &[1, 2, 3, 7]);
    let moving = |decision: Decision<u32>| match decision {
        Decision::Stay => None,
        Decision::Move(moving) => Some(moving.collect::<Vec<u32>>()),
    };
    assert_eq!(moving(growth.clone().decide(7)), None);
    assert_eq!(moving(growth.decide(11)), Some(vec![6, 4, 5, 1, 2]));
    assert_eq!(moving(mixed.clone().decide(7)), Some(vec![3, 7, 2, 1]));
    assert_eq!(moving(mixed.decide(8)), Some(vec![7, 1, 2, 3]));
}
