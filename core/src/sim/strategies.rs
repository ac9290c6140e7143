//! Strategies of [proptest] for schedules, so that your own timeout logic is tested against faults
//! that nobody thought of. Feature `sim-proptest`.
//!
//! What they give becomes simpler when a test fails: faults vanish, come earlier, are shorter and
//! milder, and strike the first server. [`shrink`](super::shrink) does the same with any schedule.
//!
//! # Example: property-test your own timeout logic
//!
//! Whatever goes wrong in ten minutes, nobody waits longer than half a minute for a request:
//!
//! ```
//! use std::time::Duration;
//!
//! use proptest::test_runner::{Config, TestRunner};
//! use redial::{
//!     RequestOptions,
//!     client::length_prefixed::LengthPrefixed,
//!     sim::{Fault, Load, Service, Simulation, Swarm, strategies::schedules},
//! };
//!
//! const SECOND: Duration = Duration::from_secs(1);
//!
//! fn simulation() -> Simulation<LengthPrefixed> {
//!     let options = RequestOptions::new().idempotent().timeout(30 * SECOND);
//!     Simulation::new(LengthPrefixed::new, |_| Service::echo(SECOND / 1000))
//!         .workload(move |_| Load::every(SECOND, |n| format!("{n}").into()).options(options))
//!         .property("nobody waits longer than half a minute", |request| {
//!             request.completed - request.submitted <= 30 * SECOND
//!         })
//! }
//!
//! // In a #[test], with the macro `proptest!` or without. A machine that sleeps is excused.
//! let mut swarm = Swarm { lasts: 600 * SECOND, ..Swarm::default() };
//! swarm.faults.retain(|fault| *fault != Fault::Sleep);
//! TestRunner::new(Config::with_cases(20))
//!     .run(&schedules(&swarm), |schedule| {
//!         let result = simulation().run(&schedule);
//!         proptest::prop_assert!(result.is_ok(), "{:?}", result);
//!         Ok(())
//!     })
//!     .unwrap();
//! ```

use std::vec::Vec;

use proptest::{arbitrary::any, collection::vec, strategy::Strategy};

use super::{
    fault::Fault,
    schedule::{Occurrence, Schedule, Swarm},
};

/// The numbers that decide on one fault. Its values need the last of them.
type Choices = [u32; 10];

/// Schedules such as [`Schedule::draw`] gives of the swarm, from none to twice the mean of faults,
/// sorted by their beginning. They shrink towards no faults, the fewest servers, and as
/// [`faults`] do; the seed and the duration of the run stay.
pub fn schedules(swarm: &Swarm) -> impl Strategy<Value = Schedule> + use<> {
    let swarm = swarm.clone();
    let (fewest, most) = swarm.server_counts();
    let count = match swarm.faults.is_empty() {
        true => 0,
        false => swarm.mean_faults() as usize * 2,
    };
    // Numbers for the swarm's choice of faults, which stays as it is.
    let on = vec(any::<u32>(), swarm.faults.len() + 1).no_shrink();
    let faults = vec(any::<Choices>(), 0..=count);
    (any::<u64>().no_shrink(), fewest..=most, on, faults).prop_map(
        move |(seed, servers, on, faults)| {
            let on = swarm.some_faults(&mut chooser(on));
            let fault = |choices| swarm.occurrence(servers, &on, &mut chooser(choices));
            let mut faults: Vec<_> = faults.into_iter().map(fault).collect();
            faults.sort_by_key(|fault| fault.at);
            Schedule {
                seed,
                servers,
                lasts: swarm.lasts,
                faults,
            }
        },
    )
}

/// A fault such as is drawn of the swarm, for so many servers, of which 0 count as 1. It shrinks
/// towards an early, short and mild one of the first server, and of the first kind in
/// [`Swarm::faults`]; if that has none, of [`Fault::KINDS`].
pub fn faults(swarm: &Swarm, servers: u32) -> impl Strategy<Value = Occurrence> + use<> {
    let mut swarm = swarm.clone();
    if swarm.faults.is_empty() {
        swarm.faults = Fault::KINDS.to_vec();
    }
    any::<Choices>().prop_map(move |choices| {
        swarm.occurrence(servers.max(1), &swarm.faults, &mut chooser(choices))
    })
}

/// Chooses by these numbers, as parts of 2^32. A smaller one never leads to a greater choice.
fn chooser(choices: impl IntoIterator<Item = u32>) -> impl FnMut(u64) -> u64 {
    let mut choices = choices.into_iter();
    move |n| {
        let choice = choices.next().unwrap_or(0);
        ((u128::from(choice) * u128::from(n)) >> 32) as u64
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;
    use std::string::ToString;

    use proptest::{
        prelude::*,
        test_runner::{Config, TestError, TestRunner},
    };

    use super::*;
    use crate::sim::Target;

    /// What a property that fails there is shrunk to.
    fn shrunk<S: Strategy>(strategy: &S, fails: impl Fn(&S::Value) -> bool) -> S::Value {
        let config = Config {
            failure_persistence: None,
            ..Config::default()
        };
        let mut runner = TestRunner::new_with_rng(config, deterministic());
        let result = runner.run(strategy, |value| {
            prop_assert!(!fails(&value));
            Ok(())
        });
        match result {
            Err(TestError::Fail(_, value)) => value,
            _ => panic!("nothing fails"),
        }
    }

    fn deterministic() -> proptest::test_runner::TestRng {
        proptest::test_runner::TestRng::deterministic_rng(
            proptest::test_runner::RngAlgorithm::ChaCha,
        )
    }

    #[test]
    fn a_schedule_shrinks_to_what_matters() {
        let crash = |fault: &Occurrence| {
            fault.fault == Fault::Crash && fault.lasts >= Duration::from_secs(5)
        };
        let schedule = shrunk(&schedules(&Swarm::default()), |schedule| {
            schedule.faults.iter().any(crash)
        });
        assert_eq!((schedule.servers, schedule.faults.len()), (3, 1));
        let fault = schedule.faults[0];
        assert_eq!(fault.target, Target::Server(0));
        assert!(fault.lasts <= Duration::from_millis(5_120), "{fault}");
        assert!(fault.at < crate::Instant::from_millis(1_000), "{fault}");
    }

    #[test]
    fn a_fault_shrinks_to_the_first_kind_early_and_short() {
        let fault = shrunk(&faults(&Swarm::default(), 3), |_| true);
        assert_eq!(fault.to_string(), "at 0s for 10ms server 0 crash");
    }

    #[test]
    fn without_faults_schedules_have_none() {
        let swarm = Swarm {
            faults: Vec::new(),
            ..Swarm::default()
        };
        let mut runner = TestRunner::deterministic();
        let test = |schedule: Schedule| {
            prop_assert!(schedule.faults.is_empty());
            Ok(())
        };
        runner.run(&schedules(&swarm), test).unwrap();
    }
}
