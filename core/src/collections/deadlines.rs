//! Deadlines that share a timeout are met in the order in which they were set, so a queue and one
//! timer for its head serve them all.

use alloc::{collections::BTreeMap, vec::Vec};
use core::time::Duration;

use super::NONE;
use crate::{
    Instant,
    cluster::Digest,
    time::nanos,
    timers::{Timer, TimerSlot, Timers},
};

/// An emptied queue is kept for the next deadline with its timeout, unless there are more queues
/// than this.
const KEPT_QUEUES: usize = 16;

/// The deadlines and links of all items, by id. An id is in at most one of the queues over one
/// table.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeadlineLinks(Vec<Item>);

/// Packed, as there is one for each request and one for each attempt.
#[derive(Clone, Copy, Debug)]
#[repr(Rust, packed(4))]
struct Item {
    at: Instant,
    previous: u32,
    next: u32,
    /// Its queue, or `NONE`.
    class: u32,
}

impl Item {
    const NOWHERE: Self = Self {
        at: Instant::ORIGIN,
        previous: NONE,
        next: NONE,
        class: NONE,
    };

    /// Its deadline, in queues that have moved so far.
    const fn at(&self, shift: u64) -> Instant {
        Instant::from_nanos(self.at.as_nanos().saturating_add(shift))
    }
}

impl DeadlineLinks {
    /// The item, if it has a deadline.
    #[inline]
    fn get(&self, id: u32) -> Option<&Item> {
        self.0.get(id as usize).filter(|item| item.class != NONE)
    }

    #[cold]
    fn grow_to(&mut self, id: u32) {
        self.0.resize(id as usize + 1, Item::NOWHERE);
    }
}

/// One queue for each distinct timeout.
#[derive(Clone, Debug)]
pub(crate) struct DeadlineQueues {
    /// The first queue's timer.
    first_timer: TimerSlot,
    /// By timeout in nanoseconds.
    classes: BTreeMap<u64, u32>,
    /// The class asked for last, as most requests have the same timeout.
    latest: u32,
    queues: Vec<Queue>,
    free: Vec<u32>,
    /// How far all deadlines have moved since the start, in nanoseconds. They are stored without it.
    shift: u64,
}

#[derive(Clone, Debug)]
struct Queue {
    /// In nanoseconds.
    timeout: u64,
    /// It has its timeout's entry in `classes`; else it is free.
    in_use: bool,
    first: u32,
    last: u32,
    timer: TimerSlot,
}

impl DeadlineQueues {
    /// Queues of which the first, which most items will be in, has this timer.
    pub(crate) const fn new(first_timer: TimerSlot) -> Self {
        Self {
            first_timer,
            classes: BTreeMap::new(),
            latest: 0,
            queues: Vec::new(),
            free: Vec::new(),
            shift: 0,
        }
    }

    /// Adds a deadline `timeout` after `from`, which must not lie before the one given last.
    /// Nothing is added if that is never.
    #[inline]
    pub(crate) fn push(
        &mut self,
        links: &mut DeadlineLinks,
        timers: &mut Timers,
        (id, from, timeout): (u32, Instant, Duration),
        timer: impl FnOnce(u32) -> Timer,
    ) {
        let timeout = nanos(timeout);
        let at = from.as_nanos().saturating_add(timeout);
        if at == u64::MAX {
            return;
        }
        let class = self.class(timeout);
        if links.0.len() <= id as usize {
            links.grow_to(id);
        }
        let queue = &mut self.queues[class as usize];
        let previous = core::mem::replace(&mut queue.last, id);
        links.0[id as usize] = Item {
            at: Instant::from_nanos(at.saturating_sub(self.shift)),
            previous,
            next: NONE,
            class,
        };
        match links.0.get_mut(previous as usize) {
            Some(previous) => previous.next = id,
            None => {
                queue.first = id;
                timers.set(&mut queue.timer, Instant::from_nanos(at), timer(class));
            }
        }
    }

