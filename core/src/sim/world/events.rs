//! What is going to happen, by time.

use core::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::{LinkId, Owner};
use crate::{ConnectError, Instant};

/// Something that is going to happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Due {
    /// A fault begins.
    Begins(usize),
    /// A fault is over.
    Ends(usize),
    /// A dial reaches its server, after so many that were lost.
    Dialled(LinkId, u32),
    /// The answer to a dial reaches the client.
    DialEnds(LinkId, Option<ConnectError>),
    /// Bytes, or the end, reach the server.
    ToServer(LinkId),
    /// Bytes, or the end, reach the client.
    ToClient(LinkId),
    /// The client learns that there is room for more bytes.
    Room(LinkId),
    /// Whether what a client sent has not reached the server for too long.
    Unacknowledged(LinkId),
    /// An answer of the server is ready.
    Answer(LinkId),
    /// A server that drains hangs up.
    HangUp(u32),
    /// A look-up is answered.
    Named(Owner, u64, u32),
    /// A list is answered.
    Listed(Owner, u64),
    /// An owner's time has come.
    Time(Owner, u64),
    /// The clients' machine wakes up.
    Wakes,
}

/// The future, in the order of time; at one time in the order in which it was decided, save that
/// owners' times come first or last by chance.
#[derive(Debug, Default)]
pub(super) struct Events {
    heap: BinaryHeap<Reverse<Entry>>,
    added: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    at: Instant,
    order: u64,
    due: Due,
}

/// Before, among or after what else happens at that time.
#[derive(Clone, Copy, Debug)]
pub(super) enum Turn {
    First,
    Usual,
    Last,
}

impl Events {
    pub(super) fn add(&mut self, at: Instant, due: Due) {
        self.add_in_turn(at, due, Turn::Usual);
    }

    pub(super) fn add_in_turn(&mut self, at: Instant, due: Due, turn: Turn) {
        let order = self.added | (turn as u64) << 62;
        self.added += 1;
        self.heap.push(Reverse(Entry { at, order, due }));
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse(entry)| entry.at)
    }

    pub(super) fn take(&mut self) -> Option<(Instant, Due)> {
        let Reverse(entry) = self.heap.pop()?;
        Some((entry.at, entry.due))
    }
}

impl Entry {
    const fn key(&self) -> (Instant, u64) {
        (self.at, self.order)
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}
