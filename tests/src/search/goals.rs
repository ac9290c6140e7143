//! States that a search must come by, lest it shows nothing.

use std::{collections::BTreeMap, fmt};

use redial::{Certainty, Cluster, Event, NodeState, NodeView, Output, Reason, record::Step};

use super::{Bounds, Fault};

/// Something that should happen in some run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Goal {
    /// A request was answered.
    Answered,
    /// One was answered that had been handed over before.
    AnsweredAtAnotherTry,
    /// A node was Ready after a failure.
    Recovered,
    /// A request was answered by such a node.
    AnsweredAfterRecovery,
    /// A request timed out that may have been written.
    TimedOutWritten,
    /// One that was never written.
    TimedOut,
    /// One was too long in the queue.
    Expired,
    /// One lost its connection.
    Disconnected,
    /// Its credentials were rejected.
    AuthenticationFailed,
    /// The peer talked nonsense.
    Protocol,
    /// Its node left.
    NodeRemoved,
    /// There was no node.
    NoNodes,
    /// It was cancelled.
    Cancelled,
    /// The client was closed.
    Closed,
    /// It could not be written.
    Rejected,
    /// A frame given up kept its slot.
    Tombstone,
    /// A connection was detached and had requests.
    Drained,
    /// The client came to its end.
    Terminated,
}

impl Goal {
    /// All of them.
    pub const ALL: [Self; 18] = [
        Self::Answered,
        Self::AnsweredAtAnotherTry,
        Self::Recovered,
        Self::AnsweredAfterRecovery,
        Self::TimedOutWritten,
        Self::TimedOut,
        Self::Expired,
        Self::Disconnected,
        Self::AuthenticationFailed,
        Self::Protocol,
        Self::NodeRemoved,
        Self::NoNodes,
        Self::Cancelled,
        Self::Closed,
        Self::Rejected,
        Self::Tombstone,
        Self::Drained,
        Self::Terminated,
    ];

    /// Whether it can be reached within these bounds, if that of states is not in the way.
    #[must_use]
    pub fn is_within(self, bounds: &Bounds) -> bool {
        let any = |faults: &[Fault]| faults.iter().any(|fault| bounds.has(*fault));
        match self {
            Self::Expired => any(&[Fault::Expire]),
            // Before any deadline.
            Self::NoNodes => !any(&[Fault::Expire]),
            // Of all nodes, or of the node that a request is bound to: as the second is.
            Self::AuthenticationFailed => any(&[Fault::Reject]) && bounds.nodes <= bounds.requests,
            Self::Protocol => any(&[Fault::Nonsense]),
            Self::NodeRemoved => any(&[Fault::List]) && bounds.requests > 1,
            Self::Cancelled => any(&[Fault::Cancel]),
            Self::Closed | Self::Terminated => any(&[Fault::Shutdown]),
            Self::Rejected => any(&[Fault::Unwritable]),
            Self::Drained => any(&[Fault::List, Fault::Drain]),
            _ => true,
        }
    }
}

/// Which goals were reached, and after how many moves first.
#[derive(Clone, Debug, Default)]
pub struct Goals(BTreeMap<Goal, usize>);

impl Goals {
    /// After how many moves, if ever.
    #[must_use]
    pub fn depth(&self, goal: Goal) -> Option<usize> {
        self.0.get(&goal).copied()
    }

    /// Those that were not reached, of those within these bounds.
    pub fn missed(&self, bounds: &Bounds) -> impl Iterator<Item = Goal> {
        let missed = |goal: &Goal| goal.is_within(bounds) && !self.0.contains_key(goal);
        Goal::ALL.into_iter().filter(missed)
    }

    pub(super) fn look(&mut self, step: &Step, before: &Cluster, after: &Cluster, depth: usize) {
        let failures = |node| before.node(node).map_or(0, |view| view.failures);
        for output in &step.outputs {
            if let Some(goal) = goal(output) {
                self.reach(goal, depth);
            }
            if let Output::Completion(completion) = output
                && let Ok(success) = completion.result
            {
                if success.attempts > 1 {
                    self.reach(Goal::AnsweredAtAnotherTry, depth);
                }
                if failures(success.node) > 0 {
                    self.reach(Goal::AnsweredAfterRecovery, depth);
                }
            }
            if let Output::Event(Event::StateChanged {
                node,
                to: NodeState::Ready,
                ..
            }) = output
                && failures(*node) > 0
            {
                self.reach(Goal::Recovered, depth);
            }
        }
        let stats = after.stats();
        if stats.tombstones > 0 {
            self.reach(Goal::Tombstone, depth);
        }
        // Here a node has one connection from its dial on; what is more is detached.
        let attached = |node: &NodeView<'_>| node.state.is_setup() || node.connection.is_some();
        if stats.connections > after.nodes().filter(attached).count() && stats.in_flight > 0 {
            self.reach(Goal::Drained, depth);
        }
    }

    fn reach(&mut self, goal: Goal, depth: usize) {
        let first = self.0.entry(goal).or_insert(depth);
        *first = depth.min(*first);
    }
}

fn goal(output: &Output) -> Option<Goal> {
    let completion = match output {
        Output::Completion(completion) => completion,
        Output::Terminated => return Some(Goal::Terminated),
        _ => return None,
    };
    let error = match completion.result {
        Ok(_) => return Some(Goal::Answered),
        Err(error) => error,
    };
    Some(match error.reason {
        Reason::Timeout if error.certainty == Certainty::NeverWritten => Goal::TimedOut,
        Reason::Timeout => Goal::TimedOutWritten,
        Reason::Expired => Goal::Expired,
        Reason::Disconnected(_) => Goal::Disconnected,
        Reason::AuthenticationFailed => Goal::AuthenticationFailed,
        Reason::Protocol => Goal::Protocol,
        Reason::NodeRemoved => Goal::NodeRemoved,
        Reason::NoNodes => Goal::NoNodes,
        Reason::Cancelled => Goal::Cancelled,
        Reason::Closed => Goal::Closed,
        Reason::Rejected => Goal::Rejected,
        _ => return None,
    })
}

impl fmt::Display for Goals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for goal in Goal::ALL {
            match self.depth(goal) {
                Some(depth) => writeln!(f, "  {goal:?}: after {depth} moves")?,
                None => writeln!(f, "  {goal:?}: never")?,
            }
        }
        Ok(())
    }
}
