//! The request cycle: submit, pick, write, reply, complete, with all timeouts armed.

use std::{collections::VecDeque, time::Duration};

use redial::{
    Action, Cluster, Config, ConnectionId, Input, Instant, Limits, NodeSpec, Output, ReplyTo,
    RequestOptions, Verdict, Warm,
};

/// A cluster whose nodes are all Ready, and so many requests in flight.
pub(crate) struct Cycle {
    pub(crate) cluster: Cluster,
    pub(crate) now: Instant,
    in_flight: VecDeque<(ConnectionId, u32)>,
    completed: u64,
}

/// The addresses of so many nodes.
pub(crate) fn specs(nodes: usize) -> Vec<NodeSpec> {
    let spec = |n: usize| {
        let address = format!("10.{}.{}.{}:9092", n >> 16, n >> 8 & 255, n & 255);
        address.parse().expect("an address")
    };
    (0..nodes).map(spec).collect()
}

/// Every node is wanted from the start, and room for whatever is in flight.
pub(crate) fn config() -> Config {
    let builder = Config::builder().warm(Warm::All).max_in_flight(65_536_u32);
    builder.build().expect("it is valid")
}

impl Cycle {
    /// All nodes are Ready; nothing is in flight.
    pub(crate) fn new(nodes: usize) -> Self {
        let mut cycle = Self {
            cluster: Cluster::new(config(), 1, Instant::ORIGIN),
            now: Instant::ORIGIN,
            in_flight: VecDeque::new(),
            completed: 0,
        };
        let list = specs(nodes);
        cycle
            .cluster
            .set_nodes(cycle.now, &list)
            .expect("a valid list");
        cycle.connect_all();
        assert_eq!(cycle.cluster.stats().nodes_ready, nodes);
        cycle
    }

    fn connect_all(&mut self) {
        let now = self.now;
        self.cluster.drive(now, |cluster, output| match output {
            Output::Action(Action::Connect { connection, .. }) => {
                cluster.handle_input(now, Input::Connected { connection });
            }
            Output::Action(Action::Handshake { connection }) => {
                let limits = Limits::NONE;
                cluster.handle_input(now, Input::HandshakeDone { connection, limits });
            }
            _ => {}
        });
    }

    /// The same with so many requests in flight, after every node has been used.
    pub(crate) fn with_in_flight(mut self, requests: usize) -> Self {
        self.in_flight.reserve(requests + 1);
        let nodes = self.cluster.stats().nodes;
        (0..nodes).for_each(|_| self.send());
        (0..nodes).for_each(|_| self.answer());
        while self.in_flight.len() < requests {
            self.send();
        }
        self
    }

    /// So many requests are sent, and as many answered, the oldest first.
    pub(crate) fn run(&mut self, cycles: u64) {
        let before = self.completed;
        for _ in 0..cycles {
            self.send();
            self.answer();
        }
        assert_eq!(self.completed - before, cycles);
    }

    /// Submits a request and writes it.
    pub(crate) fn send(&mut self) {
        self.submit();
        let &newest = self.in_flight.back().expect("it was picked a node");
        self.write(newest);
        assert!(self.cluster.poll_timeout().is_some());
    }

    /// Submits a request, which is picked a node.
    pub(crate) fn submit(&mut self) {
        self.now += Duration::from_micros(1);
        let options = RequestOptions::new();
        self.cluster.submit(self.now, options).expect("accepted");
        while let Some(output) = self.cluster.poll_output() {
            if let Output::Action(Action::Write {
                connection, serial, ..
            }) = output
            {
                self.in_flight.push_back((connection, serial));
            }
        }
    }

    /// The transport takes the whole frame at once, so one fact tells all.
    fn write(&mut self, (connection, serial): (ConnectionId, u32)) {
        let fact = Input::WriteDone { connection, serial };
        self.cluster.handle_input(self.now, fact);
    }

    /// How many bytes the list of what is in flight takes, which is no part of the core.
    pub(crate) fn bytes_of_its_own(&self) -> usize {
        self.in_flight.capacity() * size_of::<(ConnectionId, u32)>()
    }

    /// Writes the oldest request, and answers it.
    pub(crate) fn write_and_answer(&mut self) {
        let &oldest = self.in_flight.front().expect("one is in flight");
        self.write(oldest);
        self.answer();
    }

    /// Answers the oldest request.
    pub(crate) fn answer(&mut self) {
        let (connection, serial) = self.in_flight.pop_front().expect("one is in flight");
        let reply = Input::Reply {
            connection,
            to: ReplyTo::Serial(serial),
            verdict: Verdict::DONE,
        };
        self.cluster.handle_input(self.now, reply);
        while let Some(output) = self.cluster.poll_output() {
            self.completed += u64::from(matches!(output, Output::Completion(_)));
        }
        let _ = self.cluster.poll_timeout();
    }
}
