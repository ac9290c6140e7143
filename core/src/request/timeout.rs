//! Deadlines of requests and of attempts, and stalled writes (SEMANTICS 1.1, 4.5, 5.3, 8.3).

use super::{AttemptDeadlines, AttemptLinks, FlightState, Place};
use crate::{
    Cause, Cluster, Instant, Reason,
    collections::NONE,
    node::{Ending, Phase},
};

impl Cluster {
    /// Requests whose own deadline has come.
    pub(crate) fn requests_timed_out(&mut self, class: u32) {
        while let Some(r) = self
            .request_deadlines
            .due(&self.request_links, class, self.now)
        {
            mutant!(OutlivesDeadline => {
                let (links, timers) = (&mut self.request_links, &mut self.timers);
                self.request_deadlines.remove(links, timers, r);
                continue;
            });
            let homeless = self.nodes.is_empty() && self.requests[r].target().is_none();
            let reason = match homeless {
                true => Reason::NoNodes,
                false => Reason::Timeout,
            };
            self.give_up(r, reason);
        }
    }

    /// Requests that reach the queue's age limit, if they are on no connection and were never handed
    /// over.
    pub(crate) fn requests_expired(&mut self) {
        while let Some(r) = self.queue_ages.due(&self.age_links, 0, self.now) {
            self.queue_ages
                .remove(&mut self.age_links, &mut self.timers, r);
            mutant!(IgnoresQueueAge => continue);
            let request = &self.requests[r];
            if !matches!(request.place(), Place::Flight(_)) && request.attempts == 0 {
                self.give_up(r, Reason::Expired);
            }
        }
    }

    /// Requests whose own, shorter timeout for an attempt has come, on all connections that were never
    /// throttled or on one that was.
    pub(crate) fn requests_given_up(&mut self, own: Option<u32>, class: u32) {
        while let Some(f) = self.first_due(own, |deadlines, links, now| {
            deadlines.give_ups.due(&links.give_ups, class, now)
        }) {
            self.give_up(self.flights[f].request, Reason::Timeout);
        }
    }

    /// Attempts, also given-up ones, whose reply is overdue (4.5).
    pub(crate) fn attempts_timed_out(&mut self, own: Option<u32>, class: u32) {
        while let Some(f) = self.first_due(own, |deadlines, links, now| {
            deadlines.attempts.due(&links.attempts, class, now)
        }) {
            self.ask_for_lists();
            let c = self.flights[f].connection;
            if self.config.timeout_disconnects() {
                self.broken(c, Cause::RequestTimeout);
            } else {
                self.attempt_timed_out(c, f);
                self.close_if_drained(c);
            }
        }
    }

    fn first_due(
        &self,
        own: Option<u32>,
        due: impl Fn(&AttemptDeadlines, &AttemptLinks, Instant) -> Option<u32>,
    ) -> Option<u32> {
        let deadlines = match own {
            None => &self.attempt_deadlines,
            // It may have ended with the last of them.
            Some(c) if !self.connections.contains(c) => return None,
            Some(c) => self.connections[c].own_deadlines.as_deref()?,
        };
        due(deadlines, &self.attempt_links, self.now)
    }

    /// The connection is kept; the slot is free at once, or when the frame is wholly accepted.
    fn attempt_timed_out(&mut self, c: u32, f: u32) {
        self.count_timeout(c);
        let (r, serial) = (self.flights[f].request, self.flights[f].serial);
        let accepted = self.flights[f].accepted;
        self.note_where_it_was(f);
        self.end_flight(f);
        if r == NONE {
            return;
        }
        if !accepted {
            self.bar(r, (self.connection_id(c), serial));
        }
        let extra = self.extra_mut(r);
        extra.avoid = extra.last_node;
        extra.elsewhere = false;
        extra.last_ending = Some(Ending {
            stage: crate::Stage::Established,
            cause: Cause::RequestTimeout,
        });
        self.retry_or_fail(r, Reason::Timeout);
    }

    /// Transports that had something to write and accepted nothing (8.3).
    pub(crate) fn writes_stalled(&mut self) {
        while let Some(c) = self.stalls.due(&self.stall_links, 0, self.now) {
            mutant!(IgnoresWriteStall => {
                self.restart_stall_timer(c);
                continue;
            });
            self.broken(c, Cause::WriteStall);
        }
    }

    /// An established connection is of no use any more.
    fn broken(&mut self, c: u32, cause: Cause) {
        match self.connections[c].phase {
            Phase::Ready => self.lost(c, cause, false),
            _ => self.end_connection(c, cause, false),
        }
    }

    /// Whether a Write may still be started at `now`: it was not withdrawn, and its request is
    /// within its deadline.
    pub(crate) fn is_startable(&self, c: u32, serial: u32, now: Instant) -> bool {
        mutant!(WritesEnded => return self.connections[c].has_issued(serial));
        let flight = self.flight_of(c, serial);
        flight.is_some_and(|f| {
            let flight = &self.flights[f];
            flight.state == FlightState::Emitted && self.is_within_deadline(flight.request, now)
        })
    }
}
