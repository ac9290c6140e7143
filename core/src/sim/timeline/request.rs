//! Requests.

use std::vec::Vec;

use crate::{Instant, Reason, RequestId};

/// A request, from submit to completion.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// Its id.
    pub id: RequestId,
    /// When it was submitted.
    pub submitted: Instant,
    /// To whom it was handed over, in order.
    pub handovers: Vec<Handover>,
    /// When and how it ended. `None`: not when the trace ends.
    pub end: Option<(Instant, Outcome)>,
}

/// A request at a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Handover {
    /// The node's lane.
    pub lane: usize,
    /// When it was given to the node's connection.
    pub at: Instant,
    /// When it was answered, given up, or lost with the connection; the end of the trace if it was
    /// not.
    pub until: Instant,
    /// What came of it.
    pub fate: Fate,
}

/// What came of a hand-over.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Fate {
    /// The request was completed by it.
    Answered,
    /// It was not: the request was tried again or failed.
    Lost,
    /// Nobody waits for it: the request was cancelled, the client shut down, or the trace is over.
    Dropped,
}

/// How a request ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Outcome {
    /// Well: by a reply, or sent where none is expected.
    Answered,
    /// With this error.
    Failed(Reason),
}

impl Request {
    /// When it was answered.
    #[must_use]
    pub fn answered(&self) -> Option<Instant> {
        match self.end {
            Some((at, Outcome::Answered)) => Some(at),
            _ => None,
        }
    }

    /// When and why it failed. A request that the application cancelled or that ended with the client
    /// has not failed.
    #[must_use]
    pub const fn failed(&self) -> Option<(Instant, Reason)> {
        match self.end {
            Some((_, Outcome::Failed(Reason::Cancelled | Reason::Closed))) => None,
            Some((at, Outcome::Failed(reason))) => Some((at, reason)),
            _ => None,
        }
    }
}
