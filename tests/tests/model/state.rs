//! What the model knows, and what it says.

use std::collections::BTreeMap;

use redial::{Cause, Certainty, NodeState, Reason, Stage, SuccessKind};

use crate::rules::{Micros, Rules};

/// A node, by the order in which nodes came; one that comes back is another.
pub(crate) type N = usize;
/// A connection: the n-th of its node.
pub(crate) type C = (N, usize);
/// A request, by the order of the submits.
pub(crate) type R = usize;

#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) rules: Rules,
    pub(crate) now: Micros,
    pub(crate) run: Run,
    pub(crate) nodes: Vec<Node>,
    pub(crate) connections: BTreeMap<C, Connection>,
    pub(crate) requests: Vec<Request>,
    /// Endpoints that left before their next-attempt time: that, and their failures (3.5).
    pub(crate) departed: BTreeMap<usize, (Micros, u32)>,
    /// The retry budget, in millionths of a token, and when it was filled.
    pub(crate) budget: (u64, Micros),
    /// Numbers what must be told apart by order.
    pub(crate) count: u64,
    /// The last failure of an attempt or connection, of whatever node.
    pub(crate) last_failure: Option<(N, Ending)>,
    /// Failures in setup in this step, each of which starts a hedge (3.7).
    pub(crate) failures_now: usize,
    /// One more node is to be dialled in this step (4.7, 5.1).
    pub(crate) wants_another: bool,
    /// What came of the last step.
    pub(crate) out: Vec<Out>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Run {
    Running,
    Draining(Micros),
    Terminated,
}

pub(crate) type Ending = (Stage, Cause);

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) name: usize,
    pub(crate) listed: bool,
    pub(crate) state: NodeState,
    pub(crate) failures: u32,
    pub(crate) setup_failures: u32,
    pub(crate) next_attempt: Option<Micros>,
    pub(crate) last_attempt: Option<Micros>,
    pub(crate) last_failure: Option<(Ending, Micros)>,
    /// When its last attempt that failed did, by number; 0 for never.
    pub(crate) failed_at: u64,
    /// Its last ended attempt was a rejection (6.1).
    pub(crate) rejected: bool,
    pub(crate) throttled_until: Micros,
    pub(crate) attempt: Option<Attempt>,
    /// Its connections so far.
    pub(crate) dialled: usize,
    /// When it was chosen last, by number.
    pub(crate) turn: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    pub(crate) started: Micros,
    /// Of deadlines at one time the one that was armed first is first.
    pub(crate) armed: u64,
    pub(crate) for_any: bool,
    pub(crate) deadline: Micros,
    pub(crate) has_handshake_deadline: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    Connecting,
    Handshaking,
    Ready,
    /// Why, and until when (a shutdown has its own end).
    Draining(Cause, Option<Micros>),
}

#[derive(Clone, Debug)]
pub(crate) struct Connection {
    pub(crate) phase: Phase,
    pub(crate) ready_at: Micros,
    pub(crate) limit: usize,
    pub(crate) next_serial: u32,
    pub(crate) frames: BTreeMap<u32, Frame>,
    pub(crate) blocked: bool,
    /// The transport has something to write and accepts nothing since then (8.3).
    pub(crate) stalled_since: Option<Micros>,
    pub(crate) throttled_until: Micros,
    pub(crate) replied: bool,
    pub(crate) reply_resets_node: bool,
    /// By number.
    pub(crate) detached: u64,
    pub(crate) timeouts: u32,
    pub(crate) unhealthy: bool,
    pub(crate) probe_at: Option<Micros>,
    pub(crate) next_probe: Micros,
    /// A probe is due and waits for a request since then.
    pub(crate) probe_waits: Option<Micros>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Written {
    /// The Write is emitted.
    Emitted,
    /// It is handed over; a tombstone if its request is no more.
    HandedOver,
    /// Nothing is awaited but that the transport accepts its end.
    Trailing,
}

#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) request: Option<R>,
    pub(crate) state: Written,
    pub(crate) accepted: bool,
    pub(crate) expects_reply: bool,
    pub(crate) attempt_ends: Option<Micros>,
    pub(crate) give_up_at: Option<Micros>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    Waiting,
    /// In retry backoff.
    Until(Micros),
    /// It came back past its deadline, and waits for nothing but its end (1.1).
    Overdue,
    On(C, u32),
    Complete,
}

#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) asked: Submit,
    pub(crate) place: Place,
    /// Its age, by number.
    pub(crate) age: u64,
    pub(crate) submitted: Micros,
    pub(crate) deadline: Option<Micros>,
    pub(crate) handed_over: u32,
    pub(crate) charged: u32,
    pub(crate) answered: bool,
    pub(crate) budget_exhausted: bool,
    pub(crate) retry_refused: bool,
    pub(crate) avoid: Option<N>,
    /// It avoids that node because that sent it elsewhere.
    pub(crate) elsewhere: bool,
    /// It stays with this connection while that is Ready.
    pub(crate) stay: Option<C>,
    /// Its earlier frames that were not wholly accepted when their attempts ended (4.5).
    pub(crate) barred: Vec<(C, u32)>,
    pub(crate) last_node: Option<N>,
    pub(crate) last_ending: Option<Ending>,
}

