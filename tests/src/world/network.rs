//! Connections between the cluster and the servers. Bytes are not modelled: a frame is handed over,
//! accepted, and arrives, or it does not.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    net::SocketAddr,
    time::Duration,
};

use redial::{
    CloseError, ConnectError, ConnectionId, HandshakeError, Input, Instant, Limits, Matching,
    ReplyTo, RequestId, Verdict, record::Call,
};

use super::{Accept, Due, Greet, Serve, World, Wrong, address};

/// The connections that there are.
#[derive(Debug)]
pub(super) struct Network {
    matching: Matching,
    connections: BTreeMap<ConnectionId, Connection>,
    /// Open requests for which there is no reply.
    one_way: BTreeSet<RequestId>,
}

#[derive(Debug)]
struct Connection {
    server: usize,
    up: bool,
    /// Writes that were not started.
    outgoing: VecDeque<u32>,
    /// The frame that is on its way into the transport.
    writing: Option<u32>,
    blocked: bool,
    frames: BTreeMap<u32, Frame>,
    /// Neither frames nor replies overtake each other, whatever the latency is by then.
    last_arrival: Instant,
    last_reply: Instant,
    /// A request was left without its reply: by order, none behind it can have one.
    mute: bool,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    request: RequestId,
    expects_reply: bool,
}

/// Something on a connection.
#[derive(Clone, Copy, Debug)]
pub(super) enum Happens {
    Connected,
    ConnectFailed(ConnectError),
    Greeted(Limits),
    GreetingFailed(HandshakeError),
    /// The transport has the whole frame.
    Accepted(u32),
    /// The server has the whole frame.
    Arrived(u32),
    Replied(u32, Verdict),
    /// The server answers a keepalive.
    Answered,
    Throttled(Duration),
    Goodbye,
    Closed(CloseError),
}

impl Network {
    pub(super) const fn new(matching: Matching) -> Self {
        Self {
            matching,
            connections: BTreeMap::new(),
            one_way: BTreeSet::new(),
        }
    }

    pub(super) fn to_server(&self, server: usize) -> Vec<ConnectionId> {
        let there = self
            .connections
            .iter()
            .filter(|(_, entry)| entry.server == server && entry.up);
        there.map(|(id, _)| *id).collect()
    }

    /// Notes what only the application knows of a request.
    pub(super) fn submitted(&mut self, request: RequestId, expects_reply: bool) {
        if expects_reply {
            self.one_way.remove(&request);
        } else {
            self.one_way.insert(request);
        }
    }

    /// The cluster wants it no more.
    pub(super) fn forget(&mut self, connection: ConnectionId) {
        self.connections.remove(&connection);
    }
}

/// What the cluster wants of the network.
impl World {
    pub(super) fn dial(&mut self, connection: ConnectionId, to: Option<SocketAddr>) {
        let server = (0..self.servers.len()).find(|server| Some(address(*server)) == to);
        let Some(server) = server else {
            let happens = Happens::ConnectFailed(ConnectError::Unreachable);
            return self.later(connection, Duration::from_millis(5), happens);
        };
        let fresh = Connection {
            server,
            up: false,
            outgoing: VecDeque::new(),
            writing: None,
            blocked: false,
            frames: BTreeMap::new(),
            last_arrival: self.now,
            last_reply: self.now,
            mute: false,
        };
        self.network.connections.insert(connection, fresh);
        let round_trip = self.servers[server].latency * 2;
        match self.servers[server].accept {
            Accept::Yes => self.later(connection, round_trip, Happens::Connected),
            Accept::No(error) => self.later(connection, round_trip, Happens::ConnectFailed(error)),
            Accept::Briefly(error) => {
                self.later(connection, round_trip, Happens::Connected);
                // After the answer to a handshake.
                self.later(connection, round_trip * 3, Happens::Closed(error));
            }
            Accept::BlackHole => {}
        }
    }

    pub(super) fn greet(&mut self, connection: ConnectionId) {
        let Some(entry) = self.network.connections.get(&connection) else {
            return;
        };
        let server = &self.servers[entry.server];
        let happens = match server.greet {
            Greet::Yes => Happens::Greeted(Limits::NONE),
            Greet::WithLimit(limit) => Happens::Greeted(Limits::in_flight(limit)),
            Greet::WithSession(timeout) => Happens::Greeted(Limits::NONE.with_session(timeout)),
            Greet::No(error) => Happens::GreetingFailed(error),
            Greet::Mute => return,
            Greet::Close(error) => Happens::Closed(error),
        };
        self.later(connection, server.latency * 2, happens);
    }

    /// A keepalive is answered by whoever reads, whatever it does with requests.
    pub(super) fn probed(&mut self, connection: ConnectionId) {
        if let Some(entry) = self.network.connections.get(&connection) {
            let server = &self.servers[entry.server];
            if server.reads {
                self.later(connection, server.latency * 2, Happens::Answered);
            }
        }
    }

    pub(super) fn write(
        &mut self,
        connection: ConnectionId,
        request: RequestId,
        serial: u32,
    ) -> Result<(), Wrong> {
        let expects_reply = !self.network.one_way.contains(&request);
        if let Some(entry) = self.network.connections.get_mut(&connection) {
            entry.outgoing.push_back(serial);
            entry.frames.insert(
                serial,
                Frame {
                    request,
                    expects_reply,
                },
            );
        }
        self.pump(connection)
    }

