//! Lanes and their bands.

use std::{format, string::String, vec::Vec};

use crate::{Cause, Endpoint, Instant, NodeState};

/// What a client knew of one server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lane {
    /// Its address or name. `None`: a server that the client never knew, but that a fault struck.
    pub endpoint: Option<Endpoint>,
    /// Its number in the simulation.
    pub server: Option<u32>,
    /// What its node was doing, without gaps from the start to the end.
    pub bands: Vec<Band>,
    /// What was true of it besides: [`Draining`](State::Draining), [`Throttled`](State::Throttled),
    /// [`Unhealthy`](State::Unhealthy).
    pub overlays: Vec<Band>,
}

/// A state for a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Band {
    /// The state.
    pub state: State,
    /// From when.
    pub from: Instant,
    /// Until when.
    pub to: Instant,
}

/// What is shown of a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum State {
    /// It is not on the list.
    Unlisted,
    /// No connection, and none was lost: it is not needed.
    Idle,
    /// No connection after a failure: it waits for its next attempt, first for its backoff and then
    /// until it is needed.
    Resting,
    /// As Resting, after it has rejected the credentials.
    Rejected,
    /// Setup: its name is being looked up.
    Resolving,
    /// Setup: a transport is being brought up.
    Connecting,
    /// Setup: the handshake is under way.
    Handshaking,
    /// It takes requests.
    Ready,
    /// Besides: an old connection ends with what is in flight on it.
    Draining,
    /// Besides: it has asked for no requests.
    Throttled,
    /// Besides: its replies do not come in time.
    Unhealthy,
}

impl State {
    pub(super) const fn of(state: NodeState, cause: Option<Cause>) -> Self {
        match state {
            NodeState::Disconnected => match cause {
                Some(cause) if !cause.is_planned() => Self::Resting,
                _ => Self::Idle,
            },
            NodeState::Resolving => Self::Resolving,
            NodeState::Connecting => Self::Connecting,
            NodeState::Handshaking => Self::Handshaking,
            NodeState::Ready => Self::Ready,
            NodeState::AuthenticationFailed => Self::Rejected,
        }
    }

    /// Whether an attempt is under way.
    #[must_use]
    pub const fn is_setup(self) -> bool {
        matches!(self, Self::Resolving | Self::Connecting | Self::Handshaking)
    }
}

impl Lane {
    /// Known from `at` on. Its last band is open: it ends where it begins.
    pub(super) fn new(endpoint: Option<Endpoint>, server: Option<u32>) -> Self {
        let start = Band {
            state: State::Unlisted,
            from: Instant::ORIGIN,
            to: Instant::ORIGIN,
        };
        Self {
            endpoint,
            server,
            bands: std::vec![start],
            overlays: Vec::new(),
        }
    }

    /// The state in which it is when the bands end.
    pub(super) fn last(&self) -> State {
        self.bands.last().map_or(State::Unlisted, |band| band.state)
    }

    /// From now on it is in this state.
    pub(super) fn enter(&mut self, at: Instant, state: State) {
        if self.last() == state {
            return;
        }
        if let Some(last) = self.bands.last_mut() {
            last.to = at;
        }
        // A state that was left at once is none, and may make two bands one.
        if self.bands.pop_if(|last| last.from == at).is_some()
            && let Some(before) = self.bands.last()
            && before.state == state
        {
            return;
        }
        self.bands.push(Band {
            state,
            from: at,
            to: at,
        });
    }

    /// This is true besides; if it is so already, until the later of the two ends.
    pub(super) fn lay_over(&mut self, state: State, from: Instant, to: Instant) {
        let mut overlays = self.overlays.iter_mut().rev();
        match overlays.find(|band| band.state == state && from <= band.to) {
            Some(band) => band.to = band.to.max(to),
            None => self.overlays.push(Band { state, from, to }),
        }
    }

    /// What was true besides is no longer.
    pub(super) fn uncover(&mut self, state: State, at: Instant) {
        let mut overlays = self.overlays.iter_mut().rev();
        if let Some(band) = overlays.find(|band| band.state == state && band.to > at) {
            band.to = at;
        }
    }

    /// The trace is over.
    pub(super) fn finish(&mut self, at: Instant) {
        if let Some(last) = self.bands.last_mut() {
            last.to = at;
        }
        self.overlays.iter_mut().for_each(|band| {
            band.to = band.to.min(at);
        });
        self.overlays.retain(|band| band.from < band.to);
    }

    /// Its endpoint, or its number.
    #[must_use]
    pub fn name(&self) -> String {
        match (&self.endpoint, self.server) {
            (Some(endpoint), _) => format!("{endpoint}"),
            (None, Some(server)) => format!("server {server}"),
            (None, None) => String::new(),
        }
    }

    /// The band at this time.
    #[must_use]
    pub fn at(&self, at: Instant) -> Option<&Band> {
        let after = self.bands.partition_point(|band| band.from <= at);
        self.bands[..after].last()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    #[test]
    fn states_become_bands_without_gaps() {
        let mut lane = Lane::new(None, None);
        for (millis, state) in [
            (0, State::Idle),
            (10, State::Connecting),
            (20, State::Handshaking),
            (20, State::Ready),
            (30, State::Ready),
        ] {
            lane.enter(at(millis), state);
        }
        lane.finish(at(50));
        let bands: Vec<_> = lane.bands.iter().map(|b| (b.state, b.from, b.to)).collect();
        assert_eq!(
            bands,
            [
                (State::Idle, at(0), at(10)),
                (State::Connecting, at(10), at(20)),
                (State::Ready, at(20), at(50)),
            ]
        );
        assert_eq!(lane.at(at(15)).unwrap().state, State::Connecting);
    }

    #[test]
    fn an_overlay_ends_when_it_is_lifted_or_with_the_trace() {
        let mut lane = Lane::new(None, None);
        lane.lay_over(State::Unhealthy, at(5), Instant::MAX);
        lane.uncover(State::Unhealthy, at(9));
        lane.lay_over(State::Throttled, at(8), at(15));
        lane.lay_over(State::Throttled, at(10), at(90));
        lane.finish(at(20));
        let ends: Vec<_> = lane.overlays.iter().map(|band| band.to).collect();
        assert_eq!(ends, [at(9), at(20)]);
    }
}
