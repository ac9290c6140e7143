//! What happens to the servers, drawn from the seed.

use std::{ops::Range, time::Duration};

/// What a server does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// Answers.
    Live,
    /// Nobody listens; what was connected is reset.
    Dead,
    /// Accepts connections and says nothing.
    Mute,
    /// Swallows connections.
    BlackHole,
}

impl Mode {
    pub(crate) const fn at_start(self) -> &'static str {
        match self {
            Self::Live => "is alive",
            Self::Dead => "is down",
            Self::Mute => "accepts and says nothing",
            Self::BlackHole => "swallows connections",
        }
    }

    pub(crate) const fn announcement(self) -> &'static str {
        match self {
            Self::Live => "REVIVED",
            Self::Dead => "KILLED",
            Self::Mute => "goes mute",
            Self::BlackHole => "swallows connections",
        }
    }
}

pub(crate) struct Schedule {
    /// By server.
    pub(crate) start: Vec<Mode>,
    /// In order of time.
    pub(crate) steps: Vec<Step>,
}

pub(crate) struct Step {
    /// From the first request.
    pub(crate) after: Duration,
    pub(crate) node: usize,
    pub(crate) mode: Mode,
}

/// A server that has lived this long has been found by a client that needed it.
const SETTLED: Duration = Duration::from_secs(1);

impl Schedule {
    pub(crate) fn draw(seed: u64, nodes: usize, length: Duration) -> Self {
        let mut random = Random(seed);
        let mut order: Vec<usize> = (0..nodes).collect();
        for last in (1..nodes).rev() {
            order.swap(last, random.below(last + 1));
        }
        let (black_hole, mute) = match order[..] {
            [first, second, _, ..] => (Some(first), Some(second)),
            [first, _] => (Some(first), None),
            _ => (None, None),
        };

        let mut start = vec![Mode::Live; nodes];
        let mut steps = Vec::new();
        // Revived early enough that the kernel's next SYN to the black hole, 3 s after the first,
        // is answered before anyone else is killed: until then the client cannot know.
        for (node, mode) in [(black_hole, Mode::BlackHole), (mute, Mode::Mute)] {
            if let Some(node) = node {
                start[node] = mode;
                let after = random.millis(1_600..2_800);
                steps.push(Step {
                    after,
                    node,
                    mode: Mode::Live,
                });
            }
        }
        steps.sort_by_key(|step| step.after);

        let mut living: Vec<(usize, Duration)> = (0..nodes).map(|n| (n, Duration::ZERO)).collect();
        let mut dead = Vec::new();
        let mut after = random.millis(4_000..4_500);
        while after + SETTLED < length {
            let settled = living
                .iter()
                .filter(|(_, since)| *since + SETTLED <= after)
                .count();
            // One that is settled stays alive.
            if settled >= 2 && (dead.is_empty() || random.below(2) == 0) {
                let (node, _) = living.swap_remove(random.below(living.len()));
                dead.push(node);
                steps.push(Step {
                    after,
                    node,
                    mode: Mode::Dead,
                });
            } else if !dead.is_empty() {
                let node = dead.swap_remove(random.below(dead.len()));
                living.push((node, after));
                steps.push(Step {
                    after,
                    node,
                    mode: Mode::Live,
                });
            }
            after += random.millis(500..1_000);
        }
        steps.retain(|step| step.after < length);
        Self { start, steps }
    }
}

/// SplitMix64: small, and the same on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn millis(&mut self, range: Range<u64>) -> Duration {
        Duration::from_millis(range.start + self.next() % (range.end - range.start))
    }
}
