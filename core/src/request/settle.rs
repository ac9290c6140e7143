//! What becomes of a request whose attempt ended: it is tried again, or completes (SEMANTICS 4.7,
//! 4.8, 6.1).

use core::time::Duration;

use super::{Extra, FlightState, Place};
use crate::{
    Cause, Certainty, Cluster, Completion, Event, Instant, LastFailure, Reason, RequestError,
    Stage,
    collections::NONE,
    node::Ending,
    timers::{Timer, TimerSlot},
};

/// How a connection's end concerns one request on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Loss {
    /// Its own reply is overdue.
    TimedOut,
    /// Another's reply was overdue: it rejoins uncharged.
    Collateral,
    /// The connection ended under it.
    Disconnected,
}

impl Cluster {
    /// Settles everything on a connection that ends, in the order in which it was written.
    pub(crate) fn settle_all(&mut self, c: u32, cause: Cause) {
        let timed_out = cause == Cause::RequestTimeout;
        while let Some(f) = self.connections[c].flights.first() {
            let due = self.attempt_deadline(f);
            let loss = match timed_out {
                true if due.is_some_and(|at| at <= self.now) => Loss::TimedOut,
                true => Loss::Collateral,
                false => Loss::Disconnected,
            };
            let (r, state) = (self.flights[f].request, self.flights[f].state);
            self.note_where_it_was(f);
            self.free_flight(f);
            if r != NONE {
                self.settle(r, state, loss, cause);
            }
        }
    }

    fn settle(&mut self, r: u32, state: FlightState, loss: Loss, cause: Cause) {
        let extra = self.extra_mut(r);
        extra.avoid = extra.last_node;
        extra.elsewhere = false;
        extra.last_ending = Some(Ending {
            stage: Stage::Established,
            cause,
        });
        if cause == Cause::Shutdown {
            return self.complete_failed(r, Reason::Closed);
        }
        if state == FlightState::Emitted {
            return self.requeue(r);
        }
        let idempotent = self.requests[r].idempotent;
        match loss {
            Loss::Collateral if idempotent => self.requeue(r),
            Loss::Collateral => self.complete_failed(r, Reason::Disconnected(cause)),
            Loss::TimedOut => self.retry_or_fail(r, Reason::Timeout),
            Loss::Disconnected if cause == Cause::ProtocolError => {
                self.retry_or_fail(r, Reason::Protocol);
            }
            Loss::Disconnected => self.retry_or_fail(r, Reason::Disconnected(cause)),
        }
    }

    /// After an outcome that can be retried, for a request that was handed over.
    pub(crate) fn retry_or_fail(&mut self, r: u32, reason: Reason) {
        if self.node_of_bound_has_left(r) {
            return self.complete_failed(r, Reason::NodeRemoved);
        }
        let safe = self.requests[r].idempotent || mutant!(RetriesUnsafe);
        if !(safe && self.try_again(r, Duration::ZERO)) {
            self.complete_failed(r, reason);
        }
    }

    /// A retry that counts: after the retry backoff, or the wait that the server asked for if that
    /// is longer. False if none is allowed.
    pub(crate) fn try_again(&mut self, r: u32, after: Duration) -> bool {
        if !self.is_running() {
            return false;
        }
        let extra = self.extra_mut(r);
        extra.charged = extra.charged.saturating_add(1);
        let (charged, mut last_backoff) = (extra.charged, extra.last_backoff);
        let max = self.config.max_attempts;
        if max.is_some_and(|max| charged >= max) && !mutant!(IgnoresMaxAttempts) {
            return false;
        }
        let (backoff, jitter) = (&self.config.retry_backoff, self.config.jitter);
        let wait = jitter.draw(backoff, charged - 1, &mut last_backoff, &mut self.retry_rng);
        self.extra_mut(r).last_backoff = last_backoff;
        let at = self.now + wait.max(after);
        if !self.is_within_deadline(r, at) || at == Instant::MAX {
            return false;
        }
        let budget = self.retry_budget.as_mut();
        let budget = budget.filter(|_| !mutant!(IgnoresRetryBudget));
        if budget.is_some_and(|budget| !budget.take(self.now)) {
            self.extra_mut(r).budget_exhausted = true;
            return false;
        }
        self.stats.retries += 1;
        mutant!(RestartsDeadline => self.restart_deadline(r));
        if at <= self.now {
            self.requeue(r);
            return true;
        }
        if self.node_of_bound_has_left(r) {
            self.complete_failed(r, Reason::NodeRemoved);
            return true;
        }
        self.start_waiting(r);
        // One that is bound waits in its node's list, so that it leaves with the node.
        let bound_to = self.requests[r].target();
        self.requests[r].set_place(Place::Delayed);
        self.arm_retry(r, at);
        let last_node = self.extra_mut(r).last_node;
        match bound_to {
            Some(node) => {
                let node = &mut self.nodes[node.index];
                node.delayed.push(&mut self.delayed_links, r);
                node.delayed_len += 1;
            }
            None => self.delayed.push(&mut self.delayed_links, r),
        }
        if let Some(node) = last_node {
            self.outputs.event(Event::RetryScheduled {
                request: self.request_id(r),
                node,
                at,
            });
        }
        self.join_fail_fast(r);
        self.fail_fast_if_hopeless(r);
        true
    }

