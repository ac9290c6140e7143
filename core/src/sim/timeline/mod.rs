//! A [`Timeline`]: what a [`Trace`] shows of one client, and what is drawn of it.

mod axis;
mod human;
mod incident;
mod inquiry;
mod lane;
mod pack;
mod reader;
mod request;
mod silence;
#[cfg(feature = "sim-svg")]
mod svg;
#[cfg(test)]
mod testing;
mod text;
mod traffic;
mod wording;

use std::{format, string::String, vec::Vec};

use self::{human::Human, reader::Reader};
pub use self::{
    incident::{Incident, Notice, Recovery, Share},
    lane::{Band, Lane, State},
    request::{Fate, Handover, Outcome, Request},
    traffic::{Bucket, Traffic},
};
use super::{Occurrence, Trace};
use crate::{Event, Instant};

/// A run as one client saw it: a lane for each of its nodes, the faults, its requests and its events.
///
/// It is read from the trace alone, so the same trace gives the same timeline and the same pictures,
/// byte for byte.
///
/// ```
/// use redial::sim::{Timeline, Trace};
///
/// let trace = Trace::default(); // of a simulation
/// let timeline = Timeline::of(&trace, 0).titled("seed 7");
/// println!("{}", timeline.text(100));
/// for incident in timeline.incidents() {
///     println!("{incident}");
/// }
/// assert!(timeline.faults().is_empty());
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Timeline {
    title: String,
    client: u32,
    ends: Instant,
    shutdown: Option<Instant>,
    lanes: Vec<Lane>,
    faults: Vec<Window>,
    requests: Vec<Request>,
    moments: Vec<Moment>,
}

/// A fault as it was in force.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// What was scheduled.
    pub occurrence: Occurrence,
    /// Where it is drawn.
    pub place: Place,
    /// When it began.
    pub began: Instant,
    /// When it was over; the same for one that is [instant](crate::sim::Fault::is_instant), `None` if
    /// it was not over when the trace ends.
    pub ended: Option<Instant>,
}

/// To whom a fault belongs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Place {
    /// The lane with this index in [`Timeline::lanes`].
    Lane(usize),
    /// Every server.
    All,
    /// The sources of server lists.
    List,
    /// The client's machine.
    Client,
}

/// An event of the client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moment {
    /// When.
    pub at: Instant,
    /// The lane of the node that it is about.
    pub lane: Option<usize>,
    /// What.
    pub event: Event,
}

impl Timeline {
    /// What the trace shows of this client. The faults are all there even if there is no such client.
    #[must_use]
    pub fn of(trace: &Trace, client: u32) -> Self {
        Reader::read(trace, client)
    }

    /// The same with words that are written before its own title: a name, or the seed.
    #[must_use]
    pub fn titled(self, title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            ..self
        }
    }

    /// Its title: the words of [`titled`](Self::titled), then client, size and length.
    #[must_use]
    pub fn title(&self) -> String {
        let own = format!(
            "client {} · {} · {} · {}",
            self.client,
            count(self.lanes.len(), "server"),
            Human(self.ends - Instant::ORIGIN),
            count(self.faults.len(), "fault"),
        );
        match self.title.is_empty() {
            true => own,
            false => format!("{} · {own}", self.title),
        }
    }

    /// When the trace ends.
    #[must_use]
    pub const fn ends(&self) -> Instant {
        self.ends
    }

    /// When the client was told to shut down.
    #[must_use]
    pub const fn shutdown(&self) -> Option<Instant> {
        self.shutdown
    }

    /// A lane for each server that the client knew or a fault struck, those of the simulation first and
    /// by number.
    #[must_use]
    pub fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    /// The faults, in the order in which they began.
    #[must_use]
    pub fn faults(&self) -> &[Window] {
        &self.faults
    }

    /// The requests, in the order in which they were submitted.
    #[must_use]
    pub fn requests(&self) -> &[Request] {
        &self.requests
    }

    /// The client's events, in order.
    #[must_use]
    pub fn moments(&self) -> &[Moment] {
        &self.moments
    }
}

