//! Looks into what came of a fault.

use core::time::Duration;

use std::{format, string::String, vec::Vec};

use super::{
    Fate, Handover, Incident, Lane, Notice, Place, Recovery, Share, State, Timeline, Window,
    silence::Silence,
};
use crate::{Cause, Event, Instant, sim::Fault};

/// After a fault is over, its consequences may still arrive for so long.
const GRACE: Duration = Duration::from_secs(1);
/// The consequences of connections that have died without a word may be so late: they are found out by
/// a timeout.
const AFTERMATH: Duration = Duration::from_secs(60);
/// What was usual before a fault is taken from so long at least.
const BEFORE: Duration = Duration::from_secs(10);

/// A fault that is looked into.
pub(super) struct Inquiry<'a> {
    timeline: &'a Timeline,
    index: usize,
    window: &'a Window,
    /// When it was over; for one of an instant: when what it struck had been found out.
    over: Instant,
    /// Until when what happens is put down to it.
    felt: Instant,
    /// Which lanes it struck.
    struck: Vec<bool>,
}

impl Inquiry<'_> {
    pub(super) fn report(&self, silences: &[Silence]) -> Incident {
        let mut incident = Incident {
            number: self.index + 1,
            window: *self.window,
            whom: self.whom(),
            notice: self.notice(),
            lost: 0,
            rescued: 0,
            failed: 0,
            unsent: 0,
            reason: None,
            hedges: self.hedges(),
            shares: Vec::new(),
            slowest: (Duration::ZERO, Duration::ZERO),
            recovery: self.recovery(),
            silence: self.silence(silences),
        };
        self.count_requests(&mut incident);
        self.count_answers(&mut incident);
        incident
    }

    fn whom(&self) -> String {
        match self.window.place {
            Place::All => String::from("all servers"),
            Place::List => String::from("the server list"),
            Place::Client => String::from("the client's machine"),
            Place::Lane(lane) => {
                let lane = &self.timeline.lanes[lane];
                match (&lane.endpoint, lane.server) {
                    (Some(_), Some(server)) => format!("server {server} ({})", lane.name()),
                    _ => lane.name(),
                }
            }
        }
    }

    fn notice(&self) -> Option<Notice> {
        let began = self.window.began;
        let moments = &self.timeline.moments;
        let first = moments.partition_point(|moment| moment.at < began);
        let felt = moments[first..]
            .iter()
            .take_while(|moment| moment.at <= self.felt);
        let mut told = felt.filter(|moment| match moment.lane {
            _ if matches!(moment.event, Event::AttemptStarted { hedge: true, .. }) => {
                self.in_setup(moment.at)
            }
            Some(lane) => self.struck[lane] && self.tells(&moment.event),
            None => match moment.event {
                Event::Refreshed { result, .. } => {
                    self.window.place == Place::List && result.is_failure()
                }
                Event::ListChanged { removed, .. } => {
                    self.window.occurrence.fault == Fault::NotListed && removed > 0
                }
                _ => false,
            },
        });
        told.next().map(|moment| Notice {
            after: moment.at - began,
            event: Some(moment.event),
        })
    }

    fn hedges(&self) -> u32 {
        let during = |at| self.window.began <= at && at <= self.felt;
        let hedges = self.timeline.moments.iter().filter(|moment| {
            matches!(moment.event, Event::AttemptStarted { hedge: true, .. })
                && during(moment.at)
                && self.in_setup(moment.at)
        });
        hedges.count() as u32
    }

    /// Whether a node that it struck was in setup, for some time already.
    fn in_setup(&self, at: Instant) -> bool {
        let lanes = self.timeline.lanes.iter().zip(&self.struck);
        let mut struck = lanes.filter(|(_, struck)| **struck);
        struck.any(|(lane, _)| {
            let band = lane.at(at);
            band.is_some_and(|band| band.state.is_setup() && band.from < at)
        })
    }

    /// Whether an event about a node that it struck may be its doing.
    fn tells(&self, event: &Event) -> bool {
        let fault = self.window.occurrence.fault;
        match event {
            Event::AttemptEnded {
                cause: Some(cause), ..
            } => may_cause(fault, *cause),
            _ if only_dials(fault) => false,
            Event::Disconnected { cause, .. }
            | Event::StateChanged {
                cause: Some(cause), ..
            } => may_cause(fault, *cause),
            Event::Throttled { .. } => matches!(fault, Fault::Throttle(_)),
            Event::RetryScheduled { .. } | Event::Unhealthy { .. } => true,
            _ => false,
        }
    }

    /// Of several struck the first that was Ready again.
    fn recovery(&self) -> Recovery {
        let lanes = self.timeline.lanes.iter().zip(&self.struck);
        let struck = lanes.filter(|(_, struck)| **struck);
        let recoveries = struck.map(|(lane, _)| self.recovery_of(lane));
        let first = recoveries.min_by_key(|(rank, recovery)| match recovery {
            Recovery::ReadyAt(at) => (*rank, *at),
            _ => (*rank, Instant::ORIGIN),
        });
        first.map_or(Recovery::NotConnected, |(_, recovery)| recovery)
    }

    /// With the rank that says which of several is told: of those that were lost, if there are any.
    fn recovery_of(&self, lane: &Lane) -> (u8, Recovery) {
        let began = self.window.began;
        let ends = self.timeline.shutdown.unwrap_or(self.timeline.ends);
        let ready = || lane.bands.iter().filter(|band| band.state == State::Ready);
        let ready_after = |at| ready().map(|band| band.from).find(|from| *from > at);
        let in_force = |at: &Instant| began <= *at && *at <= self.felt && *at < ends;
        // Of several losses the last counts, as the fault is over only after it.
        let lost = ready().map(|band| band.to).rfind(in_force);
        let was_ready = ready().any(|band| band.from <= began && began <= band.to);
        match (lost, was_ready) {
            (Some(lost), _) => match ready_after(lost) {
                Some(at) => (0, Recovery::ReadyAt(at)),
                None => (1, Recovery::Lost),
            },
            (None, true) => (2, Recovery::Kept),
            (None, false) => match ready_after(began) {
                Some(at) => (3, Recovery::ReadyAt(at)),
                None => (4, Recovery::NotConnected),
            },
        }
    }

    fn silence(&self, silences: &[Silence]) -> Duration {
        let began = self.window.began;
        let first = silences.partition_point(|silence| silence.to <= began);
        let overlap = silences[first..]
            .iter()
            .take_while(|silence| silence.from <= self.over);
        let longest = overlap
            .map(|silence| silence.to - silence.from.max(began))
            .max();
        longest.unwrap_or_default()
    }

    fn count_requests(&self, incident: &mut Incident) {
        let began = self.window.began;
        for request in &self.timeline.requests {
            if request.submitted > self.felt {
                break;
            }
            let mut handovers = request.handovers.iter();
            let lost = handovers.find(|handover| self.is_lost(handover));
            let failed = request.failed();
            if let Some(handover) = lost {
                incident.lost += 1;
                incident.rescued += u32::from(request.answered().is_some());
                incident.failed += u32::from(failed.is_some());
                let after = handover.until - began;
                if incident.notice.is_none_or(|notice| after < notice.after) {
                    incident.notice = Some(Notice { after, event: None });
                }
            }
            let unsent = self.window.place == Place::All
                && request.handovers.is_empty()
                && failed.is_some_and(|(at, _)| began <= at && at <= self.felt);
            incident.unsent += u32::from(unsent);
            if let Some((_, reason)) = failed.filter(|_| lost.is_some() || unsent) {
                incident.reason.get_or_insert(reason);
            }
        }
    }

    /// Whether a hand-over was lost where and while the fault was in force.
    fn is_lost(&self, handover: &Handover) -> bool {
        self.struck[handover.lane]
            && handover.fate == Fate::Lost
            && handover.at <= self.over
            && self.window.began <= handover.until
            && !only_dials(self.window.occurrence.fault)
    }

    fn count_answers(&self, incident: &mut Incident) {
        let began = self.window.began;
        let length = (self.over - began).max(BEFORE);
        let earliest = Instant::ORIGIN + (began - Instant::ORIGIN).saturating_sub(length);
        let over = match self.window.occurrence.fault.is_instant() {
            true => self.over.max(began + BEFORE).min(self.timeline.ends),
            false => self.over,
        };
        let lanes = self.timeline.lanes.iter().zip(&self.struck);
        incident.shares = lanes
            .map(|(lane, struck)| Share {
                name: lane.name(),
                struck: *struck,
                before: 0,
                during: 0,
            })
            .collect();
        let (mut before, mut during) = incident.slowest;
        let requests = &self.timeline.requests;
        for handover in requests.iter().flat_map(|request| &request.handovers) {
            if handover.fate != Fate::Answered || handover.until < earliest {
                continue;
            }
            let share = &mut incident.shares[handover.lane];
            let took = handover.until - handover.at;
            if handover.until < began {
                share.before += 1;
                before = before.max(if share.struck { took } else { Duration::ZERO });
            } else if handover.at <= over {
                share.during += u32::from(handover.until <= over);
                during = during.max(if share.struck { took } else { Duration::ZERO });
            }
        }
        incident.slowest = (before, during);
    }
}

