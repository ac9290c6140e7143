//! The frame codec, for both sides of the wire.
use core::time::Duration;

use bytes::{Bytes, BytesMut};

use crate::client::Malformed;

/// A frame. Servers use it too.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// What it is.
    pub kind: Kind,
    /// The correlation id, 0 where there is none.
    pub id: u32,
    /// What it carries.
    pub body: Bytes,
}

/// The kinds of frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Kind {
    /// The handshake, in both directions.
    Hello = 0,
    /// A request that has a reply.
    Request = 1,
    /// A reply.
    Reply = 2,
    /// Something that the server sends unasked.
    Push = 3,
    /// The server will close this connection.
    Goodbye = 4,
    /// A request without reply.
    OneWay = 5,
    /// A request was not carried out and is to be tried again.
    Retry = 6,
    /// The server wants no requests for a while.
    Throttle = 7,
}

/// How a server answers a hello.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Status {
    /// Welcome.
    Ok = 0,
    /// The version is not spoken here.
    VersionRefused = 1,
    /// The credentials are refused.
    CredentialsRejected = 2,
    /// The session is over for good.
    SessionOver = 3,
}

#[allow(unused_variables, clippy::todo, missing_docs, clippy::must_use_candidate, clippy::missing_errors_doc)]
impl Frame {
    /// Takes a frame from the front of `input`; `None` if it is not whole yet. `max_frame` limits its length field.
    pub fn decode(input: &mut BytesMut, max_frame: usize) -> Result<Option<Self>, Malformed> { todo!() }
    /// Appends it.
    pub fn encode(&self, out: &mut BytesMut) { todo!() }
    pub fn hello(credentials: &[u8]) -> Self { todo!() }
    pub fn hello_answer(status: Status, max_in_flight: u32) -> Self { todo!() }
    pub fn request(id: u32, payload: Bytes) -> Self { todo!() }
    pub fn one_way(id: u32, payload: Bytes) -> Self { todo!() }
    pub fn reply(id: u32, payload: Bytes) -> Self { todo!() }
    pub fn push(payload: Bytes) -> Self { todo!() }
    pub fn goodbye() -> Self { todo!() }
    pub fn retry_here(id: u32, wait: Duration) -> Self { todo!() }
    pub fn retry_elsewhere(id: u32, wait: Duration) -> Self { todo!() }
    pub fn throttle(wait: Duration) -> Self { todo!() }
}
