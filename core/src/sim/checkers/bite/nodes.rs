//! The rules of connections, nodes, deadlines, lists and shutdown.

use super::*;

#[test]
fn a_connection_that_is_closed_twice_bites() {
    let (mut history, ..) = busy();
    let connection = history.connection(0);
    history.input(
        6,
        Input::Closed {
            connection,
            error: CloseError::Peer,
        },
    );
    history
        .last()
        .outputs
        .push(Output::Action(Action::Close { connection }));
    bites(&history, connections::END);
}

#[test]
fn a_connection_that_is_never_told_as_ended_bites() {
    let (mut history, ..) = busy();
    let connection = history.connection(0);
    history.input(
        6,
        Input::Closed {
            connection,
            error: CloseError::Peer,
        },
    );
    history.hide(|output| matches!(output, Output::Event(Event::Disconnected { .. })));
    bites(&history, connections::PAIR);
}

#[test]
fn a_look_up_that_is_given_up_twice_bites() {
    let mut history = History::new(exact(), &["db.example:1"]);
    history.submit_on(0, 0, any());
    history.call(10_000, Call::Timeout);
    let is_abort = |output: &Output| matches!(output, Output::Action(Action::AbortResolve { .. }));
    let abort = history.outputs().copied().find(is_abort);
    history.last().outputs.extend(abort);
    bites(&history, connections::LOOK_UP);
}

#[test]
fn a_second_connection_of_a_node_bites() {
    let (mut history, ..) = busy();
    let (first, second) = (
        history.cluster.nodes().next().expect("two").id,
        history.connection(1),
    );
    for (step, _) in &mut history.steps {
        for output in &mut step.outputs {
            if let Output::Action(Action::Connect {
                connection, node, ..
            })
            | Output::Event(Event::Connected {
                connection, node, ..
            }) = output
                && *connection == second
            {
                *node = first;
            }
        }
    }
    bites(&history, connections::FEW);
}

#[test]
fn a_state_that_is_skipped_bites() {
    let (mut history, ..) = busy();
    history.hide(|output| {
        matches!(
            output,
            Output::Event(Event::StateChanged {
                to: NodeState::Handshaking,
                ..
            })
        )
    });
    bites(&history, transitions::RULE);
}

#[test]
fn a_failure_that_is_not_counted_bites() {
    let (mut history, ..) = busy();
    let connection = history.connection(0);
    history.input(
        6,
        Input::Closed {
            connection,
            error: CloseError::Peer,
        },
    );
    let told = history.last().outputs.clone();
    history.last().outputs.extend(told);
    bites(&history, failures::ONCE);
}

#[test]
fn a_dial_during_a_rest_bites() {
    let mut history = History::new(exact(), &TWO[..1]);
    history.submit_on(0, 0, any());
    let connection = history.connection(0);
    history.input(
        1,
        Input::ConnectFailed {
            connection,
            error: ConnectError::Refused,
        },
    );
    history.call(101, Call::Timeout);
    // The same dial, one millisecond too early.
    history.last().now = t(100);
    bites(&history, failures::REST);
}

#[test]
fn a_request_that_waits_beside_a_free_node_bites() {
    let (mut history, ..) = busy();
    history.hide(is_write);
    history.call(6, Call::Timeout);
    bites(&history, progress::FREE);
}

#[test]
fn a_request_for_which_nobody_is_dialled_bites() {
    let mut history = History::new(exact(), &TWO[..1]);
    let idle = history.cluster.clone();
    history.call(0, Call::Submit(any()));
    history.call(1, Call::Timeout);
    for (step, cluster) in &mut history.steps {
        step.outputs
            .retain(|output| !matches!(output, Output::Event(Event::AttemptStarted { .. })));
        *cluster = idle.clone();
    }
    bites(&history, progress::DIAL);
}

#[test]
fn a_hedge_that_does_not_come_bites() {
    let mut history = History::new(exact().hedge_delay(ms(250)), TWO);
    history.call(0, Call::Submit(any()));
    let before = history.cluster.clone();
    history.call(250, Call::Timeout);
    history.last().outputs.clear();
    history.steps.last_mut().expect("a step").1 = before;
    bites(&history, progress::HEDGE);
}

#[test]
fn a_warm_node_that_is_not_dialled_bites() {
    let cold = History::new(exact(), &TWO[..1]);
    let mut history = History::new(exact().warm(Warm::All), &TWO[..1]);
    history.call(0, Call::Timeout);
    history.steps.last_mut().expect("a step").1 = cold.cluster;
    bites(&history, progress::WARM);
}

#[test]
fn a_request_for_a_node_that_left_bites() {
    let mut history = History::new(exact(), TWO);
    history.submit_on(0, 0, any());
    history.call(1, Call::SetNodes(specs(&TWO[1..])));
    history.call(1, Call::Timeout);
    history.hide(|output| matches!(output, Output::Completion(_)));
    bites(&history, progress::GONE);
}

