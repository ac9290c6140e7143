//! What the search rests on: states with one fingerprint go on alike.

use std::collections::{HashMap, hash_map::Entry};

use redial::{record::Step, sim::Checker, sim::checkers};

use super::{Bounds, Move, State, begin};

/// Compares each state that is reached again with the one that was there first, among the first
/// `bounds.states`: both must allow the same moves and have as long until their next deadline, and each move
/// must put out the same and lead to one fingerprint again. As that holds for every pair, whole futures
/// are the same. It returns how many states were compared.
///
/// # Errors
///
/// Two paths to one fingerprint, and what is not alike.
pub fn twins(bounds: &Bounds) -> Result<usize, String> {
    let first = begin(bounds, checkers::all(&bounds.config()));
    let mut seen = HashMap::from([(first.fingerprint(), (first.clone(), Vec::new()))]);
    let mut waiting = vec![(first, Vec::new())];
    let mut compared = 0;
    while let Some((state, path)) = waiting.pop() {
        for by in state.outside.moves(&state.cluster, bounds) {
            let (next, _) = after(&state, by, bounds)?;
            let path = [&path[..], &[by]].concat();
            let full = seen.len() >= bounds.states;
            match seen.entry(next.fingerprint()) {
                Entry::Occupied(twin) => {
                    let (twin, twins_path) = twin.get();
                    alike(twin, &next, bounds)
                        .map_err(|what| format!("{twins_path:?} and {path:?}: {what}"))?;
                    compared += 1;
                }
                Entry::Vacant(_) if full => {}
                Entry::Vacant(free) => {
                    free.insert((next.clone(), path.clone()));
                    waiting.push((next, path));
                }
            }
        }
    }
    Ok(compared)
}

fn alike<C: Checker + Clone>(a: &State<C>, b: &State<C>, bounds: &Bounds) -> Result<(), String> {
    let moves = a.outside.moves(&a.cluster, bounds);
    same("moves", &moves, &b.outside.moves(&b.cluster, bounds))?;
    same("deadlines", &until_deadline(a), &until_deadline(b))?;
    for by in moves {
        let (next_a, step_a) = after(a, by, bounds)?;
        let (next_b, step_b) = after(b, by, bounds)?;
        let what = format!("outputs of {by:?}");
        same(&what, &outputs(&step_a), &outputs(&step_b))?;
        let what = format!("fingerprints after {by:?}");
        same(&what, &next_a.fingerprint(), &next_b.fingerprint())?;
    }
    Ok(())
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, a: &T, b: &T) -> Result<(), String> {
    match a == b {
        true => Ok(()),
        false => Err(format!("{what}: {a:?} and {b:?}")),
    }
}

fn after<C: Checker + Clone>(
    state: &State<C>,
    by: Move,
    bounds: &Bounds,
) -> Result<(State<C>, Step), String> {
    let mut next = state.clone();
    let step = next.make(by, bounds)?;
    Ok((next, step))
}

fn until_deadline<C>(state: &State<C>) -> Option<std::time::Duration> {
    let deadline = state.cluster.poll_timeout()?;
    Some(deadline.at.since(state.cluster.now()))
}

/// Without the numbers: they are names and times, which may differ.
fn outputs(step: &Step) -> Vec<String> {
    let text = |output: &redial::Output| output.to_string().replace(|c: char| c.is_numeric(), "");
    step.outputs.iter().map(text).collect()
}
