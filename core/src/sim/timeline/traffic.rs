//! Requests by the time: what is drawn where they are too many for a line each.

use core::time::Duration;

use std::{vec, vec::Vec};

use super::{Fate, Timeline, axis};
use crate::Instant;

/// How many requests there were in each bucket of time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Traffic {
    /// How long a bucket is: a round time.
    pub bucket: Duration,
    /// Of the client.
    pub all: Vec<Bucket>,
    /// Of each lane.
    pub lanes: Vec<Vec<Bucket>>,
}

/// The requests in a bucket of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bucket {
    /// How many were answered in it.
    pub answered: u32,
    /// How many failed in it; of a lane: how many it did not answer that had been handed over.
    pub failed: u32,
    /// How many were handed over again in it.
    pub retried: u32,
    /// The longest from submit to an answer in it; of a lane: from the hand-over.
    pub slowest: Duration,
}

impl Bucket {
    fn answer(&mut self, took: Duration) {
        self.answered += 1;
        self.slowest = self.slowest.max(took);
    }
}

impl Traffic {
    /// What a full bar of a node stands for: all but the 2 % busiest buckets of nodes have no more.
    #[cfg(feature = "sim-svg")]
    pub(super) fn full_at_a_node(&self) -> u32 {
        let buckets = self.lanes.iter().flatten();
        let numbers = buckets.map(|bucket| bucket.answered + bucket.failed);
        let mut numbers: Vec<u32> = numbers.filter(|number| *number > 0).collect();
        numbers.sort_unstable();
        numbers.get(numbers.len() * 98 / 100).copied().unwrap_or(1)
    }
}

impl Timeline {
    /// The requests in at most `most` buckets of equal, round length.
    ///
    /// ```
    /// # use redial::sim::{Timeline, Trace};
    /// let traffic = Timeline::of(&Trace::default(), 0).traffic(100);
    /// let answered: u32 = traffic.all.iter().map(|bucket| bucket.answered).sum();
    /// assert_eq!(answered, 0);
    /// ```
    #[must_use]
    pub fn traffic(&self, most: usize) -> Traffic {
        let span = self.ends - Instant::ORIGIN;
        let bucket = axis::step(span, most);
        let buckets = span.as_nanos().div_ceil(bucket.as_nanos()).max(1) as usize;
        let place = |at: Instant| {
            let place = (at - Instant::ORIGIN).as_nanos() / bucket.as_nanos();
            (place as usize).min(buckets - 1)
        };
        let empty = vec![Bucket::default(); buckets];
        let mut lanes = vec![empty.clone(); self.lanes.len()];
        let mut all = empty;
        for request in &self.requests {
            if let Some(at) = request.answered() {
                all[place(at)].answer(at - request.submitted);
            }
            if let Some((at, _)) = request.failed() {
                all[place(at)].failed += 1;
            }
            for (number, handover) in request.handovers.iter().enumerate() {
                let lane = &mut lanes[handover.lane];
                let end = &mut lane[place(handover.until)];
                match handover.fate {
                    Fate::Answered => end.answer(handover.until - handover.at),
                    Fate::Lost => end.failed += 1,
                    Fate::Dropped => {}
                }
                if number > 0 {
                    lane[place(handover.at)].retried += 1;
                    all[place(handover.at)].retried += 1;
                }
            }
        }
        Traffic { bucket, all, lanes }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing, *};

    #[test]
    fn requests_are_counted_in_buckets_of_a_round_length() {
        let traffic = Timeline::of(&testing::crash(), 0).traffic(6);
        assert_eq!(traffic.bucket, Duration::from_secs(1));
        let answered: Vec<_> = traffic.all.iter().map(|b| b.answered).collect();
        assert_eq!(answered, [10, 1, 10, 5, 5]);
        let second = traffic.all[1];
        assert_eq!((second.failed, second.retried), (1, 1));
        assert_eq!(second.slowest, Duration::from_millis(130));
    }

    #[test]
    fn a_lane_counts_what_was_handed_over_to_it() {
        let traffic = Timeline::of(&testing::crash(), 0).traffic(1);
        let counts = traffic
            .lanes
            .iter()
            .map(|lane| (lane[0].answered, lane[0].failed));
        assert_eq!(counts.collect::<Vec<_>>(), [(13, 0), (6, 2), (12, 0)]);
    }
}
