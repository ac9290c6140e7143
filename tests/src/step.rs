//! Everything that can be done to a [`Cluster`], as data: a run is a list of calls with their
//! times, so that it can be kept, compared, shrunk and run again.

use std::{fmt, net::SocketAddr, time::Duration};

use redial::{
    AttemptId, Cluster, Deadline, Hint, Input, Instant, NodeSpec, Output, RefreshId, RequestId,
    RequestOptions, SetNodesError, ShutdownError, SubmitError,
};

/// A call into the core.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Call {
    /// [`Cluster::set_nodes`].
    SetNodes(Vec<NodeSpec>),
    /// [`Cluster::set_fallback`].
    SetFallback(Vec<NodeSpec>),
    /// [`Cluster::submit`].
    Submit(RequestOptions),
    /// [`Cluster::cancel`].
    Cancel(RequestId),
    /// [`Cluster::hint`].
    Hint(Hint),
    /// [`Cluster::shutdown`].
    Shutdown(Duration),
    /// [`Cluster::handle_input`].
    Input(Input),
    /// [`Cluster::resolved`].
    Resolved(AttemptId, Vec<SocketAddr>),
    /// [`Cluster::refreshed`].
    Refreshed(RefreshId, Option<u64>, Vec<NodeSpec>),
    /// [`Cluster::handle_timeout`].
    Timeout,
}

/// What a call returned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// It returns nothing.
    None,
    /// To [`Call::SetNodes`].
    SetNodes(Result<(), SetNodesError>),
    /// To [`Call::SetFallback`].
    SetFallback(Result<(), SetNodesError>),
    /// To [`Call::Submit`].
    Submit(Result<RequestId, SubmitError>),
    /// To [`Call::Cancel`].
    Cancel(bool),
    /// To [`Call::Shutdown`].
    Shutdown(Result<(), ShutdownError>),
}

/// One call, and all that came of it.
#[derive(Clone, PartialEq, Eq, Debug)]
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

impl Call {
    /// Makes the call.
    pub fn perform(&self, cluster: &mut Cluster, now: Instant) -> Answer {
        match self {
            Self::SetNodes(list) => Answer::SetNodes(cluster.set_nodes(now, list)),
            Self::SetFallback(list) => Answer::SetFallback(cluster.set_fallback(now, list)),
            Self::Submit(options) => Answer::Submit(cluster.submit(now, *options)),
            Self::Cancel(request) => Answer::Cancel(cluster.cancel(now, *request)),
            Self::Hint(hint) => {
                cluster.hint(now, *hint);
                Answer::None
            }
            Self::Shutdown(drain) => Answer::Shutdown(cluster.shutdown(now, *drain)),
            Self::Input(input) => {
                cluster.handle_input(now, *input);
                Answer::None
            }
            Self::Resolved(attempt, addresses) => {
                cluster.resolved(now, *attempt, addresses);
                Answer::None
            }
            Self::Refreshed(refresh, version, list) => {
                cluster.refreshed(now, *refresh, *version, list);
                Answer::None
            }
            Self::Timeout => {
                cluster.handle_timeout(now);
                Answer::None
            }
        }
    }
}

impl Step {
    /// Makes the call, drains, and reads the deadline.
    pub fn take(cluster: &mut Cluster, now: Instant, call: Call) -> Self {
        let answer = call.perform(cluster, now);
        let outputs = std::iter::from_fn(|| cluster.poll_output()).collect();
        Self {
            now: cluster.now(),
            call,
            answer,
            outputs,
            deadline: cluster.poll_timeout(),
        }
    }

    /// Whether the core was given time.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        self.call == Call::Timeout
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
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
            write!(f, "\n{}     {}", self.now, OutputLine(output))?;
        }
        Ok(())
    }
}

/// An output as one line of a trace.
struct OutputLine<'a>(&'a Output);

impl fmt::Display for OutputLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Output::Action(action) => write!(f, "{action:?}"),
            Output::Completion(completion) => {
                write!(
                    f,
                    "{} completed: {:?}",
                    completion.request, completion.result
                )
            }
            Output::Event(event) => write!(f, "event {event:?}"),
            Output::Terminated => f.write_str("terminated"),
        }
    }
}
