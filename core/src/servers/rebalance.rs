//! Who moves to which server of a new list (SEMANTICS 7.7).

use alloc::{collections::BTreeSet, vec::Vec};
use core::fmt;

use crate::rng::{Purpose, Rng};

/// What a client does when its list of servers changes: the probabilities that keep a fleet of
/// clients evenly spread with the fewest moves (SEMANTICS 7.7, ZOOKEEPER-1355).
///
/// With n0 the number of old servers, n1 that of new ones, k that of those in both lists, and "own"
/// the server that the client is connected to:
///
/// | own | n1 > n0 | n1 ≤ n0 |
/// |---|---|---|
/// | in both lists | moves with probability 1 − n0/n1: pOld = 0 | stays |
/// | in the new list only | stays | stays |
/// | not in the new list | moves: pOld = 0 | moves: pOld = k(n0 − n1) / (n1(n0 − k)), and 1 for 0/0 |
/// | none | stays | stays |
///
/// A client that moves takes the kept servers with probability pOld and the added ones with
/// pNew = 1 − pOld; pOld = 1 if and only if no server is added. If each old server has the same
/// expected number of clients, each new one has so afterwards, and no other rule with that property
/// moves fewer of them.
///
/// Made by [`plan`]; carried out by [`decide`](Self::decide).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan<T> {
    /// The probability to move at all.
    pub moves: Ratio,
    /// pOld: the probability that a client that moves takes one of `kept` next. What is left to
    /// 1, pNew, is that of `added`.
    pub p_old: Ratio,
    /// The servers of the new list that are not in the old one, in order, without the own.
    pub added: Vec<T>,
    /// The servers of the new list that are in the old one, in order, without the own.
    pub kept: Vec<T>,
}

/// What a client does when its list of servers changes from `old` to `new`. `own` is the server that
/// it is connected or connecting to, else the one that it was last connected to. Whatever identifies
/// a server may stand for it, such as its [`Endpoint`](crate::Endpoint). A server that is listed
/// twice counts once; the order of a list matters to nothing but the order of
/// [`added`](Plan::added) and [`kept`](Plan::kept).
///
/// ```
/// use redial::{Ratio, plan};
///
/// let growth = plan(&[1, 2, 3], Some(&2), &[1, 2, 3, 4, 5]);
/// assert_eq!(growth.moves, Ratio::new(2, 5));
/// assert_eq!((growth.added, growth.p_old), (vec![4, 5], Ratio::ZERO));
///
/// let own_removed = plan(&[1, 2, 3, 4, 5], Some(&5), &[1, 2, 3, 6]);
/// assert_eq!(own_removed.moves, Ratio::ONE);
/// assert_eq!((own_removed.p_old, own_removed.p_new()), (Ratio::new(3, 8), Ratio::new(5, 8)));
/// ```
#[must_use]
pub fn plan<T: Ord + Clone>(old: &[T], own: Option<&T>, new: &[T]) -> Plan<T> {
    let old: BTreeSet<&T> = old.iter().collect();
    let mut seen = BTreeSet::new();
    let new = new.iter().filter(|server| seen.insert(*server));
    let (kept, added) = new.cloned().partition(|server| old.contains(server));
    Plan::weigh(old.len(), own, kept, added)
}

impl<T: PartialEq> Plan<T> {
    /// The same for `old` old servers, with the new list in two parts.
    pub(crate) fn weigh(old: usize, own: Option<&T>, mut kept: Vec<T>, mut added: Vec<T>) -> Self {
        let (n0, k) = (old as u128, kept.len() as u128);
        let n1 = k + added.len() as u128;
        let in_both = own.is_some_and(|own| kept.contains(own));
        let new_only = own.is_some_and(|own| added.contains(own));
        let (moves, p_old) = match own {
            Some(_) if in_both && n1 > n0 => (Ratio::new(n1 - n0, n1), Ratio::ZERO),
            Some(_) if !in_both && !new_only && n1 > n0 => (Ratio::ONE, Ratio::ZERO),
            Some(_) if !in_both && !new_only => {
                (Ratio::ONE, Ratio::new(k * (n0 - n1), n1 * (n0 - k)))
            }
            _ => (Ratio::ZERO, Ratio::ZERO),
        };
        for group in [&mut kept, &mut added] {
            group.retain(|server| Some(server) != own);
        }
        Self {
            moves,
            p_old,
            added,
            kept,
        }
    }
}

impl<T> Plan<T> {
    /// pNew: the probability that a client that moves takes one of `added` next.
    #[must_use]
    pub const fn p_new(&self) -> Ratio {
        self.p_old.complement()
    }

