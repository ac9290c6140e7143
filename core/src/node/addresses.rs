//! Which address comes next (SEMANTICS 2.4 and 2.5).

use alloc::vec::Vec;
use core::{net::SocketAddr, time::Duration};

use crate::{Instant, cluster::Digest};

/// At most this many addresses of an answer are used, and remembered as tried.
const MAX_ADDRESSES: usize = 64;

/// The addresses of one name: the last answer, which of it is used up, and what was tried when.
#[derive(Clone, Debug, Default)]
pub(crate) struct Addresses {
    /// The answer: families interleaved, without duplicates.
    answer: Vec<Candidate>,
    answered_at: Option<Instant>,
    /// Tried addresses, the one tried longest ago first.
    tried: Vec<SocketAddr>,
    /// Where the last race began.
    race_began: Option<SocketAddr>,
    /// How many addresses of the answer the race has dialled. Without a race, all count.
    raced: usize,
    lost: Option<SocketAddr>,
}

#[derive(Clone, Copy, Hash, Debug)]
struct Candidate {
    address: SocketAddr,
    used: bool,
}

impl Addresses {
    /// Takes the resolver's answer; false if it has no address.
    pub(crate) fn answered(&mut self, now: Instant, answer: &[SocketAddr]) -> bool {
        self.answer.clear();
        let Some(first) = answer.first() else {
            self.answered_at = None;
            return false;
        };
        let mut ours = answer.iter().filter(|a| a.is_ipv4() == first.is_ipv4());
        let mut others = answer.iter().filter(|a| a.is_ipv4() != first.is_ipv4());
        // Taken one by one, so that a run of duplicates does not break the alternation.
        for _ in 0..MAX_ADDRESSES {
            let known = &self.answer;
            let fresh = |a: &&SocketAddr| known.iter().all(|known| known.address != **a);
            let next = [ours.find(fresh), others.find(fresh)];
            let next = next.into_iter().flatten();
            self.answer.extend(next.map(|&address| Candidate {
                address,
                used: false,
            }));
        }
        self.answer.truncate(MAX_ADDRESSES);
        self.raced = self.answer.len();
        self.answered_at = Some(now);
        true
    }

    pub(crate) fn digest(&self, to: &mut Digest<'_>) {
        let Self {
            answer,
            answered_at,
            tried,
            race_began,
            raced,
            lost,
        } = self;
        to.add((answer, tried, race_began, raced, lost));
        to.add(answered_at.is_some());
        if let Some(at) = answered_at {
            let max_age = to.cluster.config.dns_max_age;
            to.age(*at, max_age.saturating_add(Duration::from_nanos(1)));
        }
    }

    /// Whether the name must be looked up before the next attempt.
    pub(crate) fn is_stale(&self, now: Instant, max_age: Duration) -> bool {
        self.answered_at.is_none_or(|at| now.since(at) > max_age)
            || self.answer.iter().all(|candidate| candidate.used)
    }

    /// An established connection to `address` was lost: look up again, and begin elsewhere.
    pub(crate) fn lost(&mut self, address: SocketAddr) {
        self.answered_at = None;
        self.remember(address);
        self.lost = Some(address);
    }

    /// The failure counter was reset: what was tried is forgotten, save the address just lost.
    pub(crate) fn forget_tried(&mut self) {
        let lost = self.lost;
        self.tried.retain(|tried| Some(*tried) == lost);
    }

    /// The one address of an attempt without a race: of those not yet used, the one tried longest
    /// ago, never tried first, ties in the answer's order.
    pub(crate) fn next(&mut self) -> Option<SocketAddr> {
        let tried = &self.tried;
        let rank = |address| {
            tried
                .iter()
                .position(|a| *a == address)
                .map_or(0, |at| at + 1)
        };
        let candidates = self.answer.iter_mut().filter(|candidate| !candidate.used);
        let next = candidates.min_by_key(|candidate| rank(candidate.address))?;
        next.used = true;
        let address = next.address;
        self.lost = None;
        self.remember(address);
        Some(address)
    }

    /// Begins an attempt that races all addresses: after the one it began with last time, and not
    /// with the one just lost.
    pub(crate) fn begin_race(&mut self) {
        let index_of = |address: Option<SocketAddr>| {
            let address = address?;
            self.answer
                .iter()
                .position(|candidate| candidate.address == address)
        };
        let len = self.answer.len();
        let mut start = index_of(self.race_began).map_or(0, |at| (at + 1) % len);
        if index_of(self.lost) == Some(start) {
            start = (start + 1) % len;
        }
        self.answer.rotate_left(start);
        self.race_began = self.answer.first().map(|candidate| candidate.address);
        self.raced = 0;
        self.lost = None;
    }

