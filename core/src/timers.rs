//! One index for all deadlines: exact, with eager deletion, ties in insertion order.

use alloc::vec::Vec;

use crate::{
    Instant,
    cluster::Digest,
    collections::{IndexedHeap, NONE},
};

/// What a timer is for, by the core's own indices.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Timer {
    /// The setup deadline of an attempt, or its handshake's.
    Setup {
        attempt: u32,
    },
    /// The next address of an attempt's race.
    NextAddress {
        attempt: u32,
    },
    /// A wanted node's next-attempt time.
    NextAttempt {
        node: u32,
    },
    /// The next dial for requests that name no node, or for `Warm::AtLeast`.
    Dial,
    /// The end of a node's throttle.
    ThrottleEnd {
        node: u32,
    },
    /// The first deadline of the requests with one timeout.
    Request {
        class: u32,
    },
    /// The first request that reaches the queue's age limit.
    QueueAge,
    /// The first attempt deadline of the flights with one timeout.
    Attempt {
        class: u32,
    },
    /// The same for the shorter timeouts that give up one request alone.
    GiveUp {
        class: u32,
    },
    /// The same two on a connection that was throttled.
    OwnAttempt {
        connection: u32,
        class: u32,
    },
    OwnGiveUp {
        connection: u32,
        class: u32,
    },
    /// The end of a request's retry backoff.
    Retry {
        request: u32,
    },
    /// The first connection whose transport must accept bytes by then.
    WriteStall,
    /// A connection reaches its idle or age limit.
    Limit,
    /// A keepalive is due on a connection, or its answer is overdue.
    Keepalive {
        connection: u32,
    },
    /// An unhealthy connection is to be probed.
    Probe {
        connection: u32,
    },
    /// The session is over.
    Session,
    /// A move that keeps its old connection is given up.
    MoveEnds,
    /// A source is to be asked for the server list, or its answer is overdue.
    Refresh {
        source: u32,
    },
    /// The fallback nodes are to join the list.
    Rebootstrap,
    /// A detached connection is closed.
    Drain {
        connection: u32,
    },
    /// The shutdown's drain ends.
    Shutdown,
}

/// The owner's handle of one timer, armed or not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct TimerSlot(u32);

impl TimerSlot {
    pub(crate) const UNARMED: Self = Self(NONE);

    /// Slots for timers that move with almost every request.
    pub(crate) const REQUEST: Self = Self(0);
    pub(crate) const ATTEMPT: Self = Self(1);
    pub(crate) const WRITE_STALL: Self = Self(2);
    pub(crate) const LIMIT: Self = Self(3);

    /// Whether a timer of the heap is armed.
    pub(crate) const fn is_armed(&self) -> bool {
        self.0 != NONE
    }
}

/// How many slots have a fixed place.
const FREQUENT: usize = 4;

#[derive(Clone, Debug)]
pub(crate) struct Timers {
    /// The few that move with almost every request: looking at each costs less than to keep them in
    /// the heap's order.
    frequent: [(Key, Timer); FREQUENT],
    heap: IndexedHeap<Key>,
    timers: Vec<Timer>,
    free: Vec<u32>,
    armed: u64,
}

/// A deadline and, below it, the number of its arming: one number, because keys are compared on every
/// request's way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Key(u128);

impl Key {
    const NEVER: Self = Self(u128::MAX);

    const fn new(at: Instant, armed: u64) -> Self {
        Self(((at.as_nanos() as u128) << 64) | armed as u128)
    }

    const fn at(self) -> Instant {
        Instant::from_nanos((self.0 >> 64) as u64)
    }
}

impl Timers {
    pub(crate) fn new() -> Self {
        Self {
            frequent: [(Key::NEVER, Timer::Dial); FREQUENT],
            heap: IndexedHeap::new(),
            timers: Vec::new(),
            free: Vec::new(),
            armed: 0,
        }
    }

    /// The earliest timer.
    #[inline]
    pub(crate) fn peek(&self) -> Option<(Instant, Timer)> {
        let (mut first, place) = self.heap.peek().unwrap_or((Key::NEVER, NONE));
        let mut timer = self.timers.get(place as usize);
        for (key, frequent) in &self.frequent {
            if *key < first {
                (first, timer) = (*key, Some(frequent));
            }
        }
        timer.map(|timer| (first.at(), *timer))
    }

