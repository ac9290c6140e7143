//! Deadlines of requests and of attempts, and stalled writes (SEMANTICS 1.1, 4.5, 5.3, 8.3).

use super::{FlightState, Place};
use crate::{
    Cause, Cluster, Reason,
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
            let homeless = self.nodes.is_empty() && self.requests[r].target.is_none();
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
            let request = &self.requests[r];
            if !matches!(request.place, Place::Flight(_)) && request.attempts == 0 {
                self.give_up(r, Reason::Expired);
            }
        }
    }

    /// Requests whose own, shorter timeout for an attempt has come.
    pub(crate) fn requests_given_up(&mut self, c: u32, class: u32) {
        while let Some(connection) = self.connections.at_mut(c)
            && let Some(f) = connection
                .give_ups
                .due(&self.give_up_links, class, self.now)
        {
            self.give_up(self.flights[f].request, Reason::Timeout);
        }
    }

    /// Attempts, also given-up ones, whose reply is overdue (4.5).
    pub(crate) fn attempts_timed_out(&mut self, c: u32, class: u32) {
        if self.config.timeout_disconnects() {
            let cause = Cause::RequestTimeout;
            return match self.connections[c].phase {
                Phase::Ready => self.lost(c, cause, false),
                _ => self.end_connection(c, cause, false),
            };
        }
        while let Some(connection) = self.connections.at_mut(c)
            && let Some(f) = connection
                .attempts
                .due(&self.attempt_links, class, self.now)
        {
            self.attempt_timed_out(c, f);
            self.close_if_drained(c);
        }
    }

    /// The connection is kept; the slot is free at once, or when the frame is wholly accepted.
    fn attempt_timed_out(&mut self, c: u32, f: u32) {
        self.count_timeout(c);
        let (r, serial) = (self.flights[f].request, self.flights[f].serial);
        let accepted = self.flights[f].accepted;
        self.end_flight(f);
        if r == NONE {
            return;
        }
        let connection = self.connection_id(c);
        let request = &mut self.requests[r];
        request.barred = (!accepted).then_some((connection, serial));
        request.avoid = request.last_node;
        request.elsewhere = false;
        request.last_ending = Some(Ending {
            stage: crate::Stage::Established,
            cause: Cause::RequestTimeout,
        });
        self.retry_or_fail(r, Reason::Timeout);
    }

    /// There was something to write, and the transport accepted nothing (8.3).
    pub(crate) fn write_stalled(&mut self, c: u32) {
        let cause = Cause::WriteStall;
        match self.connections[c].phase {
            Phase::Ready => self.lost(c, cause, false),
            _ => self.end_connection(c, cause, false),
        }
    }

    /// Whether a Write may still be started at `now`: it was not withdrawn, and its request is
    /// within its deadline.
    pub(crate) fn is_startable(&self, c: u32, serial: u32, now: crate::Instant) -> bool {
        let flight = self.connections[c].serials.get(serial);
        flight.is_some_and(|f| {
            let flight = &self.flights[f];
            flight.state == FlightState::Emitted && self.is_within_deadline(flight.request, now)
        })
    }
}
