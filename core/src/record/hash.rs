//! A hash that is fixed for ever: FNV-1a of 64 bits.

use alloc::string::String;
use core::fmt;
use std::io;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// The hash of all that was added.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Hash(pub(crate) u64);

impl Hash {
    pub(crate) const EMPTY: Self = Self(0xcbf2_9ce4_8422_2325);

    /// Adds a value, as JSON and a line's end, so that no two sequences of values are one text.
    pub(crate) fn add(&mut self, value: &impl Serialize) {
        serde_json::to_writer(&mut *self, value).expect("ids, numbers and text are JSON");
        self.add_bytes(b"\n");
    }

    pub(crate) fn add_bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

impl io::Write for Hash {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.add_bytes(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// As text: many readers of JSON round large numbers.
impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let number = u64::from_str_radix(&text, 16);
        number.map(Self).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_fnv_1a() {
        let mut hash = Hash::EMPTY;
        hash.add_bytes(b"foobar"); // From the authors' test vectors.
        assert_eq!(hash.to_string(), "85944171f73967e8");
    }
}
