//! Nothing waits for ever: what can be handed over or dialled, is.

use alloc::vec::Vec;

use super::{
    Rule, Seen, Violation, ensure,
    governor::Governor,
    ledger::{Ledger, Request},
};
use crate::{
    Config, Instant, Limit, NodeId, NodeState, NodeView, RequestId, SelectionPolicy, Warm,
};

/// DESIGN 4.6; SEMANTICS 2.2, 3.7, 5.1; R123: over all states of all nodes. Judged when the core has been given time.
#[derive(Clone)]
pub(super) struct Progress {
    max_in_flight: u32,
    warm_all: bool,
    hedge_delay: Limit,
    max_hedges: usize,
    governor: Governor,
    /// The user's own policy may want no node.
    own_policy: bool,
    /// Requests wait for the one node, and for the delays of laps.
    sticky: bool,
}

pub(super) const FREE: &str =
    "a request does not wait beside a node that could take it (SEMANTICS 5.1)";
pub(super) const DIAL: &str = "while a request waits, what can be dialled for it is (DESIGN 4.6)";
pub(super) const HEDGE: &str =
    "while a request waits for slow attempts, one more node is dialled (SEMANTICS 3.7)";
pub(super) const WARM: &str = "nodes that are kept warm are dialled (SEMANTICS 2.2)";
pub(super) const GONE: &str = "no request waits for a node that has left (SEMANTICS 7.6)";

impl Progress {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            max_in_flight: config.max_in_flight(),
            warm_all: match (config.warm(), config.selection()) {
                (Warm::ByPolicy, SelectionPolicy::LeastLoaded | SelectionPolicy::Sticky) => false,
                (Warm::ByPolicy, _) => true,
                (warm, _) => warm == Warm::All,
            },
            hedge_delay: config.effective_hedge_delay(),
            max_hedges: config.max_hedges() as usize,
            governor: Governor::new(config),
            own_policy: matches!(config.selection(), SelectionPolicy::Custom(_)),
            sticky: config.selection() == SelectionPolicy::Sticky,
        }
    }
}

impl Rule for Progress {
    fn after_step(&mut self, seen: &Seen<'_>, ledger: &Ledger) -> Result<(), Violation> {
        self.governor.apply(seen);
        if !seen.step.is_timeout() || ledger.shut_down {
            return Ok(());
        }
        let now = seen.step.now;
        for view in &seen.nodes {
            ensure!(
                !self.warm_all || !self.may_dial(view, now),
                WARM,
                "{} is {} and rests until {:?}",
                view.id,
                view.state,
                view.next_attempt
            );
        }
        let waiting = ledger
            .requests
            .iter()
            .filter(|(_, request)| request.is_waiting(now));
        for (id, request) in waiting {
            match request.bound_to() {
                Some(node) => {
                    let view = seen.cluster.node(node);
                    ensure!(view.is_some(), GONE, "{id} waits for {node}");
                    let Some(view) = view else { continue };
                    self.check_free(*id, request, &view, (seen, ledger))?;
                    ensure!(
                        !self.may_dial(&view, now),
                        DIAL,
                        "{id} waits for {node}, which is idle"
                    );
                }
                // Its tests know what it waits for.
                None if self.sticky => {}
                None => self.check_any(*id, request, (seen, ledger))?,
            }
        }
        Ok(())
    }
}

impl Progress {
    fn check_any(
        &self,
        id: RequestId,
        request: &Request,
        (seen, ledger): (&Seen<'_>, &Ledger),
    ) -> Result<(), Violation> {
        let now = seen.step.now;
        let sticks_to = request.sticks_to.and_then(|node| seen.cluster.node(node));
        if let Some(view) = sticks_to.filter(|view| view.state == NodeState::Ready) {
            return self.check_free(id, request, &view, (seen, ledger));
        }
        for view in seen.nodes.iter().filter(|_| !self.own_policy) {
            self.check_free(id, request, view, (seen, ledger))?;
        }
        // A throttled node is no use now: it is dialled only if nothing else can be done, and its
        // attempt is none that could serve.
        let throttled = |view: &NodeView<'_>| view.throttled_until.is_some();
        let idle: Vec<_> = seen
            .nodes
            .iter()
            .filter(|view| self.may_dial(view, now))
            .collect();
        let fresh = idle.iter().any(|view| !throttled(view));
        let serving: Vec<Instant> = seen
            .nodes
            .iter()
            .filter(|view| !throttled(view))
            .filter_map(|view| self.governor.attempts.get(&view.attempt?).copied())
            .collect();
        let idle: Vec<NodeId> = idle.iter().map(|view| view.id).collect();
        ensure!(
            (!fresh || !serving.is_empty())
                && (idle.is_empty() || !self.governor.attempts.is_empty()),
            DIAL,
            "{id} waits, {:?} are in setup, {idle:?} could be dialled",
            self.governor.attempts
        );
        let old = |start: &Instant| start.after(self.hedge_delay) <= now;
        // Which attempt is "the first" beside which hedges are counted is not said where some were
        // begun for other reasons: each of them may be.
        let beside_the_first = self.governor.attempts.len().saturating_sub(1);
        ensure!(
            !fresh || beside_the_first >= self.max_hedges || !serving.iter().all(old),
            HEDGE,
            "{id} waits, {:?} are slow, {idle:?} could be dialled",
            self.governor.attempts
        );
        Ok(())
    }

    /// The node could not take this request.
    fn check_free(
        &self,
        id: RequestId,
        request: &Request,
        view: &NodeView<'_>,
        (seen, ledger): (&Seen<'_>, &Ledger),
    ) -> Result<(), Violation> {
        let Some(connection) = view.connection else {
            return Ok(());
        };
        let Some(entry) = ledger
            .connections
            .get(&connection)
            .filter(|entry| entry.ready)
        else {
            return Ok(());
        };
        let limit = entry.limit.unwrap_or(u32::MAX).min(self.max_in_flight);
        // Not written again beside a frame of its own that is still on its way out (SEMANTICS 4.5).
        let own_frame = entry
            .frames
            .values()
            .any(|frame| frame.request == id && !frame.done);
        let takes = seen
            .cluster
            .connection(connection)
            .is_some_and(|view| !view.draining)
            && view.in_flight < limit
            && view.throttled_until.is_none()
            && !entry.blocked
            && !own_frame;
        ensure!(
            !takes,
            FREE,
            "{id}, submitted at {}, waits; {} has {} of {limit} in flight",
            request.submitted,
            view.id,
            view.in_flight
        );
        Ok(())
    }

    fn may_dial(&self, view: &NodeView<'_>, now: Instant) -> bool {
        let rested = view.next_attempt.is_none_or(|at| at <= now);
        view.state.is_idle() && rested && self.governor.is_open(now)
    }
}