    /// Draws: to stay, or to move and in which order the servers are tried. The same seed gives the
    /// same for ever; each decision needs a seed of its own.
    #[must_use]
    pub fn decide(self, seed: u64) -> Decision<T> {
        let mut rng = Rng::new(seed, Purpose::Rebalance, 0);
        if !self.moves.draw(&mut rng) {
            return Decision::Stay;
        }
        let [mut added, mut kept] = [self.added, self.kept];
        shuffle(&mut added, &mut rng);
        shuffle(&mut kept, &mut rng);
        let p_old = self.p_old;
        Decision::Move(Moving {
            p_old,
            added,
            kept,
            rng,
        })
    }
}

/// What a client does about a new list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Decision<T> {
    /// It keeps its server, or tries it first if it is not connected.
    Stay,
    /// It leaves its server and tries these.
    Move(Moving<T>),
}

/// The servers that a client that moves tries one after the other until one is Ready: each time one
/// of the kept with probability pOld, else one of the added, while both groups last; each server
/// once, the order within a group uniform.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Moving<T> {
    p_old: Ratio,
    /// Shuffled; taken from the end.
    added: Vec<T>,
    kept: Vec<T>,
    rng: Rng,
}

impl<T> Iterator for Moving<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let group = match (self.added.is_empty(), self.kept.is_empty()) {
            (false, false) if self.p_old.draw(&mut self.rng) => &mut self.kept,
            (true, _) => &mut self.kept,
            (false, _) => &mut self.added,
        };
        group.pop()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.added.len() + self.kept.len();
        (left, Some(left))
    }
}

impl<T> ExactSizeIterator for Moving<T> {}

impl<T> core::iter::FusedIterator for Moving<T> {}

/// Fisher and Yates's.
fn shuffle<T>(list: &mut [T], rng: &mut Rng) {
    for end in (1..list.len()).rev() {
        list.swap(end, rng.below(end as u64 + 1) as usize);
    }
}

/// A probability as an exact fraction in lowest terms.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ratio {
    numerator: u128,
    denominator: u128,
}

impl Ratio {
    /// Never.
    pub const ZERO: Self = Self::new(0, 1);
    /// Always.
    pub const ONE: Self = Self::new(1, 1);

    /// `numerator / denominator`, and 1 if that is more than 1 or 0/0.
    #[must_use]
    pub const fn new(numerator: u128, denominator: u128) -> Self {
        if numerator >= denominator {
            let (numerator, denominator) = (1, 1);
            return Self {
                numerator,
                denominator,
            };
        }
        let (mut divisor, mut rest) = (denominator, numerator);
        while rest > 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
        Self {
            numerator: numerator / divisor,
            denominator: denominator / divisor,
        }
    }

    /// At most the denominator.
    #[must_use]
    pub const fn numerator(self) -> u128 {
        self.numerator
    }

    /// At least 1.
    #[must_use]
    pub const fn denominator(self) -> u128 {
        self.denominator
    }

    const fn complement(self) -> Self {
        Self::new(self.denominator - self.numerator, self.denominator)
    }

    /// True with this probability, but for less than 2^-63; 0 and 1 are exact. One number is drawn.
    const fn draw(self, rng: &mut Rng) -> bool {
        // Both terms must fit 64 bits for the product. Lists of servers are too short to exceed that.
        let excess = 64_u32.saturating_sub(self.denominator.leading_zeros());
        let (numerator, denominator) = (self.numerator >> excess, self.denominator >> excess);
        (rng.next_u64() as u128 * denominator) >> 64 < numerator
    }
}

/// `2/5`
impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.numerator, self.denominator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_in_lowest_terms_and_at_most_one() {
        let cases = [
            ((0, 7), (0, 1)),
            ((6, 16), (3, 8)),
            ((5, 5), (1, 1)),
            ((0, 0), (1, 1)),
            ((3, 2), (1, 1)),
            ((1, 0), (1, 1)),
            ((u128::MAX - 1, u128::MAX), (u128::MAX - 1, u128::MAX)),
        ];
        for ((numerator, denominator), (low_numerator, low_denominator)) in cases {
            let ratio = Ratio::new(numerator, denominator);
            assert_eq!(ratio.numerator(), low_numerator);
            assert_eq!(ratio.denominator(), low_denominator);
        }
        assert_eq!(alloc::format!("{}", Ratio::new(6, 16)), "3/8");
    }

    #[test]
    fn a_draw_has_the_probability_of_its_ratio() {
        let large = Ratio::new(u128::MAX / 4, u128::MAX);
        for (ratio, percent) in [
            (Ratio::ZERO, 0),
            (Ratio::ONE, 100),
            (Ratio::new(1, 4), 25),
            (large, 25),
        ] {
            let mut rng = Rng::new(1, Purpose::Rebalance, 0);
            let drawn = (0..10_000).filter(|_| ratio.draw(&mut rng)).count();
            // Five standard deviations.
            let spread = if percent == 25 { 216 } else { 0 };
            assert!(drawn.abs_diff(percent * 100) <= spread, "{ratio}: {drawn}");
        }
    }
}
