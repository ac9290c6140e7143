//! Requests: queued, in flight, completed exactly once (SEMANTICS 4).
//!
//! - `submit`: accepting, refusing, cancelling (4.1, 4.9, 6.1)
//! - `queue`: who gets a free slot (4.2, 5.1)
//! - `flight`: what is on a connection: hand-over, acceptance, replies, throttles (4.3, 4.4, 4.6)
//! - `timeout`: deadlines, attempt timeouts, write stalls (4.5, 5.3, 8.3)
//! - `settle`: retry or completion (4.7, 4.8)

mod flight;
mod queue;
mod settle;
mod submit;
mod timeout;

pub(crate) use flight::{Flight, FlightState};

use core::time::Duration;

use crate::{ConnectionId, Instant, NodeId, RequestOptions, node::Ending, timers::TimerSlot};

/// An accepted request that is not complete.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// Its age: requests are served in the order of these.
    pub(crate) seq: u64,
    pub(crate) submitted: Instant,
    pub(crate) deadline: Instant,
    /// Its own timeout for one attempt, where it is not the configured one.
    pub(crate) own_timeout: Option<Duration>,
    pub(crate) target: Option<NodeId>,
    pub(crate) bytes: u32,
    pub(crate) idempotent: bool,
    pub(crate) fail_fast: bool,
    pub(crate) expects_reply: bool,
    pub(crate) place: Place,
    /// How often it was handed over.
    pub(crate) attempts: u32,
    /// How many of its attempts count against `max_attempts`.
    pub(crate) charged: u32,
    pub(crate) last_backoff: u64,
    /// Its last attempt ended with a reply.
    pub(crate) answered: bool,
    /// The node that it avoids has sent it elsewhere.
    pub(crate) elsewhere: bool,
    /// Its reply asked for a retry, and none was possible.
    pub(crate) retry_refused: bool,
    /// The retry budget refused it a retry.
    pub(crate) budget_exhausted: bool,
    /// The node that failed it last.
    pub(crate) avoid: Option<NodeId>,
    /// The connection that it stays with while its node is Ready by it.
    pub(crate) stay: Option<ConnectionId>,
    /// The frame of an earlier attempt that its connection has not wholly accepted: it is not
    /// written there before.
    pub(crate) barred: Option<(ConnectionId, u32)>,
    /// The node where it last was, or whose failure concerned it last, and that failure.
    pub(crate) last_node: Option<NodeId>,
    pub(crate) last_ending: Option<Ending>,
    pub(crate) retry_timer: TimerSlot,
}

/// Where a request is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// On its way from one place to another.
    Nowhere,
    /// In the queue for any node.
    AnyQueue,
    /// In the queue of the node at this index.
    NodeQueue(u32),
    /// Its deadline has passed; it waits for `handle_timeout`.
    Overdue,
    /// In retry backoff, in the list of the node at this index if it is bound or stays.
    Delayed(Option<u32>),
    /// On a connection: the index of its flight.
    Flight(u32),
}

impl Request {
    pub(crate) fn new(options: &RequestOptions, seq: u64, now: Instant, deadline: Instant) -> Self {
        let target = match options.target {
            crate::Target::Any => None,
            crate::Target::Node(node) => Some(node),
        };
        Self {
            seq,
            submitted: now,
            deadline,
            own_timeout: options
                .request_timeout
                .map(|limit| limit.duration().unwrap_or(Duration::MAX)),
            target,
            bytes: options.bytes,
            idempotent: options.idempotent,
            fail_fast: options.fail_fast,
            expects_reply: options.expects_reply,
            place: Place::Nowhere,
            attempts: 0,
            charged: 0,
            last_backoff: 0,
            answered: false,
            elsewhere: false,
            retry_refused: false,
            budget_exhausted: false,
            avoid: None,
            stay: None,
            barred: None,
            last_node: target,
            last_ending: None,
            retry_timer: TimerSlot::UNARMED,
        }
    }
}
