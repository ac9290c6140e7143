//! The lines of a recording.

use alloc::{borrow::Cow, string::String};
use core::{net::SocketAddr, time::Duration};

use serde::{Deserialize, Serialize};

use super::hash::Hash;
use crate::{
    AttemptId, Config, ConnectionId, Hint, Input, Instant, NodeSpec, RefreshId, RequestId,
    RequestOptions,
};

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
    Call { at: Instant, what: Call<'a> },
    /// What came of it, once the next call is made: how many outputs were drained in between, and
    /// the hash of all so far.
    Gave { outputs: u64, hash: Hash },
    /// There was no other call.
    End { calls: u64 },
}

#[derive(Serialize, Deserialize)]
pub(super) enum Call<'a> {
    SetNodes(Cow<'a, [NodeSpec]>),
    SetFallback(Cow<'a, [NodeSpec]>),
    Submit(RequestOptions),
    Cancel(RequestId),
    Shutdown(Duration),
    Hint(Hint),
    Input(Input),
    Resolved(AttemptId, Cow<'a, [SocketAddr]>),
    WritesStarted(ConnectionId, Cow<'a, [u32]>),
    Refreshed(RefreshId, Option<u64>, Cow<'a, [NodeSpec]>),
    WritesDone(ConnectionId, Cow<'a, [u32]>),
    Timeout,
}
