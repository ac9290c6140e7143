//! The length-prefixed protocol with a keepalive, which it does not have itself.

use bytes::{Bytes, BytesMut};
use redial::{
    HandshakeError, Limits, ReplyTo,
    client::{
        Decoded, Item, Malformed, Outgoing, Peer, Protocol, Rejected,
        length_prefixed::{Frame, Kind},
    },
};

/// The id of keepalives: requests without payload, whose replies nobody gets.
const PING: u32 = u32::MAX;

pub(crate) struct Pinging;

impl Protocol for Pinging {
    type Request = Bytes;
    type Reply = Bytes;
    type Push = Bytes;
    type Connection = ();

    fn open(&mut self, _: Peer<'_>) {}

    fn start_handshake(&mut self, (): &mut (), out: &mut BytesMut) {
        Frame::hello(b"").encode(out);
    }

    fn has_keepalive(&self) -> bool {
        true
    }

    fn keepalive(&mut self, (): &mut (), out: &mut BytesMut) {
        Frame::request(PING, "").encode(out);
    }

    fn encode(
        &mut self,
        (): &mut (),
        outgoing: Outgoing<'_, Bytes>,
        out: &mut BytesMut,
    ) -> Result<(), Rejected> {
        Frame::request(outgoing.serial, outgoing.request.clone()).encode(out);
        Ok(())
    }

    fn decode(&mut self, (): &mut (), input: &mut BytesMut, _: &mut BytesMut) -> Decoded<Self> {
        while let Some(frame) = Frame::decode(input, 1 << 20)? {
            return Ok(Some(match (frame.kind, frame.id) {
                (Kind::Hello, _) if frame.body.first() == Some(&0) => {
                    Item::HandshakeDone(Limits::NONE)
                }
                (Kind::Hello, _) => Item::HandshakeFailed(HandshakeError::Version),
                (Kind::Reply, PING) => continue,
                (Kind::Reply, id) => Item::reply(ReplyTo::Serial(id), frame.body),
                _ => return Err(Malformed("not a frame that these servers send")),
            }));
        }
        Ok(None)
    }
}
