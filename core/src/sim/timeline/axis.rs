//! Steps of time that people like.

use core::time::Duration;

use std::{iter, vec::Vec};

use crate::Instant;

const MILLIS: [u64; 29] = [
    1,
    2,
    5,
    10,
    20,
    50,
    100,
    200,
    500, // up to a second
    1_000,
    2_000,
    5_000,
    10_000,
    15_000,
    20_000,
    30_000, // up to a minute
    60_000,
    120_000,
    300_000,
    600_000,
    900_000,
    1_800_000, // up to an hour
    3_600_000,
    7_200_000,
    10_800_000,
    21_600_000,
    43_200_000,
    86_400_000,
    172_800_000,
];

/// The shortest step that goes into `span` at most `most` times, from a millisecond upwards.
pub(super) fn step(span: Duration, most: usize) -> Duration {
    let fits = |step: &Duration| span.as_nanos() <= step.as_nanos() * most.max(1) as u128;
    let longer = iter::successors(Some(Duration::from_secs(345_600)), |step| {
        step.checked_mul(2)
    });
    let mut steps = MILLIS.into_iter().map(Duration::from_millis).chain(longer);
    steps.find(fits).unwrap_or(Duration::MAX)
}

/// The ticks from 0 to `ends`, at most `most` and one more.
pub(super) fn ticks(ends: Instant, most: usize) -> Vec<Instant> {
    let step = step(ends - Instant::ORIGIN, most);
    let next = |tick: &Instant| Some(*tick + step);
    iter::successors(Some(Instant::ORIGIN), next)
        .take_while(|tick| *tick <= ends && *tick < Instant::MAX)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_the_shortest_round_one_that_does() {
        for (span, most, expected) in [
            (20_000, 10, 2_000),
            (20_000, 9, 5_000),
            (600_000, 10, 60_000),
            (3_600_000, 12, 300_000),
            (3_600_000, 100, 60_000),
            (0, 10, 1),
        ] {
            let step = step(Duration::from_millis(span), most);
            assert_eq!(step, Duration::from_millis(expected), "{span} by {most}");
        }
    }

    #[test]
    fn ticks_go_from_the_start_to_the_end() {
        let ticks = ticks(Instant::from_millis(4_000), 4);
        let expected = [0, 1_000, 2_000, 3_000, 4_000].map(Instant::from_millis);
        assert_eq!(ticks, expected);
    }
}
