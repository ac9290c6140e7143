//! How far a search goes.

use redial::{Backoff, Config, Limit, SelectionPolicy, SetupTimeout, Warm};

use crate::script::{after, build, exact, ms};

/// What there is, and what may happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Nodes in a list, 1 or 2.
    pub nodes: u8,
    /// Requests in all, 1 to 3.
    pub requests: u8,
    /// Nodes are connected whether a request waits or not.
    pub warm: bool,
    /// What happens beside connects, refusals, handshakes that are done or fail, writes, replies, closes,
    /// timeouts and cancels, which have no bounds.
    pub faults: Vec<Fault>,
    /// At most so many states.
    pub states: usize,
}

/// What can be part of a search or not. Each happens once at any time, if nothing else is said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The server list is another.
    List,
    /// The network is another, or a node is said to be up.
    Hint,
    /// A peer wants no more requests for a while.
    Throttle,
    /// A peer says that it will close.
    Drain,
    /// A transport takes no more, until it does again.
    Block,
    /// A reply to what was never asked.
    Nonsense,
    /// Credentials are rejected.
    Reject,
    /// A frame cannot be written at all.
    Unwritable,
    /// The client is shut down.
    Shutdown,
    /// Requests that were never handed over grow too old for the queue before their deadline.
    Expire,
    /// Replies ask for another try, here or elsewhere; any number of times.
    Retry,
    /// A deadline is due, and other things are handled before it; any number of times.
    Late,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::List,
        Self::Hint,
        Self::Throttle,
        Self::Drain,
        Self::Block,
        Self::Nonsense,
        Self::Reject,
        Self::Unwritable,
        Self::Shutdown,
        Self::Expire,
        Self::Retry,
        Self::Late,
    ];
}

impl Bounds {
    /// So many nodes and requests, no faults, and 1,000,000 states: some 6 GB, if most are at one depth.
    #[must_use]
    pub const fn new(nodes: u8, requests: u8) -> Self {
        Self {
            nodes,
            requests,
            warm: false,
            faults: Vec::new(),
            states: 1_000_000,
        }
    }

    /// The same with these faults.
    #[must_use]
    pub fn with(self, faults: &[Fault]) -> Self {
        let faults = faults.to_vec();
        Self { faults, ..self }
    }

    /// Without chance, with few distinct times: all are multiples of 10 ms, so that few states differ in
    /// their phases alone.
    #[must_use]
    pub fn config(&self) -> Config {
        let config = exact()
            .selection(SelectionPolicy::RoundRobin)
            .warm(if self.warm { Warm::All } else { Warm::None })
            .connection_setup_timeout(SetupTimeout::Growing(Backoff::constant(ms(10))))
            .reconnect_backoff(Backoff::new(ms(10), ms(20), 2))
            .retry_backoff(Backoff::constant(ms(10)))
            .delivery_timeout(after(30))
            .request_timeout(after(10))
            // Longer than an attempt and its backoff, so that retries meet unfinished frames.
            .write_timeout(after(30))
            .queue_max_age(match self.faults.contains(&Fault::Expire) {
                true => after(20),
                false => Limit::Never,
            })
            .drain_timeout(ms(10))
            .unhealthy_after(None::<u32>)
            .max_attempts(2)
            .max_in_flight(2_u32)
            .rebootstrap(false);
        build(config)
    }
}