/// `1 fault`, `2 faults`.
fn count(number: usize, word: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {word}{plural}")
}

impl Window {
    /// When it was over, or this if it was not.
    #[must_use]
    pub fn ended_or(&self, end: Instant) -> Instant {
        self.ended.unwrap_or(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::{Fault, Target};

    #[test]
    fn a_crash_is_read_into_bands_windows_and_requests() {
        let timeline = Timeline::of(&testing::crash(), 0);
        let states = |lane: usize| {
            let bands = timeline.lanes()[lane].bands.iter();
            bands.map(|band| band.state).collect::<Vec<_>>()
        };
        let (setup, ready) = (State::Connecting, State::Ready);
        assert_eq!(states(0), [setup, ready]);
        assert_eq!(states(1), [setup, ready, State::Resting, setup, ready]);
        let window = timeline.faults()[0];
        assert_eq!(window.place, Place::Lane(1));
        assert_eq!(window.ended, Some(Instant::from_millis(3_000)));
        assert_eq!(timeline.requests().len(), 32);
        let retried = &timeline.requests()[10];
        let fates: Vec<_> = retried.handovers.iter().map(|h| (h.lane, h.fate)).collect();
        assert_eq!(fates, [(1, Fate::Lost), (0, Fate::Answered)]);
        assert_eq!(timeline.shutdown(), Some(Instant::from_millis(5_000)));
    }

    #[test]
    fn a_server_that_only_a_fault_knows_has_a_lane() {
        let trace = testing::script()
            .node(0)
            .begins(0, 10, Target::Server(4), Fault::NotListed)
            .trace();
        let timeline = Timeline::of(&trace, 0);
        assert_eq!(timeline.lanes()[1].name(), "server 4");
        assert_eq!(timeline.faults()[0].place, Place::Lane(1));
    }

    #[test]
    fn what_strikes_no_single_server_has_a_place_of_its_own() {
        let trace = testing::script()
            .begins(0, 10, Target::Server(0), Fault::ListFails)
            .begins(0, 10, Target::All, Fault::Crash)
            .begins(0, 10, Target::All, Fault::Sleep)
            .trace();
        let timeline = Timeline::of(&trace, 0);
        let places: Vec<_> = timeline
            .faults()
            .iter()
            .map(|window| window.place)
            .collect();
        assert_eq!(places, [Place::List, Place::All, Place::Client]);
        assert!(timeline.lanes().is_empty());
    }

    #[test]
    fn a_node_that_leaves_the_list_is_not_listed() {
        let list = |n: &[u32]| {
            let specs = n.iter().map(|n| format!("10.0.0.{}:9092", n + 1));
            let specs = specs.map(|spec| spec.parse().unwrap());
            crate::record::Call::SetNodes(specs.collect())
        };
        let changed = |added, removed, kept| Event::ListChanged {
            added,
            removed,
            kept,
        };
        let done = crate::record::Answer::List(Ok(()));
        let trace = testing::script()
            .node(0)
            .node(1)
            .call(list(&[0, 1]), done)
            .event(changed(2, 0, 0))
            .at(10)
            .call(list(&[0]), done)
            .event(changed(0, 1, 1))
            .at(20)
            .event(Event::QueueFull)
            .trace();
        let timeline = Timeline::of(&trace, 0);
        let states: Vec<_> = timeline.lanes().iter().map(Lane::last).collect();
        assert_eq!(states, [State::Idle, State::Unlisted]);
    }

    #[test]
    fn the_lines_of_other_clients_are_left_out() {
        let timeline = Timeline::of(&testing::crash(), 1);
        assert!(timeline.requests().is_empty() && timeline.moments().is_empty());
        assert_eq!(timeline.faults().len(), 1);
    }
}
