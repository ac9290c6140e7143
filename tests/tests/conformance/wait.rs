//! Ways to wait that are the same on every runtime.

use std::{
    future::{IntoFuture, poll_fn},
    pin::pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Wake, Waker},
    thread,
    time::{Duration, Instant},
};

use redial::{
    client::Protocol,
    driver::{Request, ResponseFuture, Runtime, Timer},
};

/// What a busy machine may take for whatever needs no timer. No case passes by waiting it out.
const PATIENCE: Duration = Duration::from_secs(30);

/// Submits a request, which its future goes on to wait for.
pub(crate) fn begin<P: Protocol, R: Runtime>(request: Request<P, R>) -> ResponseFuture<P, R> {
    let mut response = request.into_future();
    assert!(!is_over(&mut response), "it is refused");
    response
}

/// Whether a request's future is ready. It must not be awaited afterwards if it is.
pub(crate) fn is_over<F: Future + Unpin>(future: &mut F) -> bool {
    let mut cx = Context::from_waker(Waker::noop());
    pin!(future).poll(&mut cx).is_ready()
}

/// Lets other tasks run.
pub(crate) async fn yield_now() {
    let mut has_yielded = false;
    poll_fn(|cx| {
        if has_yielded {
            return Poll::Ready(());
        }
        has_yielded = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// What a future gives if it does so before the other one is ready. Both are polled each time, the
/// first one first.
pub(crate) async fn before<F: IntoFuture>(
    future: F,
    end: impl Future<Output = ()>,
) -> Option<F::Output> {
    let (mut future, mut end) = (pin!(future.into_future()), pin!(end));
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => end.as_mut().poll(cx).map(|()| None),
    })
    .await
}

pub(crate) async fn sleep<R: Runtime>(runtime: R, time: Duration) {
    let end = runtime.now() + time;
    let mut timer = runtime.timer();
    timer.set(end);
    // A timer may be early.
    poll_fn(|cx| {
        while timer.poll(cx).is_ready() {
            if runtime.now() >= end {
                return Poll::Ready(());
            }
            timer.set(end);
        }
        Poll::Pending
    })
    .await;
}

pub(crate) async fn soon<R: Runtime, F: IntoFuture>(runtime: R, future: F) -> F::Output {
    before(future, sleep(runtime, PATIENCE))
        .await
        .unwrap_or_else(|| panic!("nothing after {PATIENCE:?}"))
}

pub(crate) async fn until<R: Runtime>(runtime: R, mut condition: impl FnMut() -> bool) {
    soon(runtime.clone(), async {
        while !condition() {
            sleep(runtime.clone(), Duration::from_millis(2)).await;
        }
    })
    .await;
}

pub(crate) fn task<R: Runtime, T: Send + 'static>(
    runtime: R,
    future: impl Future<Output = T> + Send + 'static,
) -> impl Future<Output = T> {
    struct Slot<T>(Arc<Mutex<(Option<T>, Option<Waker>)>>);

    /// Also when the task has panicked, or is dropped with its runtime.
    impl<T> Drop for Slot<T> {
        fn drop(&mut self) {
            if let Some(waker) = self.0.lock().expect("nothing panics here").1.take() {
                waker.wake();
            }
        }
    }

    let slot = Arc::default();
    let inner = Slot(Arc::clone(&slot));
    runtime.spawn(async move {
        let output = future.await;
        inner.0.lock().expect("nothing panics here").0 = Some(output);
    });
    poll_fn(move |cx| {
        let mut inner = slot.lock().expect("nothing panics here");
        match inner.0.take() {
            Some(output) => Poll::Ready(output),
            None if Arc::strong_count(&slot) == 1 => panic!("the task has panicked"),
            None => {
                inner.1 = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    })
}

/// [`soon`] for a thread that belongs to no runtime.
pub(crate) fn block_on<F: IntoFuture>(future: F) -> F::Output {
    let end = Instant::now() + PATIENCE;
    block_on_while(future, || {
        let left = end.saturating_duration_since(Instant::now());
        assert!(!left.is_zero(), "nothing after {PATIENCE:?}");
        thread::park_timeout(left);
    })
}

/// Runs a future on this thread, as long as it takes.
pub(crate) fn block_on_forever<F: IntoFuture>(future: F) -> F::Output {
    block_on_while(future, thread::park)
}

fn block_on_while<F: IntoFuture>(future: F, park: impl Fn()) -> F::Output {
    struct Unpark(thread::Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    let mut future = pin!(future.into_future());
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        park();
    }
}
