//! The world around the clients: servers, a network of connections, names, lists, and what goes
//! wrong with them. It knows nothing of clients but that each has a number, and tells them by
//! [`Notice`]s what happens to them.
//!
//! - `events`: what is going to happen
//! - `condition`: what a server's faults add up to
//! - `pipe`: one direction of a connection
//! - `dials`, `links`: connections, as they begin and after
//! - `faults`: what begins and ends
//! - `names`: the resolver and the lists

mod condition;
mod dials;
mod events;
mod faults;
mod links;
mod names;
mod pipe;

use core::{mem, net::SocketAddr, time::Duration};
use std::{
    boxed::Box,
    collections::{BTreeMap, VecDeque},
    vec::Vec,
};

use condition::Condition;
use events::{Due, Events, Turn};
use links::Link;
pub(super) use names::server_of;
pub use names::{listed_by_address, listed_by_name};

use super::{
    fault::Target,
    rng::{Rng, Stream},
    schedule::{Occurrence, Schedule},
    server::Server,
    trace::What,
};
use crate::{ConnectError, Instant};

/// Who is told: a client, or another that waits for something.
pub(super) type Owner = u32;

/// A connection, by a number that is not used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct LinkId(pub(super) u64);

/// Something that happens to an owner.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Notice {
    /// A dial has ended.
    Connected(Owner, LinkId, Result<(), ConnectError>),
    /// Bytes have come, or the end.
    Readable(Owner, LinkId),
    /// There is room for bytes again.
    Writable(Owner, LinkId),
    /// The answer to a look-up with this tag.
    Resolved(Owner, u64, Option<Vec<SocketAddr>>),
    /// The answer to a retrieval with this tag.
    Listed(Owner, u64, Option<Vec<u32>>),
    /// The time that it set with this tag has come.
    Time(Owner, u64),
    /// Servers have joined or left the list that applications give to their clients.
    ListChanged,
}

impl Notice {
    /// Whom it concerns; all if nobody.
    pub(super) const fn owner(&self) -> Option<Owner> {
        match *self {
            Self::Connected(owner, ..)
            | Self::Readable(owner, _)
            | Self::Writable(owner, _)
            | Self::Resolved(owner, ..)
            | Self::Listed(owner, ..)
            | Self::Time(owner, _) => Some(owner),
            Self::ListChanged => None,
        }
    }
}

/// See the [module](self).
pub(super) struct World {
    pub(super) now: Instant,
    rng: Rng,
    events: Events,
    schedule: Schedule,
    /// The faults under way, in the order in which they began.
    active: Vec<usize>,
    servers: Vec<Host>,
    links: BTreeMap<LinkId, Link>,
    next_link: u64,
    /// What is to be told.
    notices: VecDeque<Notice>,
    /// The clients' machine sleeps, by so many faults; what they are to be told is kept.
    sleeps: u32,
    slept_through: VecDeque<Notice>,
    /// Changes of the world for the trace.
    changes: Vec<What>,
    /// How many faults of each kind have begun.
    pub(super) fired: BTreeMap<&'static str, u64>,
    /// When the last fault is over, of those that begin before the end.
    pub(super) calm_from: Instant,
}

/// A server and how it is.
struct Host {
    server: Box<dyn Server>,
    well: Condition,
    condition: Condition,
    /// While it drains: when it hangs up.
    hangs_up_at: Option<Instant>,
}

