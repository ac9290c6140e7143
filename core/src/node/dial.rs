//! Who is wanted, and who is dialled (SEMANTICS 2.2, 3.5, 3.7, 5.1).

use core::cmp::Reverse;

use crate::{Cluster, Instant, Limit, NodeState, Warm, collections::IndexedHeap, timers::Timer};

/// The order in which nodes are dialled: those that are not throttled first, then never tried
/// before tried, then the oldest last attempt; ties were drawn when the node came.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct DialKey {
    throttled: bool,
    last_attempt: Option<Instant>,
    tie: u64,
}

/// Nodes before their next-attempt time, by that time. A throttled one is no candidate for a hedge,
/// so these are kept apart.
#[derive(Clone, Debug)]
pub(crate) struct Resting {
    fresh: IndexedHeap<(Instant, u64)>,
    throttled: IndexedHeap<(Instant, u64)>,
}

impl Resting {
    pub(crate) const fn new() -> Self {
        Self {
            fresh: IndexedHeap::new(),
            throttled: IndexedHeap::new(),
        }
    }

    fn set(&mut self, n: u32, until: Instant, key: DialKey) {
        self.remove(n);
        let heap = match key.throttled {
            true => &mut self.throttled,
            false => &mut self.fresh,
        };
        heap.set((until, key.tie), n);
    }

    pub(crate) fn remove(&mut self, n: u32) {
        self.fresh.remove(n);
        self.throttled.remove(n);
    }

    /// Until when the node rests, if it does.
    pub(crate) fn until(&self, n: u32) -> Option<Instant> {
        let key = self.fresh.key(n).or_else(|| self.throttled.key(n));
        key.map(|(until, _)| until)
    }

    /// The node whose rest ends first.
    pub(crate) fn first(&self) -> Option<(Instant, u32)> {
        let firsts = [self.fresh.peek(), self.throttled.peek()];
        let first = firsts.into_iter().flatten().min();
        first.map(|((until, _), n)| (until, n))
    }

    /// When the first rest ends of a node that is not throttled.
    fn first_fresh(&self) -> Option<Instant> {
        self.fresh.peek().map(|((until, _), _)| until)
    }
}

/// For whom a node is dialled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DialFor {
    /// Requests bound to it, or `warm`.
    Itself,
    /// Requests that name no node.
    Any { hedge: bool },
}

impl Cluster {
    /// Puts a node where its state says: among those that can be dialled now, those that rest, or
    /// neither. Nothing dials before the next-attempt time, for whatever reason (3.5).
    pub(crate) fn update_idle(&mut self, n: u32) {
        let node = &self.nodes[n];
        let key = DialKey {
            throttled: self.throttled.contains(n),
            last_attempt: node.last_attempt,
            tie: node.tie,
        };
        let rests_until = node.next_attempt.filter(|&at| at > self.now);
        let rejected = node.state == NodeState::AuthenticationFailed;
        match rests_until {
            _ if !node.state.is_idle() => {
                self.resting.remove(n);
                self.dialable.remove(n);
            }
            Some(at) => {
                self.resting.set(n, at, key);
                self.dialable.remove(n);
            }
            None => {
                self.resting.remove(n);
                self.dialable.set(key, n);
            }
        }
        let rejected_resting = rejected && rests_until.is_some();
        let node = &mut self.nodes[n];
        if rejected_resting != node.rejected_resting {
            node.rejected_resting = rejected_resting;
            match rejected_resting {
                true => self.rejected_resting += 1,
                false => self.rejected_resting -= 1,
            }
        }
        self.update_want(n);
    }

    /// A wanted node is dialled when it can be, and has a timer until then; an unwanted one has
    /// none.
    pub(crate) fn update_want(&mut self, n: u32) {
        let wanted = self.is_wanted(n);
        if wanted && self.dialable.contains(n) {
            let node = &mut self.nodes[n];
            if !core::mem::replace(&mut node.to_dial, true) {
                self.to_dial.push(n);
            }
        }
        let rests_until = self.resting.until(n);
        let slot = &mut self.nodes[n].next_attempt_timer;
        match rests_until {
            Some(at) if wanted => self.timers.set(slot, at, Timer::NextAttempt { node: n }),
            _ => self.timers.clear(slot),
        }
    }

    fn is_wanted(&self, n: u32) -> bool {
        self.is_running()
            && (!self.nodes[n].queue.is_empty() || self.config.effective_warm() == Warm::All)
    }

