//! The rules where many frames are told in one call, as [`Client`](crate::client::Client) tells them.

use super::*;

/// Two requests are written to one connection, and a third waits for neither; the first two are
/// handed over in one call.
fn handed_over(config: ConfigBuilder) -> (History, [RequestId; 2], ConnectionId) {
    let mut history = History::new(config, &TWO[..1]);
    let requests = [(); 2].map(|()| history.submit_on(0, 0, any()));
    history.ready(5, 0);
    let connection = history.connection(0);
    history.call(6, Call::WritesStarted(connection, vec![0, 1]));
    (history, requests, connection)
}

#[test]
fn an_honest_history_of_many_writes_in_a_call_breaks_no_rule() {
    let (mut history, [first, _], connection) = handed_over(exact());
    history
        .call(7, Call::WritesDone(connection, vec![0, 1]))
        .call(8, Call::Cancel(first));
    let verdict = Verdict::DONE;
    for serial in [0, 1] {
        let to = ReplyTo::Serial(serial);
        history.input(
            9,
            Input::Reply {
                connection,
                to,
                verdict,
            },
        );
    }
    history.submit_on(10, 0, any().without_reply());
    history
        .call(11, Call::WritesDone(connection, vec![2]))
        .call(12, Call::Timeout);
    assert_eq!(history.broken(), [""; 0]);
}

#[test]
fn an_outcome_that_denies_a_hand_over_bites() {
    let (mut history, [_, second], _) = handed_over(exact());
    history.call(7, Call::Cancel(second));
    history.last().outputs[0] = failed(second, failure(Reason::Cancelled));
    bites(&history, completions::TRUTH);
}

#[test]
fn an_outcome_that_denies_the_hand_over_of_a_whole_frame_bites() {
    let (mut history, _, connection) = handed_over(exact());
    let third = history.submit_on(7, 0, any());
    history
        .call(8, Call::WritesDone(connection, vec![0, 1, 2]))
        .call(9, Call::Cancel(third));
    history.last().outputs[0] = failed(third, failure(Reason::Cancelled));
    bites(&history, completions::TRUTH);
}

#[test]
fn a_frame_that_is_withdrawn_after_its_hand_over_bites() {
    let (mut history, [_, request], connection) = handed_over(exact());
    history.call(7, Call::Timeout);
    let withdraw = Action::Withdraw {
        connection,
        request,
        serial: 1,
    };
    history.last().outputs.push(Output::Action(withdraw));
    bites(&history, frames::FINISH);
}

#[test]
fn a_tombstone_that_is_missing_after_a_hand_over_bites() {
    let (mut history, [_, second], connection) = handed_over(exact());
    history.call(7, Call::Cancel(second));
    // The cluster as it would be had the reply come, which it has not.
    let reply = Input::Reply {
        connection,
        to: ReplyTo::Serial(1),
        verdict: Verdict::DONE,
    };
    let mut other = history.cluster.clone();
    other.handle_input(
        t(7),
        Input::WriteDone {
            connection,
            serial: 1,
        },
    );
    other.handle_input(t(7), reply);
    history.steps.last_mut().expect("a step").1 = other;
    bites(&history, slots::TOMBSTONE);
}

#[test]
fn an_attempt_timeout_that_is_late_bites() {
    let (mut history, ..) = handed_over(exact().request_timeout(ms(100)));
    assert_eq!(history.broken(), [""; 0]);
    history.last().deadline = Some(Deadline {
        at: t(107),
        reason: DeadlineReason::Request,
    });
    bites(&history, deadlines::IN_TIME);
}

#[test]
fn a_request_that_waits_beside_a_transport_that_takes_bytes_again_bites() {
    let (mut history, _, connection) = handed_over(exact());
    history.input(7, Input::WriteBlocked { connection });
    history.submit_on(8, 0, any());
    history.call(9, Call::Timeout);
    assert_eq!(history.broken(), [""; 0]);
    history.call(9, Call::WritesDone(connection, vec![]));
    history.last().outputs.clear();
    history.call(10, Call::Timeout);
    bites(&history, progress::FREE);
}

#[test]
fn a_write_on_a_connection_whose_last_bytes_were_long_ago_bites() {
    let mut history = History::new(exact(), &TWO[..1]);
    history.submit_on(0, 0, any().without_reply());
    history.ready(5, 0);
    let connection = history.connection(0);
    history.call(60, Call::WritesDone(connection, vec![0]));
    let allow = |history: &mut History, limit| {
        history.config = exact().max_idle(limit).build().expect("it makes sense");
    };
    // Frames of nobody are no activity.
    history.call(100, Call::WritesStarted(connection, vec![]));
    history.submit_on(155, 0, any());
    allow(&mut history, ms(96));
    assert_eq!(history.broken(), [""; 0]);
    allow(&mut history, ms(95));
    bites(&history, upkeep::STALE);
}

#[test]
fn a_frame_that_is_not_idempotent_and_goes_out_twice_bites() {
    let (mut history, _, connection) = handed_over(exact());
    history.call(7, Call::Timeout);
    let idempotent = any().idempotent();
    let request = history.submit_on(8, 0, idempotent);
    history.call(9, Call::WritesStarted(connection, vec![2]));
    let error = CloseError::Peer;
    history.input(10, Input::Closed { connection, error });
    history.call(110, Call::Timeout).ready(110, 1);
    assert_eq!(history.broken(), [""; 0]);
    assert!(history.last().outputs.iter().any(is_write), "{request}");
    for (step, _) in &mut history.steps {
        if let Call::Submit(options) = &mut step.call {
            options.idempotent = false;
        }
    }
    bites(&history, frames::SAFE);
}

#[test]
fn a_transport_that_takes_nothing_and_lives_bites() {
    let (mut history, ..) = handed_over(exact());
    history.call(1_000, Call::Timeout);
    assert_eq!(history.broken(), [""; 0]);
    history.config = exact()
        .write_timeout(ms(900))
        .build()
        .expect("it makes sense");
    bites(&history, stalls::CLOSED);
}

#[test]
fn a_tombstone_that_outlives_its_attempt_bites() {
    let (mut history, [first, _], connection) = handed_over(exact());
    history
        .call(7, Call::WritesDone(connection, vec![0, 1]))
        .call(8, Call::Cancel(first))
        .call(1_006, Call::Timeout);
    assert_eq!(history.broken(), [""; 0]);
    history.config = exact()
        .request_timeout(ms(1_000))
        .build()
        .expect("it makes sense");
    bites(&history, slots::ENDS);
}
