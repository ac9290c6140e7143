use std::{collections::BTreeMap, fmt::Debug, time::Duration};

use redial::{
    CloseError, Config, ConnectionId, Event, Instant, RequestError, RequestId, RequestOptions,
    Warm,
    client::{
        Client, ClientAction, ClientOutput, Protocol, Response, TransportInput,
        length_prefixed::LengthPrefixed,
    },
};

use crate::{
    lab::Chance,
    redis::{self, resp::Redis},
    zookeeper::jute::{self, ZooKeeper},
};

const MAX_FRAME: usize = 200;

/// However what is read and written is split, the same comes of it, and each request that was accepted
/// completes once. The first byte chooses the protocol, the rest are `turns`.
pub fn byte_layer(data: &[u8]) {
    let Some((&protocol, data)) = data.split_first() else {
        return;
    };
    match protocol % 4 {
        0 => compare(data, LengthPrefixed::new().max_frame(MAX_FRAME), |number| {
            vec![b'?'; number % (MAX_FRAME + 2)].into()
        }),
        1 => compare(data, Redis::new().max_frame(MAX_FRAME), command),
        2 => compare(data, Redis::new().resp2().max_frame(MAX_FRAME), command),
        _ => {
            let protocol = ZooKeeper::new(Duration::from_secs(9)).max_frame(MAX_FRAME);
            compare(data, protocol, |number| match number % 3 {
                0 => jute::Request::watch("/a"),
                _ => jute::Request::get("/b"),
            });
        }
    }
}

fn command(number: usize) -> redis::resp::Command {
    redis::command(["GET a", "SUBSCRIBE a b", "UNSUBSCRIBE", "SELECT 1"][number % 4])
}

/// What happens at one instant: the application does something, then bytes come, then all that can be
/// written is.
#[derive(Clone, Copy)]
struct Turn<'a> {
    requests: usize,
    expects_reply: bool,
    cancels: bool,
    bytes: &'a [u8],
    /// What chooses where to split.
    splits: u8,
    /// At the end the peer closes.
    closes: bool,
    /// Until the next turn.
    passes: Duration,
}

/// A turn is a byte of bits, one that chooses the splits, a count of bytes and these bytes.
fn turns(mut data: &[u8]) -> impl Iterator<Item = Turn<'_>> {
    std::iter::from_fn(move || {
        let (&[bits, splits, count], rest) = data.split_first_chunk()?;
        let (bytes, rest) = rest.split_at(rest.len().min(count.into()));
        data = rest;
        Some(Turn {
            requests: (bits & 3).into(),
            expects_reply: bits & 4 == 0,
            cancels: bits & 8 > 0,
            bytes,
            splits,
            closes: bits & 16 > 0,
            passes: Duration::from_millis([0, 1, 200, 4_000][usize::from(bits >> 6)]),
        })
    })
}

fn compare<P>(data: &[u8], protocol: P, request: impl Fn(usize) -> P::Request)
where
    P: Protocol + Clone + PartialEq + Debug,
    P::Reply: Clone + PartialEq + Debug,
    P::Push: Clone + PartialEq + Debug,
{
    let run = |is_split| {
        let mut peer = Peer::new(protocol.clone(), is_split);
        for turn in turns(data) {
            peer.take(turn, &request);
        }
        peer.end();
        (peer.outputs, peer.written)
    };
    let ((whole, written), (split, written_split)) = (run(false), run(true));
    for (whole, split) in whole.iter().zip(&split) {
        assert_eq!(whole, split, "whole on the left, split on the right");
    }
    assert_eq!(whole.len(), split.len());
    assert_eq!(written, written_split);
}

/// What comes of it, save announcements of bytes. Ids of requests follow from the order in which earlier
/// ones were completed.
#[derive(PartialEq, Debug)]
enum Seen<R, O> {
    Completed(usize, Result<Response<R>, RequestError>),
    Other(O),
}

/// All that is outside of a client with one server.
struct Peer<P: Protocol> {
    client: Client<P>,
    now: Instant,
    is_split: bool,
    dialled: Vec<ConnectionId>,
    /// The newest is the last.
    connected: Vec<ConnectionId>,
    submitted: usize,
    /// By number.
    open: BTreeMap<RequestId, usize>,
    /// There may be bytes to write.
    announced: bool,
    outputs: Vec<Seen<P::Reply, ClientOutput<P>>>,
    written: Vec<(ConnectionId, u8)>,
}