    fn arm_retry(&mut self, r: u32, at: Instant) {
        let mut slot = core::mem::replace(&mut self.extra_mut(r).retry_timer, TimerSlot::UNARMED);
        self.timers.set(&mut slot, at, Timer::Retry { request: r });
        self.extra_mut(r).retry_timer = slot;
    }

    pub(crate) fn leave_delayed(&mut self, r: u32) {
        self.arm_retry(r, Instant::MAX);
        match self.requests[r].target() {
            Some(node) => {
                let node = &mut self.nodes[node.index];
                node.delayed.remove(&mut self.delayed_links, r);
                node.delayed_len -= 1;
            }
            None => self.delayed.remove(&mut self.delayed_links, r),
        }
    }

    pub(crate) fn retry_is_due(&mut self, r: u32) {
        match self.requests[r].place() {
            Place::Delayed => {
                self.leave_delayed(r);
                self.stop_waiting(r);
                self.requeue(r);
            }
            // It came back too old, see `requeue`.
            _ => self.give_up(r, Reason::Expired),
        }
    }

    /// A request that is on no connection rejoins the queues at its age, uncharged; it is never
    /// refused for want of room.
    pub(crate) fn requeue(&mut self, r: u32) {
        self.requests[r].set_place(Place::Nowhere);
        if !self.is_running() {
            return self.complete_failed(r, Reason::Closed);
        }
        if self.node_of_bound_has_left(r) {
            return self.complete_failed(r, Reason::NodeRemoved);
        }
        self.start_waiting(r);
        if !self.is_within_deadline(r, self.now) {
            return;
        }
        if self.is_too_old(r) {
            // Its time came while it was on a connection; nothing fails but in `handle_timeout`.
            return self.arm_retry(r, self.now);
        }
        let rejected = match self.requests[r].target() {
            Some(node) => self.nodes[node.index].rejected_resting,
            None => self.every_node_rests_after_rejection(),
        };
        if rejected {
            return self.complete_failed(r, Reason::AuthenticationFailed);
        }
        self.enqueue(r);
        self.fail_fast_if_hopeless(r);
    }

    fn node_of_bound_has_left(&self, r: u32) -> bool {
        let target = self.requests[r].target();
        target.is_some_and(|node| self.nodes.get(node.index, node.generation).is_none())
    }

    /// Completes a request before its reply, at the caller's wish or because its time is over. If it
    /// was handed over, it leaves a tombstone (4.9).
    pub(crate) fn give_up(&mut self, r: u32, reason: Reason) {
        let Place::Flight(f) = self.requests[r].place() else {
            return self.complete_failed(r, reason);
        };
        let c = self.flights[f].connection;
        self.note_where_it_was(f);
        if self.flights[f].state == FlightState::Emitted || mutant!(FreesCancelled) {
            self.free_flight(f);
        } else {
            self.close_request_of(f);
            self.flights[f].state = FlightState::Tombstone;
            self.disarm_give_up(f);
            mutant!(KeepsTombstones => self.disarm_attempt(f));
        }
        self.complete_failed(r, reason);
        self.close_if_drained(c);
    }