    /// Takes out the deadline of `id`, if it has one here.
    #[inline]
    pub(crate) fn remove(&mut self, links: &mut DeadlineLinks, timers: &mut Timers, id: u32) {
        if let Some(&item) = links.get(id) {
            self.take_out(links, timers, id, item);
        }
    }

    fn take_out(
        &mut self,
        links: &mut DeadlineLinks,
        timers: &mut Timers,
        id: u32,
        Item {
            previous,
            next,
            class,
            ..
        }: Item,
    ) {
        links.0[id as usize].class = NONE;
        let queue = &mut self.queues[class as usize];
        match links.0.get_mut(next as usize) {
            Some(next) => next.previous = previous,
            None => queue.last = previous,
        }
        if let Some(previous) = links.0.get_mut(previous as usize) {
            previous.next = next;
            return;
        }
        queue.first = next;
        match links.0.get(next as usize) {
            Some(first) => timers.rearm(&mut queue.timer, first.at(self.shift)),
            None => {
                timers.clear(&mut queue.timer);
                if self.classes.len() > KEPT_QUEUES {
                    self.forget(class);
                }
            }
        }
    }

    /// The first item of the queue.
    pub(crate) fn first(&self, class: u32) -> Option<u32> {
        let first = self.queues.get(class as usize)?.first;
        (first != NONE).then_some(first)
    }

    /// The first item of the queue, if it is due.
    pub(crate) fn due(&self, links: &DeadlineLinks, class: u32, now: Instant) -> Option<u32> {
        let first = self.first(class)?;
        (self.deadline(links, first)? <= now).then_some(first)
    }

    /// When `id` is due, if it has a deadline here.
    pub(crate) fn deadline(&self, links: &DeadlineLinks, id: u32) -> Option<Instant> {
        links.get(id).map(|item| item.at(self.shift))
    }

    /// The timeout of `id`, if it has a deadline here.
    pub(crate) fn timeout(&self, links: &DeadlineLinks, id: u32) -> Option<Duration> {
        let item = links.get(id)?;
        let timeout = self.queues[item.class as usize].timeout;
        Some(Duration::from_nanos(timeout))
    }

    /// Moves all deadlines.
    pub(crate) fn shift(&mut self, links: &DeadlineLinks, timers: &mut Timers, by: Duration) {
        self.shift = self.shift.saturating_add(nanos(by));
        for &class in self.classes.values() {
            let queue = &mut self.queues[class as usize];
            if let Some(first) = links.0.get(queue.first as usize) {
                timers.rearm(&mut queue.timer, first.at(self.shift));
            }
        }
    }

