//! The picture in the README.

#[path = "../../examples/outage/scenario.rs"]
mod scenario;

use redial::sim::{Schedule, Timeline};

use super::s;

#[test]
fn the_picture_in_the_readme_is_what_is_drawn_today() {
    let schedule = Schedule::named("thundering-herd", 7, 3, s(180)).unwrap();
    let run = scenario::simulation(None).run(&schedule).unwrap();
    let timeline = Timeline::of(&run.trace, 0).titled("thundering-herd, seed 7");
    let there = include_str!("../../examples/outage/thundering-herd.svg");
    assert!(
        timeline.svg() == there,
        "draw it anew: cargo run --release -p redial --features sim-svg --example outage -- \
         --schedule thundering-herd --seed 7 --hours 0.05 \
         --svg core/examples/outage/thundering-herd.svg"
    );
}
