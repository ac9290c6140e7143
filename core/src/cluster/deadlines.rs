//! What each timer leads to, and when to call again.

use crate::{Cluster, Deadline, DeadlineReason, SourceId, timers::Timer};

impl Cluster {
    /// Fires what is due. Each timer that fires is disarmed or armed for later, so this ends.
    pub(super) fn fire_deadlines(&mut self) {
        mutant!(ActsEarly => if self.timers.peek().is_none_or(|(at, _)| at > self.now) {
            self.outputs.event(crate::Event::QueueFull);
        });
        while let Some((at, timer)) = self.timers.peek()
            && at <= self.now
        {
            match timer {
                Timer::Setup { attempt } => self.setup_timed_out(attempt),
                Timer::NextAddress { attempt } => self.dial_next_address(attempt),
                // Whoever may be dialled now is known since the call began; it remains to dial.
                Timer::NextAttempt { node } => {
                    self.timers.clear(&mut self.nodes[node].next_attempt_timer);
                }
                Timer::Dial => self.timers.clear(&mut self.dial_timer),
                Timer::ThrottleEnd { node } => self.end_throttle(node),
                Timer::Request { class } => self.requests_timed_out(class),
                Timer::QueueAge => self.requests_expired(),
                Timer::Attempt { class } => self.attempts_timed_out(None, class),
                Timer::GiveUp { class } => self.requests_given_up(None, class),
                Timer::OwnAttempt { connection, class } => {
                    self.attempts_timed_out(Some(connection), class);
                }
                Timer::OwnGiveUp { connection, class } => {
                    self.requests_given_up(Some(connection), class);
                }
                Timer::Retry { request } => self.retry_is_due(request),
                Timer::WriteStall => self.writes_stalled(),
                Timer::Limit => self.retire_past_limit(),
                Timer::Keepalive { connection } => self.keepalive_is_due(connection),
                Timer::Probe { connection } => self.probe_is_due(connection),
                Timer::Session => self.session_timed_out(),
                Timer::MoveEnds => self.move_timed_out(),
                Timer::Refresh { source } => self.refresh_timer_fired(source),
                Timer::Rebootstrap => self.rebootstrap_timer_fired(),
                Timer::Drain { connection } => self.drain_timed_out(connection),
                Timer::Shutdown => self.shutdown_timed_out(),
            }
            mutant!(HandlesOneDeadline => break);
        }
    }

    pub(super) fn next_deadline(&self) -> Option<Deadline> {
        if !self.outputs.is_empty() {
            return Some(Deadline {
                at: self.now,
                reason: DeadlineReason::Outputs,
            });
        }
        let (at, timer) = self.timers.peek()?;
        mutant!(TellsDeadlineLate => if matches!(timer, Timer::Request { .. }) {
            return Some(self.late_deadline(at, self.reason(timer)));
        });
        Some(Deadline {
            at,
            reason: self.reason(timer),
        })
    }

    fn attempt_reason(&self, first: Option<u32>) -> DeadlineReason {
        let f = first.expect("a deadline is armed for a flight");
        DeadlineReason::Attempt(self.connection_id(self.flights[f].connection))
    }

    fn reason(&self, timer: Timer) -> DeadlineReason {
        match timer {
            Timer::Setup { attempt } => {
                let node = self.attempts[attempt].node;
                match self.attempts[attempt].handshake_deadline {
                    true => DeadlineReason::Handshake(self.node_id(node)),
                    false => DeadlineReason::Setup(self.node_id(node)),
                }
            }
            Timer::NextAddress { attempt } => {
                DeadlineReason::NextAddress(self.node_id(self.attempts[attempt].node))
            }
            Timer::NextAttempt { node } => DeadlineReason::NextAttempt(self.node_id(node)),
            Timer::Dial => DeadlineReason::AnyRequest,
            Timer::ThrottleEnd { node } => DeadlineReason::ThrottleEnd(self.node_id(node)),
            Timer::Request { .. } => DeadlineReason::Request,
            Timer::QueueAge => DeadlineReason::QueueAge,
            Timer::Attempt { class } => {
                let queues = &self.attempt_deadlines.attempts;
                self.attempt_reason(queues.first(class))
            }
            Timer::GiveUp { class } => {
                let queues = &self.attempt_deadlines.give_ups;
                self.attempt_reason(queues.first(class))
            }
            Timer::OwnAttempt { connection, .. } | Timer::OwnGiveUp { connection, .. } => {
                DeadlineReason::Attempt(self.connection_id(connection))
            }
            Timer::Retry { request } => DeadlineReason::Retry(self.request_id(request)),
            Timer::WriteStall => {
                let c = self.stalls.first(0).expect("a transport has bytes to take");
                DeadlineReason::WriteStall(self.connection_id(c))
            }
            Timer::Limit => DeadlineReason::Limit,
            Timer::Keepalive { connection } => {
                DeadlineReason::Keepalive(self.connection_id(connection))
            }
            Timer::Probe { connection } => DeadlineReason::Probe(self.connection_id(connection)),
            Timer::Session => DeadlineReason::Session,
            Timer::MoveEnds => DeadlineReason::MoveEnds,
            Timer::Refresh { source } => match self.sources.all[source as usize].under_way {
                true => DeadlineReason::RefreshTimeout(SourceId(source)),
                false => DeadlineReason::Refresh(SourceId(source)),
            },
            Timer::Rebootstrap => DeadlineReason::Rebootstrap,
            Timer::Drain { connection } => DeadlineReason::Drain(self.connection_id(connection)),
            Timer::Shutdown => DeadlineReason::Shutdown,
        }
    }
}
