//! [`Cluster`]: what the parts have in common, and the calls from outside.
//!
//! - `facts`: what each fact leads to
//! - `deadlines`: what each timer leads to; when to call again
//! - `outputs`: the output stream
//! - `hints`: what else is known outside (8.5)
//! - `session`: a session that servers keep (8.6)
//! - `shutdown`: the end (SEMANTICS 9)
//! - `getters`: what can be read
//! - `explain`: why a request is where it is (5.4)
//! - `snapshot`: what can be read, to keep (10.2)
//! - `fingerprint`: which states behave alike; `digest`: its hash
//! - `audit`: the invariants, by brute force

mod audit;
mod deadlines;
mod digest;
mod explain;
mod facts;
mod fingerprint;
mod getters;
mod hints;
mod outputs;
mod session;
mod shutdown;
mod snapshot;
#[cfg(test)]
pub(crate) mod tests;

use alloc::{collections::BTreeMap, vec::Vec};
use core::{cmp::Reverse, net::SocketAddr, time::Duration};

pub(crate) use digest::Digest;
pub use explain::{Explanation, Why};
use outputs::Outputs;
use session::Session;
pub use snapshot::{NodeSnapshot, Snapshot};

use crate::{
    AttemptId, Config, ConnectionId, Deadline, Hint, Input, Instant, NodeId, NodeSpec, Output,
    RefreshId, RequestId, RequestOptions, SetNodesError, ShutdownError, Stats, SubmitError,
    collections::{DeadlineLinks, DeadlineQueues, Heap, IndexedHeap, Links, List, Positions, Slab},
    node::{Attempt, Connection, DialKey, Ending, Governor, Node, Resting, Sticky, WantedKey},
    request::{AttemptDeadlines, AttemptLinks, Extra, Flight, Request},
    rng::{Purpose, Rng},
    select::ReadySet,
    servers::{Departed, Entries, Index, ListId, Sources},
    timers::{TimerSlot, Timers},
    token_bucket::TokenBucket,
};

