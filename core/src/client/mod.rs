//! Requests and replies as bytes: [`Client`] over [`Cluster`](crate::Cluster), for a wire protocol
//! that you describe with [`Protocol`].
//!
//! `Client` has no sockets and no clock. It is told that a transport is up, what bytes came
//! ([`read`](Client::read)) and how many left ([`transmitted`](Client::transmitted)); it says where
//! to connect, what bytes are next ([`transmit`](Client::transmit)) and how requests ended. The loop
//! around it, with real sockets, is the example `own_loop`. If your protocol is not fixed, take the
//! ready-made [`length_prefixed`].
//!
//! # How to write a `Protocol`
//!
//! A protocol answers four questions: what to say when a transport is up, how a request looks on
//! the wire, what the bytes that come mean, and which request a reply belongs to. Here is one of
//! lines, like those of many text protocols: a request is a line, replies are lines in the order of
//! the requests, a line that begins with `!` is news for everybody, and a server that is going
//! down says `BYE`.
//!
//! ```
//! use bytes::{BufMut, BytesMut};
//! use redial::{
//!     Config, Instant, Matching, ReplyTo, RequestOptions, Verdict,
//!     client::{
//!         Client, ClientAction, ClientOutput, Decoded, Item, Malformed, Outgoing, Peer, Protocol,
//!         Rejected, TransportInput, framing::take_line,
//!     },
//! };
//!
//! const MAX_LINE: usize = 1024;
//!
//! struct Lines;
//!
//! impl Protocol for Lines {
//!     type Request = String;
//!     type Reply = String;
//!     type Push = String;
//!     type Connection = ();
//!
//!     fn has_handshake(&self) -> bool {
//!         false
//!     }
//!
//!     fn matching(&self) -> Matching {
//!         Matching::Order
//!     }
//!
//!     fn open(&mut self, _: Peer<'_>) {}
//!
//!     fn encode(
//!         &mut self,
//!         (): &mut (),
//!         outgoing: Outgoing<'_, String>,
//!         out: &mut BytesMut,
//!     ) -> Result<(), Rejected> {
//!         let line = outgoing.request;
//!         if line.contains('\n') || line.len() >= MAX_LINE {
//!             return Err(Rejected);
//!         }
//!         out.put_slice(line.as_bytes());
//!         out.put_u8(b'\n');
//!         Ok(())
//!     }
//!
//!     fn decode(
//!         &mut self,
//!         (): &mut (),
//!         input: &mut BytesMut,
//!         _out: &mut BytesMut,
//!     ) -> Decoded<Self> {
//!         let Some(line) = take_line(input, MAX_LINE)? else {
//!             return Ok(None);
//!         };
//!         let line = std::str::from_utf8(&line).map_err(|_| Malformed("not UTF-8"))?;
//!         Ok(Some(match line.strip_prefix('!') {
//!             Some(news) => Item::Push(news.to_owned()),
//!             None if line == "BYE" => Item::Goodbye,
//!             None => Item::reply(ReplyTo::Oldest, line.to_owned()),
//!         }))
//!     }
//! }
//!
//! // A node, a request, and a network in which everything works at once.
//! let now = Instant::ORIGIN;
//! let mut client = Client::new(Lines, Config::default(), 42, now)?;
//! client.set_nodes(now, &["127.0.0.1:7000".parse()?])?;
//! let id = client.submit(now, "PING".to_owned(), RequestOptions::new())?;
//! let mut seen = Vec::new();
//! client.drive(now, |client, output| match output {
//!     ClientOutput::Action(ClientAction::Connect { connection, .. }) => {
//!         client.handle_input(now, TransportInput::Connected { connection });
//!     }
//!     ClientOutput::Action(ClientAction::Transmit { connection }) => {
//!         assert_eq!(client.transmit(now, connection), b"PING\n");
//!         client.transmitted(now, connection, 5);
//!         client.read(now, connection, b"!news\nPO");
//!         client.read(now, connection, b"NG\n");
//!     }
//!     ClientOutput::Push { push, .. } => seen.push(push),
//!     ClientOutput::Completion { request, result: Ok(response) } if request == id => {
//!         seen.extend(response.reply);
//!     }
//!     _ => {}
//! });
//! assert_eq!(seen, ["news", "PONG"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ## Decoding
//!
//! Bytes come split anywhere. [`decode`](Protocol::decode) takes one whole frame from the front of
//! its input, or leaves all as it is and returns `None`; then nothing depends on the splits, and what
//! is left when the peer closes is known to be a torn frame. [`framing`] has functions that do this.
//! Check a frame's limit before the frame is there, as they do:
//! [`max_buffered`](Protocol::max_buffered) is only a backstop. Whatever the bytes are, return
//! [`Malformed`] rather than panic: the connection ends, its requests fail or are tried again on
//! another, and nothing else happens.
//!
//! ## Handshakes
//!
//! [`start_handshake`](Protocol::start_handshake) writes the first step. Further steps are written
//! by `decode` to its `out`, for as many round trips as it takes; what step it is belongs in
//! [`Connection`](Protocol::Connection). The last step is [`Item::HandshakeDone`], with the limits
//! that the server laid down, or [`Item::HandshakeFailed`]. Requests are encoded only between
//! `HandshakeDone` and the end; pushes may come at any time, replies only then.
//!
//! What outlives a connection is a field of the protocol itself: `decode` stores the session id that
//! a server gave, the next `start_handshake` asks to resume it, and a server that refuses is
//! [`HandshakeError::Fatal`](crate::HandshakeError::Fatal), which ends the client.
//!
//! ## Replies
//!
//! [`Outgoing::serial`] is the correlation id; write it into the request and give it back as
//! [`ReplyTo::Serial`](crate::ReplyTo::Serial). A reply to an id that is no longer open is late and
//! dropped; one to an id that was never issued is a protocol error. A protocol without ids says
//! [`Matching::Order`](crate::Matching::Order) and answers
//! [`ReplyTo::Oldest`](crate::ReplyTo::Oldest); what came unasked must then be told from replies, as
//! RESP3 does by its first byte.
//!
//! Where a reply can only be read by someone who knows the request (Kafka's responses do not say
//! which call they answer), [`encode`](Protocol::encode) notes it in `Connection` under the serial
//! and `decode` looks it up.
//!
//! An error that the server reports is a reply like any other, for the application to read. Only
//! where it says that another try would do better, give a [`Verdict`](crate::Verdict): here (the
//! partition has no leader yet) or elsewhere (this node is not the leader any more); the verdict
//! also says whether the request is known not to have been carried out, so that it may be tried
//! again even if it is not idempotent.
//!
//! # A second model: RESP
//!
//! The protocol of Redis looks like the lines above, and is the other half of what there is to learn:
//! what to do when bytes do not say whom they are for. The example `redis` of `redial-tokio` has all
//! of it; the order in which to read it is `protocol`, `session`, `scan`, `parse`.
//!
//! | RESP | so the protocol |
//! |---|---|
//! | The n-th reply answers the n-th command. | says [`Matching::Order`](crate::Matching::Order). A timeout then ends the connection, and a cancelled command keeps its place until its reply has come. |
//! | The server answers every command, also one that [nobody waits for](Outgoing::expects_reply), and the keepalive, which is a command too. | notes in [`Connection`](Protocol::Connection) what it writes, oldest first, and drops the replies that [`ReplyTo::Oldest`](crate::ReplyTo::Oldest) would give to the next request. |
//! | A subscription to n channels is answered n times, by frames that look like pushes. | holds each frame against the oldest note. Only the last confirmation is an [`Item`]. |
//! | In RESP2 a message is an array, like many a reply. | knows from the confirmations whether there are subscriptions: only then can an array be a [push](Item::Push). |
//! | A reply may be an array of a million elements, in hundreds of reads. | looks for the frame's end first and keeps how far it came. Parsing anew with each read would be quadratic; taking out what is parsed would hide a torn frame. |
//! | Attributes and arrays nest. | counts the values that are to come, which takes no stack, and limits the depth where it recurses. |
//! | `HELLO 3` asks for the version and proves the password. | is Ready after one reply. `WRONGPASS` is [`Rejected`](crate::HandshakeError::Rejected), `NOPROTO` is [`Version`](crate::HandshakeError::Version). |
//! | `LOADING` and `BUSY` say: not now. `READONLY` and `MASTERDOWN` say: not here. | gives these a [`Verdict`](crate::Verdict). Any other error is a reply. |
//! | `MONITOR` and `CLIENT REPLY OFF` change how many replies come; `SELECT` and `MULTI` change what others get. | [refuses](Rejected) them. All callers share the connection, and one could not see what another has done to it. |
//!
//! # A third: ZooKeeper
//!
//! The servers of ZooKeeper hold a session for each client, which outlives its connections. The example
//! `zookeeper` of `redial-tokio` has all of it; the order in which to read it is `protocol`, `session`,
//! `connection`, `request` and `reply`.
//!
//! | ZooKeeper | so the protocol |
//! |---|---|
//! | The first server gives a session, with a password; the next one resumes it. | keeps both in the value itself, where the next [`start_handshake`](Protocol::start_handshake) finds them. [`Limits`](crate::Limits) say the session's timeout, from which the times to connect and to ping follow. |
//! | A timeout of 0 says that the session is over. | says [`Fatal`](crate::HandshakeError::Fatal), which ends the client, once. |
//! | A session is on one connection at a time. | says [`has_one_session`](Protocol::has_one_session). |
//! | A server may lag behind the one before it. | keeps the last transaction that it saw and names it in the handshake; a server that lags behind it hangs up, and another is tried. |
//! | Watches end with their connection. | keeps them, and `decode` sets them anew when the handshake is done; what has changed meanwhile is pushed. |
//! | Requests have numbers and are answered in their order. | matches by order and checks the number: a mistake ends the connection, and gives nobody the reply of another. |
//! | Pings and watches have numbers of their own. | tells them from replies by these, and needs no note of a keepalive. |
//! | A node names the servers of the ensemble. | has it read by [`discover`](Protocol::discover), notes who asked, and answers with [`Item::Servers`]. |

mod byte_layer;
mod connection;
pub mod framing;
pub mod length_prefixed;
mod output;
mod protocol;
mod readiness;
mod table;
mod translate;
mod wire;

pub use {
    byte_layer::Client,
    output::{ClientAction, ClientOutput, Refused, Response, TransportInput},
    protocol::{Decoded, Item, Malformed, Outgoing, Peer, Protocol, Rejected},
};
