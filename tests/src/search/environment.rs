//! What is outside of the cluster in a search: transports, peers and an application that do whatever they
//! may, as long as their budgets last.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::LazyLock,
    time::Duration,
};

use redial::{
    Action, CloseError, Cluster, ConnectError, ConnectionId, HandshakeError, Hint, Input, Limits,
    NodeId, Output, ReplyTo, RequestId, RequestOptions, Verdict,
    record::{Answer, Call, Step},
};

use super::{Bounds, Fault};
use crate::script::{ms, specs};

/// One thing that can happen next. Transports are counted from 0 by the index of their ids, open
/// requests in the order of their submits, frames on a transport in the order of their serials.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Move {
    /// The next deadline comes, and is handled.
    Timeout,
    /// It comes, and something else is handled before it.
    Late,
    /// The next request. The first is for any node, and idempotent; the second is bound to the first node;
    /// the third is for any node, fails fast, and may not be repeated.
    Submit,
    /// Of an open request.
    Cancel(u8),
    /// The server list has these nodes, a bit each.
    List(u8),
    /// The network is another.
    NetworkChanged,
    /// The first node is said to be up.
    NodeUp,
    /// The end, with time to finish what was handed over.
    Shutdown,
    /// The transport is up.
    Connected(u8),
    /// It cannot be brought up.
    Refused(u8),
    /// The handshake is done.
    HandshakeDone(u8),
    /// The peer breaks it off.
    HandshakeFailed(u8),
    /// The peer rejects our credentials.
    Rejected(u8),
    /// The peer closes.
    Closed(u8),
    /// The peer wants no more requests for a while.
    Throttled(u8),
    /// The peer says that it will close.
    Draining(u8),
    /// The transport takes no more.
    Blocked(u8),
    /// It does again.
    Progress(u8),
    /// A reply to what was never asked.
    Nonsense(u8),
    /// A fact about a connection that has ended.
    Stale,
    /// A frame's first byte is handed over.
    Started(u8, u8),
    /// A frame is wholly accepted.
    Accepted(u8, u8),
    /// A frame cannot be written at all.
    Unwritable(u8, u8),
    /// The reply.
    Done(u8, u8),
    /// A reply that asks for another try, on the same node.
    RetryHere(u8, u8),
    /// The same, elsewhere.
    RetryElsewhere(u8, u8),
}

/// The state of all that is outside.
#[derive(Clone, Debug)]
pub(super) struct Environment {
    transports: Vec<Transport>,
    pub(super) open: Vec<RequestId>,
    nodes: Vec<NodeId>,
    /// A bit for each node of the list.
    listed: u8,
    ended: Option<ConnectionId>,
    pub(super) shut_down: bool,
    pub(super) terminated: bool,
    submitted: u8,
    /// Faults that have happened, of those that are counted.
    pub(super) spent: u8,
}

#[derive(Clone, Debug)]
struct Transport {
    id: ConnectionId,
    up: bool,
    ready: bool,
    blocked: bool,
    next_serial: u32,
    frames: Vec<Frame>,
}

#[derive(Clone, Debug)]
struct Frame {
    serial: u32,
    request: RequestId,
    started: bool,
    accepted: bool,
    answered: bool,
}

impl Environment {
    pub(super) const fn new() -> Self {
        Self {
            transports: Vec::new(),
            open: Vec::new(),
            nodes: Vec::new(),
            listed: 0,
            ended: None,
            shut_down: false,
            terminated: false,
            submitted: 0,
            spent: 0,
        }
    }

    fn may(&self, fault: Fault, bounds: &Bounds) -> bool {
        bounds.free.contains(&fault) || bounds.faults.contains(&fault) && self.spent < bounds.budget
    }

    /// What can influence what it does later, beside the cluster: not the names of things.
    pub(super) fn fingerprint(&self, cluster: &Cluster) -> u64 {
        let mut hash = DefaultHasher::new();
        for transport in &self.transports {
            let Transport {
                id,
                up,
                ready,
                blocked,
                next_serial,
                frames,
            } = transport;
            (id.index(), up, ready, blocked).hash(&mut hash);
            for frame in frames {
                let back = next_serial - frame.serial;
                let open = self.open.iter().position(|open| *open == frame.request);
                (back, open, frame.started, frame.accepted, frame.answered).hash(&mut hash);
            }
        }
        for request in &self.open {
            request.index().hash(&mut hash);
        }
        let first = self.nodes.first();
        let first = first.filter(|id| cluster.node(**id).is_some());
        (first.map(|id| id.index()), self.ended.is_some()).hash(&mut hash);
        (self.listed, self.shut_down, self.terminated, self.submitted).hash(&mut hash);
        self.spent.hash(&mut hash);
        hash.finish()
    }

