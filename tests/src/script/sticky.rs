//! For clients that stick to one node.

use redial::{Backoff, ConfigBuilder, SelectionPolicy};

use super::{Script, exact, ms};

/// The policy `Sticky` without chance: no backoff, a second after each lap, no start delay.
pub fn sticky() -> ConfigBuilder {
    exact()
        .selection(SelectionPolicy::Sticky)
        .reconnect_backoff(Backoff::constant(ms(0)))
        .lap_delay(ms(1_000))
}

impl Script {
    /// The nodes that were dialled since the last comparison, in order; nothing else came.
    ///
    /// # Panics
    ///
    /// If something else came.
    #[track_caller]
    pub fn dials(&mut self) -> Vec<usize> {
        let node = |line: String| line.strip_prefix("connect n").map(str::parse);
        let lines = self.take();
        let dials = lines.iter().cloned().map(node);
        let dials: Option<Result<_, _>> = dials.collect();
        match dials {
            Some(Ok(dials)) => dials,
            _ => panic!("only dials are expected, came {lines:?}"),
        }
    }

    /// The one node that was dialled; nothing else came.
    ///
    /// # Panics
    ///
    /// If something else came.
    #[track_caller]
    pub fn dialled(&mut self) -> usize {
        match self.dials()[..] {
            [node] => node,
            ref dials => panic!("one dial is expected, came {dials:?}"),
        }
    }
}
