//! Every state of small clusters, by `Clone` and `fingerprint()`. Larger ones:
//! `cargo run --release -p redial-tests --bin search -- --nodes 2 --requests 2`, and in `.ci/run`.

use redial::{
    Cluster, Output,
    record::Step,
    sim::{Checker, Violation},
};
use redial_tests::search::{
    Bounds, End, Fault, Goal, Move, Report, replay, search, search_with, twins,
};

/// Searches to the end.
fn exhaust(bounds: &Bounds) -> Report {
    let report = search(bounds);
    assert!(matches!(report.end, End::Exhausted), "{report}");
    let missed: Vec<_> = report.goals.missed(bounds).collect();
    assert_eq!(missed, [], "never reached: {report}");
    report
}

/// A fault beside what happens every day: once, or any number of times where that has an end.
fn with(bounds: Bounds, fault: Fault) -> Bounds {
    match fault {
        Fault::Retry | Fault::Late => bounds.with_free(&[fault]),
        _ => bounds.with(&[fault]),
    }
}

#[test]
fn all_that_must_hold_holds_with_one_node_two_requests_and_any_one_fault() {
    let mut missed = Goal::ALL.to_vec();
    for fault in Fault::RARE {
        let report = exhaust(&with(Bounds::new(1, 2), fault));
        missed.retain(|goal| report.goals.depth(*goal).is_none());
    }
    assert_eq!(missed, [], "never reached");
}

#[test]
fn all_that_must_hold_holds_with_two_nodes_and_one_request() {
    for fault in [Fault::Retry, Fault::List, Fault::Throttle] {
        exhaust(&with(Bounds::new(2, 1), fault));
    }
}

#[test]
fn all_that_must_hold_holds_with_any_two_faults() {
    let faults: Vec<_> = Fault::all()
        .filter(|fault| *fault != Fault::Expire)
        .collect();
    exhaust(&Bounds {
        free: Vec::new(),
        budget: 2,
        ..Bounds::new(1, 1).with(&faults)
    });
}

#[test]
fn states_with_one_fingerprint_go_on_alike() {
    let mut compared = 0;
    for fault in Fault::RARE {
        let bounds = with(Bounds::new(2, 2), fault);
        let bounds = Bounds {
            states: 2_000,
            ..bounds
        };
        compared += twins(&bounds).unwrap_or_else(|unlike| panic!("{fault:?}: {unlike}"));
    }
    assert!(compared > 20_000, "{compared}");
}

#[test]
#[should_panic(expected = "Cancel(0) is none of")]
fn a_path_keeps_to_its_budget() {
    let bounds = Bounds {
        free: Vec::new(),
        ..Bounds::new(1, 2).with(&[Fault::Hint, Fault::Cancel])
    };
    let moves = [Move::Submit, Move::NetworkChanged, Move::Cancel(0)];
    drop(replay(&bounds, &moves));
}

#[test]
fn all_that_must_hold_holds_with_a_node_that_is_kept_connected() {
    let report = exhaust(&Bounds {
        warm: true,
        ..Bounds::new(1, 1)
    });
    assert!(report.goals.depth(Goal::AnsweredAtAnotherTry).is_some());
}

#[test]
fn a_search_that_may_not_go_on_says_so() {
    let bounds = Bounds {
        states: 100,
        ..Bounds::new(1, 1)
    };
    let report = search(&bounds);
    assert!(matches!(report.end, End::States(100)), "{report}");
}

/// Nobody is ever answered.
#[derive(Clone)]
struct NoAnswer;

impl Checker for NoAnswer {
    fn after_step(&mut self, step: &Step, _cluster: &Cluster) -> Result<(), Violation> {
        let answered = |output: &Output| match output {
            Output::Completion(completion) => completion.result.is_ok(),
            _ => false,
        };
        match step.outputs.iter().any(answered) {
            false => Ok(()),
            true => Err(Violation {
                rule: "nobody is answered",
                what: String::new(),
            }),
        }
    }
}

#[test]
fn what_is_wrong_is_found_on_a_shortest_path_which_is_a_test() {
    let bounds = Bounds::new(1, 1);
    let report = search_with(&bounds, NoAnswer);
    let End::Violated(found) = &report.end else {
        panic!("{report}");
    };
    let moves = [
        Move::Submit,
        Move::List(1),
        Move::Connected(0),
        Move::HandshakeDone(0),
        Move::Started(0, 0),
        Move::Done(0, 0),
    ];
    assert_eq!(found.moves.len(), moves.len());
    assert!(found.to_string().contains("        Move::Started(0, 0),\n"));
    // The core is right: all its own checkers are content.
    replay(&bounds, &moves).unwrap();
    replay(&bounds, &found.moves).unwrap();
}
