//! Keeping connections honest: idle and age limits, keepalives, probes of unhealthy connections
//! (SEMANTICS 5.3, 8.1, 8.2, 8.4).

use core::time::Duration;

use super::Phase;
use crate::{
    Action, Cause, Cluster, Event, Instant, KeepaliveOn, Limit, Warm,
    cluster::Digest,
    timers::{Timer, TimerSlot},
};

/// An unhealthy connection is probed after this long, doubling …
const FIRST_PROBE: Duration = Duration::from_secs(5);
/// … to this.
const LAST_PROBE: Duration = Duration::from_secs(60);

/// What is kept of a connection for its upkeep.
#[derive(Clone, Debug)]
pub(crate) struct Upkeep {
    last_received: Instant,
    last_sent: Instant,
    /// The last application frame written, reply or push read, or Ready.
    last_active: Instant,
    /// When it reaches its age limit.
    too_old_at: Instant,
    /// It has reached its idle or age limit.
    pub(crate) past_limit: bool,
    /// A keepalive or probe is out that no byte has answered yet.
    probed_at: Option<Instant>,
    next_probe: Duration,
    keepalive_timer: TimerSlot,
    probe_timer: TimerSlot,
}

impl Upkeep {
    pub(crate) const fn new() -> Self {
        Self {
            last_received: Instant::ORIGIN,
            last_sent: Instant::ORIGIN,
            last_active: Instant::ORIGIN,
            too_old_at: Instant::MAX,
            past_limit: false,
            probed_at: None,
            next_probe: FIRST_PROBE,
            keepalive_timer: TimerSlot::UNARMED,
            probe_timer: TimerSlot::UNARMED,
        }
    }

    pub(crate) fn digest(&self, to: &mut Digest<'_>) {
        let Self {
            last_received,
            last_sent,
            last_active,
            too_old_at,
            past_limit,
            probed_at,
            next_probe,
            keepalive_timer: _,
            probe_timer: _,
        } = self;
        let config = &to.cluster.config;
        if config.keepalive_interval != Limit::Never {
            to.exact(*last_received);
            to.exact(*last_sent);
        }
        if config.max_idle != Limit::Never {
            to.exact(*last_active);
        }
        to.deadline(*too_old_at);
        to.add((past_limit, next_probe, probed_at.is_some()));
        to.exact(probed_at.unwrap_or(Instant::MAX));
    }

    /// An application frame is being written. Its connection is busy, so no limit moves.
    pub(crate) const fn note_written(&mut self, now: Instant) {
        self.last_active = now;
    }
}

impl Cluster {
    /// The connection is Ready; all its times count from now.
    pub(crate) fn start_upkeep(&mut self, c: u32) {
        let too_old_at = match self.config.max_age {
            _ if mutant!(KeepsOld) => Instant::MAX,
            Limit::Never => Instant::MAX,
            Limit::After(age) => self.now + self.draw_age(age),
        };
        let upkeep = &mut self.connections[c].upkeep;
        upkeep.last_received = self.now;
        upkeep.last_sent = self.now;
        upkeep.last_active = self.now;
        upkeep.too_old_at = too_old_at;
        self.update_limit(c);
        self.arm_keepalive(c);
    }

    /// Uniform in [0.9, 1] of the limit, so that connections made together do not end together.
    fn draw_age(&mut self, age: Duration) -> Duration {
        let nanos = crate::time::nanos(age);
        Duration::from_nanos(self.age_rng.between(nanos - nanos / 10, nanos))
    }

    /// The connection has parted from its node or ended: no keepalive, probe or limit is due on it
    /// any more. A keepalive that is out may still time out, unless the connection is gone.
    pub(crate) fn stop_upkeep(&mut self, c: u32, gone: bool) {
        self.limits.remove(c);
        self.arm_limit_timer();
        if !gone {
            let n = self.connections[c].node.index;
            self.probe_by_request.remove(n);
        }
        let upkeep = &mut self.connections[c].upkeep;
        self.timers.clear(&mut upkeep.probe_timer);
        if gone || upkeep.probed_at.is_none() {
            self.timers.clear(&mut upkeep.keepalive_timer);
        }
    }

