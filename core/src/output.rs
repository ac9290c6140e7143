//! Commands, results and events: what the core tells the embedder.

use core::{fmt, net::SocketAddr, time::Duration};

use crate::{
    AttemptId, Cause, ConnectionId, Instant, NodeId, NodeState, RefreshId, RequestError, RequestId,
    SetNodesError, SourceId, Stage,
};

/// One item of the output stream. Drain with
/// [`Cluster::poll_output`](crate::Cluster::poll_output) until it returns `None`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Output {
    /// Do this.
    Action(Action),
    /// A request is complete.
    Completion(Completion),
    /// Something happened that may interest you; nothing need be done.
    Event(Event),
    /// The last output of all, after [`Cluster::shutdown`](crate::Cluster::shutdown).
    Terminated,
}

/// One line, as in a trace.
impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Action(action) => write!(f, "{action:?}"),
            Self::Completion(Completion { request, result }) => {
                write!(f, "{request} completed: {result:?}")
            }
            Self::Event(event) => write!(f, "event {event:?}"),
            Self::Terminated => f.write_str("terminated"),
        }
    }
}

/// A command to the embedder.
///
/// | action | answered by |
/// |---|---|
/// | `Resolve` | [`Cluster::resolved`](crate::Cluster::resolved) or `ResolveFailed` |
/// | `Connect` | `Connected` or `ConnectFailed` |
/// | `Handshake` | `HandshakeDone` or `HandshakeFailed` |
/// | `Write` | `WriteStarted`, `WriteDone`, or `Closed` |
/// | `Probe` | `Received`, or `Closed` |
/// | `Refresh`, `Discover` | [`Cluster::refreshed`](crate::Cluster::refreshed) or `RefreshFailed` |
/// | `Withdraw`, `Close`, `Abort`, `AbortResolve` | nothing |
/// | – (at any time) | `Closed`, `Received`, `Push`, `WriteBlocked`, `WriteProgress`, `Reply`, `Throttled`, `PeerDraining` |
///
/// An embedder that never answers does no harm: the setup deadline holds and the slot is freed, and a
/// refresh has its timeout.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Action {
    /// Look up the addresses of the node's name; [`Cluster::spec`](crate::Cluster::spec) has it.
    Resolve {
        /// To be named in the answer.
        attempt: AttemptId,
        /// Whose name.
        node: NodeId,
    },
    /// The look-up is not needed any more.
    AbortResolve {
        /// From the Resolve action.
        attempt: AttemptId,
    },
    /// Bring up a transport.
    Connect {
        /// To be named in every fact about it.
        connection: ConnectionId,
        /// The attempt that it belongs to.
        attempt: AttemptId,
        /// To whom.
        node: NodeId,
        /// Where; `None` for an opaque endpoint.
        address: Option<SocketAddr>,
    },
    /// Speak the protocol's handshake (TLS included). Given only if
    /// [`Config::handshake`](crate::Config::handshake) says that there is one.
    Handshake {
        /// The connection.
        connection: ConnectionId,
    },
    /// Write this request. Until `WriteStarted` its Completion, or a Withdraw, means: drop it.
    Write {
        /// The connection.
        connection: ConnectionId,
        /// What to write.
        request: RequestId,
        /// The correlation id: rises by one on a connection, from 0, and wraps.
        serial: u32,
    },
    /// Do not write this request; it will go elsewhere.
    Withdraw {
        /// From the Write action.
        connection: ConnectionId,
        /// From the Write action.
        request: RequestId,
        /// From the Write action.
        serial: u32,
    },
    /// Send the protocol's keepalive. Given only if [`Config::keepalive`](crate::Config::keepalive)
    /// says that there is one. Whatever byte comes next answers it: `Received`.
    Probe {
        /// The connection.
        connection: ConnectionId,
    },
    /// Close a connection that was up.
    Close {
        /// The connection.
        connection: ConnectionId,
    },
    /// Give up a connection that is being set up.
    Abort {
        /// The connection.
        connection: ConnectionId,
    },
    /// Ask this source for the server list. One at a time is under way for each source; an answer
    /// that comes after [`Config::refresh_timeout`](crate::Config::refresh_timeout) is ignored.
    Refresh {
        /// To be named in the answer.
        refresh: RefreshId,
        /// Whom to ask.
        source: SourceId,
    },
    /// Ask the cluster itself for its list, on this connection. It takes no slot; when the
    /// connection ends before the answer, the refresh has failed.
    Discover {
        /// To be named in the answer.
        refresh: RefreshId,
        /// Which source is answered by it.
        source: SourceId,
        /// The connection, which is Ready.
        connection: ConnectionId,
    },
}

