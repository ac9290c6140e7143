//! RESP, the protocol of Redis, as a redial `Protocol`: a model for protocols that match replies by
//! their order.
//!
//! [`Redis`] is the protocol. [`Command`] goes out, [`Value`] comes back, and what a server sends
//! unasked is a list of values. `scan` finds where a frame ends, `parse` reads it; neither knows of
//! redial's client.

mod command;
mod parse;
mod protocol;
mod scan;
mod session;
mod value;

pub use {command::Command, protocol::Redis, value::Value};