/// The connection brain of one client: nodes, connections, deadlines, backoff, selection and
/// requests, by ids only. It never does I/O, reads no clock and draws no randomness but from its
/// seed: the same configuration, seed and inputs give the same outputs, always and everywhere.
///
/// There are five kinds of calls. Any of them is legal at any time.
///
/// - commands: [`set_nodes`](Self::set_nodes), [`set_fallback`](Self::set_fallback),
///   [`submit`](Self::submit), [`cancel`](Self::cancel), [`hint`](Self::hint),
///   [`shutdown`](Self::shutdown)
/// - facts: [`handle_input`](Self::handle_input), [`resolved`](Self::resolved),
///   [`refreshed`](Self::refreshed), [`writes_started`](Self::writes_started),
///   [`writes_done`](Self::writes_done)
/// - time: [`handle_timeout`](Self::handle_timeout)
/// - outputs: [`poll_output`](Self::poll_output), [`poll_timeout`](Self::poll_timeout), and
///   [`drive`](Self::drive), which does a whole round
/// - getters: [`node`](Self::node), [`stats`](Self::stats) and others, which change nothing
///
/// Whoever drives it gives every call the time, and after each command or fact drains the outputs
/// and reads the deadline anew:
///
/// ```
/// use redial::{Action, Cluster, Config, Input, Instant, Limits, NodeSpec, Output, RequestOptions};
///
/// let mut cluster = Cluster::new(Config::default(), 7, Instant::ORIGIN);
/// let mut now = Instant::ORIGIN;
/// cluster.set_nodes(now, &["10.0.0.1:9092".parse()?])?;
/// let request = cluster.submit(now, RequestOptions::new())?;
///
/// // A transport that always works, at once.
/// let mut answered = None;
/// while answered.is_none() {
///     let mut facts = Vec::new();
///     let deadline = cluster.drive(now, |_, output| match output {
///         Output::Action(Action::Connect { connection, .. }) => {
///             facts.push(Input::Connected { connection });
///         }
///         Output::Action(Action::Handshake { connection }) => {
///             facts.push(Input::HandshakeDone { connection, limits: Limits::NONE });
///         }
///         Output::Action(Action::Write { connection, serial, .. }) => {
///             facts.push(Input::WriteStarted { connection, serial });
///             facts.push(Input::WriteDone { connection, serial });
///             facts.push(Input::Reply {
///                 connection,
///                 to: redial::ReplyTo::Serial(serial),
///                 verdict: redial::Verdict::DONE,
///             });
///         }
///         Output::Completion(completion) => answered = Some(completion.request),
///         _ => {}
///     });
///     // With nothing to report, the next thing to happen is the deadline.
///     if facts.is_empty()
///         && let Some(deadline) = deadline
///     {
///         now = deadline.at;
///     }
///     for fact in facts {
///         cluster.handle_input(now, fact);
///     }
/// }
/// assert_eq!(answered, Some(request));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Cluster {
    pub(crate) config: Config,
    pub(crate) seed: u64,
    pub(crate) now: Instant,
    pub(crate) run: Run,
    pub(crate) timers: Timers,
    pub(crate) outputs: Outputs,
    pub(crate) stats: Stats,
    /// Numbers what must be told apart by order: submits and failures.
    pub(crate) sequence: u64,

    // Nodes: what SEMANTICS 2, 3 and 5 need to know of them without looking at all of them.
    pub(crate) nodes: Slab<Node>,
    pub(crate) attempts: Slab<Attempt>,
    pub(crate) connections: Slab<Connection>,
    pub(crate) connection_links: Links,
    /// Nodes that can take a request now.
    pub(crate) ready: ReadySet,
    /// The version of `ready` of which a policy of the user's own has refused all nodes.
    pub(crate) refused_at: Option<u64>,
    /// Nodes that could be dialled now, in the order of 5.1.
    pub(crate) dialable: IndexedHeap<DialKey>,
    /// Nodes before their next-attempt time.
    pub(crate) resting: Resting,
    /// Nodes that could be dialled now and are wanted.
    pub(crate) wanted: IndexedHeap<WantedKey>,
    pub(crate) governor: Governor,
    /// Throttled nodes, by the end of the throttle.
    pub(crate) throttled: IndexedHeap<Instant>,
    /// Attempts that could serve a request for any node, the newest first.
    pub(crate) setups: IndexedHeap<Reverse<(Instant, u64)>>,
    /// All nodes, by the number of their last failure, 0 for none.
    pub(crate) failed_last: IndexedHeap<(u64, u32)>,
    pub(crate) last_failure: Option<(NodeId, Ending)>,
    pub(crate) ready_nodes: u32,
    pub(crate) setup_nodes: u32,
    /// Attempts under way that were begun for requests that name no node.
    pub(crate) any_attempts: u32,
    /// Nodes whose last ended attempt was a rejection of our credentials.
    pub(crate) rejected_nodes: u32,
    /// Of these, the ones before their next-attempt time.
    pub(crate) rejected_resting: u32,
    /// When connections reach their idle or age limit.
    pub(crate) limits: IndexedHeap<Instant>,
    /// Those that have.
    pub(crate) past_limit: Vec<ConnectionId>,
    /// Unhealthy nodes that the next idempotent request is to probe, by when that fell due.
    pub(crate) probe_by_request: IndexedHeap<Instant>,
    pub(crate) sticky: Option<Sticky>,
    pub(crate) session: Option<Session>,
    pub(crate) by_key: Index,
    pub(crate) by_endpoint: Index,
    pub(crate) by_peer: Index,
    pub(crate) sources: Sources,
    pub(crate) departed: Departed,
    /// Nodes that left since the last drain, whose names can still be read.
    pub(crate) leavers: BTreeMap<NodeId, NodeSpec>,
    pub(crate) update: u64,
    pub(crate) entries: Entries,

    // Requests (SEMANTICS 4).
    pub(crate) requests: Slab<Request>,
    pub(crate) extras: Slab<Extra>,
    pub(crate) flights: Slab<Flight>,
    pub(crate) any_queue: Heap<u64>,
    pub(crate) queue_positions: Positions,
    /// Waiting requests for any node that fail fast.
    pub(crate) fail_fast: Heap<u64>,
    pub(crate) fail_fast_positions: Positions,
    /// Requests for any node in retry backoff.
    pub(crate) delayed: List,
    /// Of all lists of waiting requests: those in retry backoff, and those that stay with a node.
    pub(crate) delayed_links: Links,
    pub(crate) request_deadlines: DeadlineQueues,
    pub(crate) request_links: DeadlineLinks,
    pub(crate) queue_ages: DeadlineQueues,
    pub(crate) age_links: DeadlineLinks,
    pub(crate) flight_links: Links,
    pub(crate) attempt_deadlines: AttemptDeadlines,
    pub(crate) attempt_links: AttemptLinks,
    /// When transports that have something to write must accept bytes, by connection.
    pub(crate) stalls: DeadlineQueues,
    pub(crate) stall_links: DeadlineLinks,
    pub(crate) waiting: u32,
    pub(crate) waiting_bytes: u64,
    pub(crate) in_flight: u32,
    pub(crate) tombstones: u32,
    pub(crate) retry_budget: Option<TokenBucket>,

    // Random streams, one a purpose.
    pub(crate) selection_rng: Rng,
    pub(crate) dial_order_rng: Rng,
    pub(crate) retry_rng: Rng,
    pub(crate) age_rng: Rng,
    pub(crate) hint_rng: Rng,

    // What this call has left to do; empty between calls.
    pub(crate) to_serve: Vec<u32>,
    pub(crate) set_aside: Vec<u32>,
    /// Failures in setup, each of which lets the next node be dialled at once (3.7).
    pub(crate) setup_failures_now: u32,
    /// A request was handed to an unhealthy connection, or for want of another to the node that had
    /// sent it elsewhere: another node is dialled (4.7, 5.1).
    pub(crate) wants_another: bool,
    pub(crate) dial_timer: TimerSlot,
    pub(crate) limit_timer: TimerSlot,
    pub(crate) session_timer: TimerSlot,
    pub(crate) shutdown_timer: TimerSlot,
}

