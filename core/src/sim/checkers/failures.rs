//! Failures are counted once, and what failed rests.

use alloc::collections::BTreeMap;
use core::time::Duration;

use super::{Rule, Seen, Violation, ensure, ledger::Ledger};
use crate::{
    Action, BackoffReset, Cause, Config, Endpoint, Event, EventMask, Hint, Input, Instant, Jitter,
    NodeId, NodeState, NodeView, Output, record::Call,
};

/// DESIGN 4.5, 4.8; SEMANTICS 3.2, 3.3, 3.5.
#[derive(Clone)]
pub(super) struct Failures {
    enabled: bool,
    /// Every failure is followed by a rest that is longer than nothing.
    rests: bool,
    base: Duration,
    resets_on_ready: bool,
    nodes: BTreeMap<NodeId, Known>,
    /// Until when endpoints rest that no node has any more.
    departed: BTreeMap<Endpoint, Instant>,
}

/// A node as it was after the last step.
#[derive(Clone)]
struct Known {
    endpoint: Endpoint,
    idle: bool,
    ready: bool,
    failures: u32,
    next_attempt: Option<Instant>,
}

pub(super) const ONCE: &str = "one failure counts once, a planned close not at all (DESIGN 4.8)";
pub(super) const HINT: &str =
    "a hint shortens a rest, to no more than the base backoff (SEMANTICS 8.5)";
pub(super) const RESET: &str =
    "failures are forgotten when the connection has proved useful (SEMANTICS 3.3)";
pub(super) const REST: &str = "no attempt starts before the next-attempt time (DESIGN 4.5)";

impl Failures {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            enabled: config.events().contains(EventMask::STATES),
            rests: config.reconnect_backoff().base > Duration::ZERO
                && matches!(config.jitter(), Jitter::None | Jitter::Equal),
            base: config.reconnect_backoff().base,
            resets_on_ready: match config.backoff_reset() {
                BackoffReset::OnReady => true,
                BackoffReset::OnFirstReply => config.reconnect_backoff().max.is_zero(),
                BackoffReset::StableFor(enough) => enough.is_zero(),
            },
            nodes: BTreeMap::new(),
            departed: BTreeMap::new(),
        }
    }
}

impl Rule for Failures {
    fn after_step(&mut self, seen: &Seen<'_>, _ledger: &Ledger) -> Result<(), Violation> {
        self.note_departed(seen);
        self.check_rest(seen)?;
        if self.enabled && seen.stats.dropped_events == 0 {
            self.check_counts(seen)?;
        }
        self.nodes
            .retain(|node, _| seen.cluster.node(*node).is_some());
        for view in &seen.nodes {
            let known = self.nodes.entry(view.id);
            known.or_insert_with(|| Known::of(view)).update(view);
        }
        Ok(())
    }
}

impl Known {
    fn of(view: &NodeView<'_>) -> Self {
        Self {
            endpoint: view.spec.endpoint.clone(),
            idle: view.state.is_idle(),
            ready: view.state == NodeState::Ready,
            failures: view.failures,
            next_attempt: view.next_attempt,
        }
    }

    /// The same as a new one, without a new name.
    fn update(&mut self, view: &NodeView<'_>) {
        if self.endpoint != view.spec.endpoint {
            self.endpoint = view.spec.endpoint.clone();
        }
        self.idle = view.state.is_idle();
        self.ready = view.state == NodeState::Ready;
        self.failures = view.failures;
        self.next_attempt = view.next_attempt;
    }
}

impl Failures {
    /// An endpoint that rests goes on resting when its node leaves it, and when one comes to it.
    fn note_departed(&mut self, seen: &Seen<'_>) {
        let step = seen.step;
        if let Call::Hint(_) = step.call {
            self.departed.clear();
        }
        self.departed.retain(|_, until| *until > step.now);
        for (id, known) in &self.nodes {
            let spec = seen.cluster.node(*id).map(|view| view.spec);
            let left = spec.is_none_or(|spec| spec.endpoint != known.endpoint);
            if let Some(until) = known.next_attempt.filter(|at| left && *at > step.now) {
                let rest = self.departed.entry(known.endpoint.clone()).or_insert(until);
                *rest = until.max(*rest);
            }
        }
    }

