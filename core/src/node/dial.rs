//! Who is wanted, and who is dialled (SEMANTICS 2.2, 3.5, 3.7, 5.1).

use core::cmp::Reverse;

use crate::{
    Cluster, Instant, Limit, NodeState, Warm, cluster::Digest, collections::IndexedHeap,
    timers::Timer,
};

/// The order in which nodes are dialled: those that are not throttled first, then never tried
/// before tried, then the oldest last attempt; ties were drawn when the node came. (`Sticky` has an
/// order of its own.)
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct DialKey {
    throttled: bool,
    last_attempt: Option<Instant>,
    tie: u64,
}

impl DialKey {
    pub(crate) fn digest(self, to: &mut Digest<'_>) {
        let Self {
            throttled,
            last_attempt,
            tie,
        } = self;
        to.add((throttled, tie));
        to.last_attempt(last_attempt);
    }

    pub(super) const fn is_throttled(&self) -> bool {
        self.throttled
    }
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

    pub(crate) fn digest(&self, to: &mut Digest<'_>) {
        let Self { fresh, throttled } = self;
        for heap in [fresh, throttled] {
            to.all(heap.by_id(), |to, (n, (until, tie))| {
                to.add((n, tie));
                to.deadline(until);
            });
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
        let first = match (self.fresh.peek(), self.throttled.peek()) {
            (Some(fresh), Some(throttled)) => Some(fresh.min(throttled)),
            (fresh, throttled) => fresh.or(throttled),
        };
        first.map(|((until, _), n)| (until, n))
    }

    /// When the first rest ends of a node that is not throttled.
    fn first_fresh(&self) -> Option<Instant> {
        self.fresh.peek().map(|((until, _), _)| until)
    }
}

/// The order in which nodes that are wanted are dialled: those that requests wait for first, then by
/// next-attempt time (3.6).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct WantedKey {
    only_warm: bool,
    next_attempt: Instant,
    tie: u64,
}