/// Whether the cluster is still at work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Run {
    Running,
    /// After `shutdown`, until this time at the latest.
    Draining(Instant),
    Terminated,
}

impl Cluster {
    /// A cluster without nodes. All its randomness comes from `seed`; `now` is the time from which
    /// it counts. If it has sources of server lists the first refresh of each begins at once: drain
    /// the outputs.
    #[must_use]
    pub fn new(config: Config, seed: u64, now: Instant) -> Self {
        let sticky = Sticky::new(&config, seed, now);
        let sources = Sources::new(&config, seed, now);
        let mut cluster = Self {
            outputs: Outputs::new(&config),
            ready: ReadySet::new(&config.selection),
            governor: Governor::new(&config, now),
            retry_budget: config.retry_budget.map(|budget| budget.bucket(now)),
            config,
            seed,
            now,
            run: Run::Running,
            timers: Timers::new(),
            stats: Stats::default(),
            sequence: 0,
            nodes: Slab::new(),
            attempts: Slab::new(),
            connections: Slab::new(),
            connection_links: Links::default(),
            dialable: IndexedHeap::new(),
            resting: Resting::new(),
            wanted: IndexedHeap::new(),
            throttled: IndexedHeap::new(),
            setups: IndexedHeap::new(),
            failed_last: IndexedHeap::new(),
            last_failure: None,
            ready_nodes: 0,
            setup_nodes: 0,
            any_attempts: 0,
            rejected_nodes: 0,
            rejected_resting: 0,
            limits: IndexedHeap::new(),
            past_limit: Vec::new(),
            probe_by_request: IndexedHeap::new(),
            sticky,
            session: None,
            by_key: Index::default(),
            by_endpoint: Index::default(),
            by_peer: Index::default(),
            sources,
            departed: Departed::default(),
            leavers: BTreeMap::new(),
            update: 0,
            entries: Entries::default(),
            requests: Slab::new(),
            extras: Slab::new(),
            flights: Slab::new(),
            any_queue: Heap::new(),
            queue_positions: Positions::default(),
            fail_fast: Heap::new(),
            fail_fast_positions: Positions::default(),
            delayed: List::EMPTY,
            delayed_links: Links::default(),
            request_deadlines: DeadlineQueues::new(TimerSlot::REQUEST),
            request_links: DeadlineLinks::default(),
            queue_ages: DeadlineQueues::new(TimerSlot::UNARMED),
            age_links: DeadlineLinks::default(),
            flight_links: Links::default(),
            attempt_deadlines: AttemptDeadlines::new(TimerSlot::ATTEMPT),
            attempt_links: AttemptLinks::default(),
            stalls: DeadlineQueues::new(TimerSlot::WRITE_STALL),
            stall_links: DeadlineLinks::default(),
            waiting: 0,
            waiting_bytes: 0,
            in_flight: 0,
            tombstones: 0,
            selection_rng: Rng::new(seed, Purpose::Selection, 0),
            dial_order_rng: Rng::new(seed, Purpose::DialOrder, 0),
            retry_rng: Rng::new(seed, Purpose::Retry, 0),
            age_rng: Rng::new(seed, Purpose::Age, 0),
            hint_rng: Rng::new(seed, Purpose::Hint, 0),
            to_serve: Vec::new(),
            set_aside: Vec::new(),
            refused_at: None,
            setup_failures_now: 0,
            wants_another: false,
            dial_timer: TimerSlot::UNARMED,
            limit_timer: TimerSlot::LIMIT,
            session_timer: TimerSlot::UNARMED,
            shutdown_timer: TimerSlot::UNARMED,
        };
        cluster.tend_sources();
        cluster
    }

