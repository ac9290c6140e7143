//! Nodes in buckets by load, for `LeastLoaded`.

use alloc::vec::Vec;

use crate::rng::Rng;

#[derive(Clone, Debug, Default)]
pub(super) struct LoadBuckets {
    buckets: Vec<Vec<u32>>,
    /// One bit a bucket: it is not empty. One bit a word of these in `summary`.
    occupied: Vec<u64>,
    summary: Vec<u64>,
    /// Bucket and position in it, by node.
    places: Vec<(u32, u32)>,
    len: usize,
}

impl LoadBuckets {
    pub(super) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn insert(&mut self, node: u32, load: u32) {
        let bucket = load as usize;
        if self.buckets.len() <= bucket {
            self.buckets.resize(bucket + 1, Vec::new());
            self.occupied.resize(bucket / 64 + 1, 0);
            self.summary.resize(bucket / (64 * 64) + 1, 0);
        }
        if self.places.len() <= node as usize {
            self.places.resize(node as usize + 1, (0, 0));
        }
        let nodes = &mut self.buckets[bucket];
        self.places[node as usize] = (load, nodes.len() as u32);
        if nodes.is_empty() {
            self.occupied[bucket / 64] |= 1 << (bucket % 64);
            self.summary[bucket / (64 * 64)] |= 1 << (bucket / 64 % 64);
        }
        nodes.push(node);
        self.len += 1;
    }

    /// Takes out a node that is in.
    pub(super) fn remove(&mut self, node: u32) {
        let (bucket, position) = self.places[node as usize];
        let (bucket, position) = (bucket as usize, position as usize);
        let nodes = &mut self.buckets[bucket];
        nodes.swap_remove(position);
        if let Some(&moved) = nodes.get(position) {
            self.places[moved as usize].1 = position as u32;
        }
        if nodes.is_empty() {
            self.occupied[bucket / 64] &= !(1 << (bucket % 64));
            if self.occupied[bucket / 64] == 0 {
                self.summary[bucket / (64 * 64)] &= !(1 << (bucket / 64 % 64));
            }
        }
        self.len -= 1;
    }

    /// One of the nodes with the least load, each with the same chance.
    pub(super) fn pick(&self, rng: &mut Rng) -> Option<u32> {
        let first = |words: &[u64]| {
            let word = words.iter().position(|&word| word != 0)?;
            Some(word * 64 + words[word].trailing_zeros() as usize)
        };
        let word = first(&self.summary)?;
        let bucket = word * 64 + self.occupied[word].trailing_zeros() as usize;
        let nodes = &self.buckets[bucket];
        let choice = match nodes.len() {
            1 => 0,
            ties => rng.below(ties as u64) as usize,
        };
        Some(nodes[choice])
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::rng::Purpose;

    #[test]
    fn the_least_loaded_is_found_whatever_the_loads_are() {
        let mut rng = Rng::new(4, Purpose::Selection, 0);
        let (mut buckets, mut loads) = (LoadBuckets::default(), vec![None; 50]);
        for _ in 0..20_000 {
            let node = rng.below(50) as u32;
            if loads[node as usize].take().is_some() {
                buckets.remove(node);
            } else {
                let load = [rng.below(4), rng.below(70), rng.below(65_536)][rng.below(3) as usize];
                loads[node as usize] = Some(load);
                buckets.insert(node, load as u32);
            }
            let least = loads.iter().flatten().min();
            let picked = buckets.pick(&mut rng);
            assert_eq!(picked.and_then(|node| loads[node as usize]), least.copied());
        }
    }

    #[test]
    fn ties_are_drawn_evenly() {
        let mut buckets = LoadBuckets::default();
        for (node, load) in [(0, 2), (1, 1), (2, 1), (3, 1), (4, 7)] {
            buckets.insert(node, load);
        }
        let mut rng = Rng::new(5, Purpose::Selection, 0);
        let mut counts = [0; 5];
        for _ in 0..30_000 {
            counts[buckets.pick(&mut rng).unwrap() as usize] += 1;
        }
        // Five standard deviations of 30,000 draws with p = 1/3 are 408.
        assert!(
            counts[1..4]
                .iter()
                .all(|count: &i32| count.abs_diff(10_000) < 408)
        );
        assert_eq!((counts[0], counts[4]), (0, 0));
    }
}
