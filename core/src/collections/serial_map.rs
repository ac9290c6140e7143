//! From a connection's serials to its flights.

use alloc::{vec, vec::Vec};

use super::NONE;

/// A hash table with open addressing, never iterated. It holds the flights alone: whoever asks says
/// which serial a flight has. Serials rise by one and are scattered, because a removal looks at all
/// neighbours up to the next free place.
#[derive(Clone, Debug, Default)]
pub(crate) struct SerialMap {
    /// None or a power of two, at most three quarters of them taken. Free: `NONE`.
    places: Vec<u32>,
    len: usize,
}

impl SerialMap {
    /// The flight with this serial.
    #[inline]
    pub(crate) fn get(&self, serial: u32, serial_of: impl Fn(u32) -> u32) -> Option<u32> {
        let mask = self.places.len().checked_sub(1)?;
        let mut place = self.home(serial);
        loop {
            match self.places[place & mask] {
                NONE => return None,
                flight if serial_of(flight) == serial => return Some(flight),
                _ => place += 1,
            }
        }
    }

    /// Adds a flight; no other has its serial.
    #[inline]
    pub(crate) fn insert(&mut self, flight: u32, serial_of: impl Fn(u32) -> u32) {
        if (self.len + 1) * 4 > self.places.len() * 3 {
            self.grow(&serial_of);
        }
        self.len += 1;
        self.put(serial_of(flight), flight);
    }

    /// Takes out a flight that is in the map.
    #[inline]
    pub(crate) fn remove(&mut self, flight: u32, serial_of: impl Fn(u32) -> u32) {
        let mask = self.places.len() - 1;
        let mut hole = self.home(serial_of(flight));
        while self.places[hole] != flight {
            hole = (hole + 1) & mask;
        }
        self.len -= 1;
        let mut place = hole;
        // Whoever was pushed past the hole moves back, so that no search stops there too early.
        loop {
            place = (place + 1) & mask;
            let other = self.places[place];
            if other == NONE {
                break;
            }
            let home = self.home(serial_of(other));
            if (place.wrapping_sub(home) & mask) >= (place.wrapping_sub(hole) & mask) {
                self.places[hole] = other;
                hole = place;
            }
        }
        self.places[hole] = NONE;
    }

    fn put(&mut self, serial: u32, flight: u32) {
        let mask = self.places.len() - 1;
        let mut place = self.home(serial);
        while self.places[place] != NONE {
            place = (place + 1) & mask;
        }
        self.places[place] = flight;
    }

    /// Where `serial` belongs: multiplied with 2³² / φ neighbours come far apart and evenly.
    #[inline]
    fn home(&self, serial: u32) -> usize {
        let scattered = u64::from(serial.wrapping_mul(0x9e37_79b1));
        ((scattered * self.places.len() as u64) >> 32) as usize
    }

    #[cold]
    fn grow(&mut self, serial_of: &impl Fn(u32) -> u32) {
        let places = vec![NONE; (self.places.len() * 2).max(8)];
        for flight in core::mem::replace(&mut self.places, places) {
            if flight != NONE {
                self.put(serial_of(flight), flight);
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
        let mut serials: Vec<u32> = Vec::new();
        let mut serial = u32::MAX - 3_000;
        for flight in 0..10_000_u32 {
            serials.push(serial);
            let serial_of = |flight| serials[flight as usize];
            if rng.below(2) == 0 && model.len() < 100 {
                map.insert(flight, serial_of);
                model.insert(serial, flight);
            } else if let Some((&key, &value)) =
                model.iter().nth(rng.below(model.len() as u64) as usize)
            {
                map.remove(value, serial_of);
                model.remove(&key);
                assert_eq!(map.get(key, serial_of), None);
            }
            for (&key, &value) in &model {
                assert_eq!(map.get(key, serial_of), Some(value));
            }
            assert_eq!(map.len, model.len());
            serial = serial.wrapping_add(1 + rng.below(40) as u32);
        }
    }
}