    pub(crate) fn complete_failed(&mut self, r: u32, reason: Reason) {
        let id = self.request_id(r);
        let (request, extra) = self.take_request(r);
        let extra = extra.unwrap_or_else(|| Extra::new(request.target()));
        let certainty = match request.attempts {
            0 => Certainty::NeverWritten,
            _ if mutant!(DeniesHandOver) => Certainty::NeverWritten,
            _ if extra.answered => Certainty::Answered,
            _ => Certainty::PossiblyWritten,
        };
        self.stats.failed += 1;
        mutant!(ForgetsCancelled => if reason == Reason::Cancelled { return });
        self.outputs.completion(Completion {
            request: id,
            result: Err(RequestError {
                reason,
                stage: extra.last_ending.map(|ending| ending.stage),
                node: extra.last_node,
                attempts: request.attempts,
                elapsed: self.now - request.submitted,
                certainty,
                budget_exhausted: extra.budget_exhausted,
            }),
        });
    }

    /// Completes a waiting request because of a failure of a node.
    fn fail_with(&mut self, r: u32, node: crate::NodeId, ending: Ending) {
        let extra = self.extra_mut(r);
        extra.last_node = Some(node);
        extra.last_ending = Some(ending);
        let reason = match ending.stage {
            Stage::Authenticate => Reason::AuthenticationFailed,
            _ => Reason::Disconnected(ending.cause),
        };
        self.complete_failed(r, reason);
    }

    /// A node rejected our credentials: whoever waits for it fails, and so does whoever waits for
    /// any node once every node's last word was a rejection (6.1).
    pub(crate) fn credentials_rejected(&mut self, n: u32) {
        let ending = Ending {
            stage: Stage::Authenticate,
            cause: Cause::CredentialsRejected,
        };
        let node = self.node_id(n);
        while let Some(r) = self.first_waiting_for(n) {
            self.fail_with(r, node, ending);
        }
        if self.rejected_nodes as usize == self.nodes.len() {
            while let Some(r) = self.first_waiting_for_any() {
                self.fail_with(r, node, ending);
            }
        }
    }

    /// The first request bound to a node that waits for it, in its queue or in retry backoff.
    pub(crate) fn first_waiting_for(&self, n: u32) -> Option<u32> {
        let node = &self.nodes[n];
        let queued = node.queue.peek().map(|(_, r)| r);
        queued.or_else(|| node.delayed.first())
    }

    pub(crate) fn first_waiting_for_any(&self) -> Option<u32> {
        let queued = self.any_queue.peek().map(|(_, r)| r);
        queued.or_else(|| self.delayed.first())
    }

    /// After a node's failure: fails those that asked to fail fast and now have no node that has
    /// not failed since they came (4.1).
    pub(crate) fn fail_fast_after_failure(&mut self, n: u32) {
        let Some((node, ending)) = self.last_failure else {
            return;
        };
        while let Some((_, r)) = self.nodes[n].fail_fast.peek() {
            self.fail_with(r, node, ending);
        }
        self.fail_fast_for_any();
    }

    pub(crate) fn fail_fast_for_any(&mut self) {
        let Some(((every_node_failed_by, _), _)) = self.failed_last.peek() else {
            return;
        };
        while let Some((seq, r)) = self.fail_fast.peek()
            && seq < every_node_failed_by
            && let Some((node, ending)) = self.last_failure
        {
            self.fail_with(r, node, ending);
        }
    }

    /// The same for one request that begins to wait again.
    fn fail_fast_if_hopeless(&mut self, r: u32) {
        let request = &self.requests[r];
        let (failed_by, failure) = match request.target() {
            Some(node) => {
                let own = self.nodes[node.index].last_failure;
                let own = own.map(|LastFailure { stage, cause, .. }| Ending { stage, cause });
                (self.failed_last.key(node.index), own.map(|own| (node, own)))
            }
            None => (
                self.failed_last.peek().map(|(key, _)| key),
                self.last_failure,
            ),
        };
        let hopeless = failed_by.is_some_and(|(number, _)| request.seq < number);
        if request.fail_fast
            && hopeless
            && let Some((node, ending)) = failure
        {
            self.fail_with(r, node, ending);
        }
    }
}