    /// All that can happen next.
    pub(super) fn moves(&self, cluster: &Cluster, bounds: &Bounds) -> Vec<Move> {
        let mut moves = Vec::new();
        if self.terminated {
            return moves;
        }
        if let Some(deadline) = cluster.poll_timeout() {
            moves.push(Move::Timeout);
            if self.may(Fault::Late, bounds) && deadline.at > cluster.now() {
                moves.push(Move::Late);
            }
        }
        if !self.shut_down {
            let bindable = self.submitted == 0 || !self.nodes.is_empty();
            if self.submitted < bounds.requests && bindable {
                moves.push(Move::Submit);
            }
            if self.listed == 0 {
                moves.push(Move::List((1 << bounds.nodes) - 1));
            } else if self.may(Fault::List, bounds) {
                let nodes = bounds.nodes.into();
                let other = |list: &u8| *list != self.listed && list.count_ones() <= nodes;
                moves.extend((1..4).filter(other).map(Move::List));
            }
            if self.may(Fault::Hint, bounds) {
                moves.push(Move::NetworkChanged);
                if !self.nodes.is_empty() {
                    moves.push(Move::NodeUp);
                }
            }
            if self.may(Fault::Shutdown, bounds) {
                moves.push(Move::Shutdown);
            }
        }
        if self.may(Fault::Cancel, bounds) {
            moves.extend((0..).zip(&self.open).map(|(r, _)| Move::Cancel(r)));
        }
        if self.ended.is_some() && self.may(Fault::Stale, bounds) {
            moves.push(Move::Stale);
        }
        for (t, transport) in (0..).zip(&self.transports) {
            self.moves_of(t, transport, cluster, bounds, &mut moves);
        }
        moves
    }

    fn moves_of(
        &self,
        t: u8,
        transport: &Transport,
        cluster: &Cluster,
        bounds: &Bounds,
        moves: &mut Vec<Move>,
    ) {
        if !transport.up {
            moves.push(Move::Connected(t));
            if self.may(Fault::Refuse, bounds) {
                moves.push(Move::Refused(t));
            }
            return;
        }
        if self.may(Fault::Close, bounds) {
            moves.push(Move::Closed(t));
        }
        if self.may(Fault::Drain, bounds) {
            moves.push(Move::Draining(t));
        }
        if !transport.ready {
            moves.push(Move::HandshakeDone(t));
            if self.may(Fault::Malformed, bounds) {
                moves.push(Move::HandshakeFailed(t));
            }
            if self.may(Fault::Reject, bounds) {
                moves.push(Move::Rejected(t));
            }
            return;
        }
        if self.may(Fault::Throttle, bounds) {
            moves.push(Move::Throttled(t));
        }
        if self.may(Fault::Nonsense, bounds) {
            moves.push(Move::Nonsense(t));
        }
        if transport.blocked {
            moves.push(Move::Progress(t));
        } else if self.may(Fault::Block, bounds) {
            moves.push(Move::Blocked(t));
        }
        for (f, frame) in (0..).zip(&transport.frames) {
            if !frame.started {
                if !transport.blocked
                    && cluster.may_write(cluster.now(), transport.id, frame.serial)
                {
                    moves.push(Move::Started(t, f));
                }
                if self.may(Fault::Unwritable, bounds) {
                    moves.push(Move::Unwritable(t, f));
                }
                continue;
            }
            if !frame.accepted && !transport.blocked {
                moves.push(Move::Accepted(t, f));
            }
            if !frame.answered {
                moves.push(Move::Done(t, f));
                if self.may(Fault::Retry, bounds) {
                    moves.extend([Move::RetryHere(t, f), Move::RetryElsewhere(t, f)]);
                }
            }
        }
    }