    /// An attempt begins with a Resolve or, without one, with a Connect; either, for a node that
    /// rested before the step, must wait for the end of the rest. (A hint may end it now.)
    fn check_rest(&self, seen: &Seen<'_>) -> Result<(), Violation> {
        let step = seen.step;
        if let Call::Hint(_) = step.call {
            return Ok(());
        }
        for output in &step.outputs {
            let (Output::Action(Action::Resolve { node, .. } | Action::Connect { node, .. })
            | Output::Event(Event::AttemptStarted { node, .. })) = *output
            else {
                continue;
            };
            let Some(endpoint) = seen.cluster.spec(node).map(|spec| &spec.endpoint) else {
                continue;
            };
            let known = self.nodes.get(&node);
            let same = known.filter(|known| known.endpoint == *endpoint);
            let rest = match same {
                Some(known) => known.next_attempt,
                None => self.departed.get(endpoint).copied(),
            };
            ensure!(
                rest.is_none_or(|until| until <= step.now),
                REST,
                "{node} is dialled at {}, it rests until {rest:?}",
                step.now
            );
        }
        Ok(())
    }

    /// The count rises by one with a failure. A reset may come before it or after it. The peer's
    /// announcement that it closes a Ready connection is a failure only of a connection that was
    /// of no use (SEMANTICS 2.1).
    fn check_counts(&self, seen: &Seen<'_>) -> Result<(), Violation> {
        let step = seen.step;
        for view in &seen.nodes {
            let Some(known) = self.nodes.get(&view.id) else {
                continue;
            };
            if known.endpoint != view.spec.endpoint {
                continue;
            }
            let (mut least, mut most) = (0, 0);
            for output in &step.outputs {
                if let Output::Event(Event::StateChanged {
                    node,
                    from,
                    cause: Some(cause),
                    ..
                }) = *output
                    && node == view.id
                    && !cause.is_planned()
                {
                    most += 1;
                    let perhaps = from == NodeState::Ready && cause == Cause::PeerDraining;
                    least += u32::from(!perhaps);
                }
            }
            let came = view.failures;
            let counted = (least..=most).any(|new| came == known.failures + new || came == new);
            ensure!(
                most <= 1 && (counted || came == 0),
                ONCE,
                "{} had {} failures, {least} to {most} were new, now it has {came}",
                view.id,
                known.failures
            );
            let ready_now = view.state == NodeState::Ready && self.resets_on_ready;
            let useful = known.ready || ready_now || is_reply(&step.call);
            ensure!(
                came >= known.failures || useful,
                RESET,
                "{} had {} failures, is {} and has {came}",
                view.id,
                known.failures,
                view.state
            );
            ensure!(
                least == 0 || !self.rests || view.state.is_idle(),
                REST,
                "{} failed and is {} in the same step",
                view.id,
                view.state
            );
            if let Call::Hint(hint) = step.call {
                let (old, new) = (known.next_attempt, view.next_attempt);
                let touched = match hint {
                    Hint::NodeUp(node) => node == view.id,
                    Hint::NodeDown(_) | Hint::SourceChanged(_) => false,
                    _ => true,
                };
                let shortened =
                    touched && new <= old && new.is_some_and(|at| at <= step.now + self.base);
                ensure!(
                    old == new || shortened || !view.state.is_idle(),
                    HINT,
                    "{} rested until {old:?}, now until {new:?}",
                    view.id
                );
            } else if most == 0 && came == known.failures && known.idle && view.state.is_idle() {
                ensure!(
                    view.next_attempt == known.next_attempt,
                    REST,
                    "{} rested until {:?}, now until {:?}",
                    view.id,
                    known.next_attempt,
                    view.next_attempt
                );
            }
        }
        Ok(())
    }
}

const fn is_reply(call: &Call) -> bool {
    matches!(call, Call::Input(Input::Reply { .. }))
}
