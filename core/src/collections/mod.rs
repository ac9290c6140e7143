//! The few containers that the core needs: deterministic, and without an allocation once warm.

mod deadlines;
mod heap;
mod list;
mod serial_map;
mod slab;

pub(crate) use deadlines::{DeadlineLinks, DeadlineQueues};
pub(crate) use heap::{Heap, IndexedHeap, Positions};
pub(crate) use list::{Links, List};
pub(crate) use serial_map::SerialMap;
pub(crate) use slab::Slab;

/// No index: the end of a list, an empty place.
pub(crate) const NONE: u32 = u32::MAX;
