//! Everything that can be seen, as it was at one moment (SEMANTICS 10.2).

use alloc::vec::Vec;

use crate::{
    AttemptId, Cluster, ConnectionId, Instant, LastFailure, NodeId, NodeSpec, NodeState, NodeView,
    Stats, Why,
};

/// A cluster as it was at one moment: counters, gauges and all nodes. It shares nothing with the
/// cluster, and the feature `serde` writes it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Snapshot {
    /// The latest `now` that the cluster had been given.
    pub now: Instant,
    /// Counters and gauges.
    pub stats: Stats,
    /// All nodes of the list, by rising index.
    pub nodes: Vec<NodeSnapshot>,
}

/// A node as it was at one moment: a [`NodeView`] of its own, with what
/// [`Cluster::explain_node`] says.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct NodeSnapshot {
    /// Its id.
    pub id: NodeId,
    /// Its entry of the server list.
    pub spec: NodeSpec,
    /// What it is doing.
    pub state: NodeState,
    /// The attempt under way.
    pub attempt: Option<AttemptId>,
    /// Its connection, from transport up to the end of Ready.
    pub connection: Option<ConnectionId>,
    /// Consecutive failures.
    pub failures: u32,
    /// The last failure since the node was last Ready.
    pub last_failure: Option<LastFailure>,
    /// Before this it is not dialled.
    pub next_attempt: Option<Instant>,
    /// By when the attempt under way must be Ready.
    pub setup_deadline: Option<Instant>,
    /// When it was last tried or lost.
    pub last_attempt: Option<Instant>,
    /// The end of a throttle that is not over.
    pub throttled_until: Option<Instant>,
    /// Slots taken on its connection, tombstones included.
    pub in_flight: u32,
    /// Requests bound to it that wait.
    pub queued: u32,
    /// Attempt timeouts in a row have made its connection unhealthy.
    pub unhealthy: bool,
    /// What selection made of it, for a request that names no node.
    pub why: Why,
}

impl Cluster {
    /// Everything that can be seen now. Visits all nodes.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            now: self.now,
            stats: self.stats(),
            nodes: self.nodes().map(|view| self.keep(view)).collect(),
        }
    }

    /// A node as it is now, to keep. `None` if it is not in the list.
    #[must_use]
    pub fn node_snapshot(&self, node: NodeId) -> Option<NodeSnapshot> {
        self.node(node).map(|view| self.keep(view))
    }

    fn keep(&self, view: NodeView<'_>) -> NodeSnapshot {
        NodeSnapshot {
            id: view.id,
            spec: view.spec.clone(),
            state: view.state,
            attempt: view.attempt,
            connection: view.connection,
            failures: view.failures,
            last_failure: view.last_failure,
            next_attempt: view.next_attempt,
            setup_deadline: view.setup_deadline,
            last_attempt: view.last_attempt,
            throttled_until: view.throttled_until,
            in_flight: view.in_flight,
            queued: view.queued,
            unhealthy: view.unhealthy,
            why: self.why(view.id.index),
        }
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;
    use crate::{Action, Config, ConnectError, Input, Output, RequestOptions};

    /// Two nodes: one refused us, the other is being set up.
    fn cluster() -> Cluster {
        let now = Instant::ORIGIN;
        let mut cluster = Cluster::new(Config::kafka(), 1, now);
        let list = ["10.0.0.1:1", "10.0.0.2:1"].map(|text| text.parse().unwrap());
        cluster.set_nodes(now, &list).unwrap();
        cluster.submit(now, RequestOptions::new()).unwrap();
        let mut refused = false;
        cluster.drive(now, |cluster, output| {
            if let Output::Action(Action::Connect { connection, .. }) = output
                && !refused
            {
                refused = true;
                let error = ConnectError::Refused;
                cluster.handle_input(now, Input::ConnectFailed { connection, error });
            }
        });
        cluster
    }

    #[test]
    fn a_snapshot_says_of_each_node_what_the_getters_say() {
        let cluster = cluster();
        let snapshot = cluster.snapshot();
        assert_eq!(
            (snapshot.now, snapshot.stats),
            (cluster.now(), cluster.stats())
        );
        assert_eq!(snapshot.nodes.len(), 2);
        for node in &snapshot.nodes {
            let explained = cluster.explain_node(node.id).unwrap();
            let view = cluster.node(node.id).unwrap();
            assert_eq!(node.why, explained.why);
            assert_eq!((node.state, &node.spec), (explained.state, view.spec));
            assert_eq!(node.last_failure, explained.last_failure);
            assert_eq!(cluster.node_snapshot(node.id).as_ref(), Some(node));
        }
        let has = |is: fn(&Why) -> bool| snapshot.nodes.iter().any(|node| is(&node.why));
        assert!(has(|why| matches!(why, Why::Resting(_))));
        assert!(has(|why| matches!(why, Why::InSetup(Some(_)))));
    }

    #[test]
    fn a_snapshot_stays_as_it_was() {
        let mut cluster = cluster();
        let (before, same) = (cluster.snapshot(), cluster.snapshot());
        cluster.handle_timeout(Instant::ORIGIN + Duration::from_secs(60));
        assert_eq!(before, same);
        assert_ne!(before, cluster.snapshot());
    }

    #[test]
    fn there_is_no_snapshot_of_a_node_that_left() {
        let mut cluster = cluster();
        let left = cluster.nodes().next().unwrap().id;
        let list = ["10.0.0.3:1".parse().unwrap()];
        cluster.set_nodes(Instant::ORIGIN, &list).unwrap();
        assert_eq!(cluster.node_snapshot(left), None);
    }
}
