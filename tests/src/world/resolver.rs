//! What names stand for.

use std::{collections::BTreeMap, net::SocketAddr};

use super::address;

/// A resolver's answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// These.
    Addresses(Vec<SocketAddr>),
    /// An error.
    Fails,
    /// None, ever.
    Silent,
}

#[derive(Debug)]
pub(super) struct Resolver {
    names: BTreeMap<String, Answer>,
    /// For all other names.
    usual: Answer,
}

impl Resolver {
    /// Every name stands for all servers.
    pub(super) fn new(servers: usize) -> Self {
        Self {
            names: BTreeMap::new(),
            usual: Answer::Addresses((0..servers).map(address).collect()),
        }
    }

    pub(super) fn change(&mut self, name: &str, answer: Answer) {
        self.names.insert(name.to_owned(), answer);
    }

    pub(super) fn look_up(&self, name: &str) -> Answer {
        self.names.get(name).unwrap_or(&self.usual).clone()
    }
}