    // Limits (8.1, 8.4).

    /// An application frame was written, or a reply or push read.
    pub(crate) fn note_activity(&mut self, c: u32) {
        let connection = &mut self.connections[c];
        connection.upkeep.last_active = self.now;
        if connection.in_flight == 0 {
            self.update_limit(c);
        }
    }

    /// Sets when the connection reaches its next limit. Called whenever it turns busy or idle.
    pub(crate) fn update_limit(&mut self, c: u32) {
        let keeps_all = self.config.effective_warm() == Warm::All;
        if keeps_all && self.config.max_age == Limit::Never {
            return;
        }
        let connection = &self.connections[c];
        if connection.phase != Phase::Ready || connection.upkeep.past_limit {
            return;
        }
        let idle_at = match connection.in_flight {
            0 if !keeps_all => connection.upkeep.last_active.after(self.config.max_idle),
            _ => Instant::MAX,
        };
        match idle_at.min(connection.upkeep.too_old_at) {
            Instant::MAX => {
                if self.limits.remove(c).is_none() {
                    return;
                }
            }
            at => self.limits.set(at, c),
        }
        self.arm_limit_timer();
        // One that turns idle long after it was active is past its limit in this very call.
        self.mark_past_limit();
    }

    fn arm_limit_timer(&mut self) {
        let at = match self.past_limit.is_empty() {
            true => self.limits.peek().map_or(Instant::MAX, |(at, _)| at),
            false => self.now,
        };
        self.timers.set(&mut self.limit_timer, at, Timer::Limit);
    }

    /// Whoever has reached a limit is not handed out any more, whatever the call; it is closed by
    /// `handle_timeout` (1.1).
    pub(crate) fn mark_past_limit(&mut self) {
        while let Some((at, c)) = self.limits.peek()
            && at <= self.now
        {
            self.limits.remove(c);
            let too_old = self.connections[c].upkeep.too_old_at <= self.now;
            if !too_old && self.warm_needs_all_it_has() {
                // Kept for `warm`: its time begins anew.
                self.connections[c].upkeep.last_active = self.now;
                self.update_limit(c);
            } else {
                self.connections[c].upkeep.past_limit = true;
                self.past_limit.push(self.connection_id(c));
                self.update_connection_standing(c);
                self.arm_limit_timer();
            }
        }
    }

    fn warm_needs_all_it_has(&self) -> bool {
        match self.config.effective_warm() {
            Warm::AtLeast(least) => {
                let leaving = self.past_limit.len() as u32;
                (self.ready_nodes + self.setup_nodes).saturating_sub(leaving) <= least
            }
            _ => false,
        }
    }

    /// Closes those past their limits; what is in flight on them may finish.
    pub(crate) fn retire_past_limit(&mut self) {
        while let Some(id) = self.past_limit.pop() {
            let connection = self.connections.get(id.index, id.generation);
            if let Some(connection) = connection
                && connection.phase == Phase::Ready
            {
                let cause = match connection.upkeep.too_old_at <= self.now {
                    true => Cause::MaxAge,
                    false => Cause::Idle,
                };
                self.detach(id.index, cause);
            }
        }
        self.arm_limit_timer();
    }

    // Keepalive (8.2).

    /// A byte came: the peer lives, and a probe is answered.
    pub(crate) fn heard_from(&mut self, c: u32) {
        self.session_heard();
        let connection = &mut self.connections[c];
        connection.upkeep.last_received = self.now;
        let answered = connection.upkeep.probed_at.take().is_some();
        if answered {
            self.heal(c);
        }
        if answered || self.config.keepalive_interval != Limit::Never {
            self.arm_keepalive(c);
        }
    }