impl World {
    /// At the origin of time; faults and servers as the schedule says.
    pub(super) fn new(
        mut schedule: Schedule,
        latency: Duration,
        jitter: Duration,
        server: impl Fn(u32) -> Box<dyn Server>,
    ) -> Self {
        let well = Condition::well(latency, jitter);
        schedule.servers = schedule.servers.max(1);
        let mut events = Events::default();
        for fault in &mut schedule.faults {
            if let Target::Server(server) = &mut fault.target {
                *server %= schedule.servers;
            }
        }
        for (index, fault) in schedule.faults.iter().enumerate() {
            events.add_in_turn(fault.at, Due::Begins(index), Turn::First);
            if !fault.fault.is_instant() {
                events.add_in_turn(fault.ends(), Due::Ends(index), Turn::First);
            }
        }
        let end = Instant::ORIGIN + schedule.lasts;
        let begun = schedule.faults.iter().filter(|fault| fault.at < end);
        let calm_from = begun.map(Occurrence::ends).max();
        Self {
            now: Instant::ORIGIN,
            rng: Rng::new(schedule.seed, Stream::World),
            events,
            active: Vec::new(),
            servers: (0..schedule.servers)
                .map(|number| Host {
                    server: server(number),
                    condition: well.clone(),
                    well: well.clone(),
                    hangs_up_at: None,
                })
                .collect(),
            schedule,
            links: BTreeMap::new(),
            next_link: 0,
            notices: VecDeque::new(),
            sleeps: 0,
            slept_through: VecDeque::new(),
            changes: Vec::new(),
            fired: BTreeMap::new(),
            calm_from: calm_from.unwrap_or(Instant::ORIGIN),
        }
    }

    /// When the next thing happens.
    pub(super) fn next(&self) -> Option<Instant> {
        match self.notices.is_empty() {
            true => self.events.next(),
            false => Some(self.now),
        }
    }

    /// Lets the next thing happen, and says what somebody is to be told, if it is so far.
    pub(super) fn step(&mut self) -> Option<Notice> {
        if let Some(notice) = self.notices.pop_front() {
            return Some(notice);
        }
        let (at, due) = self.events.take()?;
        self.now = self.now.max(at);
        self.happens(due);
        self.notices.pop_front()
    }

    fn happens(&mut self, due: Due) {
        match due {
            Due::Begins(fault) => self.begins(fault),
            Due::Ends(fault) => self.ends(fault),
            Due::Dialled(link, lost) => self.dialled(link, lost),
            Due::DialEnds(link, error) => self.dial_ends(link, error),
            Due::ToServer(link) => self.reaches_server(link),
            Due::ToClient(link) => self.reaches_client(link),
            Due::Room(link) => self.room(link),
            Due::Unacknowledged(link) => self.unacknowledged(link),
            Due::Answer(link) => self.answer(link),
            Due::HangUp(server) => self.hang_up(server),
            Due::Named(owner, tag, server) => self.named(owner, tag, server),
            Due::Listed(owner, tag) => self.listed(owner, tag),
            Due::Time(owner, tag) => self.tell(Notice::Time(owner, tag)),
            // Unless it has fallen asleep again at the same instant.
            Due::Wakes if self.sleeps > 0 => {}
            Due::Wakes => {
                let missed = mem::take(&mut self.slept_through);
                self.notices.extend(missed);
            }
        }
    }

    /// Tells the owner when this time has come.
    pub(super) fn wake_at(&mut self, at: Instant, owner: Owner, tag: u64) {
        let turn = match self.rng.below(2) {
            0 => Turn::First,
            _ => Turn::Last,
        };
        let due = Due::Time(owner, tag);
        self.events.add_in_turn(at.max(self.now), due, turn);
    }

    /// Nothing happens before this time.
    pub(super) fn advance_to(&mut self, at: Instant) {
        self.now = self.now.max(at);
    }

    /// The changes of the world since they were last asked for.
    pub(super) fn take_changes(&mut self) -> Vec<What> {
        mem::take(&mut self.changes)
    }

    fn tell(&mut self, notice: Notice) {
        match self.sleeps {
            0 => self.notices.push_back(notice),
            _ => self.slept_through.push_back(notice),
        }
    }

    /// How long something takes, one way.
    fn latency(&mut self, server: u32) -> Duration {
        let condition = &self.servers[server as usize].condition;
        condition.latency(&mut self.rng)
    }

    fn condition(&self, server: u32) -> &Condition {
        &self.servers[server as usize].condition
    }
}
