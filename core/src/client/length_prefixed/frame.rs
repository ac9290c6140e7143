//! The frame codec, for both sides of the wire.

use core::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};

use crate::client::{
    Malformed, Rejected,
    framing::{LENGTH, frame_length},
};

/// The version that a hello names.
pub(super) const VERSION: u8 = 1;

/// Kind and id, which the length counts.
const HEADER: usize = 5;

/// A frame. The constructors make well-formed ones; servers use it as well as the client.
///
/// ```
/// use bytes::BytesMut;
/// use redial::client::length_prefixed::{Frame, Kind};
///
/// let mut wire = BytesMut::new();
/// Frame::reply(7, "hello").encode(&mut wire);
/// let frame = Frame::decode(&mut wire, 1024)?.expect("it is whole");
/// assert_eq!((frame.kind, frame.id, &frame.body[..]), (Kind::Reply, 7, &b"hello"[..]));
/// # Ok::<(), redial::client::Malformed>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// What it is.
    pub kind: Kind,
    /// The correlation id, 0 where there is none.
    pub id: u32,
    /// What it carries.
    pub body: Bytes,
}

impl Frame {
    /// Takes a frame from the front of `input`; `None` if it is not whole yet.
    ///
    /// # Errors
    ///
    /// [`Malformed`] for a length below 5 or over `max_frame`, and for an unknown kind.
    pub fn decode(input: &mut BytesMut, max_frame: usize) -> Result<Option<Self>, Malformed> {
        let Some(length) = frame_length(input, max_frame)? else {
            return Ok(None);
        };
        let Some(&[kind, a, b, c, d]) = input[LENGTH..LENGTH + length].first_chunk::<HEADER>()
        else {
            return Err(Malformed("frame without kind and id"));
        };
        input.advance(LENGTH + HEADER);
        Ok(Some(Self {
            kind: Kind::from_byte(kind).ok_or(Malformed("unknown kind of frame"))?,
            id: u32::from_be_bytes([a, b, c, d]),
            body: input.split_to(length - HEADER).freeze(),
        }))
    }

    /// Appends it to `out`.
    ///
    /// # Panics
    ///
    /// If the body has 4 GiB or more, which no length field can say.
    pub fn encode(&self, out: &mut BytesMut) {
        put(out, usize::MAX, self.kind, self.id, &self.body).expect("a body under 4 GiB");
    }

    /// The client's first frame.
    #[must_use]
    pub fn hello(credentials: &[u8]) -> Self {
        let mut body = BytesMut::with_capacity(1 + credentials.len());
        body.put_u8(VERSION);
        body.put_slice(credentials);
        Self::new(Kind::Hello, 0, body)
    }

    /// The server's answer to a hello: its verdict, and how many requests it takes in flight on this
    /// connection (0: no limit).
    #[must_use]
    pub fn hello_answer(status: Status, max_in_flight: u32) -> Self {
        Self::new(Kind::Hello, 0, tagged(status as u8, max_in_flight))
    }

    /// A request.
    #[must_use]
    pub fn request(id: u32, payload: impl Into<Bytes>) -> Self {
        Self::new(Kind::Request, id, payload)
    }

    /// A request without reply.
    #[must_use]
    pub fn one_way(id: u32, payload: impl Into<Bytes>) -> Self {
        Self::new(Kind::OneWay, id, payload)
    }

    /// The reply to request `id`.
    #[must_use]
    pub fn reply(id: u32, payload: impl Into<Bytes>) -> Self {
        Self::new(Kind::Reply, id, payload)
    }

    /// Something that nobody asked for.
    #[must_use]
    pub fn push(payload: impl Into<Bytes>) -> Self {
        Self::new(Kind::Push, 0, payload)
    }

    /// This connection will be closed.
    #[must_use]
    pub const fn goodbye() -> Self {
        Self {
            kind: Kind::Goodbye,
            id: 0,
            body: Bytes::new(),
        }
    }

    /// Request `id` was not carried out; try it again here after `wait` (whole milliseconds).
    #[must_use]
    pub fn retry_here(id: u32, wait: Duration) -> Self {
        Self::new(Kind::Retry, id, tagged(0, millis(wait)))
    }

    /// Request `id` was not carried out; try it on another node after `wait` (whole milliseconds).
    #[must_use]
    pub fn retry_elsewhere(id: u32, wait: Duration) -> Self {
        Self::new(Kind::Retry, id, tagged(1, millis(wait)))
    }

    /// No more requests for so long (whole milliseconds).
    #[must_use]
    pub fn throttle(wait: Duration) -> Self {
        Self::new(
            Kind::Throttle,
            0,
            Bytes::copy_from_slice(&millis(wait).to_be_bytes()),
        )
    }

    fn new(kind: Kind, id: u32, body: impl Into<Bytes>) -> Self {
        Self {
            kind,
            id,
            body: body.into(),
        }
    }
}

/// Appends a frame without owning its body.
pub(super) fn put(
    out: &mut BytesMut,
    max_frame: usize,
    kind: Kind,
    id: u32,
    body: &[u8],
) -> Result<(), Rejected> {
    let length = HEADER + body.len();
    let Some(says) = u32::try_from(length).ok().filter(|_| length <= max_frame) else {
        return Err(Rejected);
    };
    let mut head = [0; LENGTH + HEADER];
    head[..LENGTH].copy_from_slice(&says.to_be_bytes());
    head[LENGTH] = kind as u8;
    head[LENGTH + 1..].copy_from_slice(&id.to_be_bytes());
    out.reserve(head.len() + body.len());
    out.put_slice(&head);
    out.put_slice(body);
    Ok(())
}

/// A body of a byte and a number.
fn tagged(tag: u8, number: u32) -> Bytes {
    let [a, b, c, d] = number.to_be_bytes();
    Bytes::copy_from_slice(&[tag, a, b, c, d])
}

fn millis(wait: Duration) -> u32 {
    u32::try_from(wait.as_millis()).unwrap_or(u32::MAX)
}

/// The kinds of frame, with their number on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
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

impl Kind {
    const fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            0 => Self::Hello,
            1 => Self::Request,
            2 => Self::Reply,
            3 => Self::Push,
            4 => Self::Goodbye,
            5 => Self::OneWay,
            6 => Self::Retry,
            7 => Self::Throttle,
            _ => return None,
        })
    }
}

/// How a server answers a hello, with its number on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Status {
    /// Welcome.
    Ok = 0,
    /// The version is not spoken here.
    VersionRefused = 1,
    /// The credentials are refused.
    CredentialsRejected = 2,
    /// The session is over for good; the client ends.
    SessionOver = 3,
}
