//! What the client did about each fault.

use core::time::Duration;

use std::{string::String, vec::Vec};

use super::{Timeline, Window, silence::silences};
use crate::{Event, Instant, Reason};

/// What a client did about a fault, as far as its trace shows it.
///
/// Faults that overlap are each told alone, so one loss can be told of both. [`Display`](core::fmt::Display)
/// is three lines of text:
///
/// ```text
///   1. crash, server 1 (10.0.0.2:9092), at 1s for 2s
///      connection lost after 10ms (I/O error); 2 requests lost, all answered after a retry
///      its share 30% → 0%; most gained by 10.0.0.3:9092: 30% → 45%; Ready 200ms after its end; …
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Incident {
    /// Its number in the pictures, from 1: the order in which the faults began.
    pub number: usize,
    /// The fault.
    pub window: Window,
    /// Whom it struck, in words.
    pub whom: String,
    /// What told the client of it first.
    pub notice: Option<Notice>,
    /// Requests that had been handed over there and were not answered by it.
    pub lost: u32,
    /// Of these, how many were answered after a retry.
    pub rescued: u32,
    /// Of these, how many failed.
    pub failed: u32,
    /// How many failed meanwhile that were never handed over to anybody.
    pub unsent: u32,
    /// Why requests failed, for the first that did.
    pub reason: Option<Reason>,
    /// Other nodes that were dialled because one that it struck was slow to be set up.
    pub hedges: u32,
    /// Who answered, for each lane.
    pub shares: Vec<Share>,
    /// The slowest answer of those it struck, before it and during it.
    pub slowest: (Duration, Duration),
    /// Whether and when the nodes were Ready again.
    pub recovery: Recovery,
    /// The longest time without any answer while a request waited, not counted from before the fault.
    pub silence: Duration,
}

/// What told a client of a fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Notice {
    /// So long after it began.
    pub after: Duration,
    /// The event; `None`: that a request was not answered.
    pub event: Option<Event>,
}

/// Who answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Share {
    /// The name of the lane.
    pub name: String,
    /// The fault struck it.
    pub struck: bool,
    /// Its answers before: in a time as long as the fault, or 10 s if that is longer.
    pub before: u32,
    /// Its answers during it.
    pub during: u32,
}

/// What became of the connection to the server that a fault struck; where it struck many, of the first
/// that was Ready again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recovery {
    /// It was not lost.
    Kept,
    /// There was none, and none came.
    NotConnected,
    /// It was lost or there was none, and the node was Ready then.
    ReadyAt(Instant),
    /// It was lost, and the node was not Ready again.
    Lost,
}

impl Timeline {
    /// What the client did about each fault, in the order of [`faults`](Self::faults).
    ///
    /// ```
    /// # use redial::sim::{Timeline, Trace};
    /// # let trace = Trace::default();
    /// for incident in Timeline::of(&trace, 0).incidents() {
    ///     println!("{incident}");
    /// }
    /// ```
    #[must_use]
    pub fn incidents(&self) -> Vec<Incident> {
        let silences = silences(self);
        let windows = self.faults.iter().enumerate();
        let inquiries = windows.map(|(index, window)| self.inquiry(index, window));
        inquiries.map(|inquiry| inquiry.report(&silences)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::{super::testing, *};
    use crate::{
        Cause, RefreshResult, SourceId,
        sim::{Fault, Target, Trace},
    };

    fn first(trace: &Trace) -> Incident {
        Timeline::of(trace, 0).incidents().remove(0)
    }

    #[test]
    fn the_account_of_a_crash_says_what_became_of_requests_traffic_and_node() {
        let incident = first(&testing::crash());
        let notice = incident.notice.unwrap();
        assert_eq!(notice.after, Duration::from_millis(10));
        let numbers = (
            incident.lost,
            incident.rescued,
            incident.failed,
            incident.unsent,
        );
        assert_eq!(numbers, (2, 1, 1, 0));
        let shares: Vec<_> = incident
            .shares
            .iter()
            .map(|s| (s.before, s.during))
            .collect();
        assert_eq!(shares, [(4, 6), (3, 0), (3, 5)]);
        let again = Instant::from_millis(3_200);
        assert_eq!(incident.recovery, Recovery::ReadyAt(again));
        assert_eq!(incident.silence, Duration::from_millis(120));
    }

    #[test]
    fn the_account_of_a_crash_reads_as_a_few_lines() {
        let text = first(&testing::crash()).to_string();
        let expected = "  1. crash, server 1 (10.0.0.2:9092), at 1s for 2s
     connection lost after 10ms (I/O error); 2 requests lost: 1 failed, 1 answered after a \
             retry; why: disconnected: I/O error
     its share 30% → 0%; most gained by 10.0.0.3:9092: 30% → 45%; Ready 200ms after its end; \
             longest without an answer 120ms";
        assert_eq!(text, expected);
    }

    #[test]
    fn connections_that_die_without_a_word_are_found_out_later() {
        let trace = testing::script()
            .node(0)
            .ready(0, 10)
            .at(1_000)
            .begins(1_000, 0, Target::Server(0), Fault::HalfOpen)
            .at(1_500)
            .submit(0)
            .write(0, 0)
            .at(3_500)
            .retry(0, 0)
            .at(4_000)
            .lose(0, Cause::KeepaliveTimeout)
            .at(4_100)
            .ready(0, 10)
            .write(0, 0)
            .at(4_120)
            .reply(0)
            .trace();
        let incident = first(&trace);
        assert_eq!((incident.lost, incident.rescued), (1, 1));
        assert_eq!(incident.notice.unwrap().after, Duration::from_millis(2_500));
        assert_eq!(incident.silence, Duration::from_millis(2_620));
        let again = Instant::from_millis(4_110);
        assert_eq!(incident.recovery, Recovery::ReadyAt(again));
    }

    #[test]
    fn what_strikes_only_those_who_dial_loses_no_connection() {
        let trace = testing::script()
            .node(0)
            .ready(0, 10)
            .at(1_000)
            .begins(1_000, 5_000, Target::Server(0), Fault::BlackHole)
            .at(2_000)
            .lose(0, Cause::Io)
            .at(9_000)
            .ends(1_000, 5_000, Target::Server(0), Fault::BlackHole)
            .trace();
        assert_eq!(first(&trace).notice, None);
    }

    #[test]
    fn of_many_nodes_those_that_were_lost_are_told() {
        let trace = testing::script()
            .node(0)
            .node(1)
            .node(2)
            .ready(0, 10)
            .ready(1, 10)
            .at(1_000)
            .begins(1_000, 1_000, Target::All, Fault::Crash)
            .at(1_010)
            .lose(1, Cause::Io)
            .at(1_500)
            .ready(2, 10)
            .at(2_000)
            .ends(1_000, 1_000, Target::All, Fault::Crash)
            .at(2_500)
            .ready(1, 10)
            .trace();
        let again = Instant::from_millis(2_510);
        assert_eq!(first(&trace).recovery, Recovery::ReadyAt(again));
    }

    #[test]
    fn a_list_that_fails_is_noticed_by_the_refresh() {
        let refreshed = |result| Event::Refreshed {
            source: SourceId::new(0),
            result,
        };
        let trace = testing::script()
            .begins(0, 5_000, Target::All, Fault::ListFails)
            .at(100)
            .event(refreshed(RefreshResult::Unchanged))
            .at(200)
            .event(refreshed(RefreshResult::Failed))
            .at(5_000)
            .ends(0, 5_000, Target::All, Fault::ListFails)
            .trace();
        let notice = first(&trace).notice.unwrap();
        assert_eq!(notice.after, Duration::from_millis(200));
    }
}