    /// The call that the move is; what it changes outside is done.
    pub(super) fn make(
        &mut self,
        chosen: Move,
        cluster: &Cluster,
        bounds: &Bounds,
    ) -> (redial::Instant, Call) {
        if let Some(fault) = self.fault(chosen)
            && !bounds.free.contains(&fault)
        {
            self.spent += 1;
        }
        let now = cluster.now();
        let deadline = cluster.poll_timeout().map_or(now, |deadline| deadline.at);
        let call = match chosen {
            Move::Timeout => return (deadline.max(now), Call::Timeout),
            // A fact about nothing: only the time is new.
            Move::Late => return (deadline, Call::WritesStarted(*NO_CONNECTION, Vec::new())),
            Move::Submit => {
                self.submitted += 1;
                Call::Submit(match self.submitted {
                    1 => RequestOptions::new().idempotent(),
                    2 => RequestOptions::new().on(self.nodes[0]),
                    _ => RequestOptions::new().fail_fast(),
                })
            }
            Move::Cancel(r) => Call::Cancel(self.open[usize::from(r)]),
            Move::List(list) => {
                self.listed = list;
                let all = ["10.0.0.1:1", "10.0.0.2:1"];
                let listed = (0..).zip(all).filter(|(n, _)| list >> n & 1 != 0);
                let listed: Vec<_> = listed.map(|(_, endpoint)| endpoint).collect();
                Call::SetNodes(specs(&listed))
            }
            Move::NetworkChanged => Call::Hint(Hint::NetworkChanged),
            Move::NodeUp => Call::Hint(Hint::NodeUp(self.nodes[0])),
            Move::Shutdown => {
                self.shut_down = true;
                Call::Shutdown(DRAIN)
            }
            Move::Stale => Call::Input(Input::Closed {
                connection: self.ended.expect("one has ended"),
                error: CloseError::Peer,
            }),
            Move::Started(t, f)
            | Move::Accepted(t, f)
            | Move::Unwritable(t, f)
            | Move::Done(t, f)
            | Move::RetryHere(t, f)
            | Move::RetryElsewhere(t, f) => Call::Input(self.frame_moves(chosen, t, f)),
            Move::Connected(t)
            | Move::Refused(t)
            | Move::HandshakeDone(t)
            | Move::HandshakeFailed(t)
            | Move::Rejected(t)
            | Move::Closed(t)
            | Move::Throttled(t)
            | Move::Draining(t)
            | Move::Blocked(t)
            | Move::Progress(t)
            | Move::Nonsense(t) => Call::Input(self.transport_moves(chosen, t, cluster)),
        };
        (now, call)
    }

    /// What the move is, if it disturbs. The first list does not.
    const fn fault(&self, chosen: Move) -> Option<Fault> {
        Some(match chosen {
            Move::Late => Fault::Late,
            Move::Cancel(_) => Fault::Cancel,
            Move::List(_) if self.listed != 0 => Fault::List,
            Move::NetworkChanged | Move::NodeUp => Fault::Hint,
            Move::Shutdown => Fault::Shutdown,
            Move::Refused(_) => Fault::Refuse,
            Move::HandshakeFailed(_) => Fault::Malformed,
            Move::Rejected(_) => Fault::Reject,
            Move::Closed(_) => Fault::Close,
            Move::Throttled(_) => Fault::Throttle,
            Move::Draining(_) => Fault::Drain,
            Move::Blocked(_) => Fault::Block,
            Move::Nonsense(_) => Fault::Nonsense,
            Move::Stale => Fault::Stale,
            Move::Unwritable(..) => Fault::Unwritable,
            Move::RetryHere(..) | Move::RetryElsewhere(..) => Fault::Retry,
            Move::Timeout
            | Move::Submit
            | Move::List(_)
            | Move::Connected(_)
            | Move::HandshakeDone(_)
            | Move::Progress(_)
            | Move::Started(..)
            | Move::Accepted(..)
            | Move::Done(..) => return None,
        })
    }

