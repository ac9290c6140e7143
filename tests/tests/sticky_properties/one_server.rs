//! What holds for a client under `Sticky` after each call.

use std::collections::{BTreeMap, BTreeSet};

use redial::{
    Action, Cluster, ConnectionId, Deadline, Endpoint, Event, Instant, NodeId, NodeState, Output,
    record::{Answer, Call, Step},
    sim::{Checker, Violation},
};

/// It has one server, which is listed.
pub(crate) struct OneServer {
    /// Requests are bound to nodes too, for which others may be Ready.
    bound: bool,
    listed: BTreeSet<Endpoint>,
    nodes: BTreeMap<NodeId, Endpoint>,
    connections: BTreeMap<ConnectionId, NodeId>,
    /// Until when each server rests, whether it is listed or not.
    rests: BTreeMap<Endpoint, Option<Instant>>,
    deadline: Option<Deadline>,
}

impl OneServer {
    pub(crate) fn new(bound: bool) -> Self {
        Self {
            bound,
            listed: BTreeSet::new(),
            nodes: BTreeMap::new(),
            connections: BTreeMap::new(),
            rests: BTreeMap::new(),
            deadline: None,
        }
    }

    /// 7.7: an update to an equal set is no update.
    fn take_list(&mut self, step: &Step) -> Result<(), Violation> {
        if let (Call::SetNodes(list), Answer::List(Ok(()))) = (&step.call, step.answer) {
            let listed = list.iter().map(|spec| spec.endpoint.clone()).collect();
            let is_equal = listed == self.listed;
            self.listed = listed;
            // What was due anyway may happen with it.
            let is_due = |deadline: Deadline| deadline.at <= step.now;
            let may_act = !is_equal || self.deadline.is_some_and(is_due);
            let does_nothing = step.outputs.is_empty() && step.deadline == self.deadline;
            ensure(may_act || does_nothing, || {
                "an equal list does something".into()
            })?;
        }
        Ok(())
    }

    fn is_listed(&self, connection: ConnectionId) -> bool {
        self.listed
            .contains(&self.nodes[&self.connections[&connection]])
    }

    fn take(&mut self, output: &Output, now: Instant) -> Result<(), Violation> {
        match *output {
            Output::Action(Action::Connect {
                connection, node, ..
            }) => {
                self.connections.insert(connection, node);
                ensure(self.is_listed(connection), || {
                    format!("{node} is dialled and not listed")
                })
            }
            Output::Action(Action::Write { connection, .. }) => {
                ensure(self.is_listed(connection), || {
                    format!("{connection} is used and not listed")
                })
            }
            Output::Event(Event::AttemptStarted { node, .. }) => {
                let rest = self.rests.get(&self.nodes[&node]).copied().flatten();
                ensure(rest.is_none_or(|rest| rest <= now), || {
                    format!("{node} is dialled and rests until {rest:?}")
                })
            }
            _ => Ok(()),
        }
    }
}

impl Checker for OneServer {
    fn after_step(&mut self, step: &Step, cluster: &Cluster) -> Result<(), Violation> {
        let views: Vec<_> = cluster.nodes().collect();
        for view in &views {
            self.nodes.insert(view.id, view.spec.endpoint.clone());
        }
        self.take_list(step)?;
        for output in &step.outputs {
            self.take(output, step.now)?;
        }
        let count = |state| views.iter().filter(|view| view.state == state).count();
        for state in [NodeState::Ready, NodeState::Handshaking] {
            ensure(self.bound || count(state) <= 1, || {
                format!("two nodes are {state}")
            })?;
        }
        self.connections
            .retain(|connection, _| cluster.connection(*connection).is_some());
        for connection in self.connections.keys() {
            let view = cluster.connection(*connection);
            let drains = view.is_none_or(|view| view.draining);
            ensure(drains || self.is_listed(*connection), || {
                format!("{connection} stays and is not listed")
            })?;
        }
        let wants = !self.listed.is_empty() && !cluster.is_terminated();
        let goes_on = count(NodeState::Ready) > 0 || step.deadline.is_some();
        ensure(!wants || goes_on, || "nothing will happen".into())?;
        for view in &views {
            self.rests
                .insert(view.spec.endpoint.clone(), view.next_attempt);
        }
        self.deadline = step.deadline;
        Ok(())
    }
}

fn ensure(holds: bool, what: impl FnOnce() -> String) -> Result<(), Violation> {
    match holds {
        true => Ok(()),
        false => Err(Violation {
            rule: "a client has one server, which is listed (SEMANTICS 7.7, 7.8)",
            what: what(),
        }),
    }
}
