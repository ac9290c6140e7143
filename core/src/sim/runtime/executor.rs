//! The executor: one thread, tasks in the order in which they were woken, and time that goes on when
//! none is.

use core::{
    future::Future,
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
};
use std::{
    boxed::Box,
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicBool, Ordering},
    },
    task::Wake,
};

use thiserror::Error;

use super::{VirtualWorld, lock};
use crate::Instant;

/// So much may happen at one instant, polls and events: nothing goes on for ever.
const MAX_AT_ONE_INSTANT: u64 = 1_000_000;

/// The future that [`VirtualWorld::block_on`] runs.
const MAIN: u64 = 0;

/// Why a future of [`VirtualWorld::block_on`] has no end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum Stalled {
    /// Nothing will ever happen: it waits for something that nobody does.
    #[error("at {at} nothing will ever happen any more")]
    Forever {
        /// Since when.
        at: Instant,
    },
    /// Time does not go on: some task wakes itself again and again.
    #[error("at {at} time does not go on")]
    Busy {
        /// When.
        at: Instant,
    },
}

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What was spawned.
#[derive(Default)]
pub(super) struct Tasks {
    tasks: Mutex<BTreeMap<u64, Task>>,
    ready: Arc<Mutex<Ready>>,
}

#[derive(Default)]
struct Ready {
    queue: VecDeque<Arc<TaskWaker>>,
    spawned: u64,
}

struct TaskWaker {
    task: u64,
    is_queued: AtomicBool,
    ready: Weak<Mutex<Ready>>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        if let Some(ready) = self.ready.upgrade()
            && !self.is_queued.swap(true, Ordering::SeqCst)
        {
            lock(&ready).queue.push_back(self);
        }
    }
}

impl Tasks {
    pub(super) fn add(&self, task: Task) {
        let number = {
            let mut ready = lock(&self.ready);
            ready.spawned += 1;
            ready.spawned
        };
        lock(&self.tasks).insert(number, task);
        self.waker(number).wake();
    }

    fn waker(&self, task: u64) -> Arc<TaskWaker> {
        Arc::new(TaskWaker {
            task,
            is_queued: AtomicBool::new(false),
            ready: Arc::downgrade(&self.ready),
        })
    }

    fn next(&self) -> Option<Arc<TaskWaker>> {
        let waker = lock(&self.ready).queue.pop_front()?;
        waker.is_queued.store(false, Ordering::SeqCst);
        Some(waker)
    }

    fn poll(&self, waker: Arc<TaskWaker>) {
        let number = waker.task;
        // It may spawn others.
        let Some(mut task) = lock(&self.tasks).remove(&number) else {
            return;
        };
        let waker = Waker::from(waker);
        if task
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
        {
            lock(&self.tasks).insert(number, task);
        }
    }
}

impl VirtualWorld {
    /// Runs the world, all tasks and this future until it is done. What else was spawned stays, for
    /// the next call.
    ///
    /// # Errors
    ///
    /// [`Stalled`] if it would never be done.
    pub fn block_on<F: Future>(&self, future: F) -> Result<F::Output, Stalled> {
        let mut future = pin!(future);
        self.tasks.waker(MAIN).wake();
        let (mut instant, mut busy) = (Instant::ORIGIN, 0);
        loop {
            let now = lock(&self.runtime.shared).world.now;
            busy = if now == instant { busy + 1 } else { 0 };
            instant = now;
            if busy > MAX_AT_ONE_INSTANT {
                return Err(Stalled::Busy { at: now });
            }
            match self.tasks.next() {
                Some(waker) if waker.task == MAIN => {
                    let waker = Waker::from(waker);
                    let poll = future.as_mut().poll(&mut Context::from_waker(&waker));
                    if let Poll::Ready(output) = poll {
                        return Ok(output);
                    }
                }
                Some(waker) => self.tasks.poll(waker),
                None => {
                    if !self.step() {
                        return Err(Stalled::Forever { at: now });
                    }
                }
            }
        }
    }

    /// Lets the next thing happen in the world; false if there is none.
    fn step(&self) -> bool {
        let mut shared = lock(&self.runtime.shared);
        if shared.world.next().is_none() {
            return false;
        }
        let notice = shared.world.step();
        let (now, changes) = (shared.world.now, shared.world.take_changes());
        for change in changes {
            lock(&self.seen).add(now, change);
        }
        let wakers = notice.map(|notice| shared.slots.note(notice));
        drop(shared);
        wakers.into_iter().flatten().for_each(Waker::wake);
        true
    }
}
