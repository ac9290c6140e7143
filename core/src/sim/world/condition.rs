//! How a server is, with all that is wrong with it.

use core::time::Duration;

use super::pipe::Passage;
use crate::{
    ConnectError,
    sim::{
        fault::{Fault, Way},
        rng::Rng,
    },
};

/// What the faults of a server add up to.
#[derive(Clone, Debug)]
pub(super) struct Condition {
    /// Whether its process is there.
    pub(super) is_up: bool,
    pub(super) is_paused: bool,
    pub(super) is_mute: bool,
    pub(super) drains: bool,
    pub(super) garbles: bool,
    pub(super) slow: Duration,
    pub(super) throttle: Option<Duration>,
    pub(super) rejects: bool,
    /// What the network answers to a dial.
    pub(super) dial: Dial,
    /// Nothing passes, dials included.
    pub(super) partition: Blocked,
    /// The bytes of connections stop.
    pub(super) stall: Blocked,
    latency: Duration,
    jitter: Duration,
    bandwidth: Option<u32>,
    pub(super) piece: Option<usize>,
    pub(super) name: Name,
    pub(super) is_listed: bool,
}

/// Which directions are blocked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Blocked {
    pub(super) to_server: bool,
    pub(super) to_client: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Dial {
    Accepted,
    Fails(ConnectError),
    Lost,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Name {
    Works,
    Fails,
    Hangs,
    IsEmpty,
    Moves(u32),
}

impl Condition {
    /// Well, at this distance.
    pub(super) const fn well(latency: Duration, jitter: Duration) -> Self {
        Self {
            is_up: true,
            is_paused: false,
            is_mute: false,
            drains: false,
            garbles: false,
            slow: Duration::ZERO,
            throttle: None,
            rejects: false,
            dial: Dial::Accepted,
            partition: Blocked {
                to_server: false,
                to_client: false,
            },
            stall: Blocked {
                to_server: false,
                to_client: false,
            },
            latency,
            jitter,
            bandwidth: None,
            piece: None,
            name: Name::Works,
            is_listed: true,
        }
    }

    /// The same with this fault.
    pub(super) fn with(mut self, fault: Fault) -> Self {
        match fault {
            Fault::Crash => self.is_up = false,
            Fault::Pause => self.is_paused = true,
            Fault::Slow(by) => self.slow = self.slow.saturating_add(by),
            Fault::Mute => self.is_mute = true,
            Fault::Drain => self.drains = true,
            Fault::Throttle(time) => self.throttle = self.throttle.max(Some(time)),
            Fault::RejectCredentials => self.rejects = true,
            Fault::Garble => self.garbles = true,
            Fault::Refuse => self.dial_fails(Dial::Fails(ConnectError::Refused)),
            Fault::Unreachable => self.dial_fails(Dial::Fails(ConnectError::Unreachable)),
            Fault::BlackHole => self.dial = Dial::Lost,
            Fault::Partition(way) => self.partition.block(way),
            Fault::Stall(way) => self.stall.block(way),
            Fault::Latency { by, jitter } => {
                self.latency = self.latency.saturating_add(by);
                self.jitter = self.jitter.saturating_add(jitter);
            }
            Fault::Bandwidth(rate) => {
                self.bandwidth = Some(self.bandwidth.map_or(rate, |old| old.min(rate)));
            }
            Fault::Fragment => self.piece = Some(3),
            Fault::NameFails => self.name = Name::Fails,
            Fault::NameHangs => self.name = Name::Hangs,
            Fault::NameIsEmpty => self.name = Name::IsEmpty,
            Fault::NameMoves(to) => self.name = Name::Moves(to),
            Fault::NotListed => self.is_listed = false,
            // Happen once, or not to a server.
            Fault::Reset
            | Fault::HalfOpen
            | Fault::ListFails
            | Fault::ListHangs
            | Fault::ListIsEmpty
            | Fault::Sleep => {}
        }
        self
    }

    /// What gets no answer at all is worst.
    fn dial_fails(&mut self, dial: Dial) {
        if self.dial != Dial::Lost {
            self.dial = dial;
        }
    }

    /// The answer to a dial that has reached it.
    pub(super) fn dial(&self) -> Dial {
        match self.dial {
            Dial::Accepted if !self.is_up || self.drains => Dial::Fails(ConnectError::Refused),
            dial => dial,
        }
    }

    /// Bytes of connections to it do not pass.
    pub(super) const fn blocks_to_server(&self) -> bool {
        self.partition.to_server || self.stall.to_server
    }

    /// Bytes of connections from it do not pass.
    pub(super) const fn blocks_to_client(&self) -> bool {
        self.partition.to_client || self.stall.to_client
    }

    /// How long something takes, one way.
    pub(super) fn latency(&self, rng: &mut Rng) -> Duration {
        match u64::try_from(self.jitter.as_nanos()).unwrap_or(u64::MAX) {
            0 => self.latency,
            jitter => {
                let more = Duration::from_nanos(rng.below(jitter));
                self.latency.saturating_add(more)
            }
        }
    }

    /// So many bytes a second pass, and no more.
    pub(super) const fn is_narrow(&self) -> bool {
        self.bandwidth.is_some()
    }

    /// How bytes pass.
    pub(super) fn passage(&self, rng: &mut Rng) -> Passage {
        Passage {
            latency: self.latency(rng),
            bandwidth: self.bandwidth,
            piece: self.piece,
        }
    }
}

impl Blocked {
    const fn block(&mut self, way: Way) {
        self.to_server |= !matches!(way, Way::ToClient);
        self.to_client |= !matches!(way, Way::ToServer);
    }
}
