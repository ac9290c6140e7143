//! Requests and replies as bytes: [`Client`] over [`Cluster`](crate::Cluster), for a wire protocol
//! that you describe with [`Protocol`].

mod byte_layer;
mod connection;
pub mod framing;
pub mod length_prefixed;
mod output;
mod protocol;
mod table;
mod translate;
mod wire;

pub use {
    byte_layer::Client,
    output::{ClientAction, ClientOutput, Refused, Response, TransportInput},
    protocol::{Decoded, Item, Malformed, Outgoing, Peer, Protocol, Rejected},
};
