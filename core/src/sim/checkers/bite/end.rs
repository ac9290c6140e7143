//! What must have come to its end when the run is over, and what begins with its start.

use super::*;
use crate::Source;

/// The rules that are broken at the end.
fn left(history: &History) -> Vec<&'static str> {
    let found = rules(&history.config).into_iter().filter_map(|rule| {
        let mut checker = Rules::new(&history.config, vec![rule]);
        for (step, cluster) in &history.steps {
            checker.after_step(step, cluster).expect("it is honest");
        }
        checker
            .at_end(history.cluster.now(), &history.cluster)
            .err()
    });
    found.map(|violation| violation.rule).collect()
}

#[test]
fn an_honest_end_leaves_nothing() {
    let (mut history, ..) = busy();
    started(&mut history);
    history
        .call(7, Call::Shutdown(ms(5)))
        .call(12, Call::Timeout);
    assert_eq!(left(&history), [""; 0]);
}

#[test]
fn what_is_left_at_the_end_bites() {
    let (history, ..) = busy();
    let expected = [
        shutdown::BOUNDED,
        completions::ONCE,
        slots::ZERO,
        connections::END,
    ];
    assert_eq!(left(&history), expected);
}

#[test]
fn a_refresh_that_begins_with_the_construction_and_does_not_end_bites() {
    let config = exact()
        .source(Source::primary())
        .build()
        .expect("it makes sense");
    let mut history = History {
        cluster: Cluster::new(config.clone(), 0, t(0)),
        config,
        steps: Vec::new(),
    };
    history.call(0, Call::Start);
    history.call(10_000, Call::Timeout);
    assert_eq!(history.broken(), [""; 0]);
    history.hide(|output| matches!(output, Output::Event(Event::Refreshed { .. })));
    bites(&history, refreshes::OVERDUE);
}
