//! The runtimes under test.

use redial::sim::VirtualWorld;
use redial_async_std::{AsyncIo, AsyncStdExecutor, Executor, SmolExecutor};
use redial_tokio::Tokio;

use crate::{
    ending::Ending, loopback::Loopback, simulated::Simulated, site::Site, wait::block_on_forever,
};

/// Owns a runtime. Dropping it ends the runtime in the middle of whatever it does.
pub(crate) trait Host: Sized {
    type Site: Site;

    /// As it is called in what the suite prints.
    const NAME: &'static str;

    fn start() -> Self;

    fn site(&self) -> Self::Site;

    /// Runs a future to its end, inside of the runtime.
    fn block_on<F: Future>(&self, future: F) -> F::Output;
}

/// tokio with one thread: the driver runs while the case waits.
pub(crate) struct TokioCurrentThread(tokio::runtime::Runtime);

/// tokio with two worker threads: the driver runs beside the case.
pub(crate) struct TokioMultiThread(tokio::runtime::Runtime);

/// async-std.
pub(crate) type AsyncStd = Forever<AsyncStdExecutor>;

/// smol.
pub(crate) type Smol = Forever<SmolExecutor>;

/// A runtime of the process's own, which never ends. What a client would see if it did is that its
/// driver is dropped.
pub(crate) struct Forever<E>(AsyncIo<Ending<E>>, Ending<E>);

/// The executor of such a runtime.
pub(crate) trait Named: Executor + Default {
    const NAME: &'static str;
}

impl Named for AsyncStdExecutor {
    const NAME: &'static str = "async-std";
}

impl Named for SmolExecutor {
    const NAME: &'static str = "smol";
}

/// The simulator's virtual time.
pub(crate) struct VirtualTime {
    world: VirtualWorld,
    site: Simulated,
}

impl Host for TokioCurrentThread {
    type Site = Loopback<Tokio>;

    const NAME: &'static str = "tokio (current thread)";

    fn start() -> Self {
        Self(started(&mut tokio::runtime::Builder::new_current_thread()))
    }

    fn site(&self) -> Loopback<Tokio> {
        Loopback(Tokio::new(self.0.handle().clone()))
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.0.block_on(future)
    }
}

impl Host for TokioMultiThread {
    type Site = Loopback<Tokio>;

    const NAME: &'static str = "tokio (multi thread)";

    fn start() -> Self {
        Self(started(
            tokio::runtime::Builder::new_multi_thread().worker_threads(2),
        ))
    }

    fn site(&self) -> Loopback<Tokio> {
        Loopback(Tokio::new(self.0.handle().clone()))
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.0.block_on(future)
    }
}

fn started(builder: &mut tokio::runtime::Builder) -> tokio::runtime::Runtime {
    builder.enable_all().build().expect("threads can be made")
}

impl<E: Named> Host for Forever<E> {
    type Site = Loopback<AsyncIo<Ending<E>>>;

    const NAME: &'static str = E::NAME;

    fn start() -> Self {
        let executor = Ending::new(E::default());
        Self(AsyncIo::new(executor.clone()), executor)
    }

    fn site(&self) -> Self::Site {
        Loopback(self.0.clone())
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        block_on_forever(future)
    }
}

impl<E> Drop for Forever<E> {
    fn drop(&mut self) {
        self.1.end();
    }
}

impl Host for VirtualTime {
    type Site = Simulated;

    const NAME: &'static str = "the simulator's virtual time";

    fn start() -> Self {
        let (world, site) = Simulated::start();
        Self { world, site }
    }

    fn site(&self) -> Simulated {
        self.site.clone()
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        match self.world.block_on(future) {
            Ok(output) => output,
            Err(stalled) => panic!("{stalled}"),
        }
    }
}
