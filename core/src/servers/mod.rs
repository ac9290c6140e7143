//! The server list: what a node is called, and how a new list replaces the old one (SEMANTICS 7).
//!
//! - `endpoint`: endpoints, and the entries of a list
//! - `endpoint_text`: endpoints in files
//! - `entries`: the distinct entries of a list
//! - `index`: finding a node by its names
//! - `sources`: where lists come from, and which of them name a node (7.2)
//! - `refresh`: when a source is asked, and what its answer does (7.3 to 7.5)
//! - `discovery`: asking the cluster itself (7.2)
//! - `fallback`: nodes that join when the others are of no use (7.9)
//! - `departed`: what is remembered of endpoints that left (3.5)
//! - `update`: a new list (7.6)
//! - `parse`: lists as text (7.1)
//! - `rebalance`: who moves to which server of a new list (7.7)

mod departed;
mod discovery;
mod endpoint;
#[cfg(feature = "serde")]
mod endpoint_text;
mod entries;
mod fallback;
mod index;
mod parse;
mod rebalance;
mod refresh;
mod sources;
mod update;

pub(crate) use departed::Departed;
pub use endpoint::{Endpoint, EndpointError, NodeSpec};
pub(crate) use entries::Entries;
pub(crate) use index::{Index, hash_endpoint, hash_key, hash_peer};
#[cfg(feature = "driver")]
pub(crate) use parse::MAX_ENTRIES;
pub use parse::{ConnectString, DynamicConfig, DynamicServer, Expected, ParseError, Servers};
pub use rebalance::{Decision, Moving, Plan, Ratio, plan};
pub use sources::Source;
pub(crate) use sources::{ListId, MAX_SOURCES, SourceState, Sources};
