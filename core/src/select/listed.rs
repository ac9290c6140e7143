//! Nodes in a plain list, for `PowerOfTwoChoices` and for policies of the user's own.

use alloc::vec::Vec;

use crate::{cluster::Digest, rng::Rng};

#[derive(Clone, Debug, Default)]
pub(super) struct Listed {
    nodes: Vec<u32>,
    /// Position in the list and load, by node.
    places: Vec<(u32, u32)>,
}

impl Listed {
    pub(super) fn digest(&self, to: &mut Digest<'_>) {
        let Self { nodes, places: _ } = self;
        to.add(nodes);
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub(super) fn insert(&mut self, node: u32, load: u32) {
        if self.places.len() <= node as usize {
            self.places.resize(node as usize + 1, (0, 0));
        }
        self.places[node as usize] = (self.nodes.len() as u32, load);
        self.nodes.push(node);
    }

    /// The load of a node that is in has changed.
    pub(super) fn set_load(&mut self, node: u32, load: u32) {
        self.places[node as usize].1 = load;
    }

    /// Takes out a node that is in.
    pub(super) fn remove(&mut self, node: u32) {
        let (position, _) = self.places[node as usize];
        self.nodes.swap_remove(position as usize);
        if let Some(&moved) = self.nodes.get(position as usize) {
            self.places[moved as usize].0 = position;
        }
    }

    /// The less loaded of two distinct nodes drawn at random, the first drawn if they are equal.
    pub(super) fn two_choices(&self, rng: &mut Rng) -> Option<u32> {
        let first = rng.below(self.nodes.len() as u64) as usize;
        let one = *self.nodes.get(first)?;
        let others = self.nodes.len() as u64 - 1;
        if others == 0 {
            return Some(one);
        }
        let second = (first as u64 + 1 + rng.below(others)) % (others + 1);
        let two = self.nodes[second as usize];
        Some(if self.load(two) < self.load(one) {
            two
        } else {
            one
        })
    }

    /// All nodes and their loads, by rising index of the node.
    pub(super) fn sorted(&self) -> Vec<(u32, u32)> {
        let nodes = self.nodes.iter();
        let mut sorted: Vec<_> = nodes.map(|&node| (node, self.load(node))).collect();
        sorted.sort_unstable();
        sorted
    }

    fn load(&self, node: u32) -> u32 {
        self.places[node as usize].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Purpose;

    #[test]
    fn the_most_loaded_of_three_is_never_chosen_and_the_others_by_their_chances() {
        let mut listed = Listed::default();
        for (node, load) in [(7, 3), (2, 0), (5, 1)] {
            listed.insert(node, load);
        }
        let mut rng = Rng::new(6, Purpose::Selection, 0);
        let mut counts = [0_u32; 8];
        for _ in 0..30_000 {
            counts[listed.two_choices(&mut rng).unwrap() as usize] += 1;
        }
        // Node 2 wins unless it is not drawn: 2/3. Five standard deviations are 408.
        assert!(counts[2].abs_diff(20_000) < 408 && counts[5].abs_diff(10_000) < 408);
        assert_eq!(counts[7], 0);
    }

    #[test]
    fn one_node_is_chosen_and_none_is_no_choice() {
        let (mut listed, mut rng) = (Listed::default(), Rng::new(1, Purpose::Selection, 0));
        assert_eq!(listed.two_choices(&mut rng), None);
        listed.insert(4, 9);
        assert_eq!(listed.two_choices(&mut rng), Some(4));
        listed.remove(4);
        assert!(listed.is_empty());
    }
}
