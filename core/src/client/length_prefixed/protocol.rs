//! The client's side of the ready-made protocol.

use core::{fmt, time::Duration};

use bytes::{Bytes, BytesMut};

use super::{Frame, Kind, frame::put};
use crate::{
    HandshakeError, Limits, ReplyTo, Verdict,
    client::{Decoded, Item, Malformed, Outgoing, Peer, Protocol, Rejected},
};

/// The ready-made protocol; requests, replies and pushes are [`Bytes`].
///
/// A request whose options say `without_reply` goes out as OneWay. A reply that completes a request
/// although it asked for another node (SEMANTICS 4.7) is empty.
///
/// ```
/// use redial::{Config, Instant, client::{Client, length_prefixed::LengthPrefixed}};
///
/// let protocol = LengthPrefixed::new().credentials("secret").max_frame(1024 * 1024);
/// let client = Client::new(protocol, Config::default(), 42, Instant::ORIGIN)?;
/// assert!(client.cluster().config().handshake());
/// # Ok::<(), redial::ConfigError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
#[must_use]
pub struct LengthPrefixed {
    credentials: Bytes,
    max_frame: usize,
}

impl LengthPrefixed {
    /// Without credentials, with frames up to 16 MiB.
    pub const fn new() -> Self {
        Self {
            credentials: Bytes::new(),
            max_frame: 16 * 1024 * 1024,
        }
    }

    /// What the hello carries; opaque, never shown by `Debug`. Default: nothing.
    pub fn credentials(self, credentials: impl Into<Bytes>) -> Self {
        Self {
            credentials: credentials.into(),
            ..self
        }
    }

    /// The most bytes that a frame's length may say. A longer request is refused, a longer frame
    /// from the server ends the connection. Default: 16 MiB. Below 10, the length of the server's
    /// hello, no connection becomes Ready.
    pub fn max_frame(self, bytes: usize) -> Self {
        Self {
            max_frame: bytes,
            ..self
        }
    }
}

impl Default for LengthPrefixed {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for LengthPrefixed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LengthPrefixed")
            .field("max_frame", &self.max_frame)
            .finish_non_exhaustive()
    }
}

impl Protocol for LengthPrefixed {
    type Request = Bytes;
    type Reply = Bytes;
    type Push = Bytes;
    type Connection = ();

    fn max_buffered(&self) -> usize {
        self.max_frame.saturating_add(4)
    }

    fn size(&self, request: &Bytes) -> usize {
        request.len()
    }

    fn open(&mut self, _: Peer<'_>) {}

    fn start_handshake(&mut self, (): &mut (), out: &mut BytesMut) {
        Frame::hello(&self.credentials).encode(out);
    }

    fn encode(
        &mut self,
        (): &mut (),
        outgoing: Outgoing<'_, Bytes>,
        out: &mut BytesMut,
    ) -> Result<(), Rejected> {
        let kind = match outgoing.expects_reply {
            true => Kind::Request,
            false => Kind::OneWay,
        };
        put(out, self.max_frame, kind, outgoing.serial, outgoing.request)
    }

    fn decode(&mut self, (): &mut (), input: &mut BytesMut, _: &mut BytesMut) -> Decoded<Self> {
        let frame = Frame::decode(input, self.max_frame)?;
        frame.map(item).transpose()
    }
}

/// What a frame from the server means.
fn item(frame: Frame) -> Result<Item<Bytes, Bytes>, Malformed> {
    let number = |bytes| u32::from_be_bytes(bytes);
    let wait = |bytes| Duration::from_millis(number(bytes).into());
    let to = ReplyTo::Serial(frame.id);
    Ok(match (frame.kind, frame.id, &frame.body[..]) {
        (Kind::Hello, 0, &[status, a, b, c, d]) => hello(status, number([a, b, c, d]))?,
        (Kind::Reply, _, _) => Item::reply(to, frame.body),
        (Kind::Push, 0, _) => Item::Push(frame.body),
        (Kind::Goodbye, 0, []) => Item::Goodbye,
        (Kind::Retry, _, &[place @ (0 | 1), a, b, c, d]) => Item::Reply {
            to,
            verdict: match place {
                0 => Verdict::RETRY_HERE,
                _ => Verdict::RETRY_ELSEWHERE,
            }
            .after(wait([a, b, c, d])),
            throttle: None,
            reply: Bytes::new(),
        },
        (Kind::Throttle, 0, &[a, b, c, d]) => Item::Throttle(wait([a, b, c, d])),
        _ => return Err(Malformed("not a frame that a server sends")),
    })
}

/// What the server's hello says.
fn hello(status: u8, max_in_flight: u32) -> Result<Item<Bytes, Bytes>, Malformed> {
    Ok(match status {
        0 => Item::HandshakeDone(match max_in_flight {
            0 => Limits::NONE,
            max => Limits::in_flight(max),
        }),
        1 => Item::HandshakeFailed(HandshakeError::Version),
        2 => Item::HandshakeFailed(HandshakeError::Rejected),
        3 => Item::HandshakeFailed(HandshakeError::Fatal),
        _ => return Err(Malformed("unknown status in a hello")),
    })
}