    /// The transport accepted bytes.
    pub(crate) fn sent_to(&mut self, c: u32) {
        self.connections[c].upkeep.last_sent = self.now;
        let matters = self.config.keepalive_on != KeepaliveOn::Received;
        if matters && self.config.keepalive_interval != Limit::Never {
            self.arm_keepalive(c);
        }
    }

    pub(crate) fn arm_keepalive(&mut self, c: u32) {
        let (interval, timeout) = self.keepalive_times();
        let connection = &mut self.connections[c];
        let upkeep = &connection.upkeep;
        let silent_since = match self.config.keepalive_on {
            KeepaliveOn::Received => upkeep.last_received,
            KeepaliveOn::Sent => upkeep.last_sent,
            KeepaliveOn::Either => upkeep.last_received.min(upkeep.last_sent),
        };
        let at = match upkeep.probed_at {
            Some(probed_at) => probed_at + timeout,
            None if mutant!(NeverAsks) => Instant::MAX,
            None if connection.phase == Phase::Ready => silent_since.after(interval),
            None => Instant::MAX,
        };
        let slot = &mut connection.upkeep.keepalive_timer;
        self.timers
            .set(slot, at, Timer::Keepalive { connection: c });
    }

    /// A session's timeout gives both: a third of it each, so that a dead server is left before the
    /// session is over (8.6).
    fn keepalive_times(&self) -> (Limit, Duration) {
        match (self.config.keepalive_interval, self.session_timeout()) {
            (Limit::After(_), Some(session)) => (Limit::After(session / 3), session / 3),
            (interval, _) => (interval, self.config.keepalive_timeout),
        }
    }

    pub(crate) fn keepalive_is_due(&mut self, c: u32) {
        match self.connections[c].upkeep.probed_at {
            None => self.probe(c),
            Some(_) if mutant!(IgnoresUnanswered) => {
                self.timers
                    .clear(&mut self.connections[c].upkeep.keepalive_timer);
            }
            Some(_) => {
                let cause = Cause::KeepaliveTimeout;
                match self.connections[c].phase {
                    Phase::Ready => self.lost(c, cause, false),
                    _ => self.end_connection(c, cause, false),
                }
            }
        }
    }

    /// Sends the protocol's keepalive, unless one is out. It needs no slot and ignores throttles
    /// (4.10); sending it counts as bytes sent.
    pub(crate) fn probe(&mut self, c: u32) {
        let upkeep = &mut self.connections[c].upkeep;
        if upkeep.probed_at.is_none() || mutant!(ProbesTwice) {
            upkeep.probed_at = Some(self.now);
            upkeep.last_sent = self.now;
            let connection = self.connection_id(c);
            self.outputs.action(Action::Probe { connection });
            self.arm_keepalive(c);
        }
    }

    // Health (5.3).

    /// So many timeouts in a row make a connection unhealthy.
    pub(crate) fn count_timeout(&mut self, c: u32) {
        let connection = &mut self.connections[c];
        connection.timeouts_in_a_row += 1;
        let limit = self.config.unhealthy_after;
        let sick = limit.is_some_and(|limit| connection.timeouts_in_a_row >= limit);
        if !sick || connection.phase != Phase::Ready {
            return;
        }
        if !core::mem::replace(&mut connection.unhealthy, true) {
            let node = connection.node;
            self.outputs.event(Event::Unhealthy { node });
            self.update_standing(node.index);
        }
        self.arm_probe(c);
    }

    /// Sets the time of the next probe. None falls due while one is out, or waits for a request.
    fn arm_probe(&mut self, c: u32) {
        let connection = &mut self.connections[c];
        let upkeep = &mut connection.upkeep;
        let waits = self.probe_by_request.contains(connection.node.index);
        let armed = self.timers.deadline(&upkeep.probe_timer).is_some();
        if upkeep.probed_at.is_none() && !waits && !armed {
            let at = self.now + upkeep.next_probe;
            upkeep.next_probe = (upkeep.next_probe * 2).min(LAST_PROBE);
            let slot = &mut upkeep.probe_timer;
            self.timers.set(slot, at, Timer::Probe { connection: c });
        }
    }

