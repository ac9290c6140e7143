//! Who waits for what in the world.

use core::{
    future::poll_fn,
    net::SocketAddr,
    task::{Context, Poll, Waker},
};
use std::{collections::BTreeMap, vec::Vec};

use super::{Shared, Virtual, lock};
use crate::{
    ConnectError,
    sim::world::{Notice, Owner, World},
};

/// By owner.
#[derive(Default)]
pub(super) struct Slots {
    waits: BTreeMap<Owner, Wait>,
    next: Owner,
}

/// What somebody waits for, and what has come.
#[derive(Default)]
pub(super) struct Wait {
    pub(super) connected: Option<Result<(), ConnectError>>,
    pub(super) resolved: Option<Option<Vec<SocketAddr>>>,
    /// The last time that was set, by tag, and whether it has come.
    pub(super) tag: u64,
    pub(super) is_due: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

/// A place in the world where somebody waits.
pub(super) struct Slot {
    runtime: Virtual,
    owner: Owner,
}

/// Which of two wakers: a stream can be read and written by two tasks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Read,
    Write,
}

impl Slots {
    /// Notes what has happened, and returns whom to wake.
    pub(super) fn note(&mut self, notice: Notice) -> Vec<Waker> {
        let Some(wait) = notice.owner().and_then(|owner| self.waits.get_mut(&owner)) else {
            return Vec::new();
        };
        let is_room = matches!(notice, Notice::Writable(..));
        match notice {
            Notice::Connected(_, _, result) => wait.connected = Some(result),
            Notice::Resolved(_, _, addresses) => wait.resolved = Some(addresses),
            Notice::Time(_, tag) => wait.is_due |= tag == wait.tag,
            Notice::Readable(..)
            | Notice::Writable(..)
            | Notice::Listed(..)
            | Notice::ListChanged => {}
        }
        let reader = wait.reader.take_if(|_| !is_room);
        // Who waits for room must learn of the end as well.
        reader.into_iter().chain(wait.writer.take()).collect()
    }
}

impl Slot {
    pub(super) fn new(runtime: &Virtual) -> Self {
        let mut shared = lock(&runtime.shared);
        let owner = shared.slots.next;
        shared.slots.next += 1;
        shared.slots.waits.insert(owner, Wait::default());
        Self {
            runtime: runtime.clone(),
            owner,
        }
    }

    /// Does something in the world.
    pub(super) fn with<T>(&self, act: impl FnOnce(&mut World, Owner) -> T) -> T {
        act(&mut lock(&self.runtime.shared).world, self.owner)
    }

    /// Looks at what has come, and is woken when more comes.
    pub(super) fn poll<T>(
        &self,
        cx: &Context<'_>,
        side: Side,
        look: impl FnOnce(&mut World, &mut Wait) -> Option<T>,
    ) -> Poll<T> {
        let mut shared = lock(&self.runtime.shared);
        let Shared { world, slots, .. } = &mut *shared;
        let wait = slots.waits.entry(self.owner).or_default();
        match look(world, wait) {
            Some(found) => Poll::Ready(found),
            None => {
                let waker = match side {
                    Side::Read => &mut wait.reader,
                    Side::Write => &mut wait.writer,
                };
                *waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    /// The answer to a look-up.
    pub(super) async fn resolved(&self) -> Option<Vec<SocketAddr>> {
        let look = |_: &mut World, wait: &mut Wait| wait.resolved.take();
        poll_fn(|cx| self.poll(cx, Side::Read, look)).await
    }

    /// Changes what it waits for.
    pub(super) fn set(&self, change: impl FnOnce(&mut World, Owner, &mut Wait)) {
        let mut shared = lock(&self.runtime.shared);
        let Shared { world, slots, .. } = &mut *shared;
        change(
            world,
            self.owner,
            slots.waits.entry(self.owner).or_default(),
        );
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let wait = lock(&self.runtime.shared).slots.waits.remove(&self.owner);
        // Its wakers may hold whatever they like: not under the lock.
        drop(wait);
    }
}