/// The end of a request: every accepted request has exactly one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Completion {
    /// The request.
    pub request: RequestId,
    /// How it ended.
    pub result: Result<Success, RequestError>,
}

/// A request that ended well.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Success {
    /// With a reply, or with the transport's acceptance for a request that expects none.
    pub kind: SuccessKind,
    /// The node that answered or took it.
    pub node: NodeId,
    /// How often it was handed over.
    pub attempts: u32,
    /// Since `submit`.
    pub elapsed: Duration,
    /// The reply asked for a retry that was not possible: no attempt, time or token was left, or the
    /// request is bound to the node that sends it elsewhere. So the peer may not have done what it
    /// was asked for.
    pub retry_refused: bool,
    /// It was the retry budget that had no token.
    pub budget_exhausted: bool,
}

/// How a request ended well.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum SuccessKind {
    /// Its reply came.
    Reply,
    /// It expects no reply and was wholly accepted by the transport.
    Sent,
}

/// Something worth knowing. Kinds can be switched off with
/// [`Config::events`](crate::Config::events).
///
/// The names of nodes can be read by id until the next drain, even of a node that has left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Event {
    /// A node changed its state.
    StateChanged {
        /// Which.
        node: NodeId,
        /// From this state …
        from: NodeState,
        /// … to this one …
        to: NodeState,
        /// … and why, where something ended.
        cause: Option<Cause>,
    },
    /// An attempt began.
    AttemptStarted {
        /// Which node.
        node: NodeId,
        /// Its id.
        attempt: AttemptId,
        /// It is a hedge: other attempts are slow (SEMANTICS 3.7).
        hedge: bool,
    },
    /// An attempt ended.
    AttemptEnded {
        /// Which node.
        node: NodeId,
        /// Its id.
        attempt: AttemptId,
        /// The stage that it had reached; `Established` if it made the node Ready.
        stage: Stage,
        /// The address it used last.
        address: Option<SocketAddr>,
        /// From its start.
        duration: Duration,
        /// Why it ended, `None` if it made the node Ready.
        cause: Option<Cause>,
    },
    /// A transport came up. Pairs with exactly one `Disconnected`.
    Connected {
        /// Which node.
        node: NodeId,
        /// The connection.
        connection: ConnectionId,
        /// Its address.
        address: Option<SocketAddr>,
    },
    /// A transport that was up has ended.
    Disconnected {
        /// Which node.
        node: NodeId,
        /// The connection.
        connection: ConnectionId,
        /// Why.
        cause: Cause,
    },
    /// A request waits to be tried again.
    RetryScheduled {
        /// The request.
        request: RequestId,
        /// The node where it failed.
        node: NodeId,
        /// When it may be handed over again.
        at: Instant,
    },
    /// The server list was replaced by one that differs.
    ListChanged {
        /// Nodes that are new.
        added: u32,
        /// Nodes that have left.
        removed: u32,
        /// Nodes that stayed.
        kept: u32,
    },
    /// A list that differs was weighed under `Sticky` (SEMANTICS 7.7).
    Rebalanced {
        /// The client moves to another server; else it stays, or tries its own first.
        moves: bool,
    },
    /// A refresh of the server list has ended.
    Refreshed {
        /// Which source was asked.
        source: SourceId,
        /// What came of it.
        result: RefreshResult,
    },
    /// The peer throttles us.
    Throttled {
        /// Which node.
        node: NodeId,
        /// Until then.
        until: Instant,
    },
    /// Attempt timeouts in a row made a connection unhealthy (SEMANTICS 5.3).
    Unhealthy {
        /// Which node.
        node: NodeId,
    },
    /// A reply healed it.
    Healed {
        /// Which node.
        node: NodeId,
    },
    /// A submit was refused because the queue is full.
    QueueFull,
    /// The peer ended the session for good; the client ends.
    SessionExpired {
        /// Which node said so; `None` if nothing was heard for too long.
        node: Option<NodeId>,
    },
}

