//! Requests: queued, in flight, completed exactly once (SEMANTICS 4).
//!
//! - `submit`: accepting, refusing, cancelling (4.1, 4.9, 6.1)
//! - `queue`: who gets a free slot (4.2, 5.1)
//! - `attempt_deadlines`: when a reply must be there (4.5, 4.6)
//! - `flight`: what is on a connection: hand-over, acceptance, replies, throttles (4.3, 4.4, 4.6)
//! - `timeout`: deadlines, attempt timeouts, write stalls (4.5, 5.3, 8.3)
//! - `settle`: retry or completion (4.7, 4.8)

mod attempt_deadlines;
mod flight;
mod queue;
mod settle;
mod submit;
mod timeout;

pub(crate) use attempt_deadlines::{AttemptDeadlines, AttemptLinks};
pub(crate) use flight::{Flight, FlightState};

use alloc::vec::Vec;
use core::time::Duration;

use crate::{
    Cluster, ConnectionId, Instant, NodeId, RequestOptions, Target, cluster::Digest,
    collections::NONE, node::Ending, timers::TimerSlot,
};

/// An accepted request that is not complete. Packed, as there may be a million of them.
#[derive(Clone, Copy, Debug)]
#[repr(Rust, packed(4))]
pub(crate) struct Request {
    /// Its age: requests are served in the order of these.
    pub(crate) seq: u64,
    pub(crate) submitted: Instant,
    /// The node that it is for, with index `NONE` if it is for any.
    target: NodeId,
    /// The index in its place; see `Place`.
    index: u32,
    pub(crate) bytes: u32,
    /// How often it was handed over.
    pub(crate) attempts: u32,
    /// Its place among the extras, or `NONE`.
    extra: u32,
    kind: PlaceKind,
    pub(crate) idempotent: bool,
    pub(crate) fail_fast: bool,
    pub(crate) expects_reply: bool,
}

/// What is kept only of a request that has its own timeout for an attempt, or that did not succeed
/// with its first.
#[derive(Clone, Debug)]
pub(crate) struct Extra {
    /// Its own timeout for one attempt, where it is not the configured one.
    pub(crate) own_timeout: Option<Duration>,
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
    /// Frames of earlier attempts that their connections had not wholly accepted: it is not written
    /// there before.
    pub(crate) barred: Vec<(ConnectionId, u32)>,
    /// The node where it last was, or whose failure concerned it last, and that failure.
    pub(crate) last_node: Option<NodeId>,
    pub(crate) last_ending: Option<Ending>,
    pub(crate) retry_timer: TimerSlot,
}

/// Where a request is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Place {
    /// On its way from one place to another.
    Nowhere,
    /// In the queue for any node.
    AnyQueue,
    /// In the queue of the node at this index.
    NodeQueue(u32),
    /// Its deadline has passed; it waits for `handle_timeout`.
    Overdue,
    /// In retry backoff, in its node's list if it is bound.
    Delayed,
    /// On a connection: the index of its flight.
    Flight(u32),
}

/// A `Place` without its index, which takes a byte beside the other flags.
#[derive(Clone, Copy, Debug)]
enum PlaceKind {
    Nowhere,
    AnyQueue,
    NodeQueue,
    Overdue,
    Delayed,
    Flight,
}

impl Request {
    pub(crate) fn new(options: &RequestOptions, seq: u64, now: Instant) -> Self {
        Self {
            seq,
            submitted: now,
            target: match options.target {
                Target::Any => NO_NODE,
                Target::Node(node) => node,
            },
            index: NONE,
            bytes: options.bytes,
            attempts: 0,
            extra: NONE,
            kind: PlaceKind::Nowhere,
            idempotent: options.idempotent,
            fail_fast: options.fail_fast,
            expects_reply: options.expects_reply,
        }
    }

