//! Finding a node by key, endpoint or the address it is connected to, without a copy of the name.

use alloc::collections::BTreeSet;
use core::net::{IpAddr, SocketAddr};

use crate::{Endpoint, rng::stream_of};

/// Nodes by the hash of a name. Whoever looks compares the names themselves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index(BTreeSet<(u64, u32)>);

impl Index {
    pub(crate) fn insert(&mut self, hash: u64, node: u32) {
        self.0.insert((hash, node));
    }

    pub(crate) fn remove(&mut self, hash: u64, node: u32) {
        self.0.remove(&(hash, node));
    }

    /// The candidates, by rising index.
    pub(crate) fn get(&self, hash: u64) -> impl Iterator<Item = u32> {
        let range = self.0.range((hash, 0)..=(hash, u32::MAX));
        range.map(|(_, node)| *node)
    }
}

pub(crate) fn hash_key(key: &str) -> u64 {
    stream_of(key.bytes())
}

pub(crate) fn hash_endpoint(endpoint: &Endpoint) -> u64 {
    match endpoint {
        Endpoint::Address(address) => hash_peer(*address),
        Endpoint::Name { host, port } => stream_of(host.bytes().chain(port.to_be_bytes())),
        Endpoint::Opaque(text) => stream_of(text.bytes()),
    }
}

pub(crate) fn hash_peer(address: SocketAddr) -> u64 {
    let port = address.port().to_be_bytes();
    match address.ip() {
        IpAddr::V4(ip) => stream_of(ip.octets().into_iter().chain(port)),
        IpAddr::V6(ip) => stream_of(ip.octets().into_iter().chain(port)),
    }
}
