//! Nodes that are servers of the simulator, for its runtime: no sockets, and virtual time.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use redial::{
    client::length_prefixed::{Frame, Kind, Status},
    sim::{Answers, Fault, Schedule, Server, Target, Virtual, VirtualWorld, listed_by_address},
};

use crate::site::{Behind, Node, Site, Way};

/// Nodes that have faults from the beginning, by number: what they are comes from the schedule.
const REFUSES: [u32; 3] = [0, 1, 2];
const BLACK_HOLES: [u32; 3] = [3, 4, 5];
const FLAPPING: u32 = 6;
/// The first of those that are well, and how many servers there are.
const WELL: u32 = 7;
const SERVERS: u32 = 20;

/// No case takes longer.
const END: Duration = Duration::from_secs(600);

/// The simulator's runtime, and the servers that were not taken yet.
#[derive(Clone)]
pub(crate) struct Simulated {
    runtime: Virtual,
    roles: Arc<Vec<Arc<Role>>>,
    taken: Arc<Mutex<BTreeMap<u32, u32>>>,
}

/// What a server is told to do, and what it has seen.
#[derive(Default)]
struct Role {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    way: Option<Way>,
    accepted: usize,
    open: BTreeSet<u64>,
    received: Vec<Vec<u8>>,
}

impl Simulated {
    /// A world and what is in it.
    pub(crate) fn start() -> (VirtualWorld, Self) {
        let roles: Vec<_> = (0..SERVERS).map(|_| Arc::<Role>::default()).collect();
        let world = VirtualWorld::new(&schedule(), |number| {
            Scripted(Arc::clone(&roles[number as usize]))
        });
        let site = Self {
            runtime: world.runtime(),
            roles: Arc::new(roles),
            taken: Arc::default(),
        };
        (world, site)
    }
}

fn schedule() -> Schedule {
    let mut schedule = Schedule::new(1, SERVERS, END);
    for (servers, fault) in [(REFUSES, Fault::Refuse), (BLACK_HOLES, Fault::BlackHole)] {
        for server in servers {
            schedule = schedule.fault(Duration::ZERO, END, Target::Server(server), fault);
        }
    }
    for death in 0..600 {
        let at = Duration::from_millis(60 + 100 * death);
        let down = Duration::from_millis(40);
        schedule = schedule.fault(at, down, Target::Server(FLAPPING), Fault::Crash);
    }
    schedule
}

impl Site for Simulated {
    type Runtime = Virtual;

    fn runtime(&self) -> Virtual {
        self.runtime.clone()
    }

    fn node(&self, way: Way) -> Node {
        let first = match way {
            Way::Refuses => REFUSES[0],
            Way::BlackHole => BLACK_HOLES[0],
            Way::Flaps => FLAPPING,
            _ => WELL,
        };
        let mut taken = self.taken.lock().expect("nothing panics here");
        let count = taken.entry(first).or_default();
        let number = first + *count;
        *count += 1;
        let role = Arc::clone(&self.roles[number as usize]);
        role.lock().way = Some(way);
        Node {
            spec: listed_by_address(number),
            behind: Box::new(role),
        }
    }
}

impl Role {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics here")
    }
}

impl Behind for Arc<Role> {
    fn accepted(&self) -> usize {
        self.lock().accepted
    }

    fn open(&self) -> usize {
        self.lock().open.len()
    }

    fn received(&self) -> Vec<Vec<u8>> {
        self.lock().received.clone()
    }
}

struct Scripted(Arc<Role>);

impl Server for Scripted {
    fn read(&mut self, connection: u64, input: &mut BytesMut, answers: &mut Answers) {
        let mut state = self.0.lock();
        // Each client begins with a hello.
        if state.open.insert(connection) {
            state.accepted += 1;
        }
        let way = state.way.expect("only nodes that were taken are dialled");
        while let Some(frame) = Frame::decode(input, 64 << 20).expect("the client is correct") {
            match frame.kind {
                Kind::Hello => greet(way, answers),
                Kind::Request | Kind::OneWay => {
                    state.received.push(frame.body.to_vec());
                    if frame.kind == Kind::Request {
                        answer(way, frame.id, frame.body, answers);
                    }
                }
                kind => panic!("clients do not send {kind:?}"),
            }
        }
    }

    fn closed(&mut self, connection: u64) {
        self.0.lock().open.remove(&connection);
    }
}

fn greet(way: Way, answers: &mut Answers) {
    match way {
        Way::Mute => {}
        Way::Closes => answers.close(),
        Way::GarbageHello => answers.send(Duration::ZERO, &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..]),
        Way::Rejects => send(
            answers,
            &Frame::hello_answer(Status::CredentialsRejected, 0),
        ),
        Way::EndsSession => send(answers, &Frame::hello_answer(Status::SessionOver, 0)),
        Way::Limited(limit) => send(answers, &Frame::hello_answer(Status::Ok, limit)),
        _ => send(answers, &Frame::hello_answer(Status::Ok, 0)),
    }
}

fn answer(way: Way, id: u32, body: Bytes, answers: &mut Answers) {
    let reply = Frame::reply(id, body);
    match way {
        Way::Silent => {}
        Way::ClosesAtRequest => answers.close(),
        Way::GarbageReply => answers.send(Duration::ZERO, &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..]),
        Way::Elsewhere => send(answers, &Frame::retry_elsewhere(id, Duration::ZERO)),
        Way::Slow(by) => send_after(by, answers, &reply),
        Way::News => [Frame::push("news"), reply]
            .iter()
            .for_each(|frame| send(answers, frame)),
        Way::Throttles(wait) => {
            [Frame::throttle(wait), reply]
                .iter()
                .for_each(|frame| send(answers, frame));
        }
        Way::Goodbye => [reply, Frame::goodbye()]
            .iter()
            .for_each(|frame| send(answers, frame)),
        _ => send(answers, &reply),
    }
}

fn send(answers: &mut Answers, frame: &Frame) {
    send_after(Duration::ZERO, answers, frame);
}

fn send_after(after: Duration, answers: &mut Answers, frame: &Frame) {
    let mut bytes = BytesMut::new();
    frame.encode(&mut bytes);
    answers.send(after, bytes);
}
