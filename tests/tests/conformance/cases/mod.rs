//! The cases, by topic. Each is a sentence, and true on every runtime.

pub(crate) mod blocked_writes;
pub(crate) mod cancelling;
pub(crate) mod comebacks;
pub(crate) mod deadlines;
pub(crate) mod established;
pub(crate) mod events;
pub(crate) mod handles;
pub(crate) mod keeping;
pub(crate) mod lists;
pub(crate) mod load;
pub(crate) mod names;
pub(crate) mod processes;
pub(crate) mod requests;
pub(crate) mod runtime_ends;
pub(crate) mod setup;
pub(crate) mod shutdown;
pub(crate) mod transports;
pub(crate) mod verdicts;

use std::time::Duration;

pub(crate) const SECOND: Duration = Duration::from_secs(1);

pub(crate) const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// More than the kernel takes for a peer that does not read.
pub(crate) fn more_than_the_kernel_buffers() -> bytes::Bytes {
    vec![b'x'; 15 << 20].into()
}
