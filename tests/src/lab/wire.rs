//! What is said: JSON, after its length.

use std::time::Duration;

use bytes::{BufMut, BytesMut};
use redial::{
    HandshakeError, NodeSpec, Verdict,
    client::{
        Malformed,
        framing::{put_frame, take_frame},
    },
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

const MAX: usize = 64 * 1024;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ToServer {
    /// With the session that is to be resumed.
    Hello(Option<u64>),
    Request {
        serial: u32,
        request: Request,
    },
    OneWay(Request),
    Ping,
    Discover,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ToClient {
    Welcome {
        limit: Option<u32>,
        session: Option<(u64, Duration)>,
    },
    Refused(HandshakeError),
    Reply {
        serial: u32,
        /// That of the request.
        number: u64,
        verdict: Verdict,
        throttle: Option<Duration>,
    },
    Push(u64),
    Throttle(Duration),
    Goodbye,
    Pong,
    Servers(Option<u64>, Vec<NodeSpec>),
    NoServers,
}

/// What the application sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Request {
    /// The reply gives it back.
    pub number: u64,
    /// A server that can answers it, at once.
    pub plain: bool,
    /// The client can put it into bytes.
    pub encodable: bool,
}

pub(crate) fn say(out: &mut BytesMut, what: &impl Serialize) {
    let text = serde_json::to_vec(what).expect("it can be written");
    put_frame(out, MAX, |out| out.put_slice(&text)).expect("it is short");
}

/// The next that is whole.
pub(crate) fn hear<T: DeserializeOwned>(input: &mut BytesMut) -> Result<Option<T>, Malformed> {
    let Some(frame) = take_frame(input, MAX)? else {
        return Ok(None);
    };
    let what = serde_json::from_slice(&frame);
    what.map(Some)
        .map_err(|_| Malformed("nothing that is said"))
}
