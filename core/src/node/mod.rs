//! Nodes, their attempts and their connections (SEMANTICS 2 and 3).
//!
//! - `state`: the states, and the table of transitions
//! - `addresses`: which address comes next (2.4, 2.5)
//! - `attempt`: from the dial to Ready or a failure (2.1, 3.1)
//! - `lifecycle`: Ready, lost, detached, closed; failures and backoff (2.1, 3.2, 3.3)
//! - `dial`: who is wanted, and who is dialled (2.2, 3.5, 3.7, 5.1)
//! - `sticky`: one node at a time (7.7, 7.8)
//! - `governor`: how many attempts there may be (3.6)
//! - `connection`: what is kept of one transport
//! - `upkeep`: idle and age limits, keepalives, probes (5.3, 8.1, 8.2, 8.4)

mod addresses;
mod attempt;
mod connection;
mod dial;
mod governor;
mod lifecycle;
mod state;
mod sticky;
mod upkeep;

pub(crate) use addresses::Addresses;
pub(crate) use attempt::Attempt;
pub(crate) use connection::{Connection, Phase};
#[cfg(redial_mutant)]
pub(crate) use dial::DialFor;
pub(crate) use dial::{DialKey, Resting, WantedKey};
pub(crate) use governor::Governor;
pub use state::NodeState;
pub(crate) use sticky::{BeforeUpdate, Sticky};
pub(crate) use upkeep::Upkeep;

use alloc::boxed::Box;

use crate::{
    Backoff, Cause, Config, Instant, Jitter, LastFailure, NodeSpec,
    cluster::Digest,
    collections::{Heap, List, NONE},
    rng::{Purpose, Rng, stream_of},
    timers::TimerSlot,
};

/// One server of the list.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) spec: NodeSpec,
    pub(crate) state: NodeState,
    /// The attempt under way, or `NONE`.
    pub(crate) attempt: u32,
    /// The connection that is in Handshaking or Ready, or `NONE`.
    pub(crate) connection: u32,
    /// Connections that were detached and drain, the older first.
    pub(crate) detached: [u32; 2],

    pub(crate) failures: u32,
    /// Consecutive failures in setup: how far the setup timeout has grown.
    pub(crate) setup_failures: u32,
    /// The last wait drawn, for `Jitter::Decorrelated`.
    pub(crate) last_backoff: u64,
    pub(crate) next_attempt: Option<Instant>,
    pub(crate) last_attempt: Option<Instant>,
    pub(crate) last_failure: Option<LastFailure>,
    /// The last attempt that ended was a rejection of our credentials.
    pub(crate) last_ended_rejected: bool,
    pub(crate) throttled_until: Instant,

    /// Boxed, as most nodes of a long list are never dialled.
    addresses: Option<Box<Addresses>>,
    /// Names this node's random streams, so that its failures shift nobody else's times.
    stream: u64,
    backoff_draws: u64,
    setup_draws: u64,
    /// Breaks ties between nodes of the same age, so that clients with one list spread.
    pub(crate) tie: u64,
    /// Attempts in a row that were aborted without a failure (3.7).
    pub(crate) aborts_in_a_row: u32,

    /// Requests that wait for this node and no other, by age.
    pub(crate) queue: Heap<u64>,
    /// Of the waiting ones bound to it, those that fail fast.
    pub(crate) fail_fast: Heap<u64>,
    /// Requests bound to it in retry backoff.
    pub(crate) delayed: List,
    pub(crate) delayed_len: u32,
    /// Requests in `queue` that stay only while the node is Ready.
    pub(crate) staying: List,

    pub(crate) next_attempt_timer: TimerSlot,
    pub(crate) throttle_timer: TimerSlot,
    /// It is in the list of nodes to be served.
    pub(crate) to_serve: bool,
    /// It is counted among the nodes that rest after a rejection.
    pub(crate) rejected_resting: bool,
    /// The last update that named it.
    pub(crate) seen_in: u64,
    /// The lists that name it, a bit each.
    pub(crate) lists: u64,
}

impl Node {
    pub(crate) fn new(spec: NodeSpec, tie: u64) -> Self {
        Self {
            stream: stream_name(&spec),
            spec,
            state: NodeState::Disconnected,
            attempt: NONE,
            connection: NONE,
            detached: [NONE; 2],
            failures: 0,
            setup_failures: 0,
            last_backoff: 0,
            next_attempt: None,
            last_attempt: None,
            last_failure: None,
            last_ended_rejected: false,
            throttled_until: Instant::ORIGIN,
            addresses: None,
            backoff_draws: 0,
            setup_draws: 0,
            tie,
            aborts_in_a_row: 0,
            queue: Heap::new(),
            fail_fast: Heap::new(),
            delayed: List::EMPTY,
            delayed_len: 0,
            staying: List::EMPTY,
            next_attempt_timer: TimerSlot::UNARMED,
            throttle_timer: TimerSlot::UNARMED,
            to_serve: false,
            rejected_resting: false,
            seen_in: 0,
            lists: 0,
        }
    }

