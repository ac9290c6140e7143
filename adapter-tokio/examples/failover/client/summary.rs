//! The end: what was sent, what came of it, and whether it adds up.

use std::fmt;

use redial::Stats;
use serde_json::{Value, json};

use super::{
    Scenario,
    load::{Book, Ledger},
    timeline::NodeRecord,
};

pub(crate) struct Summary {
    seed: u64,
    seconds: u64,
    book: Book,
    stats: Stats,
    nodes: Vec<NodeRecord>,
}

impl Summary {
    pub(crate) fn new(
        scenario: &Scenario,
        ledger: &Ledger,
        stats: &Stats,
        nodes: Vec<NodeRecord>,
    ) -> Self {
        let Scenario { seed, seconds, .. } = *scenario;
        Self {
            seed,
            seconds,
            book: ledger.close(),
            stats: *stats,
            nodes,
        }
    }

    /// Whether every accepted request completed once, by our book and by the client's.
    pub(crate) fn exactly_once(&self) -> bool {
        let Stats {
            requests,
            succeeded,
            failed,
            open_requests,
            ..
        } = self.stats;
        self.book
            .completions
            .iter()
            .all(|&completions| completions == 1)
            && requests == self.sent() - self.refused()
            && requests == succeeded + failed
            && succeeded == self.book.answered
            && open_requests == 0
    }

    pub(crate) fn to_json(&self) -> Value {
        let Book {
            answered,
            refused,
            failed,
            first_answer,
            longest_gap,
            ..
        } = &self.book;
        json!({
            "seed": self.seed,
            "seconds": self.seconds,
            "sent": self.sent(),
            "accepted": self.sent() - self.refused(),
            "answered": answered,
            "answered_percent": self.answered_percent(),
            "refused": refused,
            "failed": failed,
            "never_completed": self.completed(0),
            "completed_twice": self.book.completions.iter().filter(|&&n| n > 1).count(),
            "retries": self.stats.retries,
            "late_replies": self.stats.late_replies,
            "first_answer_ms": first_answer.map(|time| time.as_secs_f64() * 1000.0),
            "longest_gap_ms": longest_gap.as_secs_f64() * 1000.0,
            "exactly_once": self.exactly_once(),
            "nodes": self.nodes.iter().map(|node| json!({
                "name": node.name,
                "address": node.endpoint.to_string(),
                "attempts": node.attempts,
                "hedges": node.hedges,
                "ready": node.ready,
                "answered": self.answered_by(node),
            })).collect::<Vec<_>>(),
        })
    }

    fn sent(&self) -> u64 {
        self.book.completions.len() as u64
    }

    fn refused(&self) -> u64 {
        self.book.refused.values().sum()
    }

    fn completed(&self, times: u32) -> usize {
        self.book
            .completions
            .iter()
            .filter(|&&completions| completions == times)
            .count()
    }

    fn answered_percent(&self) -> f64 {
        100.0 * self.book.answered as f64 / self.sent().max(1) as f64
    }

    fn answered_by(&self, node: &NodeRecord) -> u64 {
        self.book.answered_by.get(&node.id).copied().unwrap_or(0)
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Book {
            answered,
            refused,
            failed,
            first_answer,
            longest_gap,
            ..
        } = &self.book;
        let Stats {
            retries,
            late_replies,
            ..
        } = self.stats;
        let percent = self.answered_percent();
        writeln!(f, "\nseed {}, {} s of requests", self.seed, self.seconds)?;
        writeln!(f, "sent            {}", self.sent())?;
        writeln!(
            f,
            "answered        {answered} ({percent:.2} %), with {retries} retries"
        )?;
        for (reason, count) in refused {
            writeln!(f, "refused         {count}: {reason}")?;
        }
        for (reason, count) in failed {
            writeln!(f, "failed          {count}: {reason}")?;
        }
        match first_answer {
            Some(time) => writeln!(f, "first answer    after {time:.1?}")?,
            None => writeln!(f, "first answer    never")?,
        }
        writeln!(
            f,
            "longest gap     {longest_gap:.1?} between answers; one node at least lived"
        )?;
        writeln!(f, "late replies    {late_replies}")?;
        for node in &self.nodes {
            let NodeRecord {
                name,
                endpoint,
                attempts,
                hedges,
                ready,
                ..
            } = node;
            let answered = self.answered_by(node);
            writeln!(
                f,
                "node {name}          {endpoint}: {attempts} attempts ({hedges} hedges), {ready} made it \
                 Ready, {answered} requests answered"
            )?;
        }
        let verdict = match self.exactly_once() {
            true => "every accepted request completed exactly once",
            false => "NOT every accepted request completed exactly once",
        };
        writeln!(f, "{verdict}")
    }
}