    /// All items with their deadlines and timeouts, in order; `name` adds what an item is called.
    pub(crate) fn digest(
        &self,
        links: &DeadlineLinks,
        to: &mut Digest<'_>,
        name: impl Fn(&mut Digest<'_>, u32),
    ) {
        let Self {
            first_timer: _,
            classes,
            // Where an emptied queue is found again.
            latest: _,
            queues,
            free: _,
            shift,
        } = self;
        to.all(classes.values(), |to, &class| {
            let Queue {
                timeout,
                in_use: _,
                first,
                last: _,
                timer: _,
            } = queues[class as usize];
            to.add((class, timeout));
            let next = |&id: &u32| links.get(id).map(|item| item.next);
            let ids = core::iter::successors(Some(first), next);
            to.all(
                ids.filter_map(|id| Some((id, links.get(id)?))),
                |to, (id, item)| {
                    name(to, id);
                    to.exact(item.at(*shift));
                },
            );
        });
    }

    #[inline]
    fn class(&mut self, timeout: u64) -> u32 {
        match self.queues.get(self.latest as usize) {
            Some(queue) if queue.timeout == timeout && queue.in_use => {}
            _ => self.latest = self.find_class(timeout),
        }
        self.latest
    }

    fn find_class(&mut self, timeout: u64) -> u32 {
        if let Some(&class) = self.classes.get(&timeout) {
            return class;
        }
        let class = match self.free.pop() {
            Some(class) => {
                let queue = &mut self.queues[class as usize];
                (queue.timeout, queue.in_use) = (timeout, true);
                class
            }
            None => {
                self.queues.push(Queue {
                    timeout,
                    in_use: true,
                    first: NONE,
                    last: NONE,
                    timer: core::mem::replace(&mut self.first_timer, TimerSlot::UNARMED),
                });
                self.queues.len() as u32 - 1
            }
        };
        self.classes.insert(timeout, class);
        class
    }

    fn forget(&mut self, class: u32) {
        let queue = &mut self.queues[class as usize];
        queue.in_use = false;
        self.classes.remove(&queue.timeout);
        self.free.push(class);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixture {
        queues: DeadlineQueues,
        links: DeadlineLinks,
        timers: Timers,
    }

    impl Fixture {
        fn new() -> Self {
            Self {
                queues: DeadlineQueues::new(TimerSlot::UNARMED),
                links: DeadlineLinks::default(),
                timers: Timers::new(),
            }
        }

        fn push(&mut self, id: u32, from: u64, timeout: u64) {
            let item = (id, Instant::from_nanos(from), Duration::from_nanos(timeout));
            let timer = |class| Timer::Request { class };
            self.queues
                .push(&mut self.links, &mut self.timers, item, timer);
        }

        /// The items that are due, in order, taken out.
        fn drain(&mut self, now: u64) -> Vec<u32> {
            let (mut drained, now) = (Vec::new(), Instant::from_nanos(now));
            while let Some((at, Timer::Request { class })) = self.timers.peek()
                && at <= now
            {
                let id = self.queues.due(&self.links, class, now).unwrap();
                self.queues.remove(&mut self.links, &mut self.timers, id);
                drained.push(id);
            }
            drained
        }
    }

    #[test]
    fn a_queue_needs_one_timer_and_its_head_moves_on() {
        let mut f = Fixture::new();
        for id in 0..5 {
            f.push(id, u64::from(id), 10);
        }
        assert_eq!(f.timers.iter().count(), 1);
        f.queues.remove(&mut f.links, &mut f.timers, 0);
        assert_eq!(f.timers.peek().unwrap().0, Instant::from_nanos(11));
        assert_eq!(f.drain(12), [1, 2]);
        assert_eq!(f.drain(100), [3, 4]);
        assert!(f.timers.is_empty());
    }

    #[test]
    fn deadlines_of_several_timeouts_come_in_order() {
        let mut f = Fixture::new();
        for (id, timeout) in [(0, 30), (1, 10), (2, 20), (3, 10)] {
            f.push(id, 0, timeout);
        }
        assert_eq!(f.drain(25), [1, 3, 2]);
        assert_eq!(f.drain(30), [0]);
    }

    #[test]
    fn a_shift_moves_what_is_there_and_not_what_comes_later() {
        let mut f = Fixture::new();
        f.push(0, 0, 10);
        f.queues
            .shift(&f.links, &mut f.timers, Duration::from_nanos(5));
        f.push(1, 6, 10);
        assert_eq!(
            f.queues.deadline(&f.links, 0),
            Some(Instant::from_nanos(15))
        );
        assert_eq!(
            f.queues.deadline(&f.links, 1),
            Some(Instant::from_nanos(16))
        );
        assert_eq!(f.drain(15), [0]);
    }

    #[test]
    fn a_deadline_that_is_never_is_not_there() {
        let mut f = Fixture::new();
        f.push(0, 1, u64::MAX);
        assert_eq!(f.queues.deadline(&f.links, 0), None);
        f.queues.remove(&mut f.links, &mut f.timers, 0);
        assert!(f.timers.is_empty());
    }

    #[test]
    fn thousands_of_timeouts_leave_few_queues() {
        let mut f = Fixture::new();
        for id in 0..5_000 {
            f.push(id, 0, u64::from(id) + 1);
        }
        assert_eq!(f.drain(5_000).len(), 5_000);
        assert!(f.queues.classes.len() <= KEPT_QUEUES);
        f.queues
            .shift(&f.links, &mut f.timers, Duration::from_nanos(1));
        f.push(1, 5_000, 7);
        assert_eq!(f.drain(6_000), [1]);
    }
}