    /// The last part of every call: dials whom it wants, and arms the timer for the next dial.
    pub(crate) fn dial_who_is_wanted(&mut self) {
        if self.nobody_waits_for_a_node() {
            self.setup_failures_now = 0;
            return;
        }
        for i in 0..self.to_dial.len() {
            let n = self.to_dial[i];
            // It may have left, or its place be taken, since it was put here.
            if let Some(node) = self.nodes.at_mut(n) {
                node.to_dial = false;
                if self.dialable.contains(n) && self.is_wanted(n) {
                    self.dial(n, DialFor::Itself);
                }
            }
        }
        self.to_dial.clear();
        self.dial_for_any();
        if core::mem::take(&mut self.unhealthy_used) && self.setup_nodes == 0 {
            self.dial_next(DialFor::Any { hedge: false });
        }
        while self.warm_misses_a_node() && self.dial_next(DialFor::Itself) {}
        self.setup_failures_now = 0;
        self.arm_dial_timer();
    }

    /// The usual case, told cheaply: there is nothing to dial and no timer to set.
    fn nobody_waits_for_a_node(&self) -> bool {
        self.to_dial.is_empty()
            && self.any_queue.is_empty()
            && !self.unhealthy_used
            && self.timers.deadline(&self.dial_timer).is_none()
            && !matches!(self.config.warm, Warm::AtLeast(_))
    }

    /// While a request for any node waits: dials a first node, and hedges (3.7).
    fn dial_for_any(&mut self) {
        while !self.any_queue.is_empty() {
            let dialled = if self.setups.is_empty() {
                // A throttled node is better than none, but no reason to dial a second one.
                (self.setup_nodes == 0 || self.untried_is_fresh())
                    && self.dial_next(DialFor::Any { hedge: false })
            } else {
                let due = self.hedge_time().is_some_and(|at| at <= self.now);
                let replaces = self.setup_failures_now > 0 && self.hedge_time().is_some();
                (due || replaces)
                    && self.untried_is_fresh()
                    && self.dial_next(DialFor::Any { hedge: true })
            };
            if !dialled {
                return;
            }
            self.setup_failures_now = self.setup_failures_now.saturating_sub(1);
        }
    }

    /// Whether the next node to be dialled is one that could serve when it is up.
    fn untried_is_fresh(&self) -> bool {
        self.dialable.peek().is_some_and(|(key, _)| !key.throttled)
    }

    fn dial_next(&mut self, dial_for: DialFor) -> bool {
        let Some((_, n)) = self.dialable.peek() else {
            return false;
        };
        self.dial(n, dial_for);
        true
    }

    fn warm_misses_a_node(&self) -> bool {
        match self.config.effective_warm() {
            Warm::AtLeast(least) => self.ready_nodes + self.setup_nodes < least,
            _ => false,
        }
    }

    /// When every attempt that could serve a request for any node has been in setup for the hedge
    /// delay. `None`: never, or there are too many hedges.
    fn hedge_time(&self) -> Option<Instant> {
        let Limit::After(delay) = self.config.hedge_delay else {
            return None;
        };
        let (Reverse((newest, _)), _) = self.setups.peek()?;
        let for_others = u32::from(self.setups.len() as u32 > self.any_attempts);
        let hedges = self.any_attempts + for_others - 1;
        (hedges < self.config.max_hedges).then(|| newest + delay)
    }

    /// One timer stands for all requests that name no node, and for `Warm::AtLeast`: neither makes
    /// a particular node wanted (2.2).
    fn arm_dial_timer(&mut self) {
        let first_rested = self.resting.first().map(|(until, _)| until);
        let for_any = if self.any_queue.is_empty() {
            None
        } else if self.setup_nodes == 0 {
            first_rested
        } else if self.setups.is_empty() {
            self.resting.first_fresh()
        } else if self.untried_is_fresh() {
            self.hedge_time()
        } else {
            let rested = self.resting.first_fresh();
            self.hedge_time()
                .zip(rested)
                .map(|(hedge, rested)| hedge.max(rested))
        };
        let for_warm = first_rested.filter(|_| self.warm_misses_a_node());
        let at = [for_any, for_warm].into_iter().flatten().min();
        debug_assert!(
            at.is_none_or(|at| at > self.now),
            "what is due has been done"
        );
        let at = at.unwrap_or(Instant::MAX);
        self.timers.set(&mut self.dial_timer, at, Timer::Dial);
    }
}
