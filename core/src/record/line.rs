//! The lines of a recording.

use alloc::{borrow::Cow, string::String};

use serde::{Deserialize, Serialize};

use super::{Call, hash::Hash};
use crate::{Config, Instant};

/// The version of this crate, which alone reads its recordings.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// All that is read of the first line before the version is known to be ours.
#[derive(Deserialize)]
pub(super) struct Version {
    pub(super) redial: String,
}

/// The first line.
#[derive(Serialize, Deserialize)]
pub(super) struct Start<'a> {
    pub(super) redial: Cow<'a, str>,
    pub(super) seed: u64,
    pub(super) now: Instant,
    pub(super) config: Cow<'a, Config>,
}

/// Any other line.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Line<'a> {
    /// A call, as it is made.
    Call { at: Instant, what: Cow<'a, Call> },
    /// What came of it, once the next call is made: how many outputs were drained in between, and
    /// the hash of all so far.
    Gave { outputs: u64, hash: Hash },
    /// There was no other call.
    End { calls: u64 },
}
