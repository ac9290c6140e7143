//! Lists whose links lie in one table, so that an item can be taken out of the middle.

use alloc::vec::Vec;

use super::NONE;

/// The links of all items, by id. An id is in at most one of the lists over one table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Links(Vec<Link>);

#[derive(Clone, Copy, Debug)]
struct Link {
    previous: u32,
    next: u32,
}

impl Links {
    pub(crate) fn next(&self, id: u32) -> Option<u32> {
        some(self.0[id as usize].next)
    }
}

/// Items in the order in which they were added.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    first: u32,
    last: u32,
}

impl List {
    pub(crate) const EMPTY: Self = Self {
        first: NONE,
        last: NONE,
    };

    pub(crate) fn first(&self) -> Option<u32> {
        some(self.first)
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.first == NONE
    }

    /// All items, in order.
    pub(crate) fn iter(self, links: &Links) -> impl Iterator<Item = u32> {
        core::iter::successors(self.first(), |&id| links.next(id))
    }

    pub(crate) fn push(&mut self, links: &mut Links, id: u32) {
        let link = Link {
            previous: self.last,
            next: NONE,
        };
        if links.0.len() <= id as usize {
            links.0.resize(id as usize + 1, link);
        }
        links.0[id as usize] = link;
        match some(self.last) {
            Some(last) => links.0[last as usize].next = id,
            None => self.first = id,
        }
        self.last = id;
    }

    /// Takes out an item that is in this list.
    pub(crate) fn remove(&mut self, links: &mut Links, id: u32) {
        let Link { previous, next } = links.0[id as usize];
        match some(previous) {
            Some(previous) => links.0[previous as usize].next = next,
            None => self.first = next,
        }
        match some(next) {
            Some(next) => links.0[next as usize].previous = previous,
            None => self.last = previous,
        }
    }
}

fn some(id: u32) -> Option<u32> {
    (id != NONE).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_leave_from_the_front_the_middle_and_the_end() {
        let (mut list, mut links) = (List::EMPTY, Links::default());
        for id in [4, 2, 7, 1] {
            list.push(&mut links, id);
        }
        let items = |list: List, links: &Links| list.iter(links).collect::<Vec<_>>();
        for (removed, left) in [(2, &[4, 7, 1][..]), (4, &[7, 1]), (1, &[7]), (7, &[])] {
            list.remove(&mut links, removed);
            assert_eq!(items(list, &links), left);
        }
        list.push(&mut links, 2);
        assert_eq!(items(list, &links), [2]);
    }
}
