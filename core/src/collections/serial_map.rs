//! From a connection's serials to its flights.

use alloc::{vec, vec::Vec};

use super::NONE;

/// A hash table with open addressing, never iterated. Serials rise by one and are scattered, because
/// a removal looks at all neighbours up to the next free place.
#[derive(Clone, Debug, Default)]
pub(crate) struct SerialMap {
    /// A power of two of places, at most half of them taken. Free: value `NONE`.
    places: Vec<(u32, u32)>,
    len: usize,
}

impl SerialMap {
    pub(crate) fn get(&self, serial: u32) -> Option<u32> {
        let place = self.find(serial)?;
        let (_, value) = self.places[place];
        (value != NONE).then_some(value)
    }

    /// Adds a serial that is not in the map.
    pub(crate) fn insert(&mut self, serial: u32, value: u32) {
        if (self.len + 1) * 2 > self.places.len() {
            self.grow();
        }
        if let Some(place) = self.find(serial) {
            debug_assert_eq!(self.places[place].1, NONE, "a serial is in the map once");
            self.places[place] = (serial, value);
            self.len += 1;
        }
    }

    pub(crate) fn remove(&mut self, serial: u32) {
        let Some(mut hole) = self
            .find(serial)
            .filter(|&place| self.places[place].1 != NONE)
        else {
            return;
        };
        self.len -= 1;
        let mask = self.places.len() - 1;
        let mut place = hole;
        // Whoever was pushed past the hole moves back, so that no search stops there too early.
        loop {
            self.places[hole].1 = NONE;
            loop {
                place = (place + 1) & mask;
                let (other, value) = self.places[place];
                if value == NONE {
                    return;
                }
                let home = self.home(other);
                if (place.wrapping_sub(home) & mask) >= (place.wrapping_sub(hole) & mask) {
                    break;
                }
            }
            self.places[hole] = self.places[place];
            hole = place;
        }
    }

    /// Where `serial` is, or the free place where it would go. `None` if there are no places.
    fn find(&self, serial: u32) -> Option<usize> {
        let mask = self.places.len().checked_sub(1)?;
        let mut place = self.home(serial);
        while self.places[place].1 != NONE && self.places[place].0 != serial {
            place = (place + 1) & mask;
        }
        Some(place)
    }

    /// Where `serial` belongs: multiplied with 2³² / φ neighbours come far apart and evenly.
    fn home(&self, serial: u32) -> usize {
        let scattered = u64::from(serial.wrapping_mul(0x9e37_79b1));
        ((scattered * self.places.len() as u64) >> 32) as usize
    }

    fn grow(&mut self) {
        let places = vec![(0, NONE); (self.places.len() * 2).max(8)];
        let old = core::mem::replace(&mut self.places, places);
        self.len = 0;
        for (serial, value) in old {
            if value != NONE {
                self.insert(serial, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;

    use super::*;
    use crate::rng::{Purpose, Rng};

    #[test]
    fn the_map_does_what_a_sorted_map_does_also_where_serials_wrap() {
        let mut rng = Rng::new(2, Purpose::Selection, 0);
        let (mut map, mut model) = (SerialMap::default(), BTreeMap::new());
        let mut serial = u32::MAX - 3_000;
        for step in 0..10_000_u32 {
            if rng.below(2) == 0 && model.len() < 100 {
                map.insert(serial, step);
                model.insert(serial, step);
                serial = serial.wrapping_add(1 + rng.below(40) as u32);
            } else if let Some((&key, _)) = model.iter().nth(rng.below(model.len() as u64) as usize)
            {
                map.remove(key);
                model.remove(&key);
                assert_eq!(map.get(key), None);
            }
            assert!(
                model
                    .iter()
                    .all(|(&key, &value)| map.get(key) == Some(value))
            );
            assert_eq!(map.len, model.len());
        }
    }
}
