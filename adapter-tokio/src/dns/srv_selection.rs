//! Selection by the priorities and weights of SRV records.

use redial::{Candidate, NodeSpec, Select};

use super::SrvSource;

/// Requests go where the SRV records say (RFC 2782): to the nodes of the lowest priority number that
/// can take one now, and among these at random, in proportion to their weights. Feature `dns`.
///
/// For lists of [`SrvSource::all_priorities`]: connections to all nodes are kept, also to those in
/// reserve, so that a request moves on to them as soon as the better ones are gone or full, and back.
/// Loads do not count.
///
/// It reads the labels [`SrvSource::PRIORITY`] and [`SrvSource::WEIGHT`]; a node without them has 0 and
/// 0. A weight of 0 gets 1/256 of what a weight of 1 gets; if all are 0, they get equal parts.
///
/// ```
/// use redial::{Config, SelectionPolicy};
/// use redial_tokio::SrvSelection;
///
/// let config = Config::builder().selection(SelectionPolicy::custom(SrvSelection)).build()?;
/// # Ok::<(), redial::ConfigError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SrvSelection;

impl Select for SrvSelection {
    fn select(&self, candidates: &[Candidate<'_>], random: u64) -> Option<usize> {
        let label = |spec: &NodeSpec, name| -> u16 {
            let label = spec.labels.get(name).and_then(|label| label.parse().ok());
            label.unwrap_or(0)
        };
        let rank = |candidate: &Candidate<'_>| {
            let spec = candidate.spec;
            (
                label(spec, SrvSource::PRIORITY),
                label(spec, SrvSource::WEIGHT),
            )
        };
        draw(candidates.iter().map(rank), random)
    }
}

/// The index of one of these pairs of priority and weight.
fn draw(ranks: impl Iterator<Item = (u16, u16)> + Clone, random: u64) -> Option<usize> {
    let first = ranks.clone().map(|(priority, _)| priority).min()?;
    let mut shares = ranks.map(|(priority, weight)| match priority == first {
        true => (u64::from(weight) * 256).max(1),
        false => 0,
    });
    let total: u64 = shares.clone().sum();
    // Below the total.
    let mut rest = ((u128::from(random) * u128::from(total)) >> 64) as u64;
    shares.position(|share| {
        let chosen = rest < share;
        rest = rest.saturating_sub(share);
        chosen
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each share of the numbers, at both of its ends, goes to its own node.
    #[test]
    fn numbers_are_divided_in_proportion_to_the_weights_of_the_first_priority() {
        for (ranks, shares) in [
            (&[(0, 5)][..], &[1280][..]),
            (&[(0, 1), (0, 3)], &[256, 768]),
            (&[(7, 0), (7, 0), (7, 0)], &[1, 1, 1]),
            (&[(0, 0), (0, 2), (0, 1)], &[1, 512, 256]),
            (&[(2, 9), (1, 1), (3, 9), (1, 2)], &[0, 256, 0, 512]),
            (&[(0, u16::MAX), (0, 1)], &[16_776_960, 256]),
        ] {
            let total: u64 = shares.iter().sum();
            let start = |part: u64| (u128::from(part) << 64).div_ceil(u128::from(total));
            let mut before = 0;
            for (index, &share) in shares.iter().enumerate().filter(|(_, share)| **share > 0) {
                let (first, end) = (start(before), start(before + share));
                for random in [first, end - 1] {
                    let drawn = draw(ranks.iter().copied(), random as u64);
                    assert_eq!(drawn, Some(index), "{random} of {ranks:?}");
                }
                before += share;
            }
        }
        assert_eq!(draw([].into_iter(), u64::MAX), None);
    }
}
