//! An [`Incident`] in words, piece by piece: text and picture put them together.

use core::{fmt, time::Duration};

use std::{format, string::String, vec::Vec};

use super::{Human, Incident, Place, Recovery, Share, count, human};
use crate::{Event, Instant, NodeState, RefreshResult};

impl Incident {
    /// `at 5s for 7s`.
    pub(super) fn time(&self) -> String {
        let (began, ended) = (self.window.began, self.window.ended);
        let at = Human(began - Instant::ORIGIN);
        match ended {
            _ if self.window.occurrence.fault.is_instant() => format!("at {at}"),
            Some(ended) => format!("at {at} for {}", Human(ended - began)),
            None => format!("at {at}, not over at the end"),
        }
    }

    /// How and when the client noticed.
    pub(super) fn noticed(&self) -> String {
        match (&self.notice, self.window.place) {
            (Some(notice), _) => what(notice.event.as_ref(), Human(notice.after)),
            (None, Place::Client) => String::from("the client slept"),
            (None, _) => String::from("not noticed"),
        }
    }

    /// What became of the requests that it hit: at least one part.
    pub(super) fn requests(&self) -> Vec<String> {
        let mut parts = Vec::new();
        if self.lost > 0 {
            let lost = count(self.lost as usize, "request");
            parts.push(match self.lost == self.rescued {
                true => format!("{lost} lost, all answered after a retry"),
                false => format!("{lost} lost: {}", self.fates()),
            });
        }
        if self.unsent > 0 {
            parts.push(format!("{} failed unsent", self.unsent));
        }
        if let Some(reason) = self.reason {
            parts.push(format!("why: {reason}"));
        }
        if self.hedges > 0 {
            parts.push(count(self.hedges as usize, "hedge"));
        }
        let (before, during) = self.slowest;
        if during > before * 2 && during > Duration::from_millis(50) {
            let (before, during) = (Human(before), Human(during));
            parts.push(format!("slowest answer {during} (before {before})"));
        }
        if parts.is_empty() {
            parts.push(String::from("no request lost"));
        }
        parts
    }

    /// What became of those that were lost.
    fn fates(&self) -> String {
        let others = self.lost - self.rescued - self.failed;
        let fates = [
            (self.failed, "failed"),
            (self.rescued, "answered after a retry"),
            (others, "without an end"),
        ];
        let some = fates.into_iter().filter(|(number, _)| *number > 0);
        let fates: Vec<String> = some
            .map(|(number, fate)| format!("{number} {fate}"))
            .collect();
        fates.join(", ")
    }

    /// Where the traffic went.
    pub(super) fn traffic(&self) -> String {
        let total = |of: fn(&Share) -> u32| self.shares.iter().map(of).sum::<u32>();
        let (before, during) = (total(|share| share.before), total(|share| share.during));
        let change = |before_part: u32, during_part: u32| {
            let (old, new) = (percent(before_part, before), percent(during_part, during));
            format!("{old} → {new}")
        };
        if !matches!(self.window.place, Place::Lane(_)) {
            return format!("{before} answers before, {during} during");
        }
        let struck = self.shares.iter().filter(|share| share.struck);
        let (old, new) = struck.fold((0, 0), |(old, new), share| {
            (old + share.before, new + share.during)
        });
        if before == 0 {
            let most = self.shares.iter().rev().max_by_key(|share| share.during);
            return match most.filter(|share| share.during > 0) {
                Some(share) => format!(
                    "{} of the answers from {}",
                    percent(share.during, during),
                    share.name
                ),
                None => String::from("no answer"),
            };
        }
        let mut text = format!("its share {}", change(old, new));
        // Who gained most, as a part of all; a tie goes to the first.
        let gain = |share: &&Share| {
            u64::from(share.during) * u64::from(before.max(1))
                - (u64::from(share.before) * u64::from(during.max(1)))
                    .min(u64::from(share.during) * u64::from(before.max(1)))
        };
        let others = self.shares.iter().filter(|share| !share.struck);
        let most = others
            .rev()
            .max_by_key(gain)
            .filter(|share| gain(share) > 0);
        if let Some(share) = most.filter(|_| percent(old, before) != percent(new, during)) {
            let change = change(share.before, share.during);
            text += &format!("; most gained by {}: {change}", share.name);
        }
        text
    }

    /// When all was well again; of no meaning where no server was struck.
    pub(super) fn recovered(&self) -> Option<String> {
        if matches!(self.window.place, Place::List | Place::Client) {
            return None;
        }
        Some(match (self.recovery, self.window.ended) {
            (Recovery::Kept, _) => String::from("stayed Ready"),
            (Recovery::NotConnected, _) => String::from("was not connected"),
            (Recovery::Lost, _) => String::from("not Ready again"),
            (Recovery::ReadyAt(at), Some(ended)) if self.window.occurrence.fault.is_instant() => {
                format!("Ready {} later", Human(at - ended))
            }
            (Recovery::ReadyAt(at), Some(ended)) if ended <= at => {
                format!("Ready {} after its end", Human(at - ended))
            }
            (Recovery::ReadyAt(at), _) => {
                format!("Ready {} after it began", Human(at - self.window.began))
            }
        })
    }

    /// Whom it struck, shortly.
    #[cfg(feature = "sim-svg")]
    pub(super) fn place(&self) -> String {
        let server = self.whom.split_once(" (").map(|(server, _)| server);
        String::from(server.unwrap_or(&self.whom))
    }

    /// What it is, with its values.
    pub(super) fn name(&self) -> String {
        human::fault(self.window.occurrence.fault)
    }
}

fn percent(part: u32, of: u32) -> String {
    match of {
        0 => String::from("–"),
        _ => format!(
            "{}%",
            (u64::from(part) * 100 + u64::from(of) / 2) / u64::from(of)
        ),
    }
}

/// An event in a few words, and how long it took.
fn what(event: Option<&Event>, after: Human) -> String {
    let Some(event) = event else {
        return format!("first request lost after {after}");
    };
    match event {
        Event::Disconnected { cause, .. }
        | Event::StateChanged {
            from: NodeState::Ready,
            cause: Some(cause),
            ..
        } => format!("connection lost after {after} ({cause})"),
        Event::AttemptEnded {
            cause: Some(cause), ..
        }
        | Event::StateChanged {
            cause: Some(cause), ..
        } => format!("attempt failed after {after} ({cause})"),
        Event::AttemptStarted { .. } => format!("too slow: another node dialled after {after}"),
        Event::RetryScheduled { .. } => format!("first retry after {after}"),
        Event::Throttled { .. } => format!("asked to wait after {after}"),
        Event::Unhealthy { .. } => format!("found unhealthy after {after}"),
        Event::ListChanged { .. } => format!("list changed after {after}"),
        Event::Refreshed { result, .. } => match result {
            RefreshResult::TimedOut => format!("refresh timed out after {after}"),
            RefreshResult::Empty => format!("empty list after {after}"),
            _ => format!("refresh failed after {after}"),
        },
        _ => format!("noticed after {after}"),
    }
}

/// Three lines: the fault, what it did, how it ended.
impl fmt::Display for Incident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, name) = (self.number, self.name());
        writeln!(f, "{number:>3}. {name}, {}, {}", self.whom, self.time())?;
        let requests = self.requests().join("; ");
        writeln!(f, "     {}; {requests}", self.noticed())?;
        write!(f, "     {}", self.traffic())?;
        if let Some(recovered) = self.recovered() {
            write!(f, "; {recovered}")?;
        }
        write!(f, "; longest without an answer {}", Human(self.silence))
    }
}
