//! Timers.

use core::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use super::{
    Virtual,
    slots::{Side, Slot},
};
use crate::{
    Instant,
    driver::{Runtime, Timer},
};

/// A timer in a [`VirtualWorld`](super::VirtualWorld).
pub struct VirtualTimer {
    slot: Slot,
}

/// See [`Virtual::sleep`].
#[must_use = "futures do nothing unless they are awaited"]
pub struct Sleep {
    timer: VirtualTimer,
}

impl VirtualTimer {
    pub(super) const fn new(slot: Slot) -> Self {
        Self { slot }
    }
}

impl Timer for VirtualTimer {
    fn set(&mut self, at: Instant) {
        self.slot.set(|world, owner, wait| {
            wait.tag += 1;
            wait.is_due = false;
            world.wake_at(at, owner, wait.tag);
        });
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let slot = &self.slot;
        slot.poll(cx, Side::Read, |_, wait| wait.is_due.then_some(()))
    }
}

impl Sleep {
    pub(super) fn new(runtime: &Virtual, time: Duration) -> Self {
        let mut timer = runtime.timer();
        timer.set(runtime.now() + time);
        Self { timer }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.timer.poll(cx)
    }
}

impl core::fmt::Debug for VirtualTimer {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("VirtualTimer").finish_non_exhaustive()
    }
}

impl core::fmt::Debug for Sleep {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Sleep").finish_non_exhaustive()
    }
}
