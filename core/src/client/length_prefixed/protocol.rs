//! The client's side.
use bytes::{Bytes, BytesMut};

use crate::client::{Item, Malformed, Outgoing, Peer, Protocol, Rejected};

/// The ready-made protocol; requests, replies and pushes are [`Bytes`].
#[derive(Clone, PartialEq, Eq)]
#[must_use]
pub struct LengthPrefixed {
    credentials: Bytes,
    max_frame: usize,
}

#[allow(clippy::todo)]
impl LengthPrefixed {
    /// Without credentials, with frames up to 16 MiB.
    pub const fn new() -> Self { Self { credentials: Bytes::new(), max_frame: 16 * 1024 * 1024 } }
    /// What the hello carries; opaque. Default: nothing.
    pub fn credentials(mut self, credentials: impl Into<Bytes>) -> Self { self.credentials = credentials.into(); self }
    /// The most that a frame's length may say, in both directions. Default: 16 MiB. At least 5.
    pub fn max_frame(mut self, bytes: usize) -> Self { self.max_frame = bytes; self }
}

impl Default for LengthPrefixed {
    fn default() -> Self { Self::new() }
}

#[allow(unused_variables, clippy::todo)]
impl Protocol for LengthPrefixed {
    type Request = Bytes;
    type Reply = Bytes;
    type Push = Bytes;
    type Connection = ();

    fn open(&mut self, _: Peer<'_>) {}
    fn start_handshake(&mut self, (): &mut (), out: &mut BytesMut) { todo!() }
    fn encode(&mut self, (): &mut (), request: Outgoing<'_, Bytes>, out: &mut BytesMut) -> Result<(), Rejected> { todo!() }
    fn decode(&mut self, (): &mut (), input: &mut BytesMut, out: &mut BytesMut) -> Result<Option<Item<Bytes, Bytes>>, Malformed> { todo!() }
}
