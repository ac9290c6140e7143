//! A [`Step`]: a call into a cluster, as data, and all that came of it.

use alloc::vec::Vec;
use core::{fmt, net::SocketAddr, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    AttemptId, Cluster, ConnectionId, Deadline, Hint, Input, Instant, NodeSpec, Output, RefreshId,
    RequestId, RequestOptions, SetNodesError, ShutdownError, SubmitError,
};

/// A call into a [`Cluster`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Call {
    /// [`Cluster::new`]; to make this call again does nothing.
    Start,
    /// [`Cluster::set_nodes`].
    SetNodes(Vec<NodeSpec>),
    /// [`Cluster::set_fallback`].
    SetFallback(Vec<NodeSpec>),
    /// [`Cluster::submit`].
    Submit(RequestOptions),
    /// [`Cluster::cancel`].
    Cancel(RequestId),
    /// [`Cluster::shutdown`].
    Shutdown(Duration),
    /// [`Cluster::hint`].
    Hint(Hint),
    /// [`Cluster::handle_input`].
    Input(Input),
    /// [`Cluster::resolved`].
    Resolved(AttemptId, Vec<SocketAddr>),
    /// [`Cluster::refreshed`].
    Refreshed(RefreshId, Option<u64>, Vec<NodeSpec>),
    /// [`Cluster::writes_started`].
    WritesStarted(ConnectionId, Vec<u32>),
    /// [`Cluster::writes_done`].
    WritesDone(ConnectionId, Vec<u32>),
    /// [`Cluster::handle_timeout`].
    Timeout,
}

/// What a call returned.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Answer {
    /// It returns nothing.
    None,
    /// To [`Call::SetNodes`] and [`Call::SetFallback`].
    List(Result<(), SetNodesError>),
    /// To [`Call::Submit`].
    Submit(Result<RequestId, SubmitError>),
    /// To [`Call::Cancel`].
    Cancel(bool),
    /// To [`Call::Shutdown`].
    Shutdown(Result<(), ShutdownError>),
}

/// One call, and all that came of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Step {
    /// The time that counts: the latest that was ever handed in (SEMANTICS 1.2).
    pub now: Instant,
    /// What was called.
    pub call: Call,
    /// What it returned.
    pub answer: Answer,
    /// What was drained after it.
    pub outputs: Vec<Output>,
    /// The deadline after the drain.
    pub deadline: Option<Deadline>,
}

/// Looks at what happens to a cluster, step by step.
pub trait Observer: Send + Sync {
    /// Called after each step: when its outputs have been drained, or before the next call if they
    /// were not. All that came of the call is in the step, drained or not, and `cluster` is as the
    /// step left it. ([`Config::max_pending_events`](crate::Config::max_pending_events) bounds what
    /// waits of one step, not of several.)
    fn observe(&mut self, step: &Step, cluster: &Cluster);
}

impl Call {
    /// Makes the call.
    pub fn perform(&self, cluster: &mut Cluster, now: Instant) -> Answer {
        match self {
            Self::SetNodes(list) => return cluster.set_nodes(now, list).into(),
            Self::SetFallback(list) => return cluster.set_fallback(now, list).into(),
            Self::Submit(options) => return cluster.submit(now, *options).into(),
            Self::Cancel(request) => return cluster.cancel(now, *request).into(),
            Self::Shutdown(drain) => return cluster.shutdown(now, *drain).into(),
            Self::Start => {}
            Self::Hint(hint) => cluster.hint(now, *hint),
            Self::Input(input) => cluster.handle_input(now, *input),
            Self::Resolved(attempt, addresses) => cluster.resolved(now, *attempt, addresses),
            Self::Refreshed(refresh, version, list) => {
                cluster.refreshed(now, *refresh, *version, list);
            }
            Self::WritesStarted(connection, serials) => {
                cluster.writes_started(now, *connection, serials.iter().copied());
            }
            Self::WritesDone(connection, serials) => {
                cluster.writes_done(now, *connection, serials.iter().copied());
            }
            Self::Timeout => cluster.handle_timeout(now),
        }
        Answer::None
    }
}

impl Step {
    /// Of which only the call is known.
    pub(super) const fn begin(call: Call) -> Self {
        Self {
            now: Instant::ORIGIN,
            call,
            answer: Answer::None,
            outputs: Vec::new(),
            deadline: None,
        }
    }

    /// Makes the call, drains, and reads the deadline.
    pub fn take(cluster: &mut Cluster, now: Instant, call: Call) -> Self {
        let answer = call.perform(cluster, now);
        let outputs = core::iter::from_fn(|| cluster.poll_output()).collect();
        Self {
            now: cluster.now(),
            call,
            answer,
            outputs,
            deadline: cluster.poll_timeout(),
        }
    }

    /// Whether the core was given time, and nothing else.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        self.call == Call::Timeout
    }
}

impl From<()> for Answer {
    fn from((): ()) -> Self {
        Self::None
    }
}

impl From<bool> for Answer {
    fn from(answer: bool) -> Self {
        Self::Cancel(answer)
    }
}

impl From<Result<(), SetNodesError>> for Answer {
    fn from(answer: Result<(), SetNodesError>) -> Self {
        Self::List(answer)
    }
}

impl From<Result<RequestId, SubmitError>> for Answer {
    fn from(answer: Result<RequestId, SubmitError>) -> Self {
        Self::Submit(answer)
    }
}

impl From<Result<(), ShutdownError>> for Answer {
    fn from(answer: Result<(), ShutdownError>) -> Self {
        Self::Shutdown(answer)
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => f.write_str("start"),
            Self::SetNodes(list) => {
                f.write_str("set_nodes")?;
                write_list(f, list)
            }
            Self::SetFallback(list) => {
                f.write_str("set_fallback")?;
                write_list(f, list)
            }
            Self::Refreshed(refresh, version, list) => {
                write!(f, "refreshed {refresh} {version:?}")?;
                write_list(f, list)
            }
            Self::Submit(options) => write!(f, "submit {options:?}"),
            Self::Cancel(request) => write!(f, "cancel {request}"),
            Self::Hint(hint) => write!(f, "hint {hint:?}"),
            Self::Shutdown(drain) => write!(f, "shutdown {drain:?}"),
            Self::Input(input) => write!(f, "{input:?}"),
            Self::Resolved(attempt, addresses) => write!(f, "resolved {attempt} {addresses:?}"),
            Self::WritesStarted(connection, serials) => {
                write!(f, "writes started {connection} {serials:?}")
            }
            Self::WritesDone(connection, serials) => {
                write!(f, "writes done {connection} {serials:?}")
            }
            Self::Timeout => f.write_str("timeout"),
        }
    }
}

fn write_list(f: &mut fmt::Formatter<'_>, list: &[NodeSpec]) -> fmt::Result {
    list.iter().try_for_each(|spec| {
        write!(f, " {}", spec.endpoint)?;
        match &spec.key {
            Some(key) => write!(f, "={key}"),
            None => Ok(()),
        }
    })
}

/// The call on one line, each output on a line of its own below.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.now, self.call)?;
        if self.answer != Answer::None {
            write!(f, " = {:?}", self.answer)?;
        }
        for output in &self.outputs {
            write!(f, "\n{}     {}", self.now, output)?;
        }
        Ok(())
    }
}