    /// Replaces the application's server list (SEMANTICS 7.6): without other primary
    /// [sources](Config::sources) the list in force, else a part of it. Nodes are the same by key if both have one, else by
    /// endpoint, or if an established connection leads to the address that the entry gives; equal
    /// entries are one. Nodes that stay keep everything; the connections of those that leave drain.
    ///
    /// # Errors
    ///
    /// [`SetNodesError`]; the old list stays.
    pub fn set_nodes(&mut self, now: Instant, list: &[NodeSpec]) -> Result<(), SetNodesError> {
        self.call(now, |cluster| {
            let update = cluster.update_list(ListId::APPLICATION, list);
            update.map(|_changed| ())
        })
    }

    /// Replaces the application's fallback list, such as the servers it was configured with. It is
    /// only kept: its nodes join the list when the primary lists name no node, when every node that
    /// they name has failed, or when the cluster has not said its list for too long; they leave with
    /// the next good answer of a primary source (SEMANTICS 7.9). So call it after `set_nodes`.
    ///
    /// # Errors
    ///
    /// [`SetNodesError`]; the old one stays.
    pub fn set_fallback(&mut self, now: Instant, list: &[NodeSpec]) -> Result<(), SetNodesError> {
        self.call(now, |cluster| {
            let kept = cluster.keep_fallback(ListId::CONFIGURED, list);
            kept.map(|_changed| ())
        })
    }

    /// Accepts a request, which then completes exactly once, whatever happens.
    ///
    /// # Errors
    ///
    /// [`SubmitError`] if it is refused; then nothing is kept of it.
    pub fn submit(
        &mut self,
        now: Instant,
        options: RequestOptions,
    ) -> Result<RequestId, SubmitError> {
        self.call(now, |cluster| cluster.accept(&options))
    }

    /// Completes a request as cancelled, at once (SEMANTICS 4.9). What was not handed over never
    /// will be; what was keeps its slot until its reply or its attempt deadline. False if the
    /// request is complete already.
    pub fn cancel(&mut self, now: Instant, request: RequestId) -> bool {
        self.call(now, |cluster| cluster.cancel_request(request))
    }

    /// Ends the cluster (SEMANTICS 9): what waits fails as Closed, what was handed over may finish
    /// for `drain`. [`Output::Terminated`] is the last output. A second call can only shorten the
    /// drain.
    ///
    /// # Errors
    ///
    /// [`ShutdownError::DrainTooLong`] if the drain would reach [`Instant::MAX`]; nothing happens.
    pub fn shutdown(&mut self, now: Instant, drain: Duration) -> Result<(), ShutdownError> {
        self.call(now, |cluster| cluster.begin_shutdown(drain))
    }

    /// Takes a hint that the application has from elsewhere (SEMANTICS 8.5). It may probe
    /// connections, and is the one thing that lets a node be dialled before its next-attempt time.
    pub fn hint(&mut self, now: Instant, hint: Hint) {
        self.call(now, |cluster| cluster.take_hint(hint));
    }

    /// Takes a fact about the world. Never fires a deadline: a reply that is handed in before its
    /// timeout is handled wins, even if it is late.
    pub fn handle_input(&mut self, now: Instant, input: Input) {
        self.call(now, |cluster| cluster.take_fact(input));
    }

    /// The answer to a Resolve action. No address is a failure; duplicates are dropped, and at most
    /// 64 addresses are used.
    pub fn resolved(&mut self, now: Instant, attempt: AttemptId, addresses: &[SocketAddr]) {
        self.call(now, |cluster| cluster.take_addresses(attempt, addresses));
    }

    /// These frames are handed over: a `WriteStarted` for each, at the price of one call. To be given
    /// before their first byte leaves. The serials may be none.
    pub fn writes_started(
        &mut self,
        now: Instant,
        connection: ConnectionId,
        serials: impl IntoIterator<Item = u32>,
    ) {
        let serials = serials.into_iter();
        self.call(now, |cluster| {
            cluster.take_writes_started(connection, serials);
        });
    }

    /// The answer to a Refresh or Discover action. A list whose version is not above that of the
    /// source's last answer is ignored; one without a version is always taken. What is no server
    /// list (empty, too long, a key with two endpoints) changes nothing and counts as a failure;
    /// [`Event::Refreshed`](crate::Event::Refreshed) says what came of it.
    pub fn refreshed(
        &mut self,
        now: Instant,
        refresh: RefreshId,
        version: Option<u64>,
        list: &[NodeSpec],
    ) {
        self.call(now, |cluster| cluster.take_list(refresh, version, list));
    }

