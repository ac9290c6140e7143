//! The synchronisation the driver uses, in one place, so that a model checker can stand in for it:
//! loom does in the tests of `models`, which are built with `--cfg redial_model`.
//!
//! The task wakers stay on std's `Arc`: [`std::task::Wake`] is defined for no other.

#[cfg(all(test, redial_model))]
pub(super) use loom::sync::{
    Arc, Mutex, MutexGuard,
    atomic::{AtomicBool, Ordering},
};
#[cfg(not(all(test, redial_model)))]
pub(super) use std::sync::{
    Arc, Mutex, MutexGuard,
    atomic::{AtomicBool, Ordering},
};

/// Locks, also after a panic of user code under the lock. The task that panicked is the driver's,
/// and its end is what every caller then sees; or it is the caller's own.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}
