//! The model can be contradicted: broken cores are.

use std::panic;

use proptest::test_runner::{RngSeed, TestRunner};
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest};
use redial::mutant::{Mutant, choose};

use crate::{Comparison, config, state::Model};

/// In so many cases each must be found.
const CASES: u32 = 5_000;

/// Faults in what the model leaves out, or in what is not compared.
const OUTSIDE: &[Mutant] = {
    use Mutant::*;
    &[
        WritesEnded,
        IgnoresQueueAge,
        LengthensRest,
        ForgetsDisconnected,
        AbortsAnsweredLookUp,
        IgnoresConcurrency,
        IgnoresRate,
        IgnoresUnanswered,
        ProbesTwice,
        NeverAsks,
        UsesStale,
        KeepsOld,
        IgnoresSessionEnd,
        RebalancesForEqual,
        LosesDeferredRefresh,
        RefreshesTwice,
        RefreshesTooOften,
        RefreshesEarly,
        RefreshesOnce,
        AwaitsRefreshForEver,
        ActsEarly,
    ]
};

/// How a core with this fault differs from the model.
fn difference(mutant: Option<Mutant>) -> Option<String> {
    choose(mutant);
    let config = proptest::test_runner::Config {
        cases: CASES,
        max_shrink_iters: 0,
        rng_seed: RngSeed::Fixed(1),
        ..config()
    };
    let steps = Model::sequential_strategy(20..100);
    let found = TestRunner::new(config.clone()).run(&steps, |(model, transitions, _)| {
        Comparison::test_sequential(config.clone(), model, transitions, None);
        Ok(())
    });
    choose(None);
    found.err().map(|error| error.to_string())
}

#[test]
fn broken_cores_differ_from_the_model_and_a_sound_one_does_not() {
    let hook = panic::take_hook();
    // Each difference is a panic.
    panic::set_hook(Box::new(|_| {}));
    let sound = difference(None);
    let inside = Mutant::CORE
        .iter()
        .filter(|mutant| !OUTSIDE.contains(mutant));
    let missed: Vec<_> = inside
        .filter(|mutant| difference(Some(**mutant)).is_none())
        .collect();
    panic::set_hook(hook);
    assert_eq!(sound, None);
    assert!(missed.is_empty(), "not found: {missed:?}");
}
