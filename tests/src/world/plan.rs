//! All that happens from outside, as data.

use std::{net::SocketAddr, time::Duration};

use redial::{Config, Hint, Instant, NodeSpec, RequestOptions};

use super::Fault;

/// A run: the cluster, the servers, what is done and what goes wrong, and when.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Of the cluster and of the world.
    pub seed: u64,
    /// Of the cluster.
    pub config: Config,
    /// How many servers there are, at [`address`] 0 and on.
    pub servers: usize,
    /// The first server list; empty for none. Default: all servers by address.
    pub list: Vec<NodeSpec>,
    /// What the application does.
    pub ops: Vec<(Instant, Op)>,
    /// What goes wrong, and what comes right again; at one time before what the application does.
    pub faults: Vec<(Instant, Fault)>,
    /// When the cluster is shut down.
    pub until: Instant,
    /// With this drain.
    pub drain: Duration,
}

/// Something that the application does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Op {
    /// Gives the cluster time, so that what it wants at the start is done.
    Nothing,
    /// Replaces the fallback list.
    SetFallback(Vec<NodeSpec>),
    /// Replaces the server list.
    SetNodes(Vec<NodeSpec>),
    /// Submits a request.
    Submit(RequestOptions),
    /// Submits a request for the node at this place of the list (modulo its length).
    SubmitOn(usize, RequestOptions),
    /// Cancels the request that was submitted so many before the last.
    Cancel(usize),
    /// Tells what it knows from elsewhere.
    Hint(Hint),
    /// Shuts down.
    Shutdown(Duration),
}

/// Where a server listens.
///
/// # Panics
///
/// If there are not so many.
#[must_use]
pub fn address(server: usize) -> SocketAddr {
    let host = u8::try_from(server + 1).expect("at most 255 servers");
    SocketAddr::from(([10, 0, 0, host], 9092))
}

impl Plan {
    /// So many servers that serve, and nothing to do.
    #[must_use]
    pub fn new(config: Config, servers: usize) -> Self {
        Self {
            seed: 0,
            config,
            servers,
            list: (0..servers)
                .map(|server| NodeSpec::new(address(server)))
                .collect(),
            ops: Vec::new(),
            faults: Vec::new(),
            until: Instant::from_millis(60_000),
            drain: Duration::from_secs(5),
        }
    }

    /// The same with another seed.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// The same with something to do.
    #[must_use]
    pub fn at(mut self, millis: u64, op: Op) -> Self {
        self.ops.push((Instant::from_millis(millis), op));
        self
    }

    /// The same with a request every `millis` milliseconds, so many of them.
    #[must_use]
    pub fn load(mut self, every_millis: u64, count: u64, options: RequestOptions) -> Self {
        for number in 0..count {
            self = self.at(number * every_millis, Op::Submit(options));
        }
        self
    }

    /// The same with a fault.
    #[must_use]
    pub fn fault(mut self, millis: u64, fault: Fault) -> Self {
        self.faults.push((Instant::from_millis(millis), fault));
        self
    }

    /// The same until then.
    #[must_use]
    pub fn until(self, millis: u64) -> Self {
        Self {
            until: Instant::from_millis(millis),
            ..self
        }
    }
}
