//! Random conversations with servers that retry, push, throttle, leave, break and talk nonsense:
//! every request ends exactly once, with its own reply if with one, however bytes are split.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use redial::{
    CloseError, ConnectionId, RequestId, RequestOptions,
    client::{
        TransportInput,
        length_prefixed::{Frame, Kind, Status},
    },
};

use crate::rig::{Rig, Seen, config, ms};

#[test]
fn every_request_ends_once_and_with_its_own_reply_however_bytes_are_split() {
    let mut total = Tally::default();
    for seed in 0..200 {
        let tally = Conversation::new(seed).run();
        assert_eq!(
            tally.accepted,
            tally.replied + tally.sent + tally.failed,
            "seed {seed}"
        );
        total.add(&tally);
    }
    assert!(
        total.replied > 5_000 && total.sent > 500 && total.failed > 500 && total.malformed > 100,
        "{total:?}"
    );
}

#[derive(Clone, Copy, Default, Debug)]
struct Tally {
    accepted: usize,
    replied: usize,
    sent: usize,
    failed: usize,
    pushed: usize,
    malformed: usize,
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.accepted += other.accepted;
        self.replied += other.replied;
        self.sent += other.sent;
        self.failed += other.failed;
        self.pushed += other.pushed;
        self.malformed += other.malformed;
    }
}

/// One client, and servers that echo in random order.
struct Conversation {
    seed: u64,
    random: Random,
    rig: Rig,
    servers: BTreeMap<ConnectionId, Server>,
    open: BTreeMap<RequestId, Bytes>,
    tally: Tally,
}

/// What is under way on a connection.
#[derive(Default)]
struct Server {
    input: BytesMut,
    output: BytesMut,
    unanswered: Vec<Frame>,
}

impl Conversation {
    fn new(seed: u64) -> Self {
        Self {
            seed,
            random: Random(seed),
            rig: Rig::dialling(3, config()),
            servers: BTreeMap::new(),
            open: BTreeMap::new(),
            tally: Tally::default(),
        }
    }

    fn run(mut self) -> Tally {
        for step in 0..600 {
            self.connect();
            match self.random.below(10) {
                0..=2 => self.submit(step),
                3 => self.cancel(),
                4 if self.random.below(10) == 0 => self.lose_a_connection(),
                5 => {
                    let time = ms(self.random.below(20) as u64);
                    self.rig.pass(time);
                }
                _ => self.move_bytes(),
            }
            self.check_outputs();
        }
        self.rig
            .client
            .shutdown(self.rig.now, ms(10))
            .expect("a short drain");
        self.rig.pass(ms(10));
        self.check_outputs();
        assert!(self.open.is_empty(), "seed {}", self.seed);
        assert!(
            self.rig.client.cluster().is_terminated(),
            "seed {}",
            self.seed
        );
        self.rig.check_end();
        self.tally
    }

    fn connect(&mut self) {
        for connection in self.rig.connects() {
            self.servers.insert(connection, Server::default());
            self.rig
                .client
                .handle_input(self.rig.now, TransportInput::Connected { connection });
        }
    }

    fn submit(&mut self, step: usize) {
        let mut payload = step.to_string();
        payload.extend(std::iter::repeat_n('.', self.random.below(200)));
        let mut options = RequestOptions::new();
        options.idempotent = self.random.below(2) == 0;
        options.expects_reply = self.random.below(8) > 0;
        let id = self.rig.submit(payload.clone(), options);
        self.open.insert(id, payload.into());
        self.tally.accepted += 1;
    }

    fn cancel(&mut self) {
        if let Some(id) = self.random.pick(self.open.keys().copied()) {
            assert!(
                self.rig.client.cancel(self.rig.now, id),
                "seed {}",
                self.seed
            );
        }
    }

    fn lose_a_connection(&mut self) {
        if let Some(connection) = self.random.pick(self.servers.keys().copied()) {
            self.servers.remove(&connection);
            self.rig.close(connection, CloseError::Io);
        }
    }

    /// Some bytes of one connection go each way.
    fn move_bytes(&mut self) {
        let Some(connection) = self.random.pick(self.servers.keys().copied()) else {
            return;
        };
        let server = self.servers.get_mut(&connection).expect("just picked");
        let bytes = self.rig.client.transmit(self.rig.now, connection);
        let count = self.random.below(bytes.len() + 1);
        server.input.extend_from_slice(&bytes[..count]);
        self.rig.client.transmitted(self.rig.now, connection, count);
        server.serve(&mut self.random);
        let count = self.random.below(server.output.len() + 1);
        let bytes = server.output.split_to(count);
        self.rig.read(connection, &bytes);
    }

    fn check_outputs(&mut self) {
        for seen in self.rig.seen() {
            match seen {
                Seen::Reply(id, reply) => {
                    assert_eq!(self.open.remove(&id), Some(reply), "seed {}", self.seed);
                    self.tally.replied += 1;
                }
                Seen::Sent(id) => {
                    assert!(self.open.remove(&id).is_some(), "seed {}", self.seed);
                    self.tally.sent += 1;
                }
                Seen::Failed(id, ..) => {
                    assert!(self.open.remove(&id).is_some(), "seed {}", self.seed);
                    self.tally.failed += 1;
                }
                Seen::Close(connection) | Seen::Abort(connection) => {
                    self.servers.remove(&connection);
                }
                Seen::Push(_, push) => {
                    assert_eq!(push, "news", "seed {}", self.seed);
                    self.tally.pushed += 1;
                }
                Seen::Malformed(..) => self.tally.malformed += 1,
                Seen::Terminated => {}
            }
        }
    }
}

impl Server {
    fn serve(&mut self, random: &mut Random) {
        while let Some(frame) = Frame::decode(&mut self.input, 1 << 20).expect("frames") {
            match frame.kind {
                Kind::Hello => Frame::hello_answer(Status::Ok, 8).encode(&mut self.output),
                Kind::Request => self.unanswered.push(frame),
                kind => assert_eq!(kind, Kind::OneWay),
            }
        }
        if !self.unanswered.is_empty() && random.below(4) > 0 {
            let frame = self
                .unanswered
                .swap_remove(random.below(self.unanswered.len()));
            let answer = match random.below(20) {
                0 => Frame::retry_here(frame.id, ms(5)),
                1 => Frame::retry_elsewhere(frame.id, ms(5)),
                _ => Frame::reply(frame.id, frame.body),
            };
            answer.encode(&mut self.output);
        }
        match random.below(300) {
            0..10 => Frame::push("news").encode(&mut self.output),
            10 => Frame::throttle(ms(30)).encode(&mut self.output),
            11 => Frame::goodbye().encode(&mut self.output),
            12 => self.output.extend_from_slice(b"nonsense"),
            _ => {}
        }
    }
}

/// A generator of test data.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        const A: u64 = 6_364_136_223_846_793_005;
        self.0 = self
            .0
            .wrapping_mul(A)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % bound
    }

    fn pick<T>(&mut self, mut from: impl ExactSizeIterator<Item = T>) -> Option<T> {
        let count = from.len();
        (count > 0).then(|| from.nth(self.below(count))).flatten()
    }
}
