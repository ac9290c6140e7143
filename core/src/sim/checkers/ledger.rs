//! What follows from the calls and the outputs alone: which connections there are, which frames
//! they carry, and where each open request is.

use alloc::{collections::BTreeMap, vec::Vec};

use crate::{
    Action, Cluster, Completion, Config, ConnectionId, Event, Input, Instant, Limit, Next, NodeId,
    Output, ReplyTo, RequestId, RequestOptions, Target, Verdict,
    record::{Answer, Call, Step},
};

/// The books that all rules share.
#[derive(Clone, Debug)]
pub(super) struct Ledger {
    handshake: bool,
    delivery_timeout: Limit,
    pub(super) now: Instant,
    pub(super) connections: BTreeMap<ConnectionId, Connection>,
    /// Those that ended in the step applied last.
    pub(super) ended: BTreeMap<ConnectionId, Connection>,
    /// Frames that left living connections in that step.
    pub(super) removed: Vec<(ConnectionId, u32)>,
    pub(super) requests: BTreeMap<RequestId, Request>,
    pub(super) shut_down: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Connection {
    pub(super) node: NodeId,
    pub(super) up: bool,
    pub(super) ready: bool,
    /// What the peer allows in flight.
    pub(super) limit: Option<u32>,
    pub(super) blocked: bool,
    /// The peer said that it will close it.
    pub(super) announced: bool,
    pub(super) next_serial: u32,
    /// How many open requests are here.
    pub(super) open: usize,
    /// By serial, until nothing is expected of them any more.
    pub(super) frames: BTreeMap<u32, Frame>,
}

#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub(super) request: RequestId,
    pub(super) expects_reply: bool,
    /// The request's own attempt timeout.
    pub(super) timeout: Option<Limit>,
    /// Its request is open and here.
    pub(super) open: bool,
    /// When its first byte was handed over.
    pub(super) started: Option<Instant>,
    pub(super) done: bool,
    pub(super) answered: bool,
    /// Its request was cancelled after its hand-over.
    pub(super) cancelled: bool,
}

impl Frame {
    /// Nothing is to come for it any more.
    const fn is_finished(&self) -> bool {
        self.done && (self.answered || !self.expects_reply)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) options: RequestOptions,
    pub(super) submitted: Instant,
    pub(super) deadline: Instant,
    /// Where it is, from its Write until it is withdrawn, settled or retried.
    pub(super) place: Option<(ConnectionId, u32)>,
    /// It waits for a retry.
    pub(super) retry_at: Option<Instant>,
    pub(super) hand_overs: u32,
    /// The peer said so of its last attempt.
    pub(super) not_executed: bool,
    /// The peer told it to try again on this node (SEMANTICS 4.7).
    pub(super) sticks_to: Option<NodeId>,
    /// It has left the queue at least once.
    pub(super) was_written: bool,
}

impl Request {
    pub(super) const fn bound_to(&self) -> Option<NodeId> {
        match self.options.target {
            Target::Node(node) => Some(node),
            Target::Any => None,
        }
    }

    /// Nothing is ever due at the end of time (SEMANTICS 1.3).
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.deadline <= now && self.deadline < Instant::MAX
    }

    pub(super) fn is_waiting(&self, now: Instant) -> bool {
        self.place.is_none() && self.retry_at.is_none_or(|at| at <= now)
    }
}

