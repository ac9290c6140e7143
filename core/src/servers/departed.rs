//! What is remembered of endpoints that left, until they may be dialled again (SEMANTICS 3.5).

use alloc::collections::BTreeMap;

use crate::{Endpoint, Instant, cluster::Digest, node::Node};

#[derive(Clone, Debug, Default)]
pub(crate) struct Departed {
    backoffs: BTreeMap<Endpoint, Backoff>,
    /// When each may be forgotten; the number tells apart those of one time.
    by_time: BTreeMap<(Instant, u64), Endpoint>,
    number: u64,
}

#[derive(Clone, Copy, Debug)]
struct Backoff {
    next_attempt: Instant,
    failures: u32,
    last_backoff: u64,
}

impl Departed {
    /// Those whose time is still to come.
    pub(crate) fn digest(&self, to: &mut Digest<'_>) {
        let Self {
            backoffs,
            by_time: _,
            number: _,
        } = self;
        let now = to.cluster.now;
        let rest = backoffs.iter().filter(|(_, b)| b.next_attempt > now);
        to.all(rest, |to, (endpoint, backoff)| {
            let Backoff {
                next_attempt,
                failures,
                last_backoff,
            } = backoff;
            to.add((endpoint, *failures.min(&to.most_failures)));
            to.exact(*next_attempt);
            if to.decorrelated {
                to.add(last_backoff);
            }
        });
    }

    /// Forgets those whose time has come.
    pub(crate) fn forget_past(&mut self, now: Instant) {
        while let Some(first) = self.by_time.first_entry()
            && first.key().0 <= now
        {
            let endpoint = first.remove();
            let backoff = self.backoffs.get(&endpoint);
            if backoff.is_some_and(|backoff| backoff.next_attempt <= now) {
                self.backoffs.remove(&endpoint);
            }
        }
    }

    /// The endpoint leaves; its counter and time stay, if that is still to come. Of two nodes with
    /// one endpoint the longer rest counts.
    pub(crate) fn remember(&mut self, node: &Node, now: Instant) {
        let Some(next_attempt) = node.next_attempt.filter(|&at| at > now) else {
            return;
        };
        let endpoint = &node.spec.endpoint;
        let known = self.backoffs.get(endpoint);
        if known.is_some_and(|known| known.next_attempt >= next_attempt) {
            return;
        }
        let backoff = Backoff {
            next_attempt,
            failures: node.failures,
            last_backoff: node.last_backoff,
        };
        self.backoffs.insert(endpoint.clone(), backoff);
        self.number += 1;
        let time = (next_attempt, self.number);
        self.by_time.insert(time, endpoint.clone());
    }

    /// The endpoint is back: the node takes over its counter and time. So does every node that
    /// comes to it before that time.
    pub(crate) fn take_over(&self, node: &mut Node) {
        if let Some(backoff) = self.backoffs.get(&node.spec.endpoint) {
            node.next_attempt = Some(backoff.next_attempt);
            node.failures = backoff.failures;
            node.last_backoff = backoff.last_backoff;
        }
    }
}
