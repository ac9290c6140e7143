//! Deadlines that share a timeout are met in the order in which they were set, so a queue and one
//! timer for its head serve them all.

use alloc::{collections::BTreeMap, vec::Vec};
use core::time::Duration;

use super::{
    NONE,
    list::{Links, List},
};
use crate::{
    Instant,
    time::nanos,
    timers::{Timer, TimerSlot, Timers},
};

/// An emptied queue is kept for the next deadline with its timeout, unless there are more queues
/// than this.
const KEPT_QUEUES: usize = 16;

/// The deadlines and links of all items, by id. An id is in at most one of the queues over one
/// table.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeadlineLinks {
    links: Links,
    deadlines: Vec<(Instant, u32)>,
}

/// One queue for each distinct timeout.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeadlineQueues {
    classes: BTreeMap<Duration, u32>,
    /// The class asked for last, as most requests have the same timeout.
    latest: u32,
    queues: Vec<Queue>,
    free: Vec<u32>,
    /// How far all deadlines have moved since the start, in nanoseconds. They are stored without it.
    shift: u64,
}

#[derive(Clone, Debug)]
struct Queue {
    timeout: Duration,
    /// It has its timeout's entry in `classes`; else it is free.
    in_use: bool,
    items: List,
    timer: TimerSlot,
}

impl DeadlineQueues {
    /// Adds a deadline `timeout` after `from`, which must not lie before the one given last.
    /// Nothing is added if that is never.
    pub(crate) fn push(
        &mut self,
        links: &mut DeadlineLinks,
        timers: &mut Timers,
        (id, from, timeout): (u32, Instant, Duration),
        timer: impl FnOnce(u32) -> Timer,
    ) {
        let at = from + timeout;
        if at == Instant::MAX {
            return;
        }
        let class = self.class(timeout);
        if links.deadlines.len() <= id as usize {
            links
                .deadlines
                .resize(id as usize + 1, (Instant::MAX, NONE));
        }
        links.deadlines[id as usize] = (
            Instant::from_nanos(at.as_nanos().saturating_sub(self.shift)),
            class,
        );
        let queue = &mut self.queues[class as usize];
        if queue.items.is_empty() {
            timers.set(&mut queue.timer, at, timer(class));
        }
        queue.items.push(&mut links.links, id);
    }

    /// Takes out the deadline of `id`, if it has one here.
    pub(crate) fn remove(&mut self, links: &mut DeadlineLinks, timers: &mut Timers, id: u32) {
        let Some((_, class)) = links.deadlines.get_mut(id as usize) else {
            return;
        };
        let class = core::mem::replace(class, NONE);
        if class == NONE {
            return;
        }
        let queue = &mut self.queues[class as usize];
        let was_first = queue.items.first() == Some(id);
        queue.items.remove(&mut links.links, id);
        if was_first {
            self.rearm(links, timers, class);
        }
    }

    /// The first item of the queue, if it is due.
    pub(crate) fn due(&self, links: &DeadlineLinks, class: u32, now: Instant) -> Option<u32> {
        let first = self.queues.get(class as usize)?.items.first()?;
        (self.deadline(links, first)? <= now).then_some(first)
    }

    /// When `id` is due, if it has a deadline here.
    pub(crate) fn deadline(&self, links: &DeadlineLinks, id: u32) -> Option<Instant> {
        let (at, class) = *links.deadlines.get(id as usize)?;
        let at = at.as_nanos().saturating_add(self.shift);
        (class != NONE).then_some(Instant::from_nanos(at))
    }

    /// Moves all deadlines.
    pub(crate) fn shift(&mut self, links: &DeadlineLinks, timers: &mut Timers, by: Duration) {
        self.shift = self.shift.saturating_add(nanos(by));
        for class in 0..self.queues.len() as u32 {
            self.rearm(links, timers, class);
        }
    }

    /// Disarms all timers; the items must have been taken out, or be forgotten with the queues.
    pub(crate) fn disarm(&mut self, timers: &mut Timers) {
        for queue in &mut self.queues {
            timers.clear(&mut queue.timer);
        }
    }

    fn rearm(&mut self, links: &DeadlineLinks, timers: &mut Timers, class: u32) {
        let first = self.queues[class as usize].items.first();
        let at = first.and_then(|id| self.deadline(links, id));
        let queue = &mut self.queues[class as usize];
        match at {
            Some(at) => timers.rearm(&mut queue.timer, at),
            None => {
                timers.clear(&mut queue.timer);
                if queue.in_use && self.classes.len() > KEPT_QUEUES {
                    queue.in_use = false;
                    self.classes.remove(&queue.timeout);
                    self.free.push(class);
                }
            }
        }
    }

    fn class(&mut self, timeout: Duration) -> u32 {
        if let Some(queue) = self.queues.get(self.latest as usize)
            && queue.timeout == timeout
            && queue.in_use
        {
            return self.latest;
        }
        self.latest = match self.classes.get(&timeout) {
            Some(&class) => class,
            None => self.new_class(timeout),
        };
        self.latest
    }

    fn new_class(&mut self, timeout: Duration) -> u32 {
        let queue = Queue {
            in_use: true,
            timeout,
            items: List::EMPTY,
            timer: TimerSlot::UNARMED,
        };
        let class = match self.free.pop() {
            Some(class) => {
                self.queues[class as usize] = queue;
                class
            }
            None => {
                self.queues.push(queue);
                self.queues.len() as u32 - 1
            }
        };
        self.classes.insert(timeout, class);
        class
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
                queues: DeadlineQueues::default(),
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