    /// The next address of the race.
    pub(crate) fn next_in_race(&mut self) -> Option<SocketAddr> {
        let candidate = self.answer.get_mut(self.raced)?;
        candidate.used = true;
        let address = candidate.address;
        self.raced += 1;
        self.remember(address);
        Some(address)
    }

    /// Whether the race has addresses left.
    pub(crate) fn race_goes_on(&self) -> bool {
        self.raced < self.answer.len()
    }

    fn remember(&mut self, address: SocketAddr) {
        self.tried.retain(|tried| *tried != address);
        if self.tried.len() == MAX_ADDRESSES {
            self.tried.remove(0);
        }
        self.tried.push(address);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v4(n: u8) -> SocketAddr {
        ([10, 0, 0, n], 1).into()
    }

    fn v6(n: u16) -> SocketAddr {
        ([0, 0, 0, 0, 0, 0, 0, n], 1).into()
    }

    fn order(answer: &[SocketAddr]) -> Vec<SocketAddr> {
        let mut addresses = Addresses::default();
        addresses.answered(Instant::ORIGIN, answer);
        core::iter::from_fn(|| addresses.next()).collect()
    }

    #[test]
    fn families_are_interleaved_and_duplicates_dropped() {
        let cases: &[(&[SocketAddr], &[SocketAddr])] = &[
            (&[], &[]),
            (&[v4(1), v4(1), v4(1)], &[v4(1)]),
            (&[v4(1), v4(2), v6(1), v6(2)], &[v4(1), v6(1), v4(2), v6(2)]),
            (&[v6(1), v4(1), v4(2), v4(3)], &[v6(1), v4(1), v4(2), v4(3)]),
            (&[v4(1), v4(1), v6(1), v4(2)], &[v4(1), v6(1), v4(2)]),
        ];
        for (answer, expected) in cases {
            assert_eq!(order(answer), *expected, "{answer:?}");
        }
        let thousands: Vec<_> = (0..3_000_u16).map(v6).collect();
        assert_eq!(order(&thousands), thousands[..64]);
    }

    #[test]
    fn n_attempts_visit_n_addresses_whatever_the_resolver_does() {
        let all = [v4(1), v4(2), v4(3), v4(4)];
        for rotation in 0..4 {
            let mut addresses = Addresses::default();
            let mut visited = Vec::new();
            let mut answer = all.to_vec();
            for _ in 0..4 {
                answer.rotate_left(rotation);
                addresses.answered(Instant::ORIGIN, &answer);
                visited.extend(addresses.next());
            }
            visited.sort();
            assert_eq!(visited, all);
        }
    }

    #[test]
    fn an_address_just_lost_is_not_tried_first_if_there_is_another() {
        let mut addresses = Addresses::default();
        addresses.answered(Instant::ORIGIN, &[v4(1), v4(2)]);
        assert_eq!(addresses.next(), Some(v4(1)));
        addresses.forget_tried();
        addresses.lost(v4(1));
        assert!(addresses.is_stale(Instant::ORIGIN, Duration::MAX));
        addresses.answered(Instant::ORIGIN, &[v4(1), v4(2)]);
        assert_eq!(addresses.next(), Some(v4(2)));
        addresses.answered(Instant::ORIGIN, &[v4(2)]);
        assert_eq!(addresses.next(), Some(v4(2)));
    }

    #[test]
    fn a_race_begins_after_where_it_began_last_and_not_with_the_one_lost() {
        let mut addresses = Addresses::default();
        let race = |addresses: &mut Addresses| {
            addresses.answered(Instant::ORIGIN, &[v4(1), v4(2), v4(3)]);
            assert!(!addresses.race_goes_on());
            addresses.begin_race();
            core::iter::from_fn(|| addresses.next_in_race()).collect::<Vec<_>>()
        };
        assert_eq!(race(&mut addresses), [v4(1), v4(2), v4(3)]);
        assert_eq!(race(&mut addresses), [v4(2), v4(3), v4(1)]);
        addresses.lost(v4(3));
        assert_eq!(race(&mut addresses), [v4(1), v4(2), v4(3)]);
    }

    #[test]
    fn an_answer_is_stale_when_used_up_or_too_old() {
        let at = Instant::from_millis;
        let max_age = Duration::from_millis(30);
        let mut addresses = Addresses::default();
        assert!(addresses.is_stale(at(0), max_age));
        addresses.answered(at(0), &[v4(1), v4(2)]);
        addresses.next();
        assert!(
            !addresses.is_stale(at(30), max_age),
            "the limit itself is not over it"
        );
        assert!(addresses.is_stale(at(31), max_age));
        addresses.next();
        assert!(addresses.is_stale(at(0), max_age));
    }
}
