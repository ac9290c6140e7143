//! The core against a model of it: the rules of SEMANTICS stated a second time, as plainly as they can
//! be, without a line of the core's. A step is taken by both, and then all that came out is compared, the
//! next deadline, and what can be read of every node and connection.
//!
//! - `rules`: settings and formulas (3.1, 3.2, 4.7)
//! - `state`: what the model knows, and what it says
//! - `step`: calls and deadlines (1, 9)
//! - `nodes`: attempts, failures, connections, lists, who is dialled (2, 3, 5.1, 6, 7.6)
//! - `requests`: submits, hand-over, retries, completions (4.1, 4.2, 4.7, 4.8, 5)
//! - `frames`: what is on a connection: replies, throttles, timeouts (4.3 to 4.6, 4.9, 5.3, 8.3)
//! - `walk`: which steps are tried
//! - `core_under_test`: the core in the model's words
//! - `broken`: the faults that the comparison finds
//!
//! The model finds everything anew by looking at everything, so it has no index, timer or queue that
//! could be wrong. What it leaves out:
//!
//! - chance: there is no jitter, and `LeastLoaded` takes the first by name where it would draw;
//! - names, look-ups and races of addresses (2.4, 2.5), keys and endpoints that change (7.6), sources and
//!   fallback nodes (7.2 to 7.5, 7.9), `Sticky` (7.7, 7.8), the governor (3.6), age and idle limits,
//!   keepalives, sessions and hints (8.1, 8.2, 8.4 to 8.6), bytes and ages of the queue (4.1);
//! - in which order one call puts things out, and in which it handles deadlines that are all due, where
//!   the order shows: such steps are not taken;
//! - what a call does between the deadline of a request that waits and the timeout that handles it, but
//!   for calls of that timeout;
//! - new nodes under `RoundRobin`: which of several that were never chosen is first is said nowhere.
//!
//! More cases: `PROPTEST_CASES=200000 cargo test --release -p redial-tests --test model`; others:
//! `PROPTEST_RNG_SEED=2`.

#[cfg(redial_mutant)]
mod broken;
mod core_under_test;
mod frames;
mod nodes;
mod requests;
mod rules;
mod state;
mod step;
mod walk;

use proptest::{prelude::*, test_runner::RngSeed};
use proptest_state_machine::StateMachineTest;

use crate::{core_under_test::Core, state::Model, step::Transition};

struct Comparison;

impl StateMachineTest for Comparison {
    type SystemUnderTest = Core;
    type Reference = Model;

    fn init_test(model: &Model) -> Core {
        Core::new(&model.rules)
    }

    fn apply(mut core: Core, model: &Model, transition: Transition) -> Core {
        let sorted = |out: &[state::Out]| {
            let mut texts: Vec<_> = out.iter().map(|out| format!("{out:?}")).collect();
            texts.sort();
            texts
        };
        let out = core.step(&transition);
        let (told, expected) = (sorted(&out), sorted(&model.out));
        assert!(
            told == expected,
            "{}\nthe core puts out {told:#?}\nthe model {expected:#?}",
            core.history()
        );
        core
    }

    fn check_invariants(core: &Core, model: &Model) {
        if let Some(difference) = core.differs(model) {
            panic!("{}\n{difference}", core.history());
        }
    }
}

/// Nothing is written to files: a failure is kept as a literal schedule, in a test of its own.
fn config() -> ProptestConfig {
    let from_environment = ProptestConfig::default();
    ProptestConfig {
        cases: from_environment.cases.max(1_000),
        // The same walks every time, unless others are asked for.
        rng_seed: match from_environment.rng_seed {
            RngSeed::Random => RngSeed::Fixed(1),
            given => given,
        },
        failure_persistence: None,
        max_local_rejects: u32::MAX,
        max_shrink_iters: 4_000,
        max_shrink_time: 20_000,
        ..from_environment
    }
}

#[cfg(not(redial_mutant))]
proptest_state_machine::prop_state_machine! {
    #![proptest_config(config())]

    #[test]
    fn the_core_does_what_the_model_says(sequential 20..100 => Comparison);
}
