//! Times without an answer.

use std::vec::Vec;

use super::Timeline;
use crate::Instant;

/// A time in which a request waited and none was answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Silence {
    pub(super) from: Instant,
    pub(super) to: Instant,
}

/// All of them, in order; none overlaps another.
pub(super) fn silences(timeline: &Timeline) -> Vec<Silence> {
    let mut changes = Vec::new();
    for request in timeline.requests() {
        changes.push((request.submitted, 1, false));
        if let Some((at, _)) = request.end {
            changes.push((at, -1, request.answered().is_some()));
        }
    }
    // Stable: at one time in the order of the requests.
    changes.sort_by_key(|(at, ..)| *at);
    let (mut silences, mut open, mut from) = (Vec::new(), 0_i64, Instant::ORIGIN);
    for (at, change, answered) in changes {
        if open == 0 {
            from = at;
        }
        open += change;
        if answered || open == 0 {
            silences.push(Silence { from, to: at });
            from = at;
        }
    }
    if open > 0 {
        let to = timeline.ends();
        silences.push(Silence { from, to });
    }
    silences.retain(|silence| silence.from < silence.to);
    silences
}

#[cfg(test)]
mod tests {
    use super::{super::testing, *};

    #[test]
    fn a_silence_lasts_from_an_answer_or_the_first_request_to_the_next_answer() {
        let trace = testing::script()
            .at(0)
            .node(0)
            .at(1_000)
            .submit(0)
            .at(1_100)
            .reply(0)
            .at(5_000)
            .submit(1)
            .submit(2)
            .at(5_300)
            .reply(1)
            .at(6_300)
            .reply(2)
            .trace();
        let found = silences(&Timeline::of(&trace, 0));
        let millis = |at: Instant| at.as_nanos() / 1_000_000;
        let found: Vec<_> = found
            .iter()
            .map(|s| (millis(s.from), millis(s.to)))
            .collect();
        assert_eq!(found, [(1_000, 1_100), (5_000, 5_300), (5_300, 6_300)]);
    }
}
