//! The little that the client's side needs of a runtime, made of what redial's driver needs of one.

use std::{
    future::poll_fn,
    pin::pin,
    sync::{Arc, Mutex},
    task::{Poll, Waker},
    time::Duration,
};

use redial::{
    Instant,
    driver::{Runtime, Timer},
};

/// Waits until then.
pub(crate) async fn sleep_until(runtime: &impl Runtime, at: Instant) {
    let mut timer = runtime.timer();
    timer.set(at);
    poll_fn(|cx| timer.poll(cx)).await;
}

/// What comes of it, `None` if it takes longer.
pub(crate) async fn timeout<T>(
    runtime: &impl Runtime,
    time: Duration,
    work: impl Future<Output = T>,
) -> Option<T> {
    let (mut work, mut end) = (pin!(work), pin!(sleep_until(runtime, runtime.now() + time)));
    poll_fn(|cx| match work.as_mut().poll(cx) {
        Poll::Ready(result) => Poll::Ready(Some(result)),
        Poll::Pending => end.as_mut().poll(cx).map(|()| None),
    })
    .await
}

/// Something that runs on its own.
pub(crate) struct Task<T>(Arc<Mutex<Slot<T>>>);

struct Slot<T> {
    result: Option<T>,
    waiting: Option<Waker>,
}

/// Runs it on its own.
pub(crate) fn spawn<T: Send + 'static>(
    runtime: &impl Runtime,
    work: impl Future<Output = T> + Send + 'static,
) -> Task<T> {
    let slot = Arc::new(Mutex::new(Slot {
        result: None,
        waiting: None,
    }));
    let task = Task(Arc::clone(&slot));
    runtime.spawn(async move {
        let result = work.await;
        let mut slot = slot.lock().expect("nobody panics with it");
        slot.result = Some(result);
        slot.waiting.take().into_iter().for_each(Waker::wake);
    });
    task
}

impl<T> Task<T> {
    /// What came of it.
    pub(crate) async fn join(&self) -> T {
        poll_fn(|cx| {
            let mut slot = self.0.lock().expect("nobody panics with it");
            slot.waiting = Some(cx.waker().clone());
            slot.result.take().map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}
