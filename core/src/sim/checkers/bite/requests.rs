//! The rules of requests, replies, slots and frames.

use super::*;

#[test]
fn a_second_completion_bites() {
    let (mut history, first, _) = busy();
    history.call(5, Call::Cancel(first));
    let again = history.last().outputs[0];
    history.last().outputs.push(again);
    bites(&history, completions::ONCE);
}

#[test]
fn a_completion_that_is_lost_bites() {
    let (mut history, first, _) = busy();
    history.call(5, Call::Cancel(first));
    history.hide(|output| matches!(output, Output::Completion(_)));
    bites(&history, completions::ONCE);
}

#[test]
fn a_request_that_outlives_its_deadline_bites() {
    let mut history = History::new(exact(), &TWO[..1]);
    history.submit_on(0, 0, any().timeout(ms(100)));
    let before = history.steps.last().expect("a step").1.clone();
    history.call(100, Call::Timeout);
    history.hide(|output| matches!(output, Output::Completion(_)));
    history.steps.last_mut().expect("a step").1 = before;
    bites(&history, completions::IN_TIME);
}

#[test]
fn an_outcome_that_lies_bites() {
    let (mut history, first, _) = busy();
    started(&mut history);
    history.call(7, Call::Cancel(first));
    history.last().outputs[0] = failed(first, failure(Reason::Cancelled));
    bites(&history, completions::TRUTH);
}

#[test]
fn a_reply_that_reaches_another_request_bites() {
    let (mut history, _, second) = busy();
    started(&mut history);
    let (connection, node) = (
        history.connection(0),
        history.cluster.nodes().next().expect("two").id,
    );
    let to = ReplyTo::Serial(0);
    history.input(
        7,
        Input::Reply {
            connection,
            to,
            verdict: Verdict::DONE,
        },
    );
    let success = Success {
        kind: SuccessKind::Reply,
        node,
        attempts: 1,
        elapsed: ms(7),
        retry_refused: false,
        budget_exhausted: false,
    };
    history.last().outputs = vec![Output::Completion(Completion {
        request: second,
        result: Ok(success),
    })];
    bites(&history, replies::RULE);
}

#[test]
fn a_wrong_count_bites() {
    let (mut history, ..) = busy();
    history.hide(is_write);
    bites(&history, slots::COUNT);
}

#[test]
fn too_many_in_flight_bite() {
    let (mut history, ..) = busy();
    let connection = history.connection(0);
    for number in [1, 2] {
        history.submit_on(6, 0, any());
        assert!(is_write(&history.last().outputs[0]), "request {number}");
    }
    // The peer allowed two.
    let limits = Limits::in_flight(2);
    for (step, _) in &mut history.steps {
        if let Call::Input(Input::HandshakeDone {
            connection: ready,
            limits: allowed,
        }) = &mut step.call
            && *ready == connection
        {
            *allowed = limits;
        }
    }
    bites(&history, slots::LIMIT);
}

#[test]
fn a_tombstone_that_is_missing_bites() {
    let (mut history, first, _) = busy();
    started(&mut history);
    history.call(7, Call::Cancel(first));
    // The cluster as it would be had the reply come, which it has not.
    let mut other = history.cluster.clone();
    let (connection, to) = (history.connection(0), ReplyTo::Serial(0));
    other.handle_input(
        t(7),
        Input::Reply {
            connection,
            to,
            verdict: Verdict::DONE,
        },
    );
    history.steps.last_mut().expect("a step").1 = other;
    bites(&history, slots::TOMBSTONE);
}

#[test]
fn a_write_to_a_connection_in_setup_bites() {
    let (mut history, ..) = busy();
    history
        .steps
        .retain(|(step, _)| !matches!(step.call, Call::Input(Input::Connected { .. })));
    bites(&history, frames::READY);
}

#[test]
fn a_bound_request_on_another_node_bites() {
    let (mut history, ..) = busy();
    let (from, onto) = (history.connection(0), history.connection(1));
    let mut moved = None;
    for (step, _) in &mut history.steps {
        for output in &mut step.outputs {
            if let Output::Action(Action::Write { connection, .. }) = output
                && *connection == from
            {
                *connection = onto;
                moved = Some(*output);
            }
        }
        step.outputs.retain(|output| Some(*output) != moved);
    }
    let last = history.last();
    last.outputs = moved.into_iter().collect();
    bites(&history, frames::BOUND);
}

#[test]
fn a_write_after_the_deadline_bites() {
    let mut history = History::new(exact(), &TWO[..1]);
    history.submit_on(0, 0, any().timeout(ms(100)));
    history.ready(50, 0);
    let write = history
        .last()
        .outputs
        .iter()
        .copied()
        .find(is_write)
        .expect("a write");
    history.hide(is_write);
    history.call(100, Call::Timeout);
    history.last().outputs.insert(0, write);
    bites(&history, frames::DUE);
}

#[test]
fn a_request_in_two_places_bites() {
    let (mut history, ..) = busy();
    let mut write = history.outputs().copied().find(is_write).expect("a write");
    if let Output::Action(Action::Write { serial, .. }) = &mut write {
        *serial = 1;
    }
    history.last().outputs.push(write);
    bites(&history, frames::ONE_PLACE);
}

#[test]
fn a_serial_that_is_left_out_bites() {
    let (mut history, ..) = busy();
    for (step, _) in &mut history.steps {
        for output in &mut step.outputs {
            if let Output::Action(Action::Write { serial, .. }) = output {
                *serial += 1;
            }
        }
    }
    bites(&history, frames::SERIAL);
}

#[test]
fn a_write_to_a_throttled_node_bites() {
    let (mut history, ..) = busy();
    let connection = history.connection(0);
    history.submit_on(6, 0, any());
    let write = history.last().outputs.pop().expect("a write");
    history.input(
        6,
        Input::Throttled {
            connection,
            until: t(500),
        },
    );
    history.last().outputs.push(write);
    bites(&history, frames::THROTTLE);
}

#[test]
fn a_write_that_survives_its_request_bites() {
    let (mut history, first, _) = busy();
    history.call(5, Call::Timeout);
    history
        .last()
        .outputs
        .push(failed(first, failure(Reason::Cancelled)));
    bites(&history, frames::NEVER);
}

#[test]
fn a_withdrawn_frame_that_is_begun_bites() {
    let (mut history, first, _) = busy();
    started(&mut history);
    let connection = history.connection(0);
    history.call(7, Call::Timeout);
    let withdraw = Action::Withdraw {
        connection,
        request: first,
        serial: 0,
    };
    history.last().outputs.push(Output::Action(withdraw));
    bites(&history, frames::FINISH);
}

#[test]
fn a_failure_that_touches_another_nodes_request_bites() {
    let (mut history, _, second) = busy();
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
        .push(failed(second, failure(Reason::Cancelled)));
    bites(&history, isolation::OTHERS);
}

#[test]
fn a_disconnected_request_on_a_live_connection_bites() {
    let (mut history, first, _) = busy();
    history.call(6, Call::Timeout);
    history.last().outputs.push(failed(
        first,
        failure(Reason::Disconnected(Cause::PeerClosed)),
    ));
    bites(&history, isolation::CAUSE);
}
