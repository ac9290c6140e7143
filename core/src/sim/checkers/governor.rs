//! How many attempts are under way, and how many begin a second, in the whole cluster.

use alloc::collections::BTreeMap;

use super::{Rule, Seen, Violation, ensure, ledger::Ledger};
use crate::{AttemptId, Config, Event, EventMask, Instant, Limit, Output};

/// SEMANTICS 3.6.
#[derive(Clone)]
pub(super) struct Governor {
    enabled: bool,
    max_concurrent: Option<u32>,
    grows_old: Limit,
    /// Tokens a second, and as many at most.
    rate: Option<u32>,
    /// In billionths of a token.
    level: u128,
    filled_at: Option<Instant>,
    /// Attempts under way, and since when.
    pub(super) attempts: BTreeMap<AttemptId, Instant>,
}

pub(super) const RATE: &str = "no more attempts begin than there are tokens (SEMANTICS 3.6)";
pub(super) const CONCURRENT: &str =
    "no more young attempts are under way than are allowed (SEMANTICS 3.6)";

const TOKEN: u128 = 1_000_000_000;

impl Governor {
    pub(super) fn new(config: &Config) -> Self {
        let rate = config.attempts_per_second();
        Self {
            enabled: config.events().contains(EventMask::ATTEMPTS),
            max_concurrent: config.max_concurrent_attempts(),
            grows_old: config.effective_hedge_delay(),
            rate,
            level: full(rate),
            filled_at: None,
            attempts: BTreeMap::new(),
        }
    }

    /// Books the attempts that begin and end; how many tokens were missing for them.
    pub(super) fn apply(&mut self, seen: &Seen<'_>) -> u128 {
        let step = seen.step;
        self.fill(step.now);
        let mut missing = 0;
        for output in &step.outputs {
            if let Output::Event(Event::AttemptStarted { attempt, .. }) = *output {
                self.attempts.insert(attempt, step.now);
                if self.rate.is_some() {
                    missing += TOKEN.saturating_sub(self.level);
                    self.level = self.level.saturating_sub(TOKEN);
                }
            }
        }
        let under_way = |attempt| seen.nodes.iter().any(|view| view.attempt == Some(attempt));
        self.attempts.retain(|attempt, _| under_way(*attempt));
        missing
    }

    /// Whether one more attempt may begin.
    pub(super) fn is_open(&self, now: Instant) -> bool {
        let token = self.rate.is_none() || self.level >= TOKEN;
        token && self.max_concurrent.is_none_or(|max| self.young(now) < max)
    }

    fn young(&self, now: Instant) -> u32 {
        let is_young = |start: &&Instant| start.after(self.grows_old) > now;
        u32::try_from(self.attempts.values().filter(is_young).count()).unwrap_or(u32::MAX)
    }

    fn fill(&mut self, now: Instant) {
        let elapsed = (now - self.filled_at.unwrap_or(now)).as_nanos();
        let added = elapsed * u128::from(self.rate.unwrap_or(0));
        self.level = (self.level + added).min(full(self.rate));
        self.filled_at = Some(now);
    }
}

fn full(rate: Option<u32>) -> u128 {
    u128::from(rate.unwrap_or(0)) * TOKEN
}

impl Rule for Governor {
    fn after_step(&mut self, seen: &Seen<'_>, _ledger: &Ledger) -> Result<(), Violation> {
        if !self.enabled || seen.stats.dropped_events > 0 {
            return Ok(());
        }
        let missing = self.apply(seen);
        ensure!(
            missing == 0,
            RATE,
            "{missing} billionths of a token were missing"
        );
        let young = self.young(seen.step.now);
        ensure!(
            self.max_concurrent.is_none_or(|max| young <= max),
            CONCURRENT,
            "{young} are under way, {:?} are allowed",
            self.max_concurrent
        );
        Ok(())
    }
}
