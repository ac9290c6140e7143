//! Addresses, names and lists of servers.

use core::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    time::Duration,
};
use std::{format, vec, vec::Vec};

use super::{Due, Notice, Owner, World, condition::Name};
use crate::{Endpoint, NodeSpec, sim::fault::Fault};

/// Where every server listens.
const PORT: u16 = 9092;

/// How long a look-up takes, and a list.
const LOOK_UP: Duration = Duration::from_millis(2);

/// The entry of a server list for the simulated server with this number, by name.
#[must_use]
pub fn listed_by_name(server: u32) -> NodeSpec {
    NodeSpec::new(Endpoint::Name {
        host: format!("s{server}.sim").into(),
        port: PORT,
    })
}

/// The same by address: 10.0.0.1 for server 0, and so on.
#[must_use]
pub fn listed_by_address(server: u32) -> NodeSpec {
    NodeSpec::new(address(server))
}

/// Where the server with this number listens: from 10.0.0.1 on, port 9092. Numbers are modulo 2^24,
/// less one.
fn address(server: u32) -> SocketAddr {
    let [_, b, c, d] = (server % 0x00ff_ffff + 1).to_be_bytes();
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, b, c, d)), PORT)
}

/// The server that listens there.
pub(super) fn server_at(address: SocketAddr) -> Option<u32> {
    let IpAddr::V4(ip) = address.ip() else {
        return None;
    };
    let [a, b, c, d] = ip.octets();
    let number = u32::from_be_bytes([0, b, c, d]);
    (a == 10 && address.port() == PORT).then_some(number.checked_sub(1)?)
}

/// The server with this name.
fn server_named(host: &str) -> Option<u32> {
    host.strip_prefix('s')?.strip_suffix(".sim")?.parse().ok()
}

/// The server that an endpoint leads to when nothing is wrong with names.
pub(in crate::sim) fn server_of(endpoint: &Endpoint) -> Option<u32> {
    match endpoint {
        Endpoint::Address(address) => server_at(*address),
        Endpoint::Name { host, .. } => server_named(host),
        Endpoint::Opaque(_) => None,
    }
}

impl World {
    /// Looks up a name, and tells the owner its addresses.
    pub(in crate::sim) fn resolve(&mut self, owner: Owner, tag: u64, host: &str) {
        let server = server_named(host).unwrap_or(u32::MAX);
        self.events
            .add(self.now + LOOK_UP, Due::Named(owner, tag, server));
    }

    pub(super) fn named(&mut self, owner: Owner, tag: u64, server: u32) {
        let known = (server as usize) < self.servers.len();
        let addresses = match known.then(|| self.resolves(server)) {
            Some(Name::Works) => Some(vec![address(server)]),
            Some(Name::Moves(to)) => Some(vec![address(to % self.servers.len() as u32)]),
            Some(Name::IsEmpty) => Some(Vec::new()),
            Some(Name::Hangs) => return,
            Some(Name::Fails) | None => None,
        };
        self.tell(Notice::Resolved(owner, tag, addresses));
    }

    /// Retrieves the list of servers for the owner.
    pub(in crate::sim) fn retrieve(&mut self, owner: Owner, tag: u64) {
        self.events.add(self.now + LOOK_UP, Due::Listed(owner, tag));
    }

    pub(super) fn listed(&mut self, owner: Owner, tag: u64) {
        let is_on = |fault| {
            let mut active = self.active.iter();
            active.any(|index| self.schedule.faults[*index].fault == fault)
        };
        if is_on(Fault::ListHangs) {
            return;
        }
        let list = match (is_on(Fault::ListFails), is_on(Fault::ListIsEmpty)) {
            (true, _) => None,
            (false, true) => Some(Vec::new()),
            (false, false) => Some(self.list()),
        };
        self.tell(Notice::Listed(owner, tag, list));
    }

    /// The servers that are listed now.
    pub(in crate::sim) fn list(&self) -> Vec<u32> {
        let listed = |server: &u32| self.condition(*server).is_listed;
        (0..self.servers.len() as u32).filter(listed).collect()
    }
}