    /// Starts the next frame, if the transport takes one.
    fn pump(&mut self, connection: ConnectionId) -> Result<(), Wrong> {
        while let Some(entry) = self.network.connections.get_mut(&connection) {
            if entry.writing.is_some() || entry.outgoing.is_empty() {
                break;
            }
            if !self.servers[entry.server].reads {
                if !std::mem::replace(&mut entry.blocked, true) {
                    return self.call(Call::Input(Input::WriteBlocked { connection }));
                }
                break;
            }
            let Some(serial) = entry.outgoing.pop_front() else {
                break;
            };
            if !self
                .cluster
                .cluster()
                .may_write(self.now, connection, serial)
            {
                continue;
            }
            entry.writing = Some(serial);
            // The transport takes some frames at once, and some it does not.
            let time = Duration::from_millis(self.rng.below(3).saturating_sub(1));
            self.later(connection, time, Happens::Accepted(serial));
            self.call(Call::Input(Input::WriteStarted { connection, serial }))?;
        }
        Ok(())
    }

    /// The server has begun or ceased to read.
    pub(super) fn reading_changed(&mut self, connection: ConnectionId) -> Result<(), Wrong> {
        let Some(entry) = self.network.connections.get_mut(&connection) else {
            return Ok(());
        };
        if self.servers[entry.server].reads && std::mem::replace(&mut entry.blocked, false) {
            self.call(Call::Input(Input::WriteProgress { connection }))?;
            if let Some(entry) = self.network.connections.get(&connection)
                && let Some(serial) = entry.writing
            {
                self.later(connection, Duration::ZERO, Happens::Accepted(serial));
            }
        }
        self.pump(connection)
    }

    fn later(&mut self, connection: ConnectionId, after: Duration, happens: Happens) {
        self.events
            .add(self.now + after, Due::Network(connection, happens));
    }
}

/// What happens on the network.
impl World {
    pub(super) fn network_event(
        &mut self,
        connection: ConnectionId,
        happens: Happens,
    ) -> Result<(), Wrong> {
        let Some(entry) = self.network.connections.get_mut(&connection) else {
            // A dial to where there is nothing, or news that nobody waits for any more.
            return match happens {
                Happens::ConnectFailed(error) => {
                    self.call(Call::Input(Input::ConnectFailed { connection, error }))
                }
                _ => Ok(()),
            };
        };
        let input = match happens {
            Happens::Connected => {
                entry.up = true;
                Input::Connected { connection }
            }
            Happens::ConnectFailed(error) => {
                self.network.forget(connection);
                Input::ConnectFailed { connection, error }
            }
            Happens::Greeted(limits) => Input::HandshakeDone { connection, limits },
            Happens::GreetingFailed(error) => {
                self.network.forget(connection);
                Input::HandshakeFailed { connection, error }
            }
            Happens::Accepted(serial) => return self.accepted(connection, serial),
            Happens::Arrived(serial) => {
                self.arrived(connection, serial);
                return Ok(());
            }
            Happens::Replied(serial, verdict) => return self.replied(connection, serial, verdict),
            Happens::Answered => Input::Received { connection },
            Happens::Throttled(time) => Input::Throttled {
                connection,
                until: self.now + time,
            },
            Happens::Goodbye => Input::PeerDraining { connection },
            Happens::Closed(error) => {
                self.network.forget(connection);
                Input::Closed { connection, error }
            }
        };
        self.call(Call::Input(input))
    }

    fn accepted(&mut self, connection: ConnectionId, serial: u32) -> Result<(), Wrong> {
        let Some(entry) = self.network.connections.get_mut(&connection) else {
            return Ok(());
        };
        if entry.writing != Some(serial) {
            return Ok(());
        }
        let server = &self.servers[entry.server];
        if !server.reads {
            // It stays half written until the server reads again.
            return match std::mem::replace(&mut entry.blocked, true) {
                true => Ok(()),
                false => self.call(Call::Input(Input::WriteBlocked { connection })),
            };
        }
        entry.writing = None;
        entry.last_arrival = entry.last_arrival.max(self.now + server.latency);
        let arrived = Due::Network(connection, Happens::Arrived(serial));
        self.events.add(entry.last_arrival, arrived);
        self.call(Call::Input(Input::WriteDone { connection, serial }))?;
        self.pump(connection)
    }

    /// A request has reached its server.
    fn arrived(&mut self, connection: ConnectionId, serial: u32) {
        let Some(entry) = self.network.connections.get_mut(&connection) else {
            return;
        };
        let server = &self.servers[entry.server];
        let expects_reply = entry
            .frames
            .get(&serial)
            .is_some_and(|frame| frame.expects_reply);
        match server.serve {
            Serve::Reply(verdict) if expects_reply && !entry.mute => {
                let at = (self.now + server.work + server.latency).max(entry.last_reply);
                entry.last_reply = at;
                let due = Due::Network(connection, Happens::Replied(serial, verdict));
                self.events.add(at, due);
            }
            Serve::Reply(_) => {}
            Serve::Mute => entry.mute |= expects_reply && self.network.matching == Matching::Order,
            Serve::Close(error) => {
                let latency = server.latency;
                self.later(connection, latency, Happens::Closed(error));
            }
        }
    }

    /// A reply comes. It must reach the request that was in that frame, and no other.
    fn replied(
        &mut self,
        connection: ConnectionId,
        serial: u32,
        verdict: Verdict,
    ) -> Result<(), Wrong> {
        let entry = self.network.connections.get_mut(&connection);
        let Some(frame) = entry.and_then(|entry| entry.frames.remove(&serial)) else {
            return Ok(());
        };
        let to = match self.network.matching {
            Matching::Serial => ReplyTo::Serial(serial),
            Matching::Order => ReplyTo::Oldest,
        };
        let input = Input::Reply {
            connection,
            to,
            verdict,
        };
        self.call_with_reply(Call::Input(input), Some(frame.request))
    }
}
