//! Retries that are charged: as many as are allowed, and as the budget pays for.

use alloc::collections::BTreeMap;

use super::{Rule, Seen, Violation, ensure, ledger::Ledger};
use crate::{
    Config, Event, Instant, Output, RequestId, RetryBudget,
    record::{Answer, Call},
};

/// SEMANTICS 4.7. A charged retry that need not wait is no event: it is not counted.
#[derive(Clone)]
pub(super) struct Retries {
    max_attempts: Option<u32>,
    /// Of requests that are open.
    charged: BTreeMap<RequestId, u32>,
    budget: Option<RetryBudget>,
    /// What the budget holds at most, in billionths of a token, and since when.
    parts: u128,
    at: Instant,
}

pub(super) const ATTEMPTS: &str = "no request is tried more often than it may be (SEMANTICS 4.7)";
pub(super) const BUDGET: &str = "each retry is paid for by the budget (SEMANTICS 4.7)";

const TOKEN: u128 = 1_000_000_000;

impl Retries {
    pub(super) fn new(config: &Config) -> Self {
        let budget = config.retry_budget();
        Self {
            max_attempts: config.max_attempts(),
            charged: BTreeMap::new(),
            budget,
            parts: budget.map_or(0, |budget| u128::from(budget.max) * TOKEN),
            at: Instant::ORIGIN,
        }
    }

    fn fill(&mut self, budget: RetryBudget, seen: &Seen<'_>) {
        let passed = seen.step.now.max(self.at) - self.at;
        self.at += passed;
        self.parts += passed.as_nanos() * u128::from(budget.per_second);
        if matches!(seen.step.answer, Answer::Submit(Ok(_))) {
            self.parts += u128::from(budget.per_submit_milli) * TOKEN / 1_000;
        }
        self.parts = self.parts.min(u128::from(budget.max) * TOKEN);
    }
}

impl Rule for Retries {
    fn after_call(&mut self, seen: &Seen<'_>, _ledger: &Ledger) -> Result<(), Violation> {
        // A bucket starts full, whenever that is.
        if seen.step.call == Call::Start {
            self.at = seen.step.now;
        }
        if let Some(budget) = self.budget {
            self.fill(budget, seen);
        }
        Ok(())
    }

    fn on_output(
        &mut self,
        output: &Output,
        _seen: &Seen<'_>,
        _ledger: &Ledger,
    ) -> Result<(), Violation> {
        match *output {
            Output::Event(Event::RetryScheduled { request, .. }) => {
                let charged = self.charged.entry(request).or_insert(0);
                *charged += 1;
                ensure!(
                    self.max_attempts.is_none_or(|max| *charged < max),
                    ATTEMPTS,
                    "{request} is tried again for the {charged}. time"
                );
                if self.budget.is_some() {
                    let rest = self.parts.checked_sub(TOKEN);
                    ensure!(rest.is_some(), BUDGET, "{request} has no token");
                    self.parts = rest.unwrap_or(0);
                }
            }
            Output::Completion(completion) => {
                self.charged.remove(&completion.request);
            }
            _ => {}
        }
        Ok(())
    }
}
