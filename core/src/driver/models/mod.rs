//! Who hands over what to whom, in every order: the driver's lock and wakers under loom.
//!
//! A model is a few threads that use the driver as an application and a runtime would. loom runs it
//! once for each order in which they can take locks, change atomics and wake one another, and finds a
//! wake-up that is lost as a deadlock, for nothing else would ever end it. It also sees what an atomic
//! that is too weak would show, and `Arc`s that leak. A random scheduler (shuttle) needs no bound, but
//! it cannot say that there is no order in which it goes wrong.
//!
//! Where a model is small enough it goes through all orders. With three threads that is seldom so, and
//! the whole driver takes a lock dozens of times: there those orders are explored in which threads are
//! interrupted, where they could have gone on, no more often than the model says, two to four times.
//! Two are enough for every fault that we have thought of. For more there is `LOOM_MAX_PREEMPTIONS`.
//!
//! Not seen: panics in the user's protocol, timers, changes that a shared source tells of, and std's
//! `Arc` around wakers. What needs one thread only is shown by `core/tests/driver`.
//!
//! CONTRIBUTING.md says how to run them.

mod loopback;
mod parts;
mod whole;

use core::{
    any::type_name,
    future::Future,
    pin::pin,
    task::{Context, Poll, Waker},
};
use std::{
    env, eprintln,
    process::Command,
    string::String,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    task::Wake,
};

use loom::{
    model::Builder,
    sync::Notify,
    thread::{self, JoinHandle},
};

use crate::mutant::{self, Mutant};

/// The environment variable with the fault that a child process of the tests has.
const FAULT: &str = "REDIAL_FAULT";

/// In words, as loom counts.
const STACK: usize = 256 * 1024 / size_of::<usize>();

/// Explores the model, then shows that it fails with each of these faults. Without a bound on the
/// interruptions it goes through all orders.
fn explore<M>(bound: Option<usize>, faults: &[Mutant], model: M)
where
    M: Fn() + Send + Sync + 'static,
{
    let mut builder = Builder::new();
    builder.preemption_bound = bound.map(|bound| builder.preemption_bound.unwrap_or(bound));
    // It is there against loops that never end.
    builder.max_branches = 10_000;
    let fault = fault_of_this_process();
    mutant::choose(fault);
    let orders = Arc::new(AtomicU32::new(0));
    let (counter, model) = (Arc::clone(&orders), Arc::new(model));
    builder.check(move || {
        counter.fetch_add(1, Ordering::Relaxed);
        let model = Arc::clone(&model);
        spawn(move || model()).join().expect("no panic");
    });
    if fault.is_none() {
        let name = name_of::<M>();
        eprintln!("{name}: {} orders", orders.load(Ordering::Relaxed));
        for &fault in faults {
            eprintln!("{name}: with {fault}: {}", failure(name, fault));
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test may ask whose child it is"
)]
fn fault_of_this_process() -> Option<Mutant> {
    let name = env::var(FAULT).ok()?;
    Mutant::DRIVER
        .iter()
        .copied()
        .find(|fault| std::format!("{fault}") == name)
}

/// The test whose closure this is.
fn name_of<M>() -> &'static str {
    let closure = type_name::<M>();
    let test = closure.strip_suffix("::{{closure}}").unwrap_or(closure);
    test.split_once("::").map_or(test, |(_, test)| test)
}

/// How the test fails with this fault. In a process of its own, for loom aborts it.
fn failure(test: &str, fault: Mutant) -> String {
    let child = Command::new(env::current_exe().expect("it is running"))
        .args([test, "--exact", "--nocapture"])
        .env(FAULT, std::format!("{fault}"))
        .env("RUST_BACKTRACE", "0")
        .output()
        .expect("it is running, so it can be run");
    assert!(!child.status.success(), "{fault} is not seen by {test}");
    let said = String::from_utf8_lossy(&child.stderr);
    let mut lines = said.lines().skip_while(|line| !line.contains("panicked"));
    lines.nth(1).unwrap_or("it ended").into()
}

/// A thread whose stack is large enough for a client; loom's own are not.
fn spawn<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let thread = thread::Builder::new().stack_size(STACK);
    thread.spawn(run).expect("loom can always spawn")
}

/// Runs a future to its end. If it is never woken when it should be, loom says that all threads
/// have come to a deadlock.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Thread(Notify);

    impl Wake for Thread {
        fn wake(self: Arc<Self>) {
            self.0.notify();
        }
    }

    let mut future = pin!(future);
    let thread = Arc::new(Thread(Notify::new()));
    let waker = Waker::from(Arc::clone(&thread));
    let mut cx = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
            return output;
        }
        thread.0.wait();
    }
}

/// Polls a future once, on a task that nobody runs again.
fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}