impl<P: Protocol> Peer<P> {
    fn new(protocol: P, is_split: bool) -> Self {
        let builder = Config::builder().warm(Warm::All).max_in_flight(5u32);
        let config = builder.build().expect("it makes sense");
        let now = Instant::ORIGIN;
        let mut client = Client::new(protocol, config, 1, now).expect("it suits the protocol");
        let server = "10.0.0.1:1".parse().expect("an address");
        client.set_nodes(now, &[server]).expect("a list");
        let mut peer = Self {
            client,
            now,
            is_split,
            dialled: Vec::new(),
            connected: Vec::new(),
            submitted: 0,
            open: BTreeMap::new(),
            announced: false,
            outputs: Vec::new(),
            written: Vec::new(),
        };
        peer.drain();
        peer
    }

    fn take(&mut self, turn: Turn<'_>, request: &impl Fn(usize) -> P::Request) {
        let mut splits = Chance::new(turn.splits.into(), 0);
        for connection in std::mem::take(&mut self.dialled) {
            let connected = TransportInput::Connected { connection };
            self.client.handle_input(self.now, connected);
            self.connected.push(connection);
        }
        for _ in 0..turn.requests {
            let mut options = RequestOptions::new().timeout(Duration::from_secs(5));
            options.expects_reply = turn.expects_reply;
            let request = request(self.submitted);
            if let Ok(id) = self.client.submit(self.now, request, options) {
                self.open.insert(id, self.submitted);
            }
            self.submitted += 1;
        }
        let oldest = self.open.iter().min_by_key(|(_, number)| **number);
        if let Some((&id, _)) = oldest.filter(|_| turn.cancels) {
            self.client.cancel(self.now, id);
        }
        self.drain();
        self.write(&mut splits);
        if let Some(&connection) = self.connected.last() {
            let mut bytes = turn.bytes;
            while !bytes.is_empty() {
                let (piece, rest) = bytes.split_at(self.piece(&mut splits, bytes.len()));
                self.client.read(self.now, connection, piece);
                bytes = rest;
                if self.is_split {
                    self.drain();
                }
            }
            if turn.closes {
                let error = CloseError::Peer;
                let closed = TransportInput::Closed { connection, error };
                self.client.handle_input(self.now, closed);
            }
        }
        self.drain();
        self.write(&mut splits);
        self.pass(self.now + turn.passes);
    }

    /// How many of so many bytes the transport carries at once.
    fn piece(&self, splits: &mut Chance, of: usize) -> usize {
        match self.is_split {
            true => splits.below(of.min(9) as u64 + 1) as usize,
            false => of,
        }
    }

    /// Writes all there is.
    fn write(&mut self, splits: &mut Chance) {
        let before = self.outputs.len();
        for connection in self.connected.clone() {
            loop {
                self.announced = false;
                let bytes = self.client.transmit(self.now, connection).to_vec();
                self.drain();
                if bytes.is_empty() && !self.announced {
                    break;
                }
                let count = self.piece(splits, bytes.len());
                let accepted = bytes[..count].iter().map(|byte| (connection, *byte));
                self.written.extend(accepted);
                self.client.transmitted(self.now, connection, count);
                self.drain();
            }
        }
        // What is wholly accepted completes before the next is encoded, and perhaps refused.
        self.outputs[before..].sort_by_key(|output| match output {
            Seen::Completed(number, _) => Some(*number),
            Seen::Other(_) => None,
        });
    }

    fn pass(&mut self, until: Instant) {
        while let Some(deadline) = self.client.poll_timeout().filter(|it| it.at <= until) {
            self.now = self.now.max(deadline.at);
            self.client.handle_timeout(self.now);
            self.drain();
        }
        self.now = until;
    }

    fn drain(&mut self) {
        while let Some(output) = self.client.poll_output() {
            self.outputs.push(match output {
                ClientOutput::Action(ClientAction::Transmit { .. }) => {
                    self.announced = true;
                    continue;
                }
                ClientOutput::Event(Event::RetryScheduled { .. }) => continue,
                ClientOutput::Completion { request, result } => {
                    let number = self.open.remove(&request);
                    Seen::Completed(number.expect("only what is open completes"), result)
                }
                output => {
                    if let ClientOutput::Action(ClientAction::Connect { connection, .. }) = output {
                        self.dialled.push(connection);
                    }
                    Seen::Other(output)
                }
            });
        }
    }

    fn end(&mut self) {
        let drain = Duration::from_secs(1);
        let _ = self.client.shutdown(self.now, drain);
        self.drain();
        self.pass(self.now + drain);
        assert!(self.client.cluster().is_terminated());
        assert!(self.open.is_empty(), "{:?} never complete", self.open);
        self.client
            .cluster()
            .audit()
            .expect("its books are in order");
    }
}
