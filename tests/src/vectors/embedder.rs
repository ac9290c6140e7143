//! A cluster, and what it asked of its nodes.

use std::{
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

use redial::{
    Action, Backoff, Cluster, Config, ConnectionId, Input, Instant, NodeId, NodeSpec, NodeView,
    Output,
    record::{Call, Step},
};

/// No vector has so many deadlines before a step; one that has is a mistake, not to be waited for.
const MAX_ROUNDS: u32 = 100_000;

/// A timeout that is never reached: ten years.
pub(super) const LONG: Duration = Duration::from_secs(10 * 365 * 86_400);

/// Drives a cluster of nodes with IP addresses; nodes are named by their place in the list.
pub(super) struct Embedder {
    cluster: Cluster,
    nodes: Vec<NodeId>,
    /// Every Connect, in order.
    pub(super) dials: Vec<Dial>,
    /// Every Write, in order.
    pub(super) writes: Vec<Write>,
}

pub(super) struct Dial {
    pub(super) at: Instant,
    pub(super) node: usize,
    connection: ConnectionId,
}

pub(super) struct Write {
    pub(super) node: usize,
    connection: ConnectionId,
    serial: u32,
}

impl Embedder {
    pub(super) fn new(config: Config, nodes: usize, now: Instant) -> Result<Self, String> {
        let list: Vec<NodeSpec> = (1..=nodes as u32)
            .map(|host| {
                let ip = Ipv4Addr::from_bits(0x0a00_0000 + host);
                NodeSpec::new(SocketAddr::from((ip, 9092)))
            })
            .collect();
        let mut cluster = Cluster::new(config, 0, now);
        cluster
            .set_nodes(now, &list)
            .map_err(|error| format!("set_nodes: {error}"))?;
        let nodes = list
            .iter()
            .map(|spec| {
                cluster
                    .find(&spec.endpoint)
                    .ok_or(format!("{} is not there", spec.endpoint))
            })
            .collect::<Result<_, _>>()?;
        let mut embedder = Self {
            cluster,
            nodes,
            dials: Vec::new(),
            writes: Vec::new(),
        };
        embedder.call(now, Call::Timeout);
        Ok(embedder)
    }

    pub(super) fn call(&mut self, now: Instant, call: Call) -> Step {
        let step = Step::take(&mut self.cluster, now, call);
        for output in &step.outputs {
            match *output {
                Output::Action(Action::Connect {
                    connection, node, ..
                }) => self.dials.push(Dial {
                    at: step.now,
                    node: self.place(node),
                    connection,
                }),
                Output::Action(Action::Write {
                    connection, serial, ..
                }) => {
                    let dial = self.dials.iter().find(|dial| dial.connection == connection);
                    self.writes.push(Write {
                        node: dial
                            .expect("a Write goes to a connection that was dialled")
                            .node,
                        connection,
                        serial,
                    });
                }
                _ => {}
            }
        }
        step
    }

    /// Handles every deadline before `to` at its own time.
    pub(super) fn advance(&mut self, to: Instant) -> Result<(), String> {
        let mut rounds = 0;
        while let Some(due) = self.cluster.poll_timeout().filter(|due| due.at < to) {
            rounds += 1;
            if rounds > MAX_ROUNDS {
                return Err(format!("over {MAX_ROUNDS} deadlines before {to}"));
            }
            let next = self.call(due.at, Call::Timeout).deadline;
            if next.is_some_and(|next| next.at <= due.at) {
                return Err(format!(
                    "expected a deadline after {}, came {next:?}",
                    due.at
                ));
            }
        }
        Ok(())
    }

    /// Gives a fact about the node's last connection.
    pub(super) fn fact(
        &mut self,
        now: Instant,
        node: usize,
        fact: impl Fn(ConnectionId) -> Input,
    ) -> Result<(), String> {
        let dial = self.dials.iter().rev().find(|dial| dial.node == node);
        let connection = dial
            .ok_or(format!("node {node} was not dialled"))?
            .connection;
        self.call(now, Call::Input(fact(connection)));
        Ok(())
    }

    /// The transport takes the whole frame of this Write.
    pub(super) fn accept(&mut self, now: Instant, write: usize) {
        let Write {
            connection, serial, ..
        } = self.writes[write];
        self.call(now, Call::Input(Input::WriteStarted { connection, serial }));
        self.call(now, Call::Input(Input::WriteDone { connection, serial }));
    }

    pub(super) fn id(&self, node: usize) -> NodeId {
        self.nodes[node]
    }

    pub(super) fn view(&self, node: usize) -> NodeView<'_> {
        self.cluster
            .node(self.nodes[node])
            .expect("the list never changes")
    }

    fn place(&self, node: NodeId) -> usize {
        let place = self.nodes.iter().position(|id| *id == node);
        place.expect("only nodes of the list are dialled")
    }
}

/// A backoff that never grows beyond reach.
pub(super) const fn long() -> Backoff {
    Backoff::constant(LONG)
}
