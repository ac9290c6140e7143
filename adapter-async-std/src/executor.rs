//! Who runs the tasks: the one thing that differs between runtimes made of async-io.

use std::future::Future;

/// Runs a client's driver, for [`AsyncIo`](crate::AsyncIo). An executor of your own will do; sockets
/// and timers need no thread of it.
///
/// ```
/// use std::sync::Arc;
///
/// use redial_async_std::{AsyncIo, Executor};
///
/// # mod mine {
/// #     pub struct Pool;
/// #     impl Pool {
/// #         pub fn run(&self, task: std::pin::Pin<Box<dyn Future<Output = ()> + Send>>) { drop(task) }
/// #     }
/// # }
/// #[derive(Clone)]
/// struct Mine(Arc<mine::Pool>);
///
/// impl Executor for Mine {
///     fn spawn(&self, driver: impl Future<Output = ()> + Send + 'static) {
///         self.0.run(Box::pin(driver));
///     }
/// }
///
/// let runtime = AsyncIo::new(Mine(Arc::new(mine::Pool)));
/// # let _ = runtime;
/// ```
pub trait Executor: Clone + Send + Sync + 'static {
    /// The one to take unless the builder is given one. Default: none.
    #[must_use]
    fn current() -> Option<Self> {
        None
    }

    /// Runs it to its end. If the executor ends before, it must drop it: then whoever waits for a
    /// request is told.
    fn spawn(&self, driver: impl Future<Output = ()> + Send + 'static);
}

/// async-std's own, which is always there and never ends.
#[cfg(feature = "async-std")]
#[derive(Clone, Copy, Default, Debug)]
pub struct AsyncStdExecutor;

#[cfg(feature = "async-std")]
impl Executor for AsyncStdExecutor {
    fn current() -> Option<Self> {
        Some(Self)
    }

    fn spawn(&self, driver: impl Future<Output = ()> + Send + 'static) {
        // Dropping the handle does not end the task.
        drop(async_std::task::spawn(driver));
    }
}

/// smol's global one, which is always there and never ends.
#[cfg(feature = "smol")]
#[derive(Clone, Copy, Default, Debug)]
pub struct SmolExecutor;

#[cfg(feature = "smol")]
impl Executor for SmolExecutor {
    fn current() -> Option<Self> {
        Some(Self)
    }

    fn spawn(&self, driver: impl Future<Output = ()> + Send + 'static) {
        smol::spawn(driver).detach();
    }
}