    fn transport_moves(&mut self, chosen: Move, t: u8, cluster: &Cluster) -> Input {
        let t = usize::from(t);
        let transport = &mut self.transports[t];
        let connection = transport.id;
        let handshake_failed = |error| Input::HandshakeFailed { connection, error };
        let (ends, input) = match chosen {
            Move::Connected(_) => {
                transport.up = true;
                (false, Input::Connected { connection })
            }
            Move::Refused(_) => {
                let error = ConnectError::Refused;
                (true, Input::ConnectFailed { connection, error })
            }
            Move::HandshakeDone(_) => {
                transport.ready = true;
                let limits = Limits::NONE;
                (false, Input::HandshakeDone { connection, limits })
            }
            Move::HandshakeFailed(_) => (true, handshake_failed(HandshakeError::Malformed)),
            Move::Rejected(_) => (true, handshake_failed(HandshakeError::Rejected)),
            Move::Throttled(_) => {
                let until = cluster.now() + THROTTLE;
                (false, Input::Throttled { connection, until })
            }
            Move::Draining(_) => (false, Input::PeerDraining { connection }),
            Move::Blocked(_) => {
                transport.blocked = true;
                (false, Input::WriteBlocked { connection })
            }
            Move::Progress(_) => {
                transport.blocked = false;
                (false, Input::WriteProgress { connection })
            }
            Move::Nonsense(_) => {
                let (to, verdict) = (ReplyTo::Serial(1_000_000), Verdict::DONE);
                let reply = Input::Reply {
                    connection,
                    to,
                    verdict,
                };
                (false, reply)
            }
            _ => {
                let error = CloseError::Peer;
                (true, Input::Closed { connection, error })
            }
        };
        if ends {
            self.ended = Some(connection);
            self.transports.remove(t);
        }
        input
    }

    fn frame_moves(&mut self, chosen: Move, t: u8, f: u8) -> Input {
        let transport = &mut self.transports[usize::from(t)];
        let connection = transport.id;
        let frame = &mut transport.frames[usize::from(f)];
        let serial = frame.serial;
        let mut reply = |verdict| {
            frame.answered = true;
            let to = ReplyTo::Serial(serial);
            Input::Reply {
                connection,
                to,
                verdict,
            }
        };
        match chosen {
            Move::Done(..) => reply(Verdict::DONE),
            Move::RetryHere(..) => reply(Verdict::RETRY_HERE),
            Move::RetryElsewhere(..) => reply(Verdict::RETRY_ELSEWHERE),
            Move::Started(..) => {
                frame.started = true;
                Input::WriteStarted { connection, serial }
            }
            Move::Accepted(..) => {
                frame.accepted = true;
                Input::WriteDone { connection, serial }
            }
            _ => {
                transport.frames.remove(usize::from(f));
                Input::WriteRejected { connection, serial }
            }
        }
    }

    /// Carries out what the cluster wants.
    pub(super) fn take(&mut self, step: &Step, cluster: &Cluster) {
        if let Answer::Submit(Ok(request)) = step.answer {
            self.open.push(request);
        }
        if matches!(step.call, Call::SetNodes(_)) {
            self.nodes = cluster.nodes().map(|node| node.id).collect();
        }
        for output in &step.outputs {
            match *output {
                Output::Action(Action::Connect { connection, .. }) => {
                    self.transports.push(Transport {
                        id: connection,
                        up: false,
                        ready: false,
                        blocked: false,
                        next_serial: 0,
                        frames: Vec::new(),
                    });
                    self.transports
                        .sort_by_key(|transport| transport.id.index());
                }
                Output::Action(Action::Close { connection } | Action::Abort { connection }) => {
                    self.ended = Some(connection);
                    self.transports
                        .retain(|transport| transport.id != connection);
                }
                Output::Action(Action::Write {
                    connection,
                    request,
                    serial,
                }) => {
                    if let Some(transport) = self.transport(connection) {
                        transport.next_serial = serial + 1;
                        transport.frames.push(Frame {
                            serial,
                            request,
                            started: false,
                            accepted: false,
                            answered: false,
                        });
                    }
                }
                Output::Action(Action::Withdraw {
                    connection, serial, ..
                }) => {
                    if let Some(transport) = self.transport(connection) {
                        transport.frames.retain(|frame| frame.serial != serial);
                    }
                }
                Output::Completion(completion) => {
                    let request = completion.request;
                    self.open.retain(|open| *open != request);
                    for transport in &mut self.transports {
                        let dropped = |frame: &Frame| frame.request == request && !frame.started;
                        transport.frames.retain(|frame| !dropped(frame));
                    }
                }
                Output::Terminated => self.terminated = true,
                Output::Action(_) | Output::Event(_) => {}
            }
        }
        for transport in &mut self.transports {
            transport
                .frames
                .retain(|frame| !(frame.accepted && frame.answered));
        }
    }

    fn transport(&mut self, id: ConnectionId) -> Option<&mut Transport> {
        self.transports
            .iter_mut()
            .find(|transport| transport.id == id)
    }
}

/// A connection that never is.
static NO_CONNECTION: LazyLock<ConnectionId> =
    LazyLock::new(|| serde_json::from_str("\"c4294967294\"").expect("an id"));

const DRAIN: Duration = ms(10);
const THROTTLE: Duration = ms(10);