impl Ledger {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            handshake: config.handshake(),
            delivery_timeout: config.delivery_timeout(),
            now: Instant::ORIGIN,
            connections: BTreeMap::new(),
            ended: BTreeMap::new(),
            removed: Vec::new(),
            requests: BTreeMap::new(),
            shut_down: false,
        }
    }

    /// Books the call, before its outputs.
    pub(super) fn begin(&mut self, step: &Step, cluster: &Cluster) {
        self.now = step.now;
        self.ended.clear();
        self.removed.clear();
        match &step.call {
            Call::Submit(options) => {
                if let Answer::Submit(Ok(request)) = step.answer {
                    self.submitted(request, *options);
                }
            }
            Call::Cancel(request) => {
                if let Some(frame) = self.frame_of(*request) {
                    frame.cancelled = frame.started.is_some();
                }
            }
            Call::Shutdown(_) => self.shut_down |= step.answer == Answer::Shutdown(Ok(())),
            Call::Input(
                Input::ConnectFailed { connection, .. }
                | Input::HandshakeFailed { connection, .. }
                | Input::Closed { connection, .. },
            ) => self.reported_end(*connection, cluster),
            Call::Input(input) => self.input(input),
            Call::WritesStarted(connection, serials) => {
                for serial in serials {
                    self.started(*connection, *serial);
                }
            }
            Call::WritesDone(connection, serials) => {
                for serial in serials {
                    self.done(*connection, *serial);
                }
                self.unblock(*connection);
            }
            Call::Start
            | Call::SetNodes(_)
            | Call::SetFallback(_)
            | Call::Resolved(..)
            | Call::Refreshed(..)
            | Call::Hint(_)
            | Call::Timeout => {}
        }
    }

    /// Books one output.
    pub(super) fn output(&mut self, output: &Output) {
        match *output {
            Output::Action(Action::Connect {
                connection, node, ..
            }) => {
                self.connections.insert(connection, Connection::new(node));
            }
            Output::Action(Action::Write {
                connection,
                request,
                serial,
            }) => {
                self.written(connection, request, serial);
            }
            Output::Action(Action::Withdraw {
                connection,
                request,
                serial,
            }) => {
                self.leave(request);
                self.remove_frame(connection, serial);
            }
            Output::Action(Action::Close { connection } | Action::Abort { connection }) => {
                self.connection_ended(connection);
            }
            Output::Completion(Completion { request, .. }) => {
                let place = self.leave(request);
                self.requests.remove(&request);
                if let Some((connection, serial)) = place
                    && let Some(entry) = self.connections.get(&connection)
                    && let Some(frame) = entry.frames.get(&serial)
                    && frame.started.is_none()
                {
                    self.remove_frame(connection, serial);
                }
            }
            Output::Event(Event::RetryScheduled { request, at, .. }) => {
                self.leave(request);
                if let Some(request) = self.requests.get_mut(&request) {
                    request.retry_at = Some(at);
                }
            }
            Output::Event(Event::SessionExpired { .. }) | Output::Terminated => {
                self.shut_down = true;
            }
            Output::Action(_) | Output::Event(_) => {}
        }
    }

    /// A connection that the embedder reports as ended. Whether an odd report, such as ConnectFailed
    /// for a transport that is up, ends it is for the core to say.
    fn reported_end(&mut self, connection: ConnectionId, cluster: &Cluster) {
        if cluster.connection(connection).is_none() {
            self.connection_ended(connection);
        }
    }

    fn submitted(&mut self, request: RequestId, options: RequestOptions) {
        let timeout = options.timeout.unwrap_or(self.delivery_timeout);
        let fresh = Request {
            options,
            submitted: self.now,
            deadline: self.now.after(timeout),
            place: None,
            retry_at: None,
            hand_overs: 0,
            not_executed: false,
            sticks_to: None,
            was_written: false,
        };
        self.requests.insert(request, fresh);
    }

    fn input(&mut self, input: &Input) {
        match *input {
            Input::Connected { connection } => {
                if let Some(entry) = self.connections.get_mut(&connection) {
                    entry.up = true;
                    entry.ready |= !self.handshake;
                }
            }
            Input::HandshakeDone { connection, limits } => {
                if let Some(entry) = self.connections.get_mut(&connection)
                    && entry.up
                    && !entry.ready
                {
                    entry.ready = true;
                    entry.limit = limits.max_in_flight.map(|max| max.max(1));
                }
            }
            Input::WriteStarted { connection, serial } => self.started(connection, serial),
            Input::WriteDone { connection, serial } if self.done(connection, serial) => {
                self.unblock(connection);
            }
            Input::WriteBlocked { connection } => {
                if let Some(entry) = self.connections.get_mut(&connection) {
                    entry.blocked |= entry.up;
                }
            }
            Input::WriteProgress { connection } => self.unblock(connection),
            Input::PeerDraining { connection } => {
                if let Some(entry) = self.connections.get_mut(&connection) {
                    entry.announced = true;
                }
            }
            Input::Reply {
                connection,
                to,
                verdict,
            } => {
                if let Some(serial) = self.answered_by(connection, to) {
                    self.replied(connection, serial, verdict);
                }
            }
            _ => {}
        }
    }

    /// The frame that this reply answers, if there is one.
    pub(super) fn answered_by(&self, connection: ConnectionId, to: ReplyTo) -> Option<u32> {
        let frames = &self.connections.get(&connection)?.frames;
        match to {
            ReplyTo::Serial(serial) => frames.contains_key(&serial).then_some(serial),
            ReplyTo::Oldest => {
                let awaits = |frame: &Frame| frame.expects_reply && !frame.answered;
                let mut awaiting = frames.iter().filter(|(_, frame)| awaits(frame));
                awaiting.next().map(|(serial, _)| *serial)
            }
        }
    }

    fn replied(&mut self, connection: ConnectionId, serial: u32, verdict: Verdict) {
        let node = self.connections.get(&connection).map(|entry| entry.node);
        self.started(connection, serial);
        let mut request = None;
        self.update_frame(connection, serial, |frame| {
            frame.answered = true;
            request = frame.open.then_some(frame.request);
        });
        if let Some(request) = request {
            self.leave(request);
            if let Some(entry) = self.requests.get_mut(&request) {
                entry.sticks_to = node.filter(|_| verdict.next == Next::RetryHere);
                entry.not_executed = verdict.not_executed;
            }
        }
    }

    fn started(&mut self, connection: ConnectionId, serial: u32) {
        let now = self.now;
        let mut first = None;
        self.update_frame(connection, serial, |frame| {
            if frame.started.is_none() {
                frame.started = Some(now);
                first = Some(frame.request);
            }
        });
        if let Some(request) = first.and_then(|request| self.requests.get_mut(&request)) {
            request.hand_overs += 1;
            request.not_executed = false;
        }
    }

    /// The transport took the frame. False if there is none, or it was taken before.
    fn done(&mut self, connection: ConnectionId, serial: u32) -> bool {
        self.started(connection, serial);
        let mut accepted = false;
        self.update_frame(connection, serial, |frame| {
            accepted = !frame.done;
            frame.done = true;
        });
        accepted
    }

    fn written(&mut self, connection: ConnectionId, request: RequestId, serial: u32) {
        self.leave(request);
        let Some(entry) = self.requests.get_mut(&request) else {
            return;
        };
        entry.place = Some((connection, serial));
        entry.was_written = true;
        entry.sticks_to = None;
        entry.retry_at = None;
        let frame = Frame {
            request,
            expects_reply: entry.options.expects_reply,
            timeout: entry.options.request_timeout,
            open: true,
            started: None,
            done: false,
            answered: false,
            cancelled: false,
        };
        if let Some(connection) = self.connections.get_mut(&connection) {
            connection.next_serial = serial.wrapping_add(1);
            connection.open += 1;
            connection.frames.insert(serial, frame);
        }
    }

    fn connection_ended(&mut self, connection: ConnectionId) {
        if let Some(entry) = self.connections.remove(&connection) {
            self.ended.insert(connection, entry);
        }
        for request in self.requests.values_mut() {
            request.place = request.place.filter(|place| place.0 != connection);
        }
    }

    fn frame_of(&mut self, request: RequestId) -> Option<&mut Frame> {
        let (connection, serial) = self.requests.get(&request)?.place?;
        self.connections
            .get_mut(&connection)?
            .frames
            .get_mut(&serial)
    }

    fn update_frame(&mut self, id: ConnectionId, serial: u32, update: impl FnOnce(&mut Frame)) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let Some(frame) = connection.frames.get_mut(&serial) else {
            return;
        };
        update(frame);
        if frame.is_finished() {
            self.remove_frame(id, serial);
        }
    }

    fn remove_frame(&mut self, id: ConnectionId, serial: u32) {
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.frames.remove(&serial);
            self.removed.push((id, serial));
        }
    }

    /// The request is no longer where it was.
    fn leave(&mut self, request: RequestId) -> Option<(ConnectionId, u32)> {
        let place = self.requests.get_mut(&request)?.place.take()?;
        let connection = self.connections.get_mut(&place.0)?;
        connection.open = connection.open.saturating_sub(1);
        if let Some(frame) = connection.frames.get_mut(&place.1) {
            frame.open = false;
        }
        Some(place)
    }

    fn unblock(&mut self, connection: ConnectionId) {
        if let Some(entry) = self.connections.get_mut(&connection) {
            entry.blocked = false;
        }
    }
}

impl Connection {
    const fn new(node: NodeId) -> Self {
        Self {
            node,
            up: false,
            ready: false,
            limit: None,
            blocked: false,
            announced: false,
            next_serial: 0,
            open: 0,
            frames: BTreeMap::new(),
        }
    }
}
