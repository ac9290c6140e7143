//! The server list: what a node is called, and how a new list replaces the old one (SEMANTICS 7).
//!
//! - `endpoint`: endpoints, and the entries of a list
//! - `endpoint_text`: endpoints in files
//! - `entries`: the distinct entries of a list
//! - `index`: finding a node by its names
//! - `departed`: what is remembered of endpoints that left (3.5)
//! - `update`: a new list (7.6)
//! - `parse`: lists as text (7.1)
//! - `rebalance`: who moves to which server of a new list (7.7)

mod departed;
mod endpoint;
#[cfg(feature = "serde")]
mod endpoint_text;
mod entries;
mod index;
mod parse;
mod rebalance;
mod update;

pub(crate) use departed::Departed;
pub use endpoint::{Endpoint, EndpointError, NodeSpec};
pub(crate) use entries::Entries;
pub(crate) use index::{Index, hash_endpoint, hash_key, hash_peer};
pub use parse::{ConnectString, DynamicConfig, DynamicServer, Expected, ParseError, Servers};
pub use rebalance::{Decision, Moving, Plan, Ratio, plan};
