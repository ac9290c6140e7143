//! Requests: who gets a slot, and retry or completion (SEMANTICS 4.1, 4.2, 4.7, 4.8, 5).

use redial::{Cause, Certainty, NodeState, Reason, Stage, SuccessKind};

use crate::{
    rules::{Micros, Policy},
    state::{
        C, Completion, Frame, Model, N, Out, Phase, Place, R, Refusal, Request, Run, Submit,
        Written,
    },
};

/// Submits, and the hand-over (4.1, 4.2, 5.1, 5.2).
impl Model {
    pub(crate) fn submit(&mut self, asked: Submit) {
        if let Some(refused) = self.refusal(asked) {
            return self.out.push(Out::Refused(refused));
        }
        let age = self.number();
        if let Some(budget) = self.rules.budget {
            self.fill_budget();
            let deposit = budget.per_submit_milli * 1_000;
            self.budget.0 = (self.budget.0 + deposit).min(budget.max * 1_000_000);
        }
        let r = self.requests.len();
        self.requests.push(Request {
            asked,
            place: Place::Waiting,
            age,
            submitted: self.now,
            deadline: asked.timeout.map(|timeout| self.now + timeout),
            handed_over: 0,
            charged: 0,
            answered: false,
            budget_exhausted: false,
            retry_refused: false,
            avoid: None,
            elsewhere: false,
            stay: None,
            barred: Vec::new(),
            last_node: asked.bound_to,
            last_ending: None,
        });
        if asked.timeout == Some(0) {
            self.fail(r, Reason::Timeout);
        }
    }

    fn refusal(&self, asked: Submit) -> Option<Refusal> {
        if self.run != Run::Running {
            return Some(Refusal::Closed);
        }
        if let Some(n) = asked.bound_to
            && !self.nodes[n].listed
        {
            return Some(Refusal::UnknownNode);
        }
        if self.is_rejected(asked.bound_to) {
            return Some(Refusal::AuthenticationFailed);
        }
        let targets = asked.bound_to.map_or_else(|| self.listed(), |n| vec![n]);
        let has_slot =
            self.queue(asked.bound_to).is_empty() && targets.iter().any(|&n| self.can_take(n));
        let is_full = self.waiting().len() + self.overdue().len() >= self.rules.queue_max;
        (is_full && !has_slot).then_some(Refusal::QueueFull)
    }

    /// 6.1: whether the node, or every node, is in the backoff after a rejection.
    fn is_rejected(&self, bound_to: Option<N>) -> bool {
        let targets = bound_to.map_or_else(|| self.listed(), |n| vec![n]);
        let rests = |&n: &N| {
            let node = &self.nodes[n];
            node.state == NodeState::AuthenticationFailed
                && node.next_attempt.is_some_and(|at| at > self.now)
        };
        !targets.is_empty() && targets.iter().all(rests)
    }

    /// Ready, not throttled, not full.
    fn can_take(&self, n: N) -> bool {
        let Some(c) = self.ready(n) else { return false };
        let connection = &self.connections[&c];
        connection.frames.len() < connection.limit && !connection.blocked && !self.is_throttled(n)
    }

    /// 4.2: the oldest submit first; one that cannot be placed does not hold up later ones.
    pub(crate) fn hand_over(&mut self) {
        for r in 0..self.requests.len() {
            if self.requests[r].place != Place::Waiting {
                continue;
            }
            let place = match self.waits_for(r) {
                Some(n) => Some(n).filter(|&n| self.can_take(n) && !self.is_barred(r, n)),
                None => self.pick(r),
            };
            if let Some(n) = place {
                self.write(r, n);
            }
        }
    }

    /// 4.5: not where an unfinished frame of its own is.
    fn is_barred(&self, r: R, n: N) -> bool {
        let Some(c) = self.ready(n) else {
            return false;
        };
        let frames = &self.connections[&c].frames;
        let under_way = |(on, serial): &(C, u32)| *on == c && frames.contains_key(serial);
        self.requests[r].barred.iter().any(under_way)
    }

