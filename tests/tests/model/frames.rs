//! What is on a connection: frames, replies, throttles, timeouts (SEMANTICS 4.3 to 4.6, 4.9, 5.3, 8.3).

use redial::{Cause, Reason, Stage, SuccessKind};

use crate::{
    rules::{Micros, Reset},
    state::{C, Frame, Model, Out, Phase, Place, R, Written},
};

/// What a reply says (4.7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Done,
    /// Tried again on the same node, or on another, so long after; and whether it was not carried out.
    Again {
        here: bool,
        after: Micros,
        not_executed: bool,
    },
}

impl Model {
    /// The frame, if the connection is established and has it.
    fn frame(&mut self, c: C, serial: u32) -> Option<&mut Frame> {
        self.connections.get_mut(&c)?.frames.get_mut(&serial)
    }

    pub(crate) fn free(&mut self, c: C, serial: u32) {
        self.connection(c).frames.remove(&serial);
        self.note_stall(c);
    }

    /// 8.3: since when the transport has something to write and accepts nothing.
    pub(crate) fn note_stall(&mut self, c: C) {
        let now = self.now;
        let connection = self.connection(c);
        let unaccepted = connection.frames.values().any(|frame| !frame.accepted);
        let has_to_write = connection.is_established() && (unaccepted || connection.blocked);
        connection.stalled_since = has_to_write.then(|| connection.stalled_since.unwrap_or(now));
    }

    /// 4.5: the attempt begins, or when the throttle ends if there is one.
    pub(crate) fn write_started(&mut self, c: C, serial: u32) {
        let from = self.now.max(self.connections[&c].throttled_until);
        let configured = self.rules.request_timeout;
        let Some(frame) = self
            .frame(c, serial)
            .filter(|f| f.state == Written::Emitted)
        else {
            return;
        };
        frame.state = Written::HandedOver;
        let r = frame.request.expect("it is open");
        let own = self.requests[r].asked.request_timeout;
        // A longer one replaces the configured one; a shorter one gives up this request alone.
        let shorter = own.filter(|&own| configured.is_none_or(|configured| own < configured));
        let attempt = match (own, configured) {
            (Some(own), Some(configured)) => Some(own.max(configured)),
            (_, configured) => configured,
        };
        let frame = self.frame(c, serial).expect("it is there");
        frame.attempt_ends = attempt.map(|timeout| from + timeout);
        frame.give_up_at = shorter.map(|timeout| from + timeout);
        let request = &mut self.requests[r];
        (request.handed_over, request.answered) = (request.handed_over + 1, false);
    }

    /// The transport has accepted the whole frame.
    pub(crate) fn write_done(&mut self, c: C, serial: u32) {
        if self.frame(c, serial).is_none_or(|frame| frame.accepted) {
            return;
        }
        self.write_started(c, serial);
        let frame = self.frame(c, serial).expect("it is there");
        frame.accepted = true;
        let is_over = frame.state == Written::Trailing || !frame.expects_reply;
        let sent = frame.request;
        if is_over {
            self.free(c, serial);
        }
        if let Some(r) = sent.filter(|_| is_over) {
            self.succeed(r, SuccessKind::Sent, c.0);
        }
        self.write_progress(c);
    }

    pub(crate) fn write_rejected(&mut self, c: C, serial: u32) {
        let emitted = self
            .frame(c, serial)
            .filter(|f| f.state == Written::Emitted);
        if let Some(r) = emitted.and_then(|frame| frame.request) {
            self.free(c, serial);
            self.requests[r].last_node = Some(c.0);
            self.fail(r, Reason::Rejected);
            self.close_if_drained(c);
        }
    }

    pub(crate) fn write_blocked(&mut self, c: C) {
        if self.connections[&c].phase != Phase::Connecting {
            self.connection(c).blocked = true;
            self.note_stall(c);
        }
    }

    pub(crate) fn write_progress(&mut self, c: C) {
        let connection = self.connection(c);
        (connection.blocked, connection.stalled_since) = (false, None);
        self.note_stall(c);
        self.close_if_drained(c);
    }

    /// 4.4. `None` is the oldest that awaits a reply.
    pub(crate) fn reply(&mut self, c: C, serial: Option<u32>, verdict: Verdict) {
        let connection = &self.connections[&c];
        let awaits = |frame: &Frame| frame.expects_reply && frame.state != Written::Trailing;
        let oldest = connection.frames.iter().find(|(_, frame)| awaits(frame));
        let Some(serial) = serial.or(oldest.map(|(&serial, _)| serial)) else {
            return self.nonsense(c);
        };
        if serial >= connection.next_serial {
            return self.nonsense(c);
        }
        self.proved_useful(c);
        if self
            .frame(c, serial)
            .is_none_or(|frame| frame.state == Written::Trailing)
        {
            return;
        }
        // 4.3: a Reply implies WriteStarted.
        self.write_started(c, serial);
        let open = self.frame(c, serial).expect("it is there").request;
        self.end_frame(c, serial);
        if let Some(r) = open {
            self.answered(r, c, verdict);
        }
        self.close_if_drained(c);
    }

    /// The peer breaks the protocol.
    fn nonsense(&mut self, c: C) {
        let cause = Cause::ProtocolError;
        match self.connections[&c].phase {
            Phase::Connecting => {}
            Phase::Handshaking => self.attempt_failed(c, (Stage::Handshake, cause), false),
            _ => self.broken(c, cause, false),
        }
    }