impl WantedKey {
    pub(crate) fn digest(self, to: &mut Digest<'_>) {
        let Self {
            only_warm,
            next_attempt,
            tie,
        } = self;
        to.add((only_warm, tie));
        to.next_attempt(Some(next_attempt));
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
        let rests = |at: &Instant| *at > self.now && !mutant!(DialsInBackoff);
        let rests_until = node.next_attempt.filter(rests);
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
            self.wanted.set(self.wanted_key(n), n);
        } else {
            self.wanted.remove(n);
        }
        let rests_until = self.resting.until(n);
        let slot = &mut self.nodes[n].next_attempt_timer;
        match rests_until {
            Some(at) if wanted => self.timers.set(slot, at, Timer::NextAttempt { node: n }),
            _ => self.timers.clear(slot),
        }
    }

    fn wanted_key(&self, n: u32) -> WantedKey {
        let node = &self.nodes[n];
        WantedKey {
            only_warm: node.queue.is_empty(),
            next_attempt: node.next_attempt.unwrap_or(Instant::ORIGIN),
            tie: node.tie,
        }
    }

    fn is_wanted(&self, n: u32) -> bool {
        self.is_running()
            && (!self.nodes[n].queue.is_empty()
                || self.config.effective_warm() == Warm::All && !mutant!(ForgetsWarm))
    }

    /// The last part of every call: dials whom it wants, as far as the governor lets it, and arms
    /// the timer for the next dial.
    pub(crate) fn dial_who_is_wanted(&mut self) {
        while self.governor_is_open()
            && let Some((n, dial_for)) = self.next_to_dial()
        {
            self.dial(n, dial_for);
        }
        self.wants_another = false;
        self.arm_dial_timer();
    }

    /// The usual case, told cheaply: there is nothing to dial and no timer to set.
    #[inline]
    pub(crate) fn nobody_waits_for_a_node(&self) -> bool {
        self.wanted.is_empty()
            && !self.any_waits()
            && !self.wants_another
            && !self.dial_timer.is_armed()
            && !matches!(self.config.warm, Warm::AtLeast(_))
            && self.sticky.is_none()
    }

    fn governor_is_open(&self) -> bool {
        self.governor
            .opens(self.now)
            .is_some_and(|at| at <= self.now)
    }

    /// Those that requests wait for first, a request for any node counting for the node that 5.1
    /// would dial; of these, whose next-attempt time is the earliest (3.6).
    fn next_to_dial(&mut self) -> Option<(u32, DialFor)> {
        let for_any = self.is_due_for_any();
        let for_any = for_any.and_then(|hedge| self.next_dialable().map(|n| (n, hedge)));
        let key = |n| self.wanted_key(n);
        let any_key = for_any.map(|(n, _)| WantedKey {
            only_warm: false,
            ..key(n)
        });
        if let Some((key, n)) = self.wanted.peek()
            && any_key.is_none_or(|any_key| key <= any_key)
        {
            return Some((n, DialFor::Itself));
        }
        if let Some((n, hedge)) = for_any {
            if hedge {
                self.setup_failures_now = self.setup_failures_now.saturating_sub(1);
            }
            return Some((n, DialFor::Any { hedge }));
        }
        if self.wants_another && self.setup_nodes == 0 && self.sticky.is_none() {
            return Some((self.next_dialable()?, DialFor::Any { hedge: false }));
        }
        let for_warm = self.warm_misses_a_node() && self.dials_not_before() <= self.now;
        let next = for_warm.then(|| self.next_dialable())??;
        Some((next, self.dial_for_warm()))
    }

    /// Whether a node is to be dialled now for requests that name none, and whether as a hedge (3.7).
    fn is_due_for_any(&self) -> Option<bool> {
        let due = self.any_dial_time().is_some_and(|at| at <= self.now);
        let hedge = !self.setups.is_empty();
        let replaces = hedge
            && self.setup_failures_now > 0
            && self.untried_is_fresh()
            && self.hedge_time().is_some()
            && self.any_waits()
            && self.sticks_to().is_none()
            && self.dials_not_before() <= self.now;
        (due || replaces).then_some(hedge)
    }

    /// Whether a request for any node waits, or a discovery that waits like one (7.2).
    fn any_waits(&self) -> bool {
        !self.any_queue.is_empty() || self.sources.wants_a_node
    }

    /// When a node may be dialled for requests that name none, as far as nodes and attempts go.
    fn any_dial_time(&self) -> Option<Instant> {
        mutant!(ForgetsToDial => return None);
        // `Sticky` waits for its one node.
        if !self.any_waits() || self.sticks_to().is_some() {
            return None;
        }
        let at = self.any_dial_time_by_nodes();
        at.map(|at| at.max(self.dials_not_before()))
    }

    fn any_dial_time_by_nodes(&self) -> Option<Instant> {
        if self.setup_nodes == 0 {
            return self.first_dialable();
        }
        // A throttled node is better than none, but no reason to dial a second one.
        let fresh = match self.untried_is_fresh() {
            true => Some(self.now),
            false => self.resting.first_fresh(),
        };
        if self.setups.is_empty() {
            return fresh;
        }
        self.hedge_time()
            .zip(fresh)
            .map(|(hedge, fresh)| hedge.max(fresh))
    }

    /// When the first node may be dialled.
    fn first_dialable(&self) -> Option<Instant> {
        match self.dialable.is_empty() {
            true => self.resting.first().map(|(until, _)| until),
            false => Some(self.now),
        }
    }

    /// Whether the next node to be dialled is one that could serve when it is up.
    fn untried_is_fresh(&self) -> bool {
        self.dialable.peek().is_some_and(|(key, _)| !key.throttled)
    }

    fn warm_misses_a_node(&self) -> bool {
        match self.config.effective_warm() {
            _ if self.move_wants_a_node() => true,
            Warm::AtLeast(least) => self.ready_nodes + self.setup_nodes < least,
            _ => false,
        }
    }

    /// When every attempt that could serve a request for any node has been in setup for the hedge
    /// delay. `None`: never, or there are too many hedges.
    fn hedge_time(&self) -> Option<Instant> {
        mutant!(ForgetsToHedge => return None);
        let Limit::After(delay) = self.config.effective_hedge_delay() else {
            return None;
        };
        let (Reverse((newest, _)), _) = self.setups.peek()?;
        let for_others = u32::from(self.setups.len() as u32 > self.any_attempts);
        let hedges = self.any_attempts + for_others - 1;
        (hedges < self.config.max_hedges).then(|| newest + delay)
    }

    /// One timer stands for all requests that name no node, for `Warm::AtLeast`, and for everything
    /// that waits for the governor: none of these makes a particular node wanted (2.2).
    fn arm_dial_timer(&mut self) {
        let for_wanted = (!self.wanted.is_empty()).then_some(self.now);
        let for_warm = self.first_dialable().filter(|_| self.warm_misses_a_node());
        let for_warm = for_warm.map(|at| at.max(self.dials_not_before()));
        let wishes = [for_wanted, self.any_dial_time(), for_warm];
        let earliest = wishes.into_iter().flatten().min();
        let at = earliest.zip(self.governor.opens(self.now));
        let at = at.map_or(Instant::MAX, |(wish, opens)| wish.max(opens));
        debug_assert!(
            at > self.now || at == Instant::MAX,
            "what is due has been done"
        );
        self.timers.set(&mut self.dial_timer, at, Timer::Dial);
    }
}