    pub(crate) fn digest(&self, to: &mut Digest<'_>) {
        let Self {
            seq,
            submitted,
            target,
            index: _,
            bytes,
            attempts,
            extra,
            kind: _,
            idempotent,
            fail_fast,
            expects_reply,
        } = *self;
        to.number(seq);
        // Its outcome says how long it took.
        to.exact(submitted);
        to.add(target.index == NONE);
        to.node(target);
        to.add(match self.place() {
            // Which, its connection says.
            Place::Flight(_) => Place::Flight(NONE),
            place => place,
        });
        to.add((bytes, attempts, idempotent, fail_fast, expects_reply));
        to.add(extra == NONE);
        if extra != NONE {
            to.cluster.extras[extra].digest(to);
        }
    }

    pub(crate) fn target(&self) -> Option<NodeId> {
        (self.target.index != NONE).then_some(self.target)
    }

    pub(crate) const fn place(&self) -> Place {
        match self.kind {
            PlaceKind::Nowhere => Place::Nowhere,
            PlaceKind::AnyQueue => Place::AnyQueue,
            PlaceKind::NodeQueue => Place::NodeQueue(self.index),
            PlaceKind::Overdue => Place::Overdue,
            PlaceKind::Delayed => Place::Delayed,
            PlaceKind::Flight => Place::Flight(self.index),
        }
    }

    pub(crate) const fn set_place(&mut self, place: Place) {
        (self.kind, self.index) = match place {
            Place::Nowhere => (PlaceKind::Nowhere, NONE),
            Place::AnyQueue => (PlaceKind::AnyQueue, NONE),
            Place::NodeQueue(node) => (PlaceKind::NodeQueue, node),
            Place::Overdue => (PlaceKind::Overdue, NONE),
            Place::Delayed => (PlaceKind::Delayed, NONE),
            Place::Flight(flight) => (PlaceKind::Flight, flight),
        };
    }
}

const NO_NODE: NodeId = NodeId {
    index: NONE,
    generation: 0,
};

impl Extra {
    const fn new(target: Option<NodeId>) -> Self {
        Self {
            own_timeout: None,
            charged: 0,
            last_backoff: 0,
            answered: false,
            elsewhere: false,
            retry_refused: false,
            budget_exhausted: false,
            avoid: None,
            stay: None,
            barred: Vec::new(),
            last_node: target,
            last_ending: None,
            retry_timer: TimerSlot::UNARMED,
        }
    }

    fn digest(&self, to: &mut Digest<'_>) {
        let Self {
            own_timeout,
            charged,
            last_backoff,
            answered,
            elsewhere,
            retry_refused,
            budget_exhausted,
            avoid,
            stay,
            barred,
            last_node,
            last_ending,
            retry_timer: _,
        } = self;
        to.add((own_timeout, charged, answered, elsewhere));
        to.add((retry_refused, budget_exhausted, last_ending));
        if to.decorrelated {
            to.add(last_backoff);
        }
        to.add(last_node.is_some());
        for node in [avoid, last_node] {
            to.node(node.unwrap_or(NO_NODE));
        }
        let none = ConnectionId {
            index: NONE,
            generation: 0,
        };
        to.connection(stay.unwrap_or(none));
        to.all(barred.iter(), |to, &(connection, serial)| {
            if to.connection(connection) {
                to.serial(connection.index, serial);
            }
        });
    }
}

impl Cluster {
    pub(crate) fn extra(&self, r: u32) -> Option<&Extra> {
        match self.requests[r].extra {
            NONE => None,
            extra => Some(&self.extras[extra]),
        }
    }

    pub(crate) fn extra_mut(&mut self, r: u32) -> &mut Extra {
        let request = &mut self.requests[r];
        if request.extra == NONE {
            (request.extra, _) = self.extras.insert(Extra::new(request.target()));
        }
        &mut self.extras[request.extra]
    }
}

#[cfg(test)]
mod tests {
    use crate::cluster::tests::{assert_all_differ, resting};

    #[test]
    fn for_which_node_a_request_is_is_in_the_fingerprint() {
        assert_all_differ(
            &resting().cluster,
            &[
                ("another", |c| c.requests[0].target = c.node_id(0)),
                ("any", |c| c.requests[0].target = super::NO_NODE),
                ("one that is gone", |c| {
                    c.requests[0].target.generation += 1;
                }),
            ],
        );
    }
}
