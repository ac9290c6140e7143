//! What is kept of one transport.

use alloc::boxed::Box;
use core::net::SocketAddr;

use super::Upkeep;
use crate::{
    BackoffReset, Instant, NodeId,
    cluster::Digest,
    collections::{List, SerialMap},
    request::AttemptDeadlines,
    timers::TimerSlot,
};

/// Where a connection is in its life.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Phase {
    /// The transport is being brought up.
    Connecting,
    /// The transport is up, the handshake under way.
    Handshaking,
    /// It is its node's connection and takes requests.
    Ready,
    /// It is detached from its node and ends with what is in flight.
    Draining(crate::Cause),
}

#[derive(Clone, Debug)]
pub(crate) struct Connection {
    /// Whose it is, or was: a detached connection can outlive its node.
    pub(crate) node: NodeId,
    /// The attempt it belongs to, while it is in setup.
    pub(crate) attempt: u32,
    pub(crate) address: Option<SocketAddr>,
    pub(crate) phase: Phase,
    /// What came with Ready.
    pub(crate) ready_at: Instant,
    pub(crate) limit: u32,

    /// All slots taken, in the order of their serials.
    pub(crate) flights: List,
    pub(crate) serials: SerialMap,
    pub(crate) next_serial: u32,
    pub(crate) issued: u64,
    /// Slots taken.
    pub(crate) in_flight: u32,
    /// Of these, open requests.
    pub(crate) open: u32,
    /// Of these, frames that have begun and are not wholly accepted.
    pub(crate) partial: u32,
    /// Of these, frames not wholly accepted, begun or not.
    pub(crate) unaccepted: u32,

    /// The deadlines of its flights, if it was ever throttled.
    pub(crate) own_deadlines: Option<Box<AttemptDeadlines>>,
    pub(crate) throttled_until: Instant,
    pub(crate) blocked: bool,

    pub(crate) timeouts_in_a_row: u32,
    pub(crate) unhealthy: bool,
    pub(crate) replied: bool,
    /// The peer announced its end before the connection proved useful; a reply still makes good.
    pub(crate) reply_resets_node: bool,

    pub(crate) upkeep: Upkeep,
    pub(crate) drain_timer: TimerSlot,
}

impl Connection {
    pub(crate) fn new(node: NodeId, attempt: u32, address: Option<SocketAddr>) -> Self {
        Self {
            node,
            attempt,
            address,
            phase: Phase::Connecting,
            ready_at: Instant::ORIGIN,
            limit: 0,
            flights: List::EMPTY,
            serials: SerialMap::default(),
            next_serial: 0,
            issued: 0,
            in_flight: 0,
            open: 0,
            partial: 0,
            unaccepted: 0,
            own_deadlines: None,
            throttled_until: Instant::ORIGIN,
            blocked: false,
            timeouts_in_a_row: 0,
            unhealthy: false,
            replied: false,
            reply_resets_node: false,
            upkeep: Upkeep::new(),
            drain_timer: TimerSlot::UNARMED,
        }
    }

    pub(crate) fn digest(&self, to: &mut Digest<'_>) {
        let Self {
            node,
            attempt,
            address,
            phase,
            ready_at,
            limit,
            flights,
            // Finds its flights.
            serials: _,
            // Serials count back from it.
            next_serial: _,
            // How far back a serial is late, and not nonsense.
            issued,
            in_flight,
            open,
            partial,
            unaccepted,
            own_deadlines,
            throttled_until,
            blocked,
            timeouts_in_a_row,
            unhealthy,
            replied,
            reply_resets_node,
            upkeep,
            drain_timer: _,
        } = self;
        let config = &to.cluster.config;
        to.node(*node);
        to.add((attempt, address, phase, limit, issued));
        // Before Ready these say nothing.
        if self.is_established() {
            let stable_after = match config.backoff_reset {
                BackoffReset::StableFor(enough) => enough.max(config.reconnect_backoff.max),
                _ => config.reconnect_backoff.max,
            };
            to.age(*ready_at, stable_after);
            upkeep.digest(to);
        }
        let cluster = to.cluster;
        to.all(flights.iter(&cluster.flight_links), |to, f| {
            cluster.flights[f].digest(to);
        });
        to.add((in_flight, open, partial, unaccepted, blocked));
        to.add(own_deadlines.is_some());
        if let Some(own) = own_deadlines {
            own.digest(to);
        }
        to.deadline(*throttled_until);
        let enough = config.unhealthy_after.unwrap_or(0);
        to.add((timeouts_in_a_row.min(&enough), unhealthy));
        to.add((replied, reply_resets_node));
    }

    pub(crate) const fn is_up(&self) -> bool {
        !matches!(self.phase, Phase::Connecting)
    }

    /// Ready or draining: requests may be on it.
    pub(crate) const fn is_established(&self) -> bool {
        matches!(self.phase, Phase::Ready | Phase::Draining(_))
    }

    /// Whether this connection has ever given out this serial.
    pub(crate) const fn has_issued(&self, serial: u32) -> bool {
        let back = self.next_serial.wrapping_sub(1).wrapping_sub(serial);
        (back as u64) < self.issued
    }
}
