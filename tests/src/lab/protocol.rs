//! The client's side.

use bytes::BytesMut;
use redial::{
    Limits, Matching, ReplyTo,
    client::{Decoded, Item, Outgoing, Peer, Protocol, Rejected},
};

use super::{
    Dialect, Request,
    wire::{ToClient, ToServer, hear, say},
};

/// A protocol like its [`Dialect`]. A reply is the number of its request, as is a push.
#[derive(Clone, Debug)]
pub struct Speaker {
    dialect: Dialect,
    session: Option<u64>,
}

impl Speaker {
    /// Without a session yet.
    #[must_use]
    pub const fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            session: None,
        }
    }

    fn item(&mut self, said: ToClient) -> Option<Item<u64, u64>> {
        Some(match said {
            ToClient::Welcome { limit, session } => {
                self.session = session.map(|(id, _)| id);
                let limits = limit.map_or(Limits::NONE, Limits::in_flight);
                Item::HandshakeDone(match session {
                    Some((_, timeout)) => limits.with_session(timeout),
                    None => limits,
                })
            }
            ToClient::Refused(error) => Item::HandshakeFailed(error),
            ToClient::Reply {
                serial,
                number,
                verdict,
                throttle,
            } => Item::Reply {
                to: match self.dialect.matching {
                    Matching::Serial => ReplyTo::Serial(serial),
                    Matching::Order => ReplyTo::Oldest,
                },
                verdict,
                throttle,
                reply: number,
            },
            ToClient::Push(number) => Item::Push(number),
            ToClient::Throttle(time) => Item::Throttle(time),
            ToClient::Goodbye => Item::Goodbye,
            ToClient::Pong => return None,
            ToClient::Servers(version, servers) => Item::Servers { version, servers },
            ToClient::NoServers => Item::NoServers,
        })
    }
}

impl Protocol for Speaker {
    type Request = Request;
    type Reply = u64;
    type Push = u64;
    type Connection = ();

    fn has_handshake(&self) -> bool {
        self.dialect.handshake
    }

    fn matching(&self) -> Matching {
        self.dialect.matching
    }

    fn has_keepalive(&self) -> bool {
        self.dialect.keepalive
    }

    fn has_one_session(&self) -> bool {
        self.dialect.session.is_some()
    }

    fn has_discovery(&self) -> bool {
        self.dialect.discovery
    }

    fn open(&mut self, _: Peer<'_>) {}

    fn start_handshake(&mut self, (): &mut (), out: &mut BytesMut) {
        say(out, &ToServer::Hello(self.session));
    }

    fn keepalive(&mut self, (): &mut (), out: &mut BytesMut) {
        say(out, &ToServer::Ping);
    }

    fn discover(&mut self, (): &mut (), out: &mut BytesMut) {
        say(out, &ToServer::Discover);
    }

    fn encode(
        &mut self,
        (): &mut (),
        outgoing: Outgoing<'_, Request>,
        out: &mut BytesMut,
    ) -> Result<(), Rejected> {
        let (serial, request) = (outgoing.serial, *outgoing.request);
        if !request.encodable {
            return Err(Rejected);
        }
        match outgoing.expects_reply {
            true => say(out, &ToServer::Request { serial, request }),
            false => say(out, &ToServer::OneWay(request)),
        }
        Ok(())
    }

    fn decode(&mut self, (): &mut (), input: &mut BytesMut, _: &mut BytesMut) -> Decoded<Self> {
        while let Some(said) = hear(input)? {
            if let Some(item) = self.item(said) {
                return Ok(Some(item));
            }
        }
        Ok(None)
    }
}
