//! Any run can be recorded and replayed.

use proptest::prelude::*;
use redial::{
    SelectionPolicy,
    record::{replay, replay_with},
};
use redial_tests::{
    recording::record,
    world::{Plan, World},
};

use crate::{cases, walks::plan};

proptest! {
    #![proptest_config(cases(20))]

    /// Recording changes nothing, and the replay gives the same.
    #[test]
    fn a_replay_gives_what_the_recorded_run_gave(plan in recordable()) {
        let run = World::run(&plan).expect("the rules hold");
        let recording = record(&plan, &run.trace);
        let recorded = recording.outputs.iter().map(|(at, output)| (*at, output));
        prop_assert!(run.trace.outputs().eq(recorded), "recording changes nothing");

        let mut outputs = Vec::new();
        let again = replay_with(recording.text.as_bytes(), |at, _, output| outputs.push((at, output)));
        let again = again.expect("it goes as recorded");
        prop_assert_eq!(again.hash, recording.hash);
        prop_assert_eq!(outputs, recording.outputs);
        prop_assert_eq!(again.cluster.stats(), run.stats);
    }

    /// Whatever the bytes, no panic.
    #[test]
    fn what_is_no_recording_is_refused(bytes in any::<Vec<u8>>()) {
        prop_assert!(replay(&*bytes).is_err());
    }
}

/// A policy of the user's own is code, which no recording holds.
fn recordable() -> impl Strategy<Value = Plan> {
    plan().prop_filter("a policy that has a name", |plan| {
        !matches!(plan.config.selection(), SelectionPolicy::Custom(_))
    })
}
