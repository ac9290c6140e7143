//! What is remembered of endpoints that left, until they may be dialled again (SEMANTICS 3.5).

use alloc::collections::BTreeMap;

use crate::{Endpoint, Instant, node::Node};

#[derive(Clone, Debug, Default)]
pub(crate) struct Departed(BTreeMap<Endpoint, Backoff>);

#[derive(Clone, Copy, Debug)]
struct Backoff {
    next_attempt: Instant,
    failures: u32,
    last_backoff: u64,
}

impl Departed {
    /// Forgets those whose time has come.
    pub(crate) fn forget_past(&mut self, now: Instant) {
        self.0.retain(|_, backoff| backoff.next_attempt > now);
    }

    /// The endpoint leaves; its counter and time stay, if that is still to come.
    pub(crate) fn remember(&mut self, node: &Node, now: Instant) {
        if let Some(next_attempt) = node.next_attempt
            && next_attempt > now
        {
            let backoff = Backoff {
                next_attempt,
                failures: node.failures,
                last_backoff: node.last_backoff,
            };
            self.0.insert(node.spec.endpoint.clone(), backoff);
        }
    }

    /// The endpoint is back: the node takes over its counter and time.
    pub(crate) fn take_over(&mut self, node: &mut Node) {
        if let Some(backoff) = self.0.remove(&node.spec.endpoint) {
            node.next_attempt = Some(backoff.next_attempt);
            node.failures = backoff.failures;
            node.last_backoff = backoff.last_backoff;
        }
    }
}
