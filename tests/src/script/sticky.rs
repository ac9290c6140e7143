//! For clients that stick to one node.

use redial::{Backoff, ConfigBuilder, Event, SelectionPolicy};

use super::{Script, build, exact, ms};

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

/// A list without this node, which is named by its place in `of`.
#[must_use]
pub fn without(of: &[&'static str], node: usize) -> Vec<&'static str> {
    of.iter()
        .enumerate()
        .filter(|(n, _)| *n != node)
        .map(|(_, host)| *host)
        .collect()
}

/// Connected since 0.
///
/// # Panics
///
/// If another node is dialled too.
#[track_caller]
#[must_use]
pub fn connected(config: ConfigBuilder, list: &[&str], seed: u64) -> (Script, usize) {
    let mut s = Script::with_seed(build(config), list, seed);
    let own = s.dialled();
    s.connected(own).ready(own).whatever().events();
    (s, own)
}

/// What the update since the last look made of the client.
pub fn moves(s: &mut Script) -> Option<bool> {
    let moves = |event| match event {
        Event::Rebalanced { moves } => Some(moves),
        _ => None,
    };
    s.events().into_iter().find_map(moves)
}

/// A client that moves, or stays, when the list grows like this; and its own.
///
/// # Panics
///
/// If there is none.
#[must_use]
pub fn grown(config: &ConfigBuilder, old: &[&str], new: &[&str], wants: bool) -> (Script, usize) {
    for seed in 0..100 {
        let (mut s, own) = connected(config.clone(), old, seed);
        s.at(10).set_nodes(new);
        if moves(&mut s) == Some(wants) {
            return (s, own);
        }
    }
    panic!("a client in a hundred does");
}

/// The one node that was dialled, among other things.
///
/// # Panics
///
/// If it was not one.
#[track_caller]
#[must_use]
pub fn dial_among(lines: &[String]) -> usize {
    let dials = lines
        .iter()
        .filter_map(|line| line.strip_prefix("connect n"));
    let dials: Vec<usize> = dials.map(|node| node.parse().expect("a node")).collect();
    assert_eq!(dials.len(), 1, "{lines:?}");
    dials[0]
}