/// Whether a fault leaves connections alone that are up.
const fn only_dials(fault: Fault) -> bool {
    matches!(
        fault,
        Fault::RejectCredentials
            | Fault::Refuse
            | Fault::Unreachable
            | Fault::BlackHole
            | Fault::NameFails
            | Fault::NameHangs
            | Fault::NameIsEmpty
            | Fault::NameMoves(_)
    )
}

/// Whether a fault can end something for this cause: of faults that overlap the one that did it is told.
const fn may_cause(fault: Fault, cause: Cause) -> bool {
    match cause {
        Cause::ResolveFailed | Cause::NoAddress => {
            matches!(fault, Fault::NameFails | Fault::NameIsEmpty)
        }
        Cause::Refused => matches!(fault, Fault::Crash | Fault::Drain | Fault::Refuse),
        Cause::Unreachable => matches!(fault, Fault::Unreachable),
        Cause::CredentialsRejected => matches!(fault, Fault::RejectCredentials),
        Cause::Malformed | Cause::ProtocolError => matches!(fault, Fault::Garble),
        Cause::PeerDraining => matches!(fault, Fault::Drain),
        Cause::Reset | Cause::PeerClosed | Cause::Io => matches!(
            fault,
            Fault::Crash | Fault::Drain | Fault::Reset | Fault::HalfOpen
        ),
        // What remains came too late, or not at all.
        _ => {
            let other = matches!(
                fault,
                Fault::NameFails
                    | Fault::NameIsEmpty
                    | Fault::Refuse
                    | Fault::Unreachable
                    | Fault::RejectCredentials
                    | Fault::Reset
                    | Fault::NotListed
            );
            !other && !cause.is_planned()
        }
    }
}