    /// Without a keepalive, the next idempotent request for any node is the probe.
    pub(crate) fn probe_is_due(&mut self, c: u32) {
        let connection = &mut self.connections[c];
        self.timers.clear(&mut connection.upkeep.probe_timer);
        if self.config.has_keepalive() {
            self.probe(c);
        } else {
            self.probe_by_request.set(self.now, connection.node.index);
        }
    }

    /// The node that an idempotent request for any node is to probe now.
    pub(crate) fn node_to_probe(&self) -> Option<u32> {
        let (_, n) = self.probe_by_request.peek()?;
        self.ready.standing(n).map(|_| n)
    }

    /// A reply came.
    pub(crate) fn reply_heals(&mut self, c: u32) {
        self.connections[c].upkeep.next_probe = FIRST_PROBE;
        self.heal(c);
    }

    #[inline]
    fn heal(&mut self, c: u32) {
        let connection = &mut self.connections[c];
        connection.timeouts_in_a_row = 0;
        mutant!(NeverHeals => return);
        if !core::mem::replace(&mut connection.unhealthy, false) || connection.phase != Phase::Ready
        {
            return;
        }
        let node = connection.node;
        self.timers.clear(&mut connection.upkeep.probe_timer);
        self.probe_by_request.remove(node.index);
        self.outputs.event(Event::Healed { node });
        self.update_standing(node.index);
    }

    /// The connections that are Ready, by rising index.
    pub(crate) fn ready_connection_from(&self, c: u32) -> Option<u32> {
        let mut next = self.connections.next_from(c);
        while let Some(c) = next
            && self.connections[c].phase != Phase::Ready
        {
            next = self.connections.next_from(c + 1);
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::tests::{
        Driven, Named, assert_all_differ, assert_none_differs, config, make_idle,
    };

    /// The times that matter only with a keepalive.
    const SILENCE: &[Named] = &[
        ("received", |c| {
            let upkeep = &mut c.connections[0].upkeep;
            upkeep.last_received = Instant::from_nanos(1);
        }),
        ("sent", |c| {
            c.connections[0].upkeep.last_sent = Instant::from_nanos(1);
        }),
    ];

    /// The one that matters only with an idle limit.
    const IDLENESS: &[Named] = &[("active", |c| {
        c.connections[0].upkeep.last_active = Instant::from_nanos(1);
    })];

    #[test]
    fn what_upkeep_keeps_is_in_the_fingerprint() {
        assert_all_differ(
            &make_idle(Driven::new(config())).cluster,
            &[
                ("age limit", |c| {
                    let too_old_at = c.now + Duration::from_nanos(1);
                    c.connections[0].upkeep.too_old_at = too_old_at;
                }),
                ("age limit reached", |c| {
                    c.connections[0].upkeep.too_old_at = c.now;
                }),
                ("limit reached", |c| {
                    c.connections[0].upkeep.past_limit = true;
                }),
                ("a probe", |c| {
                    c.connections[0].upkeep.probed_at = Some(c.now);
                }),
                ("a probe that never was", |c| {
                    c.connections[0].upkeep.probed_at = Some(Instant::MAX);
                }),
                ("the next probe", |c| {
                    c.connections[0].upkeep.next_probe *= 2;
                }),
            ],
        );
    }

    #[test]
    fn silence_and_idleness_are_in_the_fingerprint_if_there_is_a_limit_for_them() {
        let with = |keepalive: Limit, max_idle: Limit| {
            let config = config().keepalive_interval(keepalive).max_idle(max_idle);
            make_idle(Driven::new(config)).cluster
        };
        let limit = Limit::After(Duration::from_secs(1));
        assert_all_differ(&with(limit, Limit::Never), SILENCE);
        assert_none_differs(&with(limit, Limit::Never), IDLENESS);
        assert_all_differ(&with(Limit::Never, limit), IDLENESS);
        assert_none_differs(&with(Limit::Never, limit), SILENCE);
    }
}