/// What the application asks for (4.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Submit {
    pub(crate) bound_to: Option<N>,
    pub(crate) timeout: Option<Micros>,
    pub(crate) request_timeout: Option<Micros>,
    pub(crate) idempotent: bool,
    pub(crate) fail_fast: bool,
    pub(crate) expects_reply: bool,
}

/// What comes out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Out {
    Connect(C),
    Handshake(C),
    Abort(C),
    Close(C),
    Write(C, u32, R),
    Withdraw(C, u32, R),
    Refused(Refusal),
    Completed(R, Completion),
    State(N, NodeState, NodeState, Option<Cause>),
    Unhealthy(N),
    Healed(N),
    Terminated,
    /// The list was not taken.
    NoList,
}

/// How a request ends (4.8).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Completion {
    pub(crate) result: Result<SuccessKind, (Reason, Option<Stage>, Certainty)>,
    pub(crate) node: Option<N>,
    pub(crate) handed_over: u32,
    pub(crate) took: Micros,
    pub(crate) retry_refused: bool,
    pub(crate) budget_exhausted: bool,
}

/// Why a submit is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refusal {
    Closed,
    QueueFull,
    UnknownNode,
    AuthenticationFailed,
}

impl Model {
    pub(crate) fn new(rules: Rules) -> Self {
        let full = rules.budget.map_or(0, |budget| budget.max * 1_000_000);
        Self {
            rules,
            now: 0,
            run: Run::Running,
            nodes: Vec::new(),
            connections: BTreeMap::new(),
            requests: Vec::new(),
            departed: BTreeMap::new(),
            budget: (full, 0),
            count: 0,
            last_failure: None,
            failures_now: 0,
            wants_another: false,
            out: Vec::new(),
        }
    }

    /// The next number.
    pub(crate) fn number(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    pub(crate) fn listed(&self) -> Vec<N> {
        let all = 0..self.nodes.len();
        all.filter(|&n| self.nodes[n].listed).collect()
    }

    /// Its Ready connection.
    pub(crate) fn ready(&self, n: N) -> Option<C> {
        let c = (n, self.nodes[n].dialled.checked_sub(1)?);
        let is_ready = self.connections.get(&c)?.phase == Phase::Ready;
        is_ready.then_some(c)
    }

    pub(crate) fn connection(&mut self, c: C) -> &mut Connection {
        self.connections.get_mut(&c).expect("it is there")
    }

    /// 4.6: until then no new requests.
    pub(crate) fn is_throttled(&self, n: N) -> bool {
        self.nodes[n].throttled_until > self.now
    }

    /// Requests of the node's own, or for any, that wait for a connection: the oldest first.
    pub(crate) fn queue(&self, of: Option<N>) -> Vec<R> {
        let waits = |r: &R| self.requests[*r].place == Place::Waiting && self.waits_for(*r) == of;
        (0..self.requests.len()).filter(waits).collect()
    }

    /// The node that the request is bound to, or stays with.
    pub(crate) fn waits_for(&self, r: R) -> Option<N> {
        let request = &self.requests[r];
        let stays_with = request.stay.filter(|&(n, _)| self.ready(n) == request.stay);
        request.asked.bound_to.or(stays_with.map(|(n, _)| n))
    }

    pub(crate) fn is_overdue(&self, r: R) -> bool {
        self.requests[r].deadline.is_some_and(|at| at <= self.now)
    }
}

impl Connection {
    pub(crate) fn new() -> Self {
        Self {
            phase: Phase::Connecting,
            ready_at: 0,
            limit: 0,
            next_serial: 0,
            frames: BTreeMap::new(),
            blocked: false,
            stalled_since: None,
            throttled_until: 0,
            replied: false,
            reply_resets_node: false,
            detached: 0,
            timeouts: 0,
            unhealthy: false,
            probe_at: None,
            next_probe: 5_000_000,
            probe_waits: None,
        }
    }

    pub(crate) fn is_established(&self) -> bool {
        matches!(self.phase, Phase::Ready | Phase::Draining(..))
    }

    /// 2.1: a detached connection is over when its last open request has ended; tombstones do not hold
    /// it, a partly written frame does.
    pub(crate) fn is_drained(&self) -> bool {
        let holds = |frame: &Frame| {
            frame.request.is_some() || (frame.state != Written::Emitted && !frame.accepted)
        };
        matches!(self.phase, Phase::Draining(..)) && !self.frames.values().any(holds)
    }
}