    /// 5.1: healthy before unhealthy; 4.7: the node that failed it last only if there is no other.
    fn pick(&mut self, r: R) -> Option<N> {
        let mut able = self.listed();
        able.retain(|&n| self.can_take(n) && !self.is_barred(r, n));
        let Request {
            asked,
            avoid,
            elsewhere,
            ..
        } = self.requests[r];
        // 5.3: the next idempotent request is the probe.
        let due = |&n: &N| self.connections[&self.ready(n)?].probe_waits;
        if asked.idempotent
            && let Some(n) = able
                .iter()
                .copied()
                .filter(|n| due(n).is_some())
                .min_by_key(due)
        {
            let c = self.ready(n)?;
            self.connection(c).probe_waits = None;
            return Some(n);
        }
        let unhealthy = |n: N| {
            self.ready(n)
                .is_some_and(|c| self.connections[&c].unhealthy)
        };
        let order = |&n: &N| {
            let by_policy = match self.rules.policy {
                Policy::Fewest => (self.in_flight(n) as u64, self.nodes[n].name),
                Policy::RoundRobin => (self.nodes[n].turn, n),
            };
            (avoid == Some(n), unhealthy(n), by_policy)
        };
        let n = able.into_iter().min_by_key(order)?;
        self.wants_another |= unhealthy(n) || (elsewhere && avoid == Some(n));
        self.nodes[n].turn = self.number();
        Some(n)
    }

    pub(crate) fn in_flight(&self, n: N) -> usize {
        let last = self.nodes[n].dialled.checked_sub(1);
        let connection = last.and_then(|last| self.connections.get(&(n, last)));
        let connection = connection.filter(|c| !matches!(c.phase, Phase::Draining(..)));
        connection.map_or(0, |connection| connection.frames.len())
    }

    /// 4.3: a Write takes its slot when it is emitted; serials rise by one.
    fn write(&mut self, r: R, n: N) {
        let c = self.ready(n).expect("it can take it");
        let expects_reply = self.requests[r].asked.expects_reply;
        let connection = self.connection(c);
        let serial = connection.next_serial;
        connection.next_serial += 1;
        let frame = Frame {
            request: Some(r),
            state: Written::Emitted,
            accepted: false,
            expects_reply,
            attempt_ends: None,
            give_up_at: None,
        };
        connection.frames.insert(serial, frame);
        self.requests[r].place = Place::On(c, serial);
        self.note_stall(c);
        self.out.push(Out::Write(c, serial, r));
    }
}

/// Retry or completion (4.7, 4.8).
impl Model {
    /// The connection ends: everything on it is settled, in the order in which it was written.
    pub(crate) fn settle_all(&mut self, c: C, cause: Cause) {
        let frames = std::mem::take(&mut self.connection(c).frames);
        for frame in frames.into_values() {
            let Some(r) = frame.request else { continue };
            let request = &mut self.requests[r];
            (request.avoid, request.last_node) = (Some(c.0), Some(c.0));
            request.elsewhere = false;
            request.last_ending = Some((Stage::Established, cause));
            let own_timeout = frame.attempt_ends.is_some_and(|at| at <= self.now);
            let idempotent = request.asked.idempotent;
            match cause {
                Cause::Shutdown => self.fail(r, Reason::Closed),
                _ if frame.state == Written::Emitted => self.rejoin(r),
                Cause::RequestTimeout if own_timeout => self.retry_or_fail(r, Reason::Timeout),
                // Collateral: no attempt charged.
                Cause::RequestTimeout if idempotent => self.rejoin(r),
                Cause::RequestTimeout => self.fail(r, Reason::Disconnected(cause)),
                Cause::ProtocolError => self.retry_or_fail(r, Reason::Protocol),
                _ => self.retry_or_fail(r, Reason::Disconnected(cause)),
            }
        }
    }

    pub(crate) fn retry_or_fail(&mut self, r: R, reason: Reason) {
        if self.has_left(r) {
            return self.fail(r, Reason::NodeRemoved);
        }
        if !(self.requests[r].asked.idempotent && self.try_again(r, 0)) {
            self.fail(r, reason);
        }
    }

