//! tokio's timer on redial's time.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use redial::{Clock, Instant, driver};
use tokio::time::{Sleep, sleep_until};

/// A tokio timer. Fires at its time or up to a millisecond later.
#[derive(Debug)]
pub struct Timer {
    clock: Clock,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Timer {
    pub(crate) const fn new(clock: Clock) -> Self {
        Self { clock, sleep: None }
    }
}

impl driver::Timer for Timer {
    fn set(&mut self, at: Instant) {
        // A point that the standard library cannot represent never comes.
        let Some(at) = self.clock.to_std(at).map(tokio::time::Instant::from_std) else {
            self.sleep = None;
            return;
        };
        match &mut self.sleep {
            Some(sleep) => sleep.as_mut().reset(at),
            None => self.sleep = Some(Box::pin(sleep_until(at))),
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.sleep {
            Some(sleep) => sleep.as_mut().poll(cx),
            None => Poll::Pending,
        }
    }
}
