//! [`Table`]: what belongs to an id of the core, in the id's own slot.

use alloc::vec::Vec;

use crate::{ConnectionId, RequestId};

/// Values by id. A slot is used again with its index; a stale id finds nothing.
#[derive(Clone, Debug)]
pub(super) struct Table<I, T> {
    slots: Vec<Option<(I, T)>>,
}

impl<I: Id, T> Table<I, T> {
    pub(super) const fn new() -> Self {
        Self { slots: Vec::new() }
    }

    pub(super) fn get(&self, id: I) -> Option<&T> {
        match self.slots.get(id.index())? {
            Some((owner, value)) if *owner == id => Some(value),
            _ => None,
        }
    }

    pub(super) fn get_mut(&mut self, id: I) -> Option<&mut T> {
        match self.slots.get_mut(id.index())? {
            Some((owner, value)) if *owner == id => Some(value),
            _ => None,
        }
    }

    /// Puts a value in its slot. What an older id may have left there is dropped.
    pub(super) fn insert(&mut self, id: I, value: T) {
        if self.slots.len() <= id.index() {
            self.slots.resize_with(id.index() + 1, || None);
        }
        self.slots[id.index()] = Some((id, value));
    }

    pub(super) fn remove(&mut self, id: I) -> Option<T> {
        let slot = self.slots.get_mut(id.index())?;
        slot.take_if(|(owner, _)| *owner == id)
            .map(|(_, value)| value)
    }
}

/// An id with a slot.
pub(super) trait Id: Copy + Eq {
    fn index(self) -> usize;
}

impl Id for RequestId {
    fn index(self) -> usize {
        Self::index(self)
    }
}

impl Id for ConnectionId {
    fn index(self) -> usize {
        Self::index(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(index: u32, generation: u32) -> RequestId {
        RequestId { index, generation }
    }

    #[test]
    fn a_stale_id_finds_nothing_and_takes_nothing() {
        let mut table = Table::new();
        table.insert(id(3, 0), "old");
        table.insert(id(3, 1), "new");
        for stale in [id(3, 0), id(2, 0), id(9, 0)] {
            assert_eq!(table.get(stale), None);
            assert_eq!(table.get_mut(stale), None);
            assert_eq!(table.remove(stale), None);
        }
        assert_eq!(table.get_mut(id(3, 1)), Some(&mut "new"));
        assert_eq!(table.remove(id(3, 1)), Some("new"));
        assert_eq!(table.get(id(3, 1)), None);
    }
}
