//! States that a search must come by, lest it shows nothing.

use std::{collections::BTreeMap, fmt};

use redial::{Certainty, Cluster, Event, NodeState, NodeView, Output, Reason, record::Step};

/// Something that should happen in some run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Goal {
    /// A request was answered.
    Answered,
    /// One was answered that had been handed over before.
    AnsweredAtAnotherTry,
    /// A node was Ready after a failure.
    Recovered,
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
    pub const ALL: [Self; 17] = [
        Self::Answered,
        Self::AnsweredAtAnotherTry,
        Self::Recovered,
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

    /// Those that were not reached.
    pub fn missed(&self) -> impl Iterator<Item = Goal> {
        let missed = |goal: &Goal| !self.0.contains_key(goal);
        Goal::ALL.into_iter().filter(missed)
    }

    pub(super) fn look(&mut self, step: &Step, cluster: &Cluster, depth: usize) {
        for output in &step.outputs {
            if let Some(goal) = goal(output) {
                self.0.entry(goal).or_insert(depth);
            }
            if let Output::Completion(completion) = output
                && completion.result.is_ok_and(|success| success.attempts > 1)
            {
                self.0.entry(Goal::AnsweredAtAnotherTry).or_insert(depth);
            }
            if let Output::Event(Event::StateChanged {
                node,
                to: NodeState::Ready,
                ..
            }) = output
                && cluster.node(*node).is_some_and(|view| view.failures > 0)
            {
                self.0.entry(Goal::Recovered).or_insert(depth);
            }
        }
        let stats = cluster.stats();
        if stats.tombstones > 0 {
            self.0.entry(Goal::Tombstone).or_insert(depth);
        }
        // Here a node has one connection from its dial on; what is more is detached.
        let attached = |node: &NodeView<'_>| node.state.is_setup() || node.connection.is_some();
        if stats.connections > cluster.nodes().filter(attached).count() && stats.in_flight > 0 {
            self.0.entry(Goal::Drained).or_insert(depth);
        }
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
