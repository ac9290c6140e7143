//! Who woke the driver: one task waker, and the list of sources that have something to do.

use core::task::Waker;
use std::{collections::VecDeque, sync::Arc, task::Wake};

use super::sync::{AtomicBool, Mutex, Ordering, lock};

/// Something that the driver polls when it was woken, by its index in the driver's table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    /// A look-up, by `AttemptId::index`.
    Resolve(usize),
    /// A connection that is up or coming up, by `ConnectionId::index`.
    Connection(usize),
    /// A source of server lists, by `SourceId::index`.
    List(usize),
}

/// Shared by everyone who can wake the driver.
#[derive(Default)]
pub(super) struct Wakeups {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    ready: VecDeque<Source>,
    /// The driver's waker; `None` while it is scheduled already, so that it is woken once.
    task: Option<Waker>,
}

impl Wakeups {
    /// Whom to wake from now on. The driver calls it first in every poll, so that no wake-up during
    /// the poll is lost.
    pub(super) fn register(&self, waker: &Waker) {
        let mut inner = lock(&self.inner);
        let known = inner.task.as_ref().is_some_and(|w| w.will_wake(waker));
        let old = if known {
            None
        } else {
            inner.task.replace(waker.clone())
        };
        drop(inner);
        drop(old);
    }

    /// Wakes the driver, unless it is scheduled already.
    pub(super) fn wake(&self) {
        let task = lock(&self.inner).task.take();
        if let Some(task) = task {
            task.wake();
        }
    }

    /// Moves the sources that were woken to `ready`.
    pub(super) fn take_ready(&self, ready: &mut VecDeque<Source>) {
        let woken = &mut lock(&self.inner).ready;
        // Even of nothing, appending costs more than looking.
        if !woken.is_empty() {
            ready.append(woken);
        }
    }

    /// A waker that puts this source on the list and wakes the driver.
    pub(super) fn source(self: &Arc<Self>, source: Source) -> Arc<SourceWaker> {
        Arc::new(SourceWaker {
            source,
            listed: AtomicBool::new(false),
            wakeups: Arc::clone(self),
        })
    }
}

/// Wakes the driver on behalf of one source.
pub(super) struct SourceWaker {
    source: Source,
    listed: AtomicBool,
    wakeups: Arc<Wakeups>,
}

impl SourceWaker {
    /// Whether the source was woken. To be asked before it is polled: a wake-up from now on lists it
    /// again.
    pub(super) fn take_listed(&self) -> bool {
        self.listed.swap(false, Ordering::SeqCst)
    }
}

impl Wake for SourceWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.listed.swap(true, Ordering::SeqCst) {
            return;
        }
        mutant!(ListsAfterWaking => self.wakeups.wake());
        let mut inner = lock(&self.wakeups.inner);
        inner.ready.push_back(self.source);
        let task = inner.task.take_if(|_| !mutant!(ListsAfterWaking));
        drop(inner);
        if let Some(task) = task {
            task.wake();
        }
    }
}
