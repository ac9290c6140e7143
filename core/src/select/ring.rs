//! Nodes in turn, for `RoundRobin`.

use alloc::vec::Vec;

use crate::{cluster::Digest, collections::IndexedHeap};

/// The node that was chosen longest ago comes next, so one that was away does not lose its turn.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    nodes: IndexedHeap<(u64, u32)>,
    /// When each node was chosen last, by node.
    turns: Vec<u64>,
    turn: u64,
}

impl Ring {
    pub(super) const fn new() -> Self {
        Self {
            nodes: IndexedHeap::new(),
            turns: Vec::new(),
            turn: 0,
        }
    }

    /// Who was chosen after whom, also of those that are away.
    pub(super) fn digest(&self, to: &mut Digest<'_>) {
        let Self {
            // All whose standings are known.
            nodes: _,
            turns,
            turn: _,
        } = self;
        let turns = turns.iter().zip(0_u32..);
        let mut order: Vec<_> = turns.filter(|(turn, _)| **turn > 0).collect();
        order.sort_unstable();
        to.all(order.iter(), |to, (_, node)| to.add(node));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub(super) fn insert(&mut self, node: u32) {
        if self.turns.len() <= node as usize {
            self.turns.resize(node as usize + 1, 0);
        }
        self.nodes.set((self.turns[node as usize], node), node);
    }

    pub(super) fn remove(&mut self, node: u32) {
        self.nodes.remove(node);
    }

    pub(super) fn pick(&self) -> Option<u32> {
        self.nodes.peek().map(|(_, node)| node)
    }

    /// The node has had its turn.
    pub(super) fn chosen(&mut self, node: u32) {
        self.turn += 1;
        if self.turns.len() <= node as usize {
            self.turns.resize(node as usize + 1, 0);
        }
        self.turns[node as usize] = self.turn;
        if self.nodes.contains(node) {
            self.nodes.set((self.turn, node), node);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_come_in_turn_and_one_that_was_away_comes_next() {
        let mut ring = Ring::new();
        for node in 0..3 {
            ring.insert(node);
        }
        let turn = |ring: &mut Ring| {
            let node = ring.pick().unwrap();
            ring.chosen(node);
            node
        };
        let pick = |ring: &mut Ring, n| (0..n).map(|_| turn(ring)).collect::<Vec<_>>();
        assert_eq!(pick(&mut ring, 5), [0, 1, 2, 0, 1]);
        ring.remove(2);
        assert_eq!(pick(&mut ring, 3), [0, 1, 0]);
        ring.insert(2);
        assert_eq!(pick(&mut ring, 4), [2, 1, 0, 2]);
    }
}
