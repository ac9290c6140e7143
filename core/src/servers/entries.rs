//! The distinct entries of a list (SEMANTICS 7.1, 7.6).

use alloc::vec::Vec;

use super::{hash_endpoint, hash_key};
use crate::{NodeSpec, SetNodesError};

/// Which entries of a list still wait to become nodes. Kept between updates, so that it need not be
/// allocated for each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entries {
    open: Vec<bool>,
    distinct: usize,
    /// Hashes and entries, sorted.
    sorted: Vec<(u64, u32)>,
    /// Of the entries with one hash, the first of each endpoint, and whether one of them has no key.
    endpoints: Vec<(u32, bool)>,
}

impl Entries {
    /// Opens each entry that equals no earlier one: by key if both have one, else by endpoint.
    pub(super) fn find_distinct(&mut self, list: &[NodeSpec]) -> Result<(), SetNodesError> {
        self.open.clear();
        self.open.resize(list.len(), true);
        self.close_equal_keys(list)?;
        self.close_equal_endpoints(list);
        self.distinct = self.open.iter().filter(|&&open| open).count();
        Ok(())
    }

    pub(super) const fn distinct(&self) -> usize {
        self.distinct
    }

    pub(super) fn is_open(&self, entry: usize) -> bool {
        self.open[entry]
    }

    pub(super) fn close(&mut self, entry: usize) {
        self.open[entry] = false;
    }

    /// A key has one endpoint; the first entry of each counts.
    fn close_equal_keys(&mut self, list: &[NodeSpec]) -> Result<(), SetNodesError> {
        let keyed = (0..)
            .zip(list)
            .filter_map(|(entry, spec)| Some((entry, spec.key.as_deref()?)));
        self.sorted.clear();
        self.sorted
            .extend(keyed.map(|(entry, key)| (hash_key(key), entry)));
        self.sorted.sort_unstable();
        let mut contradiction: Option<(usize, usize)> = None;
        for same_hash in self.sorted.chunk_by(|a, b| a.0 == b.0) {
            for (i, &(_, entry)) in same_hash.iter().enumerate() {
                let spec = &list[entry as usize];
                let mut earlier = same_hash[..i].iter().map(|&(_, first)| first as usize);
                let Some(first) = earlier.find(|&first| list[first].key == spec.key) else {
                    continue;
                };
                self.open[entry as usize] = false;
                let found = (entry as usize, first);
                if list[first].endpoint != spec.endpoint
                    && contradiction.is_none_or(|known| found < known)
                {
                    contradiction = Some(found);
                }
            }
        }
        match contradiction {
            None => Ok(()),
            Some((second, first)) => Err(SetNodesError::DuplicateKey { first, second }),
        }
    }

    /// Entries with one endpoint are one unless both have a key.
    fn close_equal_endpoints(&mut self, list: &[NodeSpec]) {
        let entries = (0..).zip(list);
        self.sorted.clear();
        self.sorted
            .extend(entries.map(|(entry, spec)| (hash_endpoint(&spec.endpoint), entry)));
        self.sorted.sort_unstable();
        for same_hash in self.sorted.chunk_by(|a, b| a.0 == b.0) {
            self.endpoints.clear();
            for &(_, entry) in same_hash {
                let spec = &list[entry as usize];
                if !self.open[entry as usize] {
                    continue;
                }
                let mut known = self.endpoints.iter_mut();
                let known =
                    known.find(|(first, _)| list[*first as usize].endpoint == spec.endpoint);
                match known {
                    Some((_, keyless)) => {
                        self.open[entry as usize] = !*keyless && spec.key.is_some();
                    }
                    None => self.endpoints.push((entry, spec.key.is_none())),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distinct(list: &[&str]) -> Result<Vec<usize>, SetNodesError> {
        let parse = |text: &&str| match text.split_once('=') {
            Some((key, endpoint)) => endpoint.parse::<NodeSpec>().unwrap().with_key(key),
            None => text.parse().unwrap(),
        };
        let list: Vec<NodeSpec> = list.iter().map(parse).collect();
        let mut entries = Entries::default();
        entries.find_distinct(&list)?;
        Ok((0..list.len())
            .filter(|&entry| entries.is_open(entry))
            .collect())
    }

    #[test]
    fn entries_are_one_by_key_or_by_endpoint() {
        let cases: &[(&[&str], &[usize])] = &[
            (&["a:1", "A:1", "a:2"], &[0, 2]),
            (&["x=a:1", "x=a:1", "y=a:1"], &[0, 2]),
            (&["x=a:1", "a:1", "y=a:1"], &[0, 2]),
            (&["a:1", "x=a:1", "y=a:1"], &[0]),
            (&["x=a:1", "y=b:1", "b:1", "c:1"], &[0, 1, 3]),
        ];
        for (list, expected) in cases {
            assert_eq!(distinct(list).unwrap(), *expected, "{list:?}");
        }
    }

    #[test]
    fn a_key_with_two_endpoints_is_told_by_the_first_two_entries_that_contradict() {
        let lists: [(&[&str], usize, usize); 3] = [
            (&["x=a:1", "y=b:1", "x=b:1"], 0, 2),
            (&["a:1", "x=a:1", "x=b:1", "x=c:1"], 1, 2),
            (&["z=a:1", "y=a:1", "y=b:1", "z=b:1"], 1, 2),
        ];
        for (list, first, second) in lists {
            let error = SetNodesError::DuplicateKey { first, second };
            assert_eq!(distinct(list), Err(error), "{list:?}");
        }
    }
}
