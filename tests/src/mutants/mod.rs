//! Broken cores: each must be caught by the checker that is there for its fault, in one of a bounded
//! number of random worlds: a client among servers ([`lab`]), and the bare core of a careless embedder.

mod expected;
mod walk;

use std::{
    any::Any,
    panic::{self, AssertUnwindSafe},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use redial::{
    Cluster,
    mutant::{Mutant, choose},
    record::Step,
    sim::{Checker, Violation, Wrong},
};

pub use expected::rule_of;

use crate::lab;

/// So long a world lasts.
const LASTS: Duration = Duration::from_secs(300);

/// What a search came to.
#[derive(Clone, Debug)]
pub struct Search {
    /// The first world in which something went wrong.
    pub caught: Option<Caught>,
    /// Steps of the core in all worlds until then.
    pub steps: u64,
    /// How long it took.
    pub took: Duration,
}

/// What went wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Caught {
    /// The seed of the world.
    pub seed: u64,
    /// The rule that does not hold, or what else went wrong.
    pub rule: String,
    /// All that is told about it.
    pub story: String,
}

/// Looks, world by world, for one in which something goes wrong with a core that has this fault, or with
/// a sound one.
///
/// The fault is that of all cores of the process: one search at a time.
#[must_use]
pub fn search(mutant: Option<Mutant>, seeds: impl IntoIterator<Item = u64>) -> Search {
    let (start, steps) = (Instant::now(), Steps::default());
    choose(mutant);
    let caught = seeds.into_iter().find_map(|seed| {
        let run = || run(seed, &steps);
        let (rule, story) = match panic::catch_unwind(AssertUnwindSafe(run)) {
            Ok(Ok(())) => return None,
            Ok(Err(wrong)) => wrong,
            Err(panic) => ("a panic".to_owned(), message(&*panic)),
        };
        Some(Caught { seed, rule, story })
    });
    choose(None);
    Search {
        caught,
        steps: steps.0.load(Ordering::Relaxed),
        took: start.elapsed(),
    }
}

/// The rule that is broken, or what else is wrong, and all that is told about it.
fn run(seed: u64, steps: &Steps) -> Result<(), (String, String)> {
    let counter = steps.clone();
    let simulation = lab::simulation(seed).checker(move || counter.clone());
    simulation
        .run(&lab::schedule(seed, LASTS))
        .map_err(|failure| (rule(&failure.what), failure.to_string()))?;
    walk::walk(seed, Box::new(steps.clone()))
        .map_err(|failure| (failure.rule().to_owned(), failure.to_string()))
}

fn rule(wrong: &Wrong) -> String {
    match wrong {
        Wrong::Rule { rule, .. } => rule.clone(),
        other => other.to_string(),
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or_default().to_owned()
}

/// Counts steps, and finds no fault.
#[derive(Clone, Debug, Default)]
struct Steps(Arc<AtomicU64>);

impl Checker for Steps {
    fn after_step(&mut self, _: &Step, _: &Cluster) -> Result<(), Violation> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}