    fn has_left(&self, r: R) -> bool {
        let bound_to = self.requests[r].asked.bound_to;
        bound_to.is_some_and(|n| !self.nodes[n].listed)
    }

    /// A charged retry: if attempts, time and tokens remain.
    pub(crate) fn try_again(&mut self, r: R, after: Micros) -> bool {
        if self.run != Run::Running {
            return false;
        }
        self.requests[r].charged += 1;
        let request = &self.requests[r];
        let at = self.now + self.rules.retry.after(request.charged - 1).max(after);
        if self
            .rules
            .max_attempts
            .is_some_and(|max| request.charged >= max)
            || request.deadline.is_some_and(|deadline| deadline <= at)
        {
            return false;
        }
        if self.rules.budget.is_some() {
            self.fill_budget();
            match self.budget.0.checked_sub(1_000_000) {
                Some(rest) => self.budget.0 = rest,
                None => {
                    self.requests[r].budget_exhausted = true;
                    return false;
                }
            }
        }
        if at <= self.now {
            self.rejoin(r);
        } else if self.has_left(r) {
            self.fail(r, Reason::NodeRemoved);
        } else {
            self.requests[r].place = Place::Until(at);
            self.fail_if_hopeless(r);
        }
        true
    }

    fn fill_budget(&mut self) {
        if let Some(budget) = self.rules.budget {
            let (level, since) = self.budget;
            let filled = level + (self.now - since) * budget.per_second;
            self.budget = (filled.min(budget.max * 1_000_000), self.now);
        }
    }

    /// It waits again, at its age.
    pub(crate) fn rejoin(&mut self, r: R) {
        self.requests[r].place = Place::Waiting;
        if self.run != Run::Running {
            self.fail(r, Reason::Closed);
        } else if self.has_left(r) {
            self.fail(r, Reason::NodeRemoved);
        } else if self.is_overdue(r) {
            self.requests[r].place = Place::Overdue;
        } else if self.is_rejected(self.requests[r].asked.bound_to) {
            self.fail(r, Reason::AuthenticationFailed);
        } else {
            self.fail_if_hopeless(r);
        }
    }

    fn fail_if_hopeless(&mut self, r: R) {
        let asked = self.requests[r].asked;
        let failure = match asked.bound_to {
            Some(n) => self.nodes[n].last_failure.map(|(ending, _)| (n, ending)),
            None => self.last_failure,
        };
        if asked.fail_fast
            && self.is_hopeless(r)
            && let Some((n, ending)) = failure
        {
            self.fail_with(r, n, ending);
        }
    }

    /// A node's failure is the request's.
    pub(crate) fn fail_with(&mut self, r: R, n: N, (stage, cause): (Stage, Cause)) {
        let request = &mut self.requests[r];
        (request.last_node, request.last_ending) = (Some(n), Some((stage, cause)));
        let reason = match stage {
            Stage::Authenticate => Reason::AuthenticationFailed,
            _ => Reason::Disconnected(cause),
        };
        self.fail(r, reason);
    }

    pub(crate) fn fail(&mut self, r: R, reason: Reason) {
        let request = &self.requests[r];
        let certainty = match request.handed_over {
            0 => Certainty::NeverWritten,
            _ if request.answered => Certainty::Answered,
            _ => Certainty::PossiblyWritten,
        };
        let stage = request.last_ending.map(|(stage, _)| stage);
        self.requests[r].retry_refused = false;
        self.complete(r, Err((reason, stage, certainty)));
    }

    pub(crate) fn succeed(&mut self, r: R, kind: SuccessKind, n: N) {
        self.requests[r].last_node = Some(n);
        self.complete(r, Ok(kind));
    }

    fn complete(&mut self, r: R, result: Result<SuccessKind, (Reason, Option<Stage>, Certainty)>) {
        let now = self.now;
        let request = &mut self.requests[r];
        request.place = Place::Complete;
        let completion = Completion {
            result,
            node: request.last_node,
            handed_over: request.handed_over,
            took: now - request.submitted,
            retry_refused: request.retry_refused,
            budget_exhausted: request.budget_exhausted,
        };
        self.out.push(Out::Completed(r, completion));
    }
}
