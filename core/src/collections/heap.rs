//! A binary heap that knows where its items are, so that any of them can be taken out.

use alloc::vec::Vec;

use super::NONE;

/// Where each item, by its id, is in its heap. One table can serve several heaps as long as an id
/// is in at most one of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Positions(Vec<u32>);

impl Positions {
    fn of(&self, id: u32) -> Option<usize> {
        let position = *self.0.get(id as usize)?;
        (position != NONE).then_some(position as usize)
    }

    /// Makes room for an item that may be new.
    fn grow_to(&mut self, id: u32) {
        if self.0.len() <= id as usize {
            self.0.resize(id as usize + 1, NONE);
        }
    }

    pub(crate) fn contains(&self, id: u32) -> bool {
        self.of(id).is_some()
    }
}

/// Children a parent: four are on one or two cache lines, and the heap is half as deep as with two.
const ARITY: usize = 4;

/// A min-heap of ids by key, over a shared table of positions.
#[derive(Clone, Debug)]
pub(crate) struct Heap<K> {
    items: Vec<(K, u32)>,
}

impl<K: Ord + Copy> Heap<K> {
    pub(crate) const fn new() -> Self {
        Self { items: Vec::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The item with the smallest key.
    pub(crate) fn peek(&self) -> Option<(K, u32)> {
        self.items.first().copied()
    }

    /// All items, in no particular (but a deterministic) order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (K, u32)> {
        self.items.iter().copied()
    }

    pub(crate) fn push(&mut self, positions: &mut Positions, key: K, id: u32) {
        debug_assert!(!positions.contains(id), "an item is in one heap at most");
        positions.grow_to(id);
        self.items.push((key, id));
        self.rise(positions, self.items.len() - 1);
    }

    /// Takes out an item that is in this heap.
    pub(crate) fn remove(&mut self, positions: &mut Positions, id: u32) -> Option<K> {
        let position = positions.of(id)?;
        positions.0[id as usize] = NONE;
        let (key, removed) = self.items.swap_remove(position);
        debug_assert_eq!(removed, id, "the item is in this heap");
        if let Some(&(moved, _)) = self.items.get(position) {
            match moved < key {
                true => self.rise(positions, position),
                false => self.sink(positions, position),
            }
        }
        Some(key)
    }

    /// Moves an item up to where no parent is greater.
    fn rise(&mut self, positions: &mut Positions, mut position: usize) {
        let item = self.items[position];
        while position > 0 {
            let parent = (position - 1) / ARITY;
            if self.items[parent].0 <= item.0 {
                break;
            }
            self.put(positions, position, self.items[parent]);
            position = parent;
        }
        self.put(positions, position, item);
    }

    /// Moves an item down to where no child is smaller.
    fn sink(&mut self, positions: &mut Positions, mut position: usize) {
        let item = self.items[position];
        loop {
            let first = position * ARITY + 1;
            let end = (first + ARITY).min(self.items.len());
            let Some(children) = self.items.get(first..end) else {
                break;
            };
            let (mut least, mut place) = (item.0, position);
            for (child, &(key, _)) in (first..).zip(children) {
                if key < least {
                    (least, place) = (key, child);
                }
            }
            if place == position {
                break;
            }
            self.put(positions, position, self.items[place]);
            position = place;
        }
        self.put(positions, position, item);
    }

    fn put(&mut self, positions: &mut Positions, position: usize, item: (K, u32)) {
        self.items[position] = item;
        positions.0[item.1 as usize] = position as u32;
    }
}

/// A min-heap with its own table of positions.
#[derive(Clone, Debug)]
pub(crate) struct IndexedHeap<K> {
    heap: Heap<K>,
    positions: Positions,
}

impl<K: Ord + Copy> IndexedHeap<K> {
    pub(crate) const fn new() -> Self {
        Self {
            heap: Heap::new(),
            positions: Positions(Vec::new()),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.heap.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    pub(crate) fn contains(&self, id: u32) -> bool {
        self.positions.contains(id)
    }

    /// The key of an item that is in the heap.
    pub(crate) fn key(&self, id: u32) -> Option<K> {
        Some(self.heap.items[self.positions.of(id)?].0)
    }

    pub(crate) fn peek(&self) -> Option<(K, u32)> {
        self.heap.peek()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (K, u32)> {
        self.heap.iter()
    }

    /// All items, by rising id: with distinct keys they tell all that matters.
    pub(crate) fn by_id(&self) -> impl Iterator<Item = (u32, K)> {
        let positions = (0..).zip(&self.positions.0);
        positions.filter_map(|(id, &position)| {
            let (key, _) = self.heap.items.get(position as usize)?;
            Some((id, *key))
        })
    }

    /// Adds an item, or moves it to its new key.
    pub(crate) fn set(&mut self, key: K, id: u32) {
        let Some(position) = self.positions.of(id) else {
            return self.heap.push(&mut self.positions, key, id);
        };
        let old = core::mem::replace(&mut self.heap.items[position].0, key);
        match key < old {
            true => self.heap.rise(&mut self.positions, position),
            false => self.heap.sink(&mut self.positions, position),
        }
    }

    pub(crate) fn remove(&mut self, id: u32) -> Option<K> {
        self.heap.remove(&mut self.positions, id)
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;

    use super::*;
    use crate::rng::{Purpose, Rng};

    #[test]
    fn the_heap_does_what_a_sorted_map_does() {
        let mut rng = Rng::new(1, Purpose::Selection, 0);
        let (mut heap, mut model) = (IndexedHeap::new(), BTreeMap::new());
        for step in 0..20_000 {
            let id = rng.below(200) as u32;
            if rng.below(3) > 0 {
                let key = (rng.below(50), step);
                heap.set(key, id);
                model.retain(|_, other| *other != id);
                model.insert(key, id);
            } else {
                let known = model.iter().find(|(_, other)| **other == id);
                let key = known.map(|(key, _)| *key);
                assert_eq!(heap.remove(id), key);
                key.map(|key| model.remove(&key));
            }
            assert_eq!(heap.peek(), model.first_key_value().map(|(k, v)| (*k, *v)));
            assert_eq!(heap.len(), model.len());
        }
    }
}
