//! What a wire protocol can be like.

use std::time::Duration;

use redial::Matching;

use super::Chance;

/// The traits of a wire protocol and of the servers that speak it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dialect {
    /// A connection begins with a hello and its answer.
    pub handshake: bool,
    /// How replies find their requests. Where it is by order, servers answer in order.
    pub matching: Matching,
    /// There is a ping, which is answered.
    pub keepalive: bool,
    /// A server can be asked for the list.
    pub discovery: bool,
    /// The hello opens or resumes a session, which ends when no server has heard of the client for so
    /// long. One connection at a time has it. Only with a handshake.
    pub session: Option<Duration>,
    /// The server's most requests in flight, said in the handshake.
    pub limit: Option<u32>,
    /// With how many of 1,000 requests that are not plain a server does something other than answer.
    pub odd: u32,
}

impl Dialect {
    /// The simplest: none of all that.
    pub const PLAIN: Self = Self {
        handshake: false,
        matching: Matching::Serial,
        keepalive: false,
        discovery: false,
        session: None,
        limit: None,
        odd: 0,
    };

    /// Any.
    pub fn draw(chance: &mut Chance) -> Self {
        let handshake = chance.below(4) > 0;
        let [short, long] = [9, 7_200].map(Duration::from_secs);
        let session = chance.pick(&[None, None, None, Some(long), Some(long), Some(short)]);
        Self {
            handshake,
            matching: chance.pick(&[Matching::Serial, Matching::Order]),
            keepalive: chance.below(2) > 0,
            discovery: chance.below(2) > 0,
            session: session.filter(|_| handshake),
            limit: chance
                .pick(&[None, None, Some(1), Some(3), Some(100)])
                .filter(|_| handshake),
            odd: chance.pick(&[0, 20, 100]),
        }
    }
}