    /// The transport accepted bytes, and with them the ends of these frames: a `WriteProgress` and a
    /// `WriteDone` for each, at the price of one call. The serials may be none.
    pub fn writes_done(
        &mut self,
        now: Instant,
        connection: ConnectionId,
        serials: impl IntoIterator<Item = u32>,
    ) {
        let serials = serials.into_iter();
        self.call(now, |cluster| cluster.take_writes_done(connection, serials));
    }

    /// Handles every deadline that is due at `now`. Too early a call does nothing.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.call(now, Self::fire_deadlines);
        mutant!(HandlesOneDeadline => return);
        // Fallback nodes that join at the end of a call can make something due at once, such as the end
        // of an attempt whose share of the session's timeout they take.
        while let Some((at, _)) = self.timers.peek()
            && at <= self.now
        {
            self.call(self.now, Self::fire_deadlines);
        }
    }

    /// The next output, in order. Drain until `None` after each call.
    pub fn poll_output(&mut self) -> Option<Output> {
        let output = self.outputs.pop();
        // Clearing a map costs more than looking whether it is empty, and this is asked often.
        if output.is_none() && !self.leavers.is_empty() {
            self.leavers.clear();
        }
        output
    }

    /// When to call [`handle_timeout`](Self::handle_timeout), and why: exact, O(1), and now while
    /// outputs wait. `None`: not before something else happens.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Deadline> {
        self.next_deadline()
    }

    /// One round: handles what is due at `now`, hands each output to `on_output`, and returns when
    /// to come back. `on_output` may call the cluster; what that puts out is drained too.
    pub fn drive(
        &mut self,
        now: Instant,
        mut on_output: impl FnMut(&mut Self, Output),
    ) -> Option<Deadline> {
        self.handle_timeout(now);
        while let Some(output) = self.poll_output() {
            on_output(self, output);
        }
        self.poll_timeout()
    }

    /// What every call from outside does around its own work: time moves on, and what has become
    /// possible is done.
    #[inline]
    fn call<T>(&mut self, now: Instant, work: impl FnOnce(&mut Self) -> T) -> T {
        self.advance(now);
        let result = work(self);
        match self.run {
            Run::Running => {
                loop {
                    self.stick_to_who_is_ready();
                    if !(self.to_serve.is_empty() && self.any_queue.is_empty()) {
                        self.hand_over();
                    }
                    if self.sources.need_care() {
                        self.tend_sources();
                    }
                    // Not when fallback nodes have just joined: they may have moved the client, and its
                    // requests with it.
                    if !self.sources.changed && !self.nobody_waits_for_a_node() {
                        self.dial_who_is_wanted();
                    }
                    if !self.sources.changed {
                        break;
                    }
                }
                self.setup_failures_now = 0;
            }
            Run::Draining(_) => {
                self.to_serve.clear();
                self.terminate_if_done();
            }
            Run::Terminated => {}
        }
        result
    }

    /// Time never goes back (SEMANTICS 1.2).
    #[inline]
    fn advance(&mut self, now: Instant) {
        if now > self.now {
            self.now = now;
            self.end_rests();
            self.mark_past_limit();
        } else if now < self.now {
            self.stats.backward_clocks += 1;
        }
    }

    /// Nodes whose rest or throttle is over become eligible in any call (1.1). Nothing rests only
    /// until now, so it is when time moves that there is something to do.
    fn end_rests(&mut self) {
        self.governor.advance(self.now);
        while let Some((until, node)) = self.resting.first()
            && until <= self.now
        {
            self.update_idle(node);
        }
        while let Some((until, node)) = self.throttled.peek()
            && until <= self.now
        {
            self.end_throttle(node);
        }
    }

    /// The next number of the common sequence.
    pub(crate) fn next_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    pub(crate) fn node_id(&self, index: u32) -> NodeId {
        NodeId {
            index,
            generation: self.nodes.generation(index),
        }
    }

    pub(crate) fn connection_id(&self, index: u32) -> ConnectionId {
        ConnectionId {
            index,
            generation: self.connections.generation(index),
        }
    }

    pub(crate) fn attempt_id(&self, index: u32) -> AttemptId {
        AttemptId {
            index,
            generation: self.attempts.generation(index),
        }
    }

    pub(crate) fn request_id(&self, index: u32) -> RequestId {
        RequestId {
            index,
            generation: self.requests.generation(index),
        }
    }
}
