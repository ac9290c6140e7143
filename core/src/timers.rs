//! One index for all deadlines: exact, with eager deletion, ties in insertion order.

use alloc::vec::Vec;

use crate::{
    Instant,
    collections::{IndexedHeap, NONE},
};

/// What a timer is for, by the core's own indices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Timer {
    /// The setup deadline of an attempt, or its handshake's.
    Setup { attempt: u32 },
    /// The next address of an attempt's race.
    NextAddress { attempt: u32 },
    /// A wanted node's next-attempt time.
    NextAttempt { node: u32 },
    /// The next dial for requests that name no node, or for `Warm::AtLeast`.
    Dial,
    /// The end of a node's throttle.
    ThrottleEnd { node: u32 },
    /// The first deadline of the requests with one timeout.
    Request { class: u32 },
    /// The first request that reaches the queue's age limit.
    QueueAge,
    /// The first attempt deadline of the flights with one timeout on a connection.
    Attempt { connection: u32, class: u32 },
    /// The same for the shorter timeouts that give up one request alone.
    GiveUp { connection: u32, class: u32 },
    /// The end of a request's retry backoff.
    Retry { request: u32 },
    /// The transport must accept bytes by then.
    WriteStall { connection: u32 },
    /// A connection reaches its idle or age limit.
    Limit,
    /// A keepalive is due on a connection, or its answer is overdue.
    Keepalive { connection: u32 },
    /// An unhealthy connection is to be probed.
    Probe { connection: u32 },
    /// The session is over.
    Session,
    /// A detached connection is closed.
    Drain { connection: u32 },
    /// The shutdown's drain ends.
    Shutdown,
}

/// The owner's handle of one timer, armed or not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct TimerSlot(u32);

impl TimerSlot {
    pub(crate) const UNARMED: Self = Self(NONE);

    pub(crate) const fn is_armed(&self) -> bool {
        self.0 != NONE
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Timers {
    heap: IndexedHeap<Key>,
    timers: Vec<Timer>,
    free: Vec<u32>,
    armed: u64,
}

/// A deadline and, below it, the number of its arming: one number, because the heap compares keys
/// on every request's way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Key(u128);

impl Key {
    const fn new(at: Instant, armed: u64) -> Self {
        Self(((at.as_nanos() as u128) << 64) | armed as u128)
    }

    const fn at(self) -> Instant {
        Instant::from_nanos((self.0 >> 64) as u64)
    }
}

impl Timers {
    pub(crate) const fn new() -> Self {
        Self {
            heap: IndexedHeap::new(),
            timers: Vec::new(),
            free: Vec::new(),
            armed: 0,
        }
    }

    /// The earliest timer.
    pub(crate) fn peek(&self) -> Option<(Instant, Timer)> {
        let (key, slot) = self.heap.peek()?;
        Some((key.at(), self.timers[slot as usize]))
    }

    /// Arms the timer, or moves it. One that is armed for `at` already keeps its place;
    /// `Instant::MAX` disarms it.
    pub(crate) fn set(&mut self, slot: &mut TimerSlot, at: Instant, timer: Timer) {
        if at == Instant::MAX {
            return self.clear(slot);
        }
        if self.deadline(slot) == Some(at) {
            return;
        }
        if slot.0 == NONE {
            slot.0 = self.free.pop().unwrap_or(self.timers.len() as u32);
            if slot.0 as usize == self.timers.len() {
                self.timers.push(timer);
            }
        }
        self.timers[slot.0 as usize] = timer;
        self.armed += 1;
        self.heap.set(Key::new(at, self.armed), slot.0);
    }

    /// Moves a timer that is armed; does nothing to one that is not.
    pub(crate) fn rearm(&mut self, slot: &mut TimerSlot, at: Instant) {
        if at == Instant::MAX {
            self.clear(slot);
        } else if self.deadline(slot).is_some_and(|armed_for| armed_for != at) {
            self.armed += 1;
            self.heap.set(Key::new(at, self.armed), slot.0);
        }
    }

    pub(crate) fn clear(&mut self, slot: &mut TimerSlot) {
        if slot.0 != NONE {
            self.heap.remove(slot.0);
            self.free.push(slot.0);
            slot.0 = NONE;
        }
    }

    /// When the timer is due, if it is armed.
    pub(crate) fn deadline(&self, slot: &TimerSlot) -> Option<Instant> {
        self.heap.key(slot.0).map(Key::at)
    }

    /// All armed timers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Instant, Timer)> {
        let heap = self.heap.iter();
        heap.map(|(key, slot)| (key.at(), self.timers[slot as usize]))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    #[test]
    fn timers_come_by_time_and_then_in_the_order_in_which_they_were_armed() {
        let mut timers = Timers::new();
        let mut slots = [const { TimerSlot::UNARMED }; 4];
        for (node, due) in [(0, 5), (1, 3), (2, 5), (3, 3)] {
            let slot = &mut slots[node as usize];
            timers.set(slot, at(due), Timer::NextAttempt { node });
        }
        for (node, due) in [(1, 3), (3, 3), (0, 5), (2, 5)] {
            assert_eq!(timers.peek(), Some((at(due), Timer::NextAttempt { node })));
            timers.clear(&mut slots[node as usize]);
        }
        assert_eq!(timers.peek(), None);
    }

    #[test]
    fn a_timer_set_to_never_is_not_armed_and_its_slot_is_used_again() {
        let mut timers = Timers::new();
        let (mut a, mut b) = (TimerSlot::UNARMED, TimerSlot::UNARMED);
        timers.set(&mut a, at(1), Timer::Dial);
        timers.set(&mut a, Instant::MAX, Timer::Dial);
        assert_eq!((timers.peek(), timers.deadline(&a)), (None, None));
        timers.set(&mut b, at(2), Timer::Shutdown);
        assert_eq!(timers.peek(), Some((at(2), Timer::Shutdown)));
        assert_eq!(timers.timers.len(), 1);
    }
}
