//! The rules of the sources of server lists.

use super::{refreshes, *};
use crate::{Hint, RefreshId, RefreshResult, Source, SourceId};

/// One source, asked twice, which has answered once.
fn asked_twice() -> History {
    let config = exact().refresh_jitter(ms(0)).source(Source::primary());
    let mut history = History::new(config, TWO);
    let (refresh, _) = newest(&history);
    history.call(5, Call::Refreshed(refresh, None, specs(TWO)));
    history.call(60_005, Call::Timeout);
    assert_eq!(history.broken(), [""; 0]);
    history
}

fn newest(history: &History) -> (RefreshId, SourceId) {
    let refresh = |output: &Output| match *output {
        Output::Action(Action::Refresh { refresh, source }) => Some((refresh, source)),
        _ => None,
    };
    let refreshes = history.outputs().filter_map(refresh);
    refreshes.last().expect("it was asked")
}

const fn is_refreshed(output: &Output) -> bool {
    matches!(output, Output::Event(Event::Refreshed { .. }))
}

#[test]
fn an_honest_refresh_bites_nothing() {
    let mut history = asked_twice();
    history.call(70_005, Call::Timeout);
    history.call(70_105, Call::Timeout);
    assert_eq!(history.broken(), [""; 0]);
}

#[test]
fn a_second_refresh_of_a_source_bites() {
    let mut history = asked_twice();
    let again = history.last().outputs.clone();
    history.last().outputs.extend(again);
    bites(&history, refreshes::ONE);
}

#[test]
fn an_end_without_a_start_bites() {
    let mut history = asked_twice();
    let (refresh, _) = newest(&history);
    history.call(60_010, Call::Refreshed(refresh, None, specs(TWO)));
    let end = history.last().outputs.clone();
    history.last().outputs.extend(end);
    bites(&history, refreshes::ONE);
}

#[test]
fn refreshes_close_to_each_other_bite() {
    let mut history = asked_twice();
    let (refresh, source) = newest(&history);
    history.call(60_010, Call::Refreshed(refresh, None, specs(TWO)));
    let start = Output::Action(Action::Refresh { refresh, source });
    history.last().outputs.push(start);
    bites(&history, refreshes::APART);
}

#[test]
fn a_refresh_for_no_reason_bites() {
    let mut history = asked_twice();
    let (refresh, source) = newest(&history);
    history.call(60_010, Call::Refreshed(refresh, None, specs(TWO)));
    history.call(63_000, Call::Timeout);
    let start = Output::Action(Action::Refresh { refresh, source });
    history.last().outputs.push(start);
    bites(&history, refreshes::EARLY);
}

#[test]
fn a_refresh_that_does_not_begin_bites() {
    let mut history = asked_twice();
    let (refresh, _) = newest(&history);
    history.call(60_010, Call::Refreshed(refresh, None, specs(TWO)));
    history.call(120_010, Call::Timeout);
    history.last().outputs.clear();
    bites(&history, refreshes::LATE);
}

#[test]
fn a_refresh_that_does_not_end_bites() {
    let mut history = asked_twice();
    history.call(70_005, Call::Timeout);
    history
        .last()
        .outputs
        .retain(|output| !is_refreshed(output));
    bites(&history, refreshes::OVERDUE);
}

#[test]
fn a_node_that_leaves_with_a_bad_answer_bites() {
    let mut history = asked_twice();
    let (refresh, source) = newest(&history);
    history.call(60_010, Call::SetNodes(specs(&TWO[..1])));
    history.call(60_010, Call::Refreshed(refresh, None, specs(&TWO[..1])));
    assert_eq!(history.broken(), [""; 0]);
    for output in &mut history.last().outputs {
        if is_refreshed(output) {
            let result = RefreshResult::Empty;
            *output = Output::Event(Event::Refreshed { source, result });
        }
    }
    bites(&history, lists::SAFE);
}

#[test]
fn a_list_that_is_not_the_union_of_the_answers_bites() {
    let mut history = asked_twice();
    let (refresh, _) = newest(&history);
    history.call(60_010, Call::Refreshed(refresh, None, specs(&TWO[..1])));
    assert_eq!(history.broken(), [""; 0]);
    for (list, rule) in [
        (&[TWO[0], TWO[1], "10.0.0.3:1"][..], unions::MISSING),
        (&TWO[..1], unions::NAMED),
    ] {
        // The application has said another list than the one that was taken.
        history.steps[0].0.call = Call::SetNodes(specs(list));
        bites(&history, rule);
    }
}

#[test]
fn an_endpoint_that_comes_back_and_is_dialled_too_early_bites() {
    let mut history = History::new(exact(), TWO);
    history.submit_on(0, 0, any());
    let connection = history.connection(0);
    let error = ConnectError::Refused;
    history.input(0, Input::ConnectFailed { connection, error });
    history.call(1, Call::SetNodes(specs(&TWO[1..])));
    history.call(2, Call::SetNodes(specs(TWO)));
    let back = history.cluster.nodes().find(|view| view.failures > 0);
    let node = back.expect("it rests").id;
    history.submit_on(3, 0, any());
    assert_eq!(history.broken(), [""; 0]);
    let connect = |output: &Output| match *output {
        Output::Action(Action::Connect {
            connection,
            attempt,
            address,
            ..
        }) => Some((connection, attempt, address)),
        _ => None,
    };
    let known = history.outputs().find_map(connect);
    let (connection, attempt, address) = known.expect("one was dialled");
    // In the step in which it came back, when nobody knows it yet.
    let place = history.steps.len() - 2;
    history.steps[place]
        .0
        .outputs
        .push(Output::Action(Action::Connect {
            connection,
            attempt,
            node,
            address,
        }));
    bites(&history, failures::REST);
}

#[test]
fn a_hint_that_a_source_ignores_bites() {
    let mut history = asked_twice();
    let (refresh, source) = newest(&history);
    history.call(60_010, Call::Refreshed(refresh, None, specs(TWO)));
    history.call(60_500, Call::Hint(Hint::SourceChanged(source)));
    history.call(61_005, Call::Timeout);
    assert_eq!(newest(&history).1, source);
    assert_eq!(history.broken(), [""; 0]);
    history.hide(|output| matches!(output, Output::Action(Action::Refresh { refresh, .. }) if refresh.generation() == 2));
    bites(&history, refreshes::TOLD);
}

#[test]
fn a_hint_during_a_refresh_that_is_forgotten_bites() {
    let mut history = asked_twice();
    let (refresh, source) = newest(&history);
    history.call(60_500, Call::Hint(Hint::SourceChanged(source)));
    history.call(60_510, Call::Refreshed(refresh, None, specs(TWO)));
    history.call(61_005, Call::Timeout);
    assert_eq!(history.broken(), [""; 0]);
    history.hide(|output| matches!(output, Output::Action(Action::Refresh { refresh, .. }) if refresh.generation() == 2));
    bites(&history, refreshes::TOLD);
}