/// What came of a refresh of the server list (SEMANTICS 7.3 to 7.5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum RefreshResult {
    /// The list differs now; for a fallback source, its own.
    Changed,
    /// The source gave a list that changes nothing.
    Unchanged,
    /// The answer's version is not newer than the source's last one: ignored.
    Older,
    /// The answer has no node: ignored, a failure.
    Empty,
    /// The answer makes no sense: ignored, a failure.
    Malformed(SetNodesError),
    /// The source could not be asked, or the connection ended on which the cluster was asked.
    Failed,
    /// No answer came in time.
    TimedOut,
}

impl RefreshResult {
    /// Whether it counts as failed, and is tried again while no node is Ready.
    #[must_use]
    pub const fn is_failure(self) -> bool {
        !matches!(self, Self::Changed | Self::Unchanged | Self::Older)
    }
}

/// When to call [`Cluster::handle_timeout`](crate::Cluster::handle_timeout) again, and why.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Deadline {
    /// The point in time.
    pub at: Instant,
    /// What is due then.
    pub reason: DeadlineReason,
}

/// What a deadline is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum DeadlineReason {
    /// Outputs wait to be drained.
    Outputs,
    /// An attempt must be Ready (or its transport up, with a handshake timeout).
    Setup(NodeId),
    /// A handshake must be done.
    Handshake(NodeId),
    /// The next address of a race is to be dialled.
    NextAddress(NodeId),
    /// A wanted node may be dialled again.
    NextAttempt(NodeId),
    /// A request for any node waits, or a discovery that waits like one: a node may be dialled for
    /// it, as first or as hedge.
    AnyRequest,
    /// A throttle ends.
    ThrottleEnd(NodeId),
    /// A request's own deadline.
    Request,
    /// The queue's age limit.
    QueueAge,
    /// A reply must be there.
    Attempt(ConnectionId),
    /// A request may be tried again.
    Retry(RequestId),
    /// The transport must accept bytes.
    WriteStall(ConnectionId),
    /// A connection reaches its idle or age limit.
    Limit,
    /// A keepalive is to be sent, or its answer to be there.
    Keepalive(ConnectionId),
    /// An unhealthy connection is to be probed.
    Probe(ConnectionId),
    /// The session ends unless something is heard.
    Session,
    /// A move that keeps its old connection is given up.
    MoveEnds,
    /// This source is to be asked for the server list.
    Refresh(SourceId),
    /// This source's answer must be there.
    RefreshTimeout(SourceId),
    /// The fallback nodes are to join the list.
    Rebootstrap,
    /// A detached connection is closed.
    Drain(ConnectionId),
    /// The shutdown's drain ends.
    Shutdown,
}

#[cfg(test)]
mod tests {
    use alloc::{string::ToString, vec::Vec};

    use core::time::Duration;

    use crate::{Cluster, Config, Instant, RequestOptions};

    #[test]
    fn an_output_is_a_line_that_begins_with_what_it_is() {
        let now = Instant::ORIGIN;
        let mut cluster = Cluster::new(Config::default(), 1, now);
        cluster.submit(now, RequestOptions::new()).unwrap();
        cluster
            .set_nodes(now, &["10.0.0.1:1".parse().unwrap()])
            .unwrap();
        cluster.shutdown(now, Duration::ZERO).unwrap();
        let lines: Vec<_> = core::iter::from_fn(|| cluster.poll_output())
            .map(|output| output.to_string())
            .collect();
        for begins in [
            "Connect { connection: c0, attempt: a0",
            "r0 completed: Err(RequestError { reason: Closed",
            "event ListChanged { added: 1",
            "terminated",
        ] {
            let found = lines.iter().filter(|line| line.starts_with(begins)).count();
            assert_eq!(found, 1, "{begins}: {lines:?}");
        }
    }
}