    /// Arms the timer, or moves it. One that is armed for `at` already keeps its place;
    /// `Instant::MAX` disarms it.
    #[inline]
    pub(crate) fn set(&mut self, slot: &mut TimerSlot, at: Instant, timer: Timer) {
        if at == Instant::MAX {
            return self.clear(slot);
        }
        if self.deadline(slot) == Some(at) {
            return;
        }
        let key = self.next_key(at);
        if let Some(frequent) = self.frequent.get_mut(slot.0 as usize) {
            *frequent = (key, timer);
            return;
        }
        if slot.0 == NONE {
            let place = self.free.pop().unwrap_or(self.timers.len() as u32);
            if place as usize == self.timers.len() {
                self.timers.push(timer);
            }
            slot.0 = FREQUENT as u32 + place;
        }
        let place = slot.0 - FREQUENT as u32;
        self.timers[place as usize] = timer;
        self.heap.set(key, place);
    }

    /// Moves a timer that is armed; does nothing to one that is not.
    #[inline]
    pub(crate) fn rearm(&mut self, slot: &mut TimerSlot, at: Instant) {
        if at == Instant::MAX {
            self.clear(slot);
        } else if self.deadline(slot).is_some_and(|armed_for| armed_for != at) {
            let key = self.next_key(at);
            match self.frequent.get_mut(slot.0 as usize) {
                Some(frequent) => frequent.0 = key,
                None => self.heap.set(key, slot.0 - FREQUENT as u32),
            }
        }
    }

    #[inline]
    fn next_key(&mut self, at: Instant) -> Key {
        self.armed += 1;
        Key::new(at, self.armed)
    }

    #[inline]
    pub(crate) fn clear(&mut self, slot: &mut TimerSlot) {
        if let Some(frequent) = self.frequent.get_mut(slot.0 as usize) {
            frequent.0 = Key::NEVER;
        } else if slot.0 != NONE {
            let place = slot.0 - FREQUENT as u32;
            self.heap.remove(place);
            self.free.push(place);
            slot.0 = NONE;
        }
    }

    /// When the timer is due, if it is armed.
    #[inline]
    pub(crate) fn deadline(&self, slot: &TimerSlot) -> Option<Instant> {
        match self.frequent.get(slot.0 as usize) {
            Some((key, _)) => (*key != Key::NEVER).then_some(key.at()),
            None => {
                let place = slot.0.wrapping_sub(FREQUENT as u32);
                self.heap.key(place).map(Key::at)
            }
        }
    }

    /// All armed timers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Instant, Timer)> {
        let others = self.heap.iter();
        let others = others.map(|(key, place)| (key, self.timers[place as usize]));
        let frequent = self.frequent.into_iter();
        let armed = frequent.filter(|(key, _)| *key != Key::NEVER);
        armed.chain(others).map(|(key, timer)| (key.at(), timer))
    }

    /// What is armed, in the order in which it will fire.
    pub(crate) fn digest(&self, to: &mut Digest<'_>) {
        let Self {
            frequent,
            heap,
            timers,
            // Which place of `timers` comes next.
            free: _,
            armed: _,
        } = self;
        let others = heap.iter();
        let others = others.map(|(key, place)| (key, timers[place as usize]));
        let mut armed: Vec<_> = frequent.iter().copied().chain(others).collect();
        armed.retain(|(key, _)| *key != Key::NEVER);
        armed.sort_unstable_by_key(|(key, _)| *key);
        to.all(armed.iter(), |to, (key, timer)| {
            to.add(timer);
            to.exact(key.at());
        });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.iter().next().is_none()
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
    fn a_frequent_timer_takes_its_turn_among_the_others() {
        let mut timers = Timers::new();
        let (mut dial, mut stall, mut limit) =
            (TimerSlot::UNARMED, TimerSlot::WRITE_STALL, TimerSlot::LIMIT);
        timers.set(&mut dial, at(5), Timer::Dial);
        timers.set(&mut stall, at(5), Timer::WriteStall);
        timers.set(&mut limit, at(7), Timer::Limit);
        assert_eq!(timers.peek(), Some((at(5), Timer::Dial)));
        timers.clear(&mut dial);
        assert_eq!(timers.peek(), Some((at(5), Timer::WriteStall)));
        timers.rearm(&mut limit, at(4));
        assert_eq!(timers.peek(), Some((at(4), Timer::Limit)));
        timers.clear(&mut limit);
        timers.rearm(&mut limit, at(1));
        assert_eq!(timers.deadline(&limit), None);
        assert!(!timers.is_empty());
        timers.clear(&mut stall);
        assert!(timers.is_empty());
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
