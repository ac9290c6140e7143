//! What a search found.

use std::{fmt, time::Duration};

use super::{Bounds, Fault, Goals, Move, begin};
use redial::sim::checkers;

/// The figures of a search.
#[derive(Clone, Debug)]
pub struct Report {
    /// Within which bounds.
    pub bounds: Bounds,
    /// Distinct states.
    pub states: usize,
    /// Moves made, into new states and old ones, each of them checked.
    pub steps: usize,
    /// The most moves to a state: without a budget, the longest of the shortest paths.
    pub depth: usize,
    /// The most states that waited to be looked into.
    pub widest: usize,
    /// What was reached on the way.
    pub goals: Goals,
    /// What ended it.
    pub end: End,
    /// How long it took.
    pub took: Duration,
}

/// What ended a search.
#[derive(Clone, Debug)]
pub enum End {
    /// There is no state that was not seen.
    Exhausted,
    /// The bound on states.
    States(usize),
    /// Something that must hold does not.
    Violated(Counterexample),
}

/// A path, without a budget a shortest, to a step that is wrong.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// Within which bounds.
    pub bounds: Bounds,
    /// The path, the wrong step last.
    pub moves: Vec<Move>,
    /// What is wrong.
    pub what: String,
}

impl Report {
    pub(super) fn new(bounds: &Bounds) -> Self {
        Self {
            bounds: bounds.clone(),
            states: 1,
            steps: 0,
            depth: 0,
            widest: 1,
            goals: Goals::default(),
            end: End::Exhausted,
            took: Duration::ZERO,
        }
    }

    /// Whether all that must hold did.
    #[must_use]
    pub const fn holds(&self) -> bool {
        !matches!(self.end, End::Violated(_))
    }
}

impl Counterexample {
    pub(super) fn new(bounds: &Bounds, moves: Vec<Move>, what: String) -> Self {
        Self {
            bounds: bounds.clone(),
            moves,
            what,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.bounds)?;
        let rate = |count: usize| count as f64 / self.took.as_secs_f64().max(1e-9);
        writeln!(
            f,
            "{} distinct states, {} steps, depth {}, at most {} states waiting",
            self.states, self.steps, self.depth, self.widest
        )?;
        writeln!(
            f,
            "{:.1} s, {:.0} states and {:.0} steps a second",
            self.took.as_secs_f64(),
            rate(self.states),
            rate(self.steps)
        )?;
        write!(f, "{}", self.goals)?;
        match &self.end {
            End::Exhausted => write!(f, "exhausted")?,
            End::States(most) => write!(f, "ended by the bound of {most} states")?,
            End::Violated(found) => return write!(f, "{found}"),
        }
        let steps = self.steps;
        writeln!(
            f,
            ": all rules and the audit held after each of {steps} steps"
        )
    }
}

/// What is wrong, what happened, and the path as a test.
impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            bounds,
            moves,
            what,
        } = self;
        writeln!(f, "violated after {} moves: {what}", moves.len())?;
        let mut state = begin(bounds, checkers::all(&bounds.config()));
        for by in moves {
            match state.make(*by, bounds) {
                Ok(step) => writeln!(f, "  {step}")?,
                Err(what) => writeln!(f, "  {by:?}: {what}")?,
            }
        }
        writeln!(f, "#[test]\nfn the_search_found_this() {{")?;
        writeln!(
            f,
            "    use redial_tests::search::{{Bounds, Fault, Move, replay}};"
        )?;
        let list = |faults: &[Fault]| {
            let faults = faults.iter().map(|fault| format!("Fault::{fault:?}"));
            faults.collect::<Vec<_>>().join(", ")
        };
        writeln!(f, "    let bounds = Bounds {{")?;
        writeln!(f, "        warm: {},", bounds.warm)?;
        writeln!(f, "        free: vec![{}],", list(&bounds.free))?;
        writeln!(f, "        budget: {},", bounds.budget)?;
        writeln!(
            f,
            "        ..Bounds::new({}, {})",
            bounds.nodes, bounds.requests
        )?;
        writeln!(f, "    }}")?;
        writeln!(f, "    .with(&[{}]);", list(&bounds.faults))?;
        writeln!(f, "    let moves = [")?;
        for by in moves {
            writeln!(f, "        Move::{by:?},")?;
        }
        writeln!(f, "    ];")?;
        writeln!(f, "    replay(&bounds, &moves).unwrap();\n}}")
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            nodes,
            requests,
            warm,
            free,
            faults,
            budget,
            states: _,
        } = self;
        let warm = if *warm { "warm " } else { "" };
        write!(
            f,
            "{nodes} {warm}nodes, {requests} requests, every path with "
        )?;
        if !free.is_empty() {
            write!(f, "any number of {free:?} and ")?;
        }
        match faults.len() {
            0 => write!(f, "nothing else"),
            kinds => write!(f, "at most {budget} of the {kinds} kinds {faults:?}"),
        }
    }
}
