//! The end (SEMANTICS 9).

use core::time::Duration;

use super::Run;
use crate::{
    Cause, Cluster, Event, Instant, NodeId, Reason, ShutdownError,
    collections::NONE,
    node::Phase,
    request::{FlightState, Place},
    timers::Timer,
};

impl Cluster {
    pub(crate) fn is_running(&self) -> bool {
        self.run == Run::Running
    }

    pub(super) fn begin_shutdown(&mut self, drain: Duration) -> Result<(), ShutdownError> {
        let mut end = self.now + drain;
        if end == Instant::MAX && !drain.is_zero() {
            return Err(ShutdownError::DrainTooLong);
        }
        match self.run {
            Run::Terminated => return Ok(()),
            Run::Draining(earlier) => end = end.min(earlier),
            Run::Running => {}
        }
        let begins = self.is_running();
        self.run = Run::Draining(end);
        if begins {
            self.stop();
        }
        if end <= self.now {
            self.close_everything();
        } else {
            self.timers
                .set(&mut self.shutdown_timer, end, Timer::Shutdown);
            mutant!(DialsAfterShutdown => self.dial_somebody());
        }
        Ok(())
    }

    /// The peer says that the session is over: the client ends (2.1).
    pub(super) fn session_over(&mut self, c: u32) {
        let node = self.connections[c].node;
        // The failed handshake is a reported end.
        self.nodes[node.index].connection = NONE;
        self.end_transport(c, Cause::SessionExpired, true);
        self.abort_attempt(node.index, Cause::SessionExpired);
        self.end_session(Some(node));
    }

    /// The client ends once, as after a shutdown with drain 0.
    pub(super) fn end_session(&mut self, node: Option<NodeId>) {
        if self.is_running() {
            self.outputs.event(Event::SessionExpired { node });
            self.run = Run::Draining(self.now);
            self.stop();
            self.close_everything();
        }
    }

    /// Fails what waits, aborts what is in setup, disarms what would start something, and lets go
    /// of connections on which nothing is handed over.
    fn stop(&mut self) {
        self.timers.clear(&mut self.dial_timer);
        self.forget_session();
        self.stop_refreshing();
        let mut next = self.nodes.next_from(0);
        while let Some(n) = next {
            while let Some(r) = self.first_waiting_for(n) {
                self.complete_failed(r, Reason::Closed);
            }
            if self.nodes[n].state.is_setup() {
                self.abort_attempt(n, Cause::Shutdown);
            }
            let node = &mut self.nodes[n];
            self.timers.clear(&mut node.next_attempt_timer);
            self.timers.clear(&mut node.throttle_timer);
            self.throttled.remove(n);
            self.wanted.remove(n);
            next = self.nodes.next_from(n + 1);
        }
        while let Some(r) = self.first_waiting_for_any() {
            self.complete_failed(r, Reason::Closed);
        }
        self.fail_overdue();
        let mut next = self.connections.next_from(0);
        while let Some(c) = next {
            self.finish_what_is_handed_over(c);
            next = self.connections.next_from(c + 1);
        }
    }

    /// Requests whose deadline has passed are in no queue; they fail like those that are.
    fn fail_overdue(&mut self) {
        let mut next = self.requests.next_from(0);
        while let Some(r) = next {
            if self.requests[r].place() == Place::Overdue {
                self.complete_failed(r, Reason::Closed);
            }
            next = self.requests.next_from(r + 1);
        }
    }

    fn finish_what_is_handed_over(&mut self, c: u32) {
        let mut next = self.connections[c].flights.first();
        while let Some(f) = next {
            next = self.flight_links.next(f);
            if self.flights[f].state == FlightState::Emitted {
                let r = self.flights[f].request;
                self.free_flight(f);
                self.complete_failed(r, Reason::Closed);
            }
        }
        if self.connections[c].phase == Phase::Ready {
            self.detach(c, Cause::Shutdown);
        } else {
            self.close_if_drained(c);
        }
    }

    pub(super) fn shutdown_timed_out(&mut self) {
        self.timers.clear(&mut self.shutdown_timer);
        mutant!(ShutsDownForEver => return);
        self.close_everything();
    }

    /// The drain is over: what is still handed over fails as Closed.
    fn close_everything(&mut self) {
        let mut next = self.connections.next_from(0);
        while let Some(c) = next {
            self.end_connection(c, Cause::Shutdown, false);
            next = self.connections.next_from(c + 1);
        }
    }

    pub(super) fn terminate_if_done(&mut self) {
        if self.connections.is_empty() {
            self.timers.clear(&mut self.shutdown_timer);
            // One that was past its limit may have ended otherwise.
            self.past_limit.clear();
            self.timers.clear(&mut self.limit_timer);
            debug_assert!(self.timers.is_empty(), "nothing is left to happen");
            debug_assert!(self.requests.is_empty(), "every request is complete");
            self.run = Run::Terminated;
            self.outputs.terminated();
            mutant!(EndsTwice => self.outputs.terminated());
        }
    }
}
