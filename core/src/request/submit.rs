//! Accepting, refusing and cancelling requests (SEMANTICS 4.1, 4.9, 6.1).

use core::time::Duration;

use super::{Extra, Place, Request};
use crate::{
    Cluster, Event, Instant, Limit, Reason, RequestId, RequestOptions, SubmitError, Target,
    timers::Timer,
};

impl Cluster {
    pub(crate) fn accept(&mut self, options: &RequestOptions) -> Result<RequestId, SubmitError> {
        self.check(options)?;
        let timeout = options.timeout.unwrap_or(self.config.delivery_timeout);
        let seq = self.next_sequence();
        let request = Request::new(options, seq, self.now);
        let (r, generation) = self.requests.insert(request);
        if let Some(own) = options.request_timeout {
            let own = own.duration().unwrap_or(Duration::MAX);
            self.extra_mut(r).own_timeout = Some(own);
        }
        self.stats.requests += 1;
        if let (Some(bucket), Some(budget)) = (&mut self.retry_budget, self.config.retry_budget) {
            bucket.deposit(self.now, budget.per_submit());
        }
        let id = RequestId {
            index: r,
            generation,
        };
        if timeout == Limit::After(Duration::ZERO) && !mutant!(WritesOverdue) {
            self.complete_failed(r, Reason::Timeout);
            return Ok(id);
        }
        if let Some(timeout) = timeout.duration() {
            let (links, timers) = (&mut self.request_links, &mut self.timers);
            let timer = |class| Timer::Request { class };
            self.request_deadlines
                .push(links, timers, (r, self.now, timeout), timer);
        }
        if let Some(age) = self.config.queue_max_age.duration() {
            let (links, timers) = (&mut self.age_links, &mut self.timers);
            let timer = |_| Timer::QueueAge;
            self.queue_ages
                .push(links, timers, (r, self.now, age), timer);
        }
        if !self.place_at_once(r) || mutant!(WritesTwice) && self.can_take_any() {
            self.start_waiting(r);
            self.enqueue(r);
        }
        Ok(id)
    }

    fn check(&mut self, options: &RequestOptions) -> Result<(), SubmitError> {
        if !self.is_running() {
            return Err(SubmitError::Closed);
        }
        if let Target::Node(id) = options.target {
            let node = self.nodes.get(id.index, id.generation);
            let node = node.ok_or(SubmitError::UnknownNode(id))?;
            if node.rejected_resting {
                return Err(SubmitError::AuthenticationFailed);
            }
        } else if self.every_node_rests_after_rejection() {
            return Err(SubmitError::AuthenticationFailed);
        }
        let full = self.waiting >= self.config.queue_max_requests
            || self.waiting_bytes.saturating_add(options.bytes.into())
                > self.config.queue_max_bytes;
        if full && !self.has_slot_for(options.target) {
            self.outputs.event(Event::QueueFull);
            return Err(SubmitError::QueueFull);
        }
        Ok(())
    }

    /// Whether the request would not have to wait.
    fn has_slot_for(&self, target: Target) -> bool {
        match target {
            Target::Any => self.any_queue.is_empty() && self.can_take_any(),
            Target::Node(id) => {
                self.nodes[id.index].queue.is_empty() && self.ready.standing(id.index).is_some()
            }
        }
    }

    pub(crate) const fn every_node_rests_after_rejection(&self) -> bool {
        !self.nodes.is_empty() && self.rejected_resting as usize == self.nodes.len()
    }

    pub(crate) fn cancel_request(&mut self, id: RequestId) -> bool {
        let open = self.is_open(id);
        if open {
            self.give_up(id.index, Reason::Cancelled);
        }
        open
    }

    /// The request begins to wait: for a node or for its retry.
    pub(crate) fn start_waiting(&mut self, r: u32) {
        let request = &mut self.requests[r];
        request.set_place(Place::Overdue);
        self.waiting += 1;
        self.waiting_bytes += u64::from(request.bytes);
    }

    /// It waits no more.
    pub(crate) fn stop_waiting(&mut self, r: u32) {
        self.waiting -= u32::from(!mutant!(CountsWaitingOn));
        self.waiting_bytes -= u64::from(self.requests[r].bytes);
        self.leave_fail_fast(r);
    }

    /// Lists a waiting request that fails fast, with its node or for any.
    pub(crate) fn join_fail_fast(&mut self, r: u32) {
        let request = &self.requests[r];
        if request.fail_fast && !self.fail_fast_positions.contains(r) {
            let heap = match request.target() {
                Some(node) => &mut self.nodes[node.index].fail_fast,
                None => &mut self.fail_fast,
            };
            heap.push(&mut self.fail_fast_positions, request.seq, r);
        }
    }

    pub(crate) fn leave_fail_fast(&mut self, r: u32) {
        if self.fail_fast_positions.contains(r) {
            let heap = match self.requests[r].target() {
                Some(node) => &mut self.nodes[node.index].fail_fast,
                None => &mut self.fail_fast,
            };
            heap.remove(&mut self.fail_fast_positions, r);
        }
    }

    /// Takes the request out of everything but its flight.
    pub(crate) fn take_request(&mut self, r: u32) -> (Request, Option<Extra>) {
        match self.requests[r].place() {
            Place::Nowhere | Place::Flight(_) => {}
            Place::Delayed => {
                self.leave_delayed(r);
                self.stop_waiting(r);
            }
            Place::AnyQueue | Place::NodeQueue(_) | Place::Overdue => {
                self.take_from_queue(r);
                self.stop_waiting(r);
            }
        }
        let timers = &mut self.timers;
        self.request_deadlines
            .remove(&mut self.request_links, timers, r);
        self.queue_ages.remove(&mut self.age_links, timers, r);
        let request = self.requests.remove(r).expect("the request is open");
        let mut extra = self.extras.remove(request.extra);
        if let Some(extra) = &mut extra {
            self.timers.clear(&mut extra.retry_timer);
        }
        (request, extra)
    }

    pub(crate) fn is_within_deadline(&self, r: u32, now: Instant) -> bool {
        let deadline = self.request_deadlines.deadline(&self.request_links, r);
        deadline.is_none_or(|at| at > now)
    }
}