#[test]
fn a_deadline_that_stands_still_bites() {
    let (mut history, ..) = busy();
    history.call(6, Call::Timeout);
    history.last().deadline = Some(Deadline {
        at: t(6),
        reason: DeadlineReason::Request,
    });
    bites(&history, deadlines::LATER);
}

#[test]
fn a_deadline_that_is_late_bites() {
    let mut history = History::new(exact(), &TWO[..1]);
    history.submit_on(0, 0, any().timeout(ms(100)));
    history.last().deadline = Some(Deadline {
        at: t(101),
        reason: DeadlineReason::Request,
    });
    bites(&history, deadlines::IN_TIME);
}

#[test]
fn a_timeout_that_changes_a_deadline_bites() {
    let (mut history, ..) = busy();
    // A deadline at which there is nothing to do.
    history.last().deadline = Some(Deadline {
        at: t(20),
        reason: DeadlineReason::Request,
    });
    bites(&history, deadlines::EARLY);
}

#[test]
fn an_attempt_without_its_deadline_bites() {
    let mut history = History::new(exact(), &TWO[..1]);
    history.submit_on(0, 0, any().timeout(Limit::Never));
    history.last().deadline = None;
    bites(&history, deadlines::ARMED);
}

#[test]
fn a_list_that_is_refused_and_changes_something_bites() {
    let mut history = History::new(exact(), TWO);
    history.call(1, Call::SetNodes(specs(&TWO[1..])));
    history.last().answer = Answer::List(Err(crate::SetNodesError::Empty));
    bites(&history, lists::SAFE);
}

#[test]
fn a_dial_of_a_node_that_left_bites() {
    let mut history = History::new(exact(), TWO);
    history.submit_on(0, 0, any());
    let dial = history.last().outputs.last().copied();
    history.call(1, Call::SetNodes(specs(&TWO[1..])));
    history.last().outputs.extend(dial);
    bites(&history, lists::GONE);
}

#[test]
fn a_write_after_shutdown_bites() {
    let (mut history, ..) = busy();
    started(&mut history);
    let write = history.outputs().copied().find(is_write);
    history.call(6, Call::Shutdown(ms(100)));
    history.last().outputs.extend(write);
    bites(&history, shutdown::NOTHING_NEW);
}

#[test]
fn a_shutdown_that_does_not_end_bites() {
    let (mut history, ..) = busy();
    started(&mut history);
    history.call(7, Call::Shutdown(ms(100)));
    let before = history.cluster.clone();
    history.call(107, Call::Timeout);
    history.last().outputs.clear();
    history.steps.last_mut().expect("a step").1 = before;
    bites(&history, shutdown::BOUNDED);
}

#[test]
fn an_output_after_terminated_bites() {
    let (mut history, ..) = busy();
    let any_output = history.outputs().next().copied();
    history
        .call(6, Call::Shutdown(ms(0)))
        .call(6, Call::Timeout)
        .call(7, Call::Timeout);
    history.last().outputs.extend(any_output);
    bites(&history, shutdown::SILENT);
}

#[test]
fn a_node_that_is_redialled_without_its_rest_bites() {
    let none = Backoff::constant(ms(0));
    let mut history = History::new(exact().reconnect_backoff(none), &TWO[..1]);
    history.submit_on(0, 0, any());
    let connection = history.connection(0);
    history.input(
        1,
        Input::ConnectFailed {
            connection,
            error: ConnectError::Refused,
        },
    );
    assert_eq!(history.broken(), [""; 0]);
    // With a rest configured the same is wrong.
    history.config = exact()
        .jitter(Jitter::Equal)
        .build()
        .expect("it makes sense");
    bites(&history, failures::REST);
}

#[test]
fn failures_that_are_forgotten_for_nothing_bite() {
    let mut history = History::new(exact(), &TWO[..1]);
    history.submit_on(0, 0, any());
    let connection = history.connection(0);
    let fresh = history.cluster.clone();
    let error = ConnectError::Refused;
    history.input(1, Input::ConnectFailed { connection, error });
    history.call(2, Call::Timeout);
    assert_eq!(history.broken(), [""; 0]);
    history.steps.last_mut().expect("a step").1 = fresh;
    bites(&history, failures::RESET);
}

#[test]
fn a_client_that_moves_for_an_equal_list_bites() {
    let mut history = History::new(exact(), TWO);
    history.call(1, Call::SetNodes(specs(TWO)));
    assert_eq!(history.broken(), [""; 0]);
    let moved = Output::Event(Event::Rebalanced { moves: true });
    history.last().outputs.push(moved);
    bites(&history, lists::EQUAL);
}
