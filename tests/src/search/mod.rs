//! Every interleaving: a breadth-first search through all states of a small cluster and of what is outside
//! of it, by `Clone` and [`Cluster::fingerprint`].
//!
//! It is a search of our own. A library for such searches keeps its properties over states; most of ours
//! are over steps, and the checkers that know them keep books, which a state must carry and its
//! fingerprint must not. What is left is a queue and a set.
//!
//! In each state every move of the environment is tried, with all checkers of the simulator and the
//! audit of the core behind it. The books that a checker brings to a step are those of the first, and so of
//! a shortest, path to the state: two paths into one state are judged up to there, each by its own books,
//! and beyond by the first one's.

mod bounds;
mod environment;
mod goals;
mod report;

use std::{
    collections::HashSet,
    panic::{AssertUnwindSafe, catch_unwind},
    time::Instant as Clock,
};

use redial::{
    Cluster, Instant,
    record::{Call, Step},
    sim::{Checker, checkers},
};

pub use bounds::{Bounds, Fault};
use environment::Environment;
pub use environment::Move;
pub use goals::{Goal, Goals};
pub use report::{Counterexample, End, Report};

/// A state: the cluster, what is outside, and what was seen on the way.
#[derive(Clone)]
struct State<C> {
    cluster: Cluster,
    outside: Environment,
    checker: C,
}

/// How a state was first reached.
#[derive(Clone, Copy)]
struct Reached {
    from: u32,
    by: Move,
}

/// Searches within these bounds.
#[must_use]
pub fn search(bounds: &Bounds) -> Report {
    search_with(bounds, checkers::all(&bounds.config()))
}

/// The same with a checker of one's own.
#[must_use]
pub fn search_with<C: Checker + Clone>(bounds: &Bounds, checker: C) -> Report {
    let mut first = begin(bounds, checker);
    let start = Clock::now();
    let mut report = Report::new(bounds);
    let mut reached = vec![Reached {
        from: u32::MAX,
        by: Move::Timeout,
    }];
    let mut seen = HashSet::from([first.fingerprint()]);
    let mut layer = Vec::new();
    if let Err(what) = first.audit() {
        report.end = End::Violated(Counterexample::new(bounds, Vec::new(), what));
        return report;
    }
    layer.push((0, first));
    'search: while !layer.is_empty() {
        let mut next_layer = Vec::new();
        for (index, state) in layer {
            let moves = state.outside.moves(&state.cluster, bounds);
            for by in moves {
                report.steps += 1;
                let mut next = state.clone();
                let step = match next.make(by) {
                    Ok(step) => step,
                    Err(what) => {
                        let path = path(&reached, index, by);
                        report.end = End::Violated(Counterexample::new(bounds, path, what));
                        break 'search;
                    }
                };
                report.goals.look(&step, &next.cluster, report.depth + 1);
                if !seen.insert(next.fingerprint()) {
                    continue;
                }
                reached.push(Reached { from: index, by });
                if reached.len() >= bounds.states {
                    report.end = End::States(bounds.states);
                    break 'search;
                }
                next_layer.push((reached.len() as u32 - 1, next));
            }
        }
        report.widest = report.widest.max(next_layer.len());
        if next_layer.is_empty() {
            break;
        }
        report.depth += 1;
        layer = next_layer;
    }
    report.states = reached.len();
    report.took = start.elapsed();
    report
}

/// Makes these moves, one after the other, and checks everything after each.
///
/// # Errors
///
/// What a checker found.
///
/// # Panics
///
/// If one of the moves cannot be made there.
pub fn replay(bounds: &Bounds, moves: &[Move]) -> Result<Vec<Step>, String> {
    let mut state = begin(bounds, checkers::all(&bounds.config()));
    let mut steps = Vec::new();
    for by in moves {
        let possible = state.outside.moves(&state.cluster, bounds);
        assert!(possible.contains(by), "{by:?} is none of {possible:?}");
        steps.push(state.make(*by)?);
    }
    Ok(steps)
}

fn begin<C: Checker + Clone>(bounds: &Bounds, checker: C) -> State<C> {
    State {
        cluster: Cluster::new(bounds.config(), 1, Instant::ORIGIN),
        outside: Environment::new(),
        checker,
    }
}

impl<C: Checker + Clone> State<C> {
    fn make(&mut self, by: Move) -> Result<Step, String> {
        let (now, call) = self.outside.make(by, &self.cluster);
        let step = self.call(now, call)?;
        self.outside.take(&step, &self.cluster);
        self.audit()?;
        if self.outside.terminated {
            let ended = self.checker.at_end(step.now, &self.cluster);
            ended.map_err(|violation| violation.to_string())?;
        }
        Ok(step)
    }

    fn call(&mut self, now: Instant, call: Call) -> Result<Step, String> {
        let text = call.to_string();
        let taken = catch_unwind(AssertUnwindSafe(|| {
            Step::take(&mut self.cluster, now, call)
        }));
        let step = taken.map_err(|_| format!("{text} panics"))?;
        let checked = self.checker.after_step(&step, &self.cluster);
        checked.map_err(|violation| violation.to_string())?;
        Ok(step)
    }

    /// What must hold in a state, whatever came before.
    fn audit(&mut self) -> Result<(), String> {
        self.cluster.audit()?;
        let open = self.cluster.stats().open_requests;
        if open != self.outside.open.len() {
            return Err(format!(
                "{open} requests are open, outside {:?}",
                self.outside.open
            ));
        }
        // Every request of the bounds has a deadline, and so has every end.
        let ends = self.outside.shut_down && !self.outside.terminated;
        if (open > 0 || ends) && self.cluster.poll_timeout().is_none() {
            return Err("something waits for ever".to_owned());
        }
        Ok(())
    }

    fn fingerprint(&self) -> u64 {
        let outside = self.outside.fingerprint(&self.cluster);
        self.cluster.fingerprint() ^ outside.rotate_left(32)
    }
}

/// The moves to the state at `index`, and one more.
fn path(reached: &[Reached], index: u32, last: Move) -> Vec<Move> {
    let mut moves = vec![last];
    let mut at = index;
    while at != 0 {
        let Reached { from, by } = reached[at as usize];
        moves.push(by);
        at = from;
    }
    moves.reverse();
    moves
}
