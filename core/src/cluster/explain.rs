//! Why a request is where it is (SEMANTICS 5.4).

use alloc::vec::Vec;

use crate::{
    Cluster, Instant, LastFailure, NodeId, NodeState, RequestId,
    collections::NONE,
    node::Phase,
    request::{FlightState, Place},
};

/// What selection makes of a node, for one request or for any.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Explanation {
    /// The node.
    pub node: NodeId,
    /// What it is doing.
    pub state: NodeState,
    /// Its last failure since it was last Ready.
    pub last_failure: Option<LastFailure>,
    /// Before this it is not dialled.
    pub next_attempt: Option<Instant>,
    /// Slots taken on its connection.
    pub in_flight: u32,
    /// Why it was or was not chosen or awaited.
    pub why: Why,
}

/// Why a node was or was not chosen or awaited.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Why {
    /// The request is on its connection; handed over or not.
    Chosen {
        /// Its first byte has left.
        handed_over: bool,
    },
    /// The request is bound to another node.
    NotItsNode,
    /// It is not asked before then: the request is in retry backoff.
    RetryBackoff(Instant),
    /// It can take a request now.
    Eligible,
    /// It can take a request now, but a policy of the user's own wants no node that there is.
    RefusedByPolicy,
    /// The same, but it is unhealthy: chosen only if no healthy node can take it.
    Unhealthy,
    /// It is Ready, and throttled until then.
    Throttled(Instant),
    /// It is Ready, and has no free slot.
    Full,
    /// It is Ready, and its transport takes no more bytes.
    Blocked,
    /// Its connection has reached its idle or age limit.
    PastLimit,
    /// An earlier frame of the same request is not wholly written there yet.
    OwnFrameUnfinished,
    /// It is being set up, until then at the latest.
    InSetup(Option<Instant>),
    /// It failed, and is not dialled before then.
    Resting(Instant),
    /// It is to be dialled as soon as the governor lets it, known to be then or when an attempt
    /// ends.
    AwaitsGovernor(Option<Instant>),
    /// The policy is `Sticky`, and the client's node is another.
    NotOwn,
    /// It could be dialled, but nothing wants it: the request waits for others, or there is none.
    NotWanted,
}

impl Cluster {
    /// What selection makes of each node for this request, by rising index. `None` if the request is
    /// complete.
    #[must_use]
    pub fn explain(&self, request: RequestId) -> Option<Vec<Explanation>> {
        let known = self.is_open(request).then_some(request.index)?;
        let nodes = self.nodes.iter();
        let explain = |(n, _)| self.explanation(n, self.why_for(known, n));
        Some(nodes.map(explain).collect())
    }

    /// What selection makes of a node. `None` if it is not in the list.
    #[must_use]
    pub fn explain_node(&self, node: NodeId) -> Option<Explanation> {
        self.nodes.get(node.index, node.generation)?;
        Some(self.explanation(node.index, self.why(node.index)))
    }

    fn explanation(&self, n: u32, why: Why) -> Explanation {
        let node = &self.nodes[n];
        Explanation {
            node: self.node_id(n),
            state: node.state,
            last_failure: node.last_failure,
            next_attempt: node.next_attempt,
            in_flight: match node.connection {
                NONE => 0,
                c => self.connections[c].in_flight,
            },
            why,
        }
    }

    fn why_for(&self, r: u32, n: u32) -> Why {
        let request = &self.requests[r];
        if let Place::Flight(f) = request.place()
            && self.nodes[n].connection == self.flights[f].connection
        {
            let handed_over = self.flights[f].state != FlightState::Emitted;
            return Why::Chosen { handed_over };
        }
        if request.target().is_some_and(|target| target.index != n) {
            return Why::NotItsNode;
        }
        let retry = self.extra(r).map(|extra| &extra.retry_timer);
        if let Some(until) = retry.and_then(|timer| self.timers.deadline(timer)) {
            return Why::RetryBackoff(until);
        }
        if self.barred_nodes(r).contains(&n) {
            return Why::OwnFrameUnfinished;
        }
        let refused = request.target().is_none() && self.any_is_refused();
        if request.target().is_none() && self.sticks_to().is_some_and(|own| own != n) {
            return Why::NotOwn;
        }
        match self.why(n) {
            Why::Eligible | Why::Unhealthy if refused => Why::RefusedByPolicy,
            why => why,
        }
    }

    pub(super) fn why(&self, n: u32) -> Why {
        let node = &self.nodes[n];
        match node.state {
            NodeState::Ready => self.why_ready(n),
            state if state.is_setup() => Why::InSetup(self.setup_deadline(n)),
            _ => match self.resting.until(n) {
                Some(until) => Why::Resting(until),
                None if self.wanted.contains(n) => {
                    Why::AwaitsGovernor(self.governor.opens(self.now))
                }
                None => Why::NotWanted,
            },
        }
    }

    fn why_ready(&self, n: u32) -> Why {
        let connection = &self.connections[self.nodes[n].connection];
        debug_assert_eq!(connection.phase, Phase::Ready);
        if let Some(until) = self.throttled.key(n) {
            Why::Throttled(until)
        } else if connection.upkeep.past_limit {
            Why::PastLimit
        } else if connection.blocked {
            Why::Blocked
        } else if connection.in_flight >= connection.limit {
            Why::Full
        } else if connection.unhealthy {
            Why::Unhealthy
        } else {
            Why::Eligible
        }
    }
}
