//! Nodes in buckets by load, for `LeastLoaded`.

use alloc::vec::Vec;

use crate::{cluster::Digest, collections::NONE, rng::Rng};

#[derive(Clone, Debug, Default)]
pub(super) struct LoadBuckets {
    /// By load: which of `lists` has the nodes with that load, or `NONE`.
    buckets: Vec<u32>,
    lists: Vec<Vec<u32>>,
    /// Lists of no bucket; they are empty.
    free: Vec<u32>,
    /// One bit a bucket: it has a list. One bit a word of these in `summary`.
    occupied: Vec<u64>,
    summary: Vec<u64>,
    /// Load and position in the list, by node.
    places: Vec<(u32, u32)>,
    len: usize,
}

impl LoadBuckets {
    /// The order of the nodes with one load, among which the pick is drawn.
    pub(super) fn digest(&self, to: &mut Digest<'_>) {
        let Self {
            buckets,
            lists,
            free: _,
            occupied: _,
            summary: _,
            places: _,
            len: _,
        } = self;
        let taken = buckets.iter().filter(|&&list| list != NONE);
        to.all(taken, |to, &list| to.add(&lists[list as usize]));
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn insert(&mut self, node: u32, load: u32) {
        if self.places.len() <= node as usize {
            self.places.resize(node as usize + 1, (0, 0));
        }
        self.put_in(node, load);
        self.len += 1;
    }

    /// Takes out a node that is in.
    pub(super) fn remove(&mut self, node: u32) {
        self.take_out(node);
        self.len -= 1;
    }

    /// The load of a node that is in has changed.
    pub(super) fn set_load(&mut self, node: u32, load: u32) {
        self.take_out(node);
        self.put_in(node, load);
    }

    #[inline]
    fn put_in(&mut self, node: u32, load: u32) {
        let list = match self.buckets.get(load as usize) {
            Some(&list) if list != NONE => list,
            _ => self.open(load as usize),
        };
        let nodes = &mut self.lists[list as usize];
        self.places[node as usize] = (load, nodes.len() as u32);
        nodes.push(node);
    }

    #[inline]
    fn take_out(&mut self, node: u32) {
        let (load, position) = self.places[node as usize];
        let list = self.buckets[load as usize];
        let nodes = &mut self.lists[list as usize];
        nodes.swap_remove(position as usize);
        if let Some(&moved) = nodes.get(position as usize) {
            self.places[moved as usize].1 = position;
        }
        if nodes.is_empty() {
            self.close(load as usize, list);
        }
    }

    /// Gives the bucket a list.
    #[inline]
    fn open(&mut self, bucket: usize) -> u32 {
        if self.buckets.len() <= bucket {
            self.buckets.resize(bucket + 1, NONE);
            self.occupied.resize(bucket / 64 + 1, 0);
            self.summary.resize(bucket / (64 * 64) + 1, 0);
        }
        let list = self.free.pop().unwrap_or_else(|| {
            self.lists.push(Vec::new());
            self.lists.len() as u32 - 1
        });
        self.buckets[bucket] = list;
        self.occupied[bucket / 64] |= 1 << (bucket % 64);
        self.summary[bucket / (64 * 64)] |= 1 << (bucket / 64 % 64);
        list
    }

    #[inline]
    fn close(&mut self, bucket: usize, list: u32) {
        self.buckets[bucket] = NONE;
        self.free.push(list);
        self.occupied[bucket / 64] &= !(1 << (bucket % 64));
        if self.occupied[bucket / 64] == 0 {
            self.summary[bucket / (64 * 64)] &= !(1 << (bucket / 64 % 64));
        }
    }

    /// One of the nodes with the least load, each with the same chance.
    pub(super) fn pick(&self, rng: &mut Rng) -> Option<u32> {
        let first = |words: &[u64]| {
            let word = words.iter().position(|&word| word != 0)?;
            Some(word * 64 + words[word].trailing_zeros() as usize)
        };
        let word = first(&self.summary)?;
        let bucket = word * 64 + self.occupied[word].trailing_zeros() as usize;
        let nodes = &self.lists[self.buckets[bucket] as usize];
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
    fn a_load_is_found_however_large_the_first_is() {
        for load in [0, 63, 64, 4_095, 4_096, 5_000, 65_536] {
            let mut buckets = LoadBuckets::default();
            buckets.insert(0, load);
            let picked = buckets.pick(&mut Rng::new(6, Purpose::Selection, 0));
            assert_eq!(picked, Some(0), "{load}");
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
