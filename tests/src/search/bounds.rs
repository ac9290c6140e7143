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
    /// What happens any number of times beside what always does: the first list, submits, connects,
    /// handshakes, writes, replies and timeouts.
    pub free: Vec<Fault>,
    /// What happens too, but on one path not more often than `budget`, counted together.
    pub faults: Vec<Fault>,
    /// How often.
    pub budget: u8,
    /// At most so many states.
    pub states: usize,
}

/// What disturbs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// A transport cannot be brought up.
    Refuse,
    /// A peer breaks a handshake off.
    Malformed,
    /// A peer closes.
    Close,
    /// A request is cancelled.
    Cancel,
    /// A fact about a connection that has ended.
    Stale,
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
    /// The client is shut down, once.
    Shutdown,
    /// Requests that were never handed over grow too old for the queue before their deadline. This is a
    /// setting: it takes nothing of the budget.
    Expire,
    /// A reply asks for another try, here or elsewhere.
    Retry,
    /// A deadline is due, and something else is handled before it.
    Late,
}

impl Fault {
    /// What happens every day.
    pub const EVERYDAY: [Self; 5] = [
        Self::Refuse,
        Self::Malformed,
        Self::Close,
        Self::Cancel,
        Self::Stale,
    ];

    /// What does not.
    pub const RARE: [Self; 12] = [
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

    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::EVERYDAY.into_iter().chain(Self::RARE)
    }
}

impl Bounds {
    /// So many nodes and requests, what happens every day, and 1,000,000 states.
    #[must_use]
    pub fn new(nodes: u8, requests: u8) -> Self {
        Self {
            nodes,
            requests,
            warm: false,
            free: Fault::EVERYDAY.to_vec(),
            faults: Vec::new(),
            budget: 1,
            states: 1_000_000,
        }
    }

    /// The same, and one of these faults, once.
    #[must_use]
    pub fn with(self, faults: &[Fault]) -> Self {
        let faults = faults.to_vec();
        Self { faults, ..self }
    }

    /// The same, and these any number of times.
    #[must_use]
    pub fn with_free(mut self, faults: &[Fault]) -> Self {
        self.free.extend_from_slice(faults);
        self
    }

    /// Whether this is part of it.
    #[must_use]
    pub fn has(&self, fault: Fault) -> bool {
        self.free.contains(&fault) || self.faults.contains(&fault)
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
            .queue_max_age(match self.has(Fault::Expire) {
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