    /// The wait after the failure just counted (SEMANTICS 3.2).
    fn draw_backoff(&mut self, config: &Config, seed: u64) -> core::time::Duration {
        let mut rng = Rng::new(seed, Purpose::Reconnect, self.stream).skip(self.backoff_draws);
        self.backoff_draws += 1;
        config.jitter.draw(
            &config.reconnect_backoff,
            self.failures.saturating_sub(1),
            &mut self.last_backoff,
            &mut rng,
        )
    }

    /// The setup timeout of the attempt that begins (SEMANTICS 3.1).
    fn draw_setup_timeout(
        &mut self,
        growth: &Backoff,
        jitter: Jitter,
        seed: u64,
    ) -> core::time::Duration {
        let mut rng = Rng::new(seed, Purpose::Setup, self.stream).skip(self.setup_draws);
        self.setup_draws += 1;
        let jitter = match jitter {
            Jitter::None => Jitter::None,
            _ => Jitter::Clipped(200),
        };
        jitter.draw(growth, self.setup_failures, &mut 0, &mut rng)
    }

    /// The connection proved useful: the failures are forgotten (SEMANTICS 3.3), but not a
    /// next-attempt time that is already set.
    pub(crate) fn reset_backoff(&mut self) {
        self.failures = 0;
        self.last_backoff = 0;
        if let Some(addresses) = &mut self.addresses {
            addresses.forget_tried();
        }
    }

    /// Everything that belongs to the endpoint rather than to the key.
    pub(crate) fn start_fresh(&mut self) {
        self.reset_backoff();
        self.next_attempt = None;
        self.setup_failures = 0;
        self.last_attempt = None;
        self.last_failure = None;
        self.throttled_until = Instant::ORIGIN;
        self.addresses = None;
        self.stream = stream_name(&self.spec);
    }

    pub(crate) fn digest(&self, to: &mut Digest<'_>) {
        let Self {
            spec,
            state,
            attempt,
            connection,
            detached,
            failures,
            setup_failures,
            last_backoff,
            next_attempt,
            last_attempt,
            last_failure,
            last_ended_rejected,
            throttled_until,
            addresses,
            stream,
            backoff_draws,
            setup_draws,
            tie,
            aborts_in_a_row,
            // Who is in them, the requests say.
            queue: _,
            fail_fast: _,
            delayed,
            delayed_len: _,
            staying,
            next_attempt_timer: _,
            throttle_timer: _,
            to_serve,
            rejected_resting,
            // Tells apart what is seen within one update of the list.
            seen_in: _,
            lists,
        } = self;
        to.add((spec, state, attempt, connection, detached));
        to.add(*failures.min(&to.most_failures));
        to.add(*setup_failures.min(&to.most_setup_failures));
        to.next_attempt(*next_attempt);
        to.last_attempt(*last_attempt);
        // Its time is only to be read.
        to.add(last_failure.map(|failure| (failure.stage, failure.cause)));
        to.add(last_ended_rejected);
        to.deadline(*throttled_until);
        to.add(addresses.is_some());
        if let Some(addresses) = addresses {
            addresses.digest(to);
        }
        if to.decorrelated {
            to.add(last_backoff);
        }
        if to.draws {
            to.add((stream, backoff_draws, setup_draws));
        }
        to.add((tie, aborts_in_a_row, to_serve, rejected_resting, lists));
        let links = &to.cluster.delayed_links;
        to.all(delayed.iter(links), |to, r| to.add(r));
        to.all(staying.iter(links), |to, r| to.add(r));
    }

    pub(crate) fn addresses(&mut self) -> &mut Addresses {
        self.addresses.get_or_insert_default()
    }

    pub(crate) fn queued(&self) -> u32 {
        self.queue.len() as u32 + self.delayed_len
    }
}

/// From key or endpoint, so that the same node draws the same numbers whatever the list's order.
fn stream_name(spec: &NodeSpec) -> u64 {
    match &spec.key {
        Some(key) => stream_of(key.bytes()),
        None => {
            let text = alloc::format!("{}", spec.endpoint);
            stream_of(text.bytes())
        }
    }
}

/// The failure with which an attempt or a connection ends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Ending {
    pub(crate) stage: crate::Stage,
    pub(crate) cause: Cause,
}
