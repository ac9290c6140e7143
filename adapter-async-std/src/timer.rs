//! async-io's timer on redial's time.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use redial::{Clock, Instant, driver};

/// A timer of async-io. Fires at its time or a little later.
#[derive(Debug)]
pub struct Timer {
    timer: async_io::Timer,
    clock: Clock,
}

impl Timer {
    pub(crate) fn new(clock: Clock) -> Self {
        let timer = async_io::Timer::never();
        Self { timer, clock }
    }
}

impl driver::Timer for Timer {
    fn set(&mut self, at: Instant) {
        match self.clock.to_std(at) {
            Some(at) => self.timer.set_at(at),
            // A point that the standard library cannot represent never comes.
            None => self.timer.clear(),
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.timer).poll(cx).map(drop)
    }
}
