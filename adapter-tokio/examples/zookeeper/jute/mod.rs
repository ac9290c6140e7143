//! ZooKeeper's protocol as a redial `Protocol`: a model for protocols with a session that outlives
//! its connections.
//!
//! [`ZooKeeper`] is the protocol. [`Request`] goes out, [`Reply`] or a [`ServerError`] comes back,
//! and a [`Push`] is what a server says unasked. `codec` reads and writes the encoding, which
//! ZooKeeper calls jute; `session` has what the next connection has to know of the last one.

mod codec;
mod connection;
mod protocol;
mod reply;
mod request;
mod session;

pub use {
    protocol::ZooKeeper,
    reply::{Change, Push, Reply, ServerError, Stat},
    request::{CONFIG_PATH, Request},
};
