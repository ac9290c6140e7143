//! What all adapters have in common about TCP sockets.

use core::{net::SocketAddr, time::Duration};
use std::io;

/// After this long without bytes the kernel probes the peer, and again after each [`PROBE_INTERVAL`]
/// without an answer. It finds half-open connections that nobody writes to; with something
/// unanswered in flight the client's own timeouts are sooner.
pub const PROBE_AFTER: Duration = Duration::from_secs(60);

/// See [`PROBE_AFTER`].
pub const PROBE_INTERVAL: Duration = Duration::from_secs(10);

/// Where nobody listens on a local port, TCP can connect a socket to itself, if the kernel happens
/// to pick that port as the source. Then the connection counts as refused.
#[must_use]
pub fn is_self_connected(local: io::Result<SocketAddr>, peer: io::Result<SocketAddr>) -> bool {
    matches!((local, peer), (Ok(local), Ok(peer)) if local == peer)
}