impl Timeline {
    pub(super) fn inquiry<'a>(&'a self, index: usize, window: &'a Window) -> Inquiry<'a> {
        let is_instant = window.occurrence.fault.is_instant();
        let struck = |(place, lane): (usize, &Lane)| {
            let meant = match window.place {
                Place::Lane(meant) => place == meant,
                Place::All => true,
                Place::List | Place::Client => false,
            };
            // What happens at one instant strikes the connections of that instant.
            let band = lane.at(window.began);
            let up = band.is_some_and(|band| band.state == State::Ready || band.state.is_setup());
            meant && (up || !is_instant)
        };
        let struck: Vec<bool> = self.lanes.iter().enumerate().map(struck).collect();
        let aftermath = match window.occurrence.fault {
            Fault::HalfOpen => AFTERMATH,
            _ => GRACE,
        };
        let (over, felt) = match is_instant {
            false => {
                let over = window.ended_or(self.ends);
                (over, over + GRACE)
            }
            // It works until the connections are found out.
            true => {
                let lanes = self
                    .lanes
                    .iter()
                    .zip(&struck)
                    .filter(|(_, struck)| **struck);
                let losses = lanes.filter_map(|(lane, _)| {
                    let mut bands = lane.bands.iter().filter(|band| band.state == State::Ready);
                    let lost = bands.find(|band| band.to >= window.began)?;
                    Some(lost.to.min(window.began + aftermath))
                });
                let over = losses.max().unwrap_or(window.began).min(self.ends);
                (over, over + GRACE)
            }
        };
        Inquiry {
            timeline: self,
            index,
            window,
            over,
            felt,
            struck,
        }
    }
}
