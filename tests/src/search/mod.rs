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
//!
//! What disturbs may have a budget for each path, without which two nodes and two requests have more states
//! than one can wait for. What is left of it is part of a state.

mod bounds;
mod environment;
mod goals;
mod report;
mod twins;

use std::{
    collections::HashSet,
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    time::Instant as Clock,
};

use redial::{
    Cluster, Instant,
    record::Step,
    sim::{Checker, checkers},
};

pub use bounds::{Bounds, Fault};
use environment::Environment;
pub use environment::Move;
pub use goals::{Goal, Goals};
pub use report::{Counterexample, End, Report};
pub use twins::twins;

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
    let start = Clock::now();
    let mut search = Search {
        bounds,
        reached: vec![Reached {
            from: u32::MAX,
            by: Move::Timeout,
        }],
        seen: HashSet::new(),
        frontier: Frontier::new(bounds.budget),
        report: Report::new(bounds),
    };
    search.report.end = search.run(begin(bounds, checker));
    search.report.states = search.reached.len();
    search.report.took = start.elapsed();
    search.report
}

struct Search<'a, C> {
    bounds: &'a Bounds,
    reached: Vec<Reached>,
    seen: HashSet<u64>,
    frontier: Frontier<C>,
    report: Report,
}

/// States to look into, by how much of the budget is spent. Those that have spent the most come first, so
/// that what a disturbance leads to is done with before the next one: a breadth-first search of all would
/// hold many more states at a time.
struct Frontier<C> {
    layers: Vec<Layer<C>>,
    /// How many moves each of them is away.
    depths: Vec<usize>,
}

/// States, and where they are among those that were reached.
type Layer<C> = Vec<(u32, Box<State<C>>)>;

impl<C> Frontier<C> {
    fn new(budget: u8) -> Self {
        let kinds = usize::from(budget) + 1;
        Self {
            layers: (0..kinds).map(|_| Vec::new()).collect(),
            depths: vec![0; kinds],
        }
    }

    fn push(&mut self, index: u32, state: Box<State<C>>, depth: usize) {
        let spent = usize::from(state.outside.spent);
        self.depths[spent] = depth;
        self.layers[spent].push((index, state));
    }

    /// The next states, all as many moves away.
    fn pop(&mut self) -> Option<(usize, Layer<C>)> {
        let spent = self.layers.iter().rposition(|layer| !layer.is_empty())?;
        Some((self.depths[spent], mem::take(&mut self.layers[spent])))
    }

    fn len(&self) -> usize {
        self.layers.iter().map(Vec::len).sum()
    }
}

impl<C: Checker + Clone> Search<'_, C> {
    fn run(&mut self, mut first: State<C>) -> End {
        if let Err(what) = first.audit() {
            return End::Violated(Counterexample::new(self.bounds, Vec::new(), what));
        }
        self.seen.insert(first.fingerprint());
        self.frontier.push(0, Box::new(first), 0);
        while let Some((depth, layer)) = self.frontier.pop() {
            self.report.depth = self.report.depth.max(depth);
            let waiting = layer.len() + self.frontier.len();
            self.report.widest = self.report.widest.max(waiting);
            for (index, state) in layer {
                if let Err(end) = self.expand(index, &state, depth + 1) {
                    return end;
                }
            }
        }
        End::Exhausted
    }

    /// Makes every move from a state.
    fn expand(&mut self, from: u32, state: &State<C>, depth: usize) -> Result<(), End> {
        for by in state.outside.moves(&state.cluster, self.bounds) {
            self.report.steps += 1;
            let mut next = Box::new(state.clone());
            let step = next.make(by, self.bounds).map_err(|what| {
                let path = path(&self.reached, from, by);
                End::Violated(Counterexample::new(self.bounds, path, what))
            })?;
            let goals = &mut self.report.goals;
            goals.look(&step, &state.cluster, &next.cluster, depth);
            if !self.seen.insert(next.fingerprint()) {
                continue;
            }
            self.reached.push(Reached { from, by });
            if self.reached.len() >= self.bounds.states {
                return Err(End::States(self.bounds.states));
            }
            self.frontier
                .push(self.reached.len() as u32 - 1, next, depth);
        }
        Ok(())
    }
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
        steps.push(state.make(*by, bounds)?);
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
    fn make(&mut self, by: Move, bounds: &Bounds) -> Result<Step, String> {
        let (now, call) = self.outside.make(by, &self.cluster, bounds);
        let taken = catch_unwind(AssertUnwindSafe(|| {
            Step::take(&mut self.cluster, now, call)
        }));
        let step = taken.map_err(|_| format!("{by:?} panics"))?;
        let checked = self.checker.after_step(&step, &self.cluster);
        checked.map_err(|violation| violation.to_string())?;
        self.outside.take(&step, &self.cluster);
        self.audit()?;
        if self.outside.terminated {
            let ended = self.checker.at_end(step.now, &self.cluster);
            ended.map_err(|violation| violation.to_string())?;
        }
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
