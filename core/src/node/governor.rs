//! The governor: how many attempts may be under way, and how many may begin a second, in the whole
//! cluster (SEMANTICS 3.6).

use crate::{
    Config, Instant, Limit, cluster::Digest, collections::IndexedHeap, token_bucket::TokenBucket,
};

#[derive(Clone, Debug)]
pub(crate) struct Governor {
    /// Attempts that count as concurrent, by their start.
    young: IndexedHeap<Instant>,
    max_concurrent: Option<u32>,
    /// So old an attempt no longer counts.
    grows_old: Limit,
    tokens: Option<TokenBucket>,
}

impl Governor {
    pub(crate) fn new(config: &Config, now: Instant) -> Self {
        let tokens = |rate| TokenBucket::new(rate, rate, now);
        Self {
            young: IndexedHeap::new(),
            max_concurrent: config.max_concurrent_attempts,
            grows_old: config.effective_hedge_delay(),
            tokens: config.attempts_per_second.map(tokens),
        }
    }

    /// Attempts that have grown old give up their slots.
    pub(crate) fn advance(&mut self, now: Instant) {
        while let Some((started, attempt)) = self.young.peek()
            && started.after(self.grows_old) <= now
        {
            self.young.remove(attempt);
        }
    }

    /// When the next attempt may begin: not later than `now` if at once, `None` if not before one
    /// ends.
    pub(crate) fn opens(&self, now: Instant) -> Option<Instant> {
        let slot = match (self.max_concurrent, self.young.peek()) {
            _ if mutant!(IgnoresConcurrency) => now,
            (Some(max), Some((oldest, _))) if self.young.len() as u32 >= max => {
                oldest.after(self.grows_old)
            }
            _ => now,
        };
        let tokens = self.tokens.as_ref().filter(|_| !mutant!(IgnoresRate));
        let token = tokens.map_or(now, |tokens| tokens.next_token(now));
        Some(slot.max(token)).filter(|at| *at < Instant::MAX || *at <= now)
    }

    pub(crate) fn digest(&self, to: &mut Digest<'_>) {
        let Self {
            young,
            max_concurrent: _,
            grows_old: _,
            tokens,
        } = self;
        to.all(young.iter(), |to, (started, attempt)| {
            to.add(attempt);
            to.exact(started);
        });
        let now = to.cluster.now;
        to.add(tokens.as_ref().map(|tokens| tokens.level(now)));
    }

    pub(crate) fn begins(&mut self, attempt: u32, now: Instant) {
        if self.max_concurrent.is_some() {
            self.young.set(now, attempt);
        }
        if let Some(tokens) = &mut self.tokens {
            tokens.take(now);
        }
    }

    pub(crate) fn ends(&mut self, attempt: u32) {
        self.young.remove(attempt);
    }
}
