//! Server lists as text (SEMANTICS 7.1).
//!
//! - `connect_string`: `host[:port],…[/chroot]` and `dns-srv://name`
//! - `dynamic_config`: ZooKeeper's dynamic configuration
//! - `properties`: the lines that it is written in
//! - `piece`: a part of a text that knows where it stands
//! - `error`: what was expected, and where

mod connect_string;
mod dynamic_config;
mod error;
mod piece;
mod properties;

use alloc::collections::BTreeSet;

pub use connect_string::{ConnectString, Servers};
pub use dynamic_config::{DynamicConfig, DynamicServer};
pub use error::{Expected, ParseError};

use error::Fault;
use piece::Piece;

use crate::Endpoint;

/// The longest text that is read, in bytes: 1 MiB.
const MAX_BYTES: usize = 1 << 20;

/// The most distinct entries of a text.
pub(crate) const MAX_ENTRIES: usize = 10_000;

/// The endpoints of a text, each once.
#[derive(Default)]
struct Distinct(BTreeSet<Endpoint>);

impl Distinct {
    /// Whether the endpoint that `piece` says is a new one.
    fn insert(&mut self, endpoint: &Endpoint, piece: Piece<'_>) -> Result<bool, Fault> {
        if self.0.contains(endpoint) {
            return Ok(false);
        }
        if self.0.len() == MAX_ENTRIES {
            return Err(piece.fault(Expected::FewerEntries));
        }
        Ok(self.0.insert(endpoint.clone()))
    }
}