    /// 3.3 and 5.3: what any reply shows.
    fn proved_useful(&mut self, c: C) {
        let on_first = self.rules.reset == Reset::OnFirstReply;
        let connection = self.connection(c);
        let first = !std::mem::replace(&mut connection.replied, true);
        let resets = match connection.phase {
            Phase::Ready => first && on_first,
            _ => std::mem::take(&mut connection.reply_resets_node),
        };
        (connection.timeouts, connection.next_probe) = (0, 5_000_000);
        if std::mem::take(&mut connection.unhealthy) {
            (connection.probe_at, connection.probe_waits) = (None, None);
            self.out.push(Out::Healed(c.0));
        }
        if resets && self.nodes[c.0].listed {
            self.nodes[c.0].failures = 0;
        }
    }

    /// Its slot is free at once, or when its frame is wholly accepted.
    fn end_frame(&mut self, c: C, serial: u32) {
        let frame = self.frame(c, serial).expect("it is there");
        if frame.accepted {
            return self.free(c, serial);
        }
        (frame.request, frame.state) = (None, Written::Trailing);
        (frame.attempt_ends, frame.give_up_at) = (None, None);
    }

    /// What the reply means (4.7).
    fn answered(&mut self, r: R, c: C, verdict: Verdict) {
        let Verdict::Again {
            here,
            after,
            not_executed,
        } = verdict
        else {
            return self.succeed(r, SuccessKind::Reply, c.0);
        };
        let request = &mut self.requests[r];
        if request.asked.bound_to.is_some() && !here {
            request.retry_refused = true;
            return self.succeed(r, SuccessKind::Reply, c.0);
        }
        (request.last_node, request.answered) = (Some(c.0), true);
        (request.elsewhere, request.stay) = (!here, here.then_some(c));
        request.avoid = (!here).then_some(c.0);
        let is_safe = request.asked.idempotent || not_executed;
        if !(is_safe && self.try_again(r, after)) {
            self.requests[r].retry_refused = true;
            self.succeed(r, SuccessKind::Reply, c.0);
        }
    }

    /// 4.6: it never regresses; the attempt deadlines move by the new end minus the later of now and
    /// the old end.
    pub(crate) fn throttle(&mut self, c: C, until: Micros) {
        let connection = &self.connections[&c];
        let is_nodes = match connection.phase {
            Phase::Connecting => return,
            Phase::Handshaking | Phase::Ready => true,
            Phase::Draining(..) => false,
        };
        let old = match is_nodes {
            true => self.nodes[c.0].throttled_until,
            false => connection.throttled_until,
        };
        let by = until.saturating_sub(old.max(self.now));
        if by == 0 {
            return;
        }
        let connection = self.connection(c);
        connection.throttled_until = until;
        for frame in connection.frames.values_mut() {
            frame.attempt_ends = frame.attempt_ends.map(|at| at + by);
            frame.give_up_at = frame.give_up_at.map(|at| at + by);
        }
        if is_nodes {
            self.nodes[c.0].throttled_until = until;
        }
    }

    pub(crate) fn cancel(&mut self, r: R) {
        if self.requests[r].place != Place::Complete {
            self.give_up(r, Reason::Cancelled);
        }
    }

    /// 4.9: what was handed over leaves a tombstone.
    pub(crate) fn give_up(&mut self, r: R, reason: Reason) {
        let Place::On(c, serial) = self.requests[r].place else {
            return self.fail(r, reason);
        };
        self.requests[r].last_node = Some(c.0);
        let frame = self.frame(c, serial).expect("it is there");
        (frame.request, frame.give_up_at) = (None, None);
        if frame.state == Written::Emitted {
            self.free(c, serial);
        }
        self.fail(r, reason);
        self.close_if_drained(c);
    }

    /// 4.5: an attempt, or what a given-up one left, is overdue.
    pub(crate) fn attempt_times_out(&mut self, c: C, serial: u32) {
        if self.rules.timeout_disconnects {
            return self.broken(c, Cause::RequestTimeout, false);
        }
        self.count_timeout(c);
        let frame = self.frame(c, serial).expect("it is there");
        let (open, accepted) = (frame.request, frame.accepted);
        self.end_frame(c, serial);
        if let Some(r) = open {
            let request = &mut self.requests[r];
            if !accepted {
                request.barred.push((c, serial));
            }
            (request.avoid, request.last_node) = (Some(c.0), Some(c.0));
            request.elsewhere = false;
            request.last_ending = Some((Stage::Established, Cause::RequestTimeout));
            self.retry_or_fail(r, Reason::Timeout);
        }
        self.close_if_drained(c);
    }

    /// 5.3: unhealthy after so many in a row, and probed by a request after 5 s, doubling to 60 s.
    fn count_timeout(&mut self, c: C) {
        let (now, limit) = (self.now, self.rules.unhealthy_after);
        let connection = self.connection(c);
        connection.timeouts += 1;
        if limit.is_none_or(|limit| connection.timeouts < limit) || connection.phase != Phase::Ready
        {
            return;
        }
        let was_healthy = !std::mem::replace(&mut connection.unhealthy, true);
        if connection.probe_at.is_none() && connection.probe_waits.is_none() {
            connection.probe_at = Some(now + connection.next_probe);
            connection.next_probe = (connection.next_probe * 2).min(60_000_000);
        }
        if was_healthy {
            self.out.push(Out::Unhealthy(c.0));
        }
    }

    pub(crate) fn probe_is_due(&mut self, c: C) {
        let now = self.now;
        let connection = self.connection(c);
        (connection.probe_at, connection.probe_waits) = (None, Some(now));
    }
}
