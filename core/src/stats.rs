//! Counters and gauges.

/// What has happened since the start, and what is there now. Counters never go back.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Stats {
    /// Attempts started.
    pub attempts: u64,
    /// Of these, hedges.
    pub hedges: u64,
    /// Attempts that made their node Ready.
    pub ready: u64,
    /// Failures at stage Resolve.
    pub failures_resolve: u64,
    /// Failures at stage Connect.
    pub failures_connect: u64,
    /// Failures at stage Handshake.
    pub failures_handshake: u64,
    /// Failures at stage Authenticate.
    pub failures_authenticate: u64,
    /// Failures at stage Established.
    pub failures_established: u64,
    /// Requests accepted.
    pub requests: u64,
    /// Of these, completed with a reply or as sent.
    pub succeeded: u64,
    /// Of these, failed.
    pub failed: u64,
    /// Retries that were charged to a request.
    pub retries: u64,
    /// Replies whose request was no longer open.
    pub late_replies: u64,
    /// Facts that named something that is no longer, or never was, there.
    pub stale_facts: u64,
    /// Refreshes of the server list begun.
    pub refreshes: u64,
    /// Of these, the ones that failed: no answer, or none that is a list.
    pub refreshes_failed: u64,
    /// Calls whose `now` lay before the last one.
    pub backward_clocks: u64,
    /// Events dropped because too many waited.
    pub dropped_events: u64,
    /// Gauge: nodes in the list.
    pub nodes: usize,
    /// Gauge: nodes that are Ready.
    pub nodes_ready: usize,
    /// Gauge: nodes in setup.
    pub nodes_in_setup: usize,
    /// Gauge: requests that are not complete.
    pub open_requests: usize,
    /// Gauge: of these, those that wait for a node or a retry.
    pub waiting_requests: usize,
    /// Gauge: slots taken on all connections, by open requests and by tombstones.
    pub in_flight: usize,
    /// Gauge: of these, tombstones.
    pub tombstones: usize,
    /// Gauge: connections, those that are being set up and those that drain included.
    pub connections: usize,
}
