//! An executor that can end, around one that cannot.

use std::{
    future::poll_fn,
    sync::{Arc, Mutex},
    task::{Poll, Waker},
    thread,
    time::Duration,
};

use redial_async_std::Executor;

/// Drops all its tasks when it [ends](Self::end), and those that come later at once.
#[derive(Clone)]
pub(crate) struct Ending<E> {
    executor: E,
    state: Arc<Mutex<State>>,
    /// Each task has a clone.
    tasks: Arc<()>,
}

#[derive(Default)]
struct State {
    has_ended: bool,
    wakers: Vec<Waker>,
}

impl<E> Ending<E> {
    pub(crate) fn new(executor: E) -> Self {
        Self {
            executor,
            state: Arc::default(),
            tasks: Arc::default(),
        }
    }

    /// Returns when the tasks are gone.
    pub(crate) fn end(&self) {
        let wakers = {
            let mut state = self.state.lock().expect("nothing panics here");
            state.has_ended = true;
            std::mem::take(&mut state.wakers)
        };
        wakers.into_iter().for_each(Waker::wake);
        while Arc::weak_count(&self.tasks) > 0 {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl<E: Executor> Executor for Ending<E> {
    fn spawn(&self, driver: impl Future<Output = ()> + Send + 'static) {
        let (state, task) = (Arc::clone(&self.state), Arc::downgrade(&self.tasks));
        let mut driver = Box::pin(driver);
        self.executor.spawn(async move {
            let mut is_known = false;
            poll_fn(|cx| {
                let mut state = state.lock().expect("nothing panics here");
                if state.has_ended {
                    return Poll::Ready(());
                }
                if !is_known {
                    // The waker of a task stays the same.
                    state.wakers.push(cx.waker().clone());
                    is_known = true;
                }
                drop(state);
                driver.as_mut().poll(cx)
            })
            .await;
            drop(driver);
            drop(task);
        });
    }
}
