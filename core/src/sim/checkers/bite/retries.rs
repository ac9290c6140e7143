//! The rules of retries, and of the health that timeouts take and replies give back.

use super::{super::retries, *};
use crate::{OnRequestTimeout, RetryBudget};

/// A request's attempt times out; its retry waits for 100 ms. Its frame is begun, and not whole.
fn timed_out() -> (History, ConnectionId) {
    let config = exact()
        .on_request_timeout(OnRequestTimeout::Keep)
        .request_timeout(ms(100))
        .unhealthy_after(1);
    let mut history = History::new(config, &TWO[..1]);
    history.submit_on(0, 0, any().idempotent());
    history.ready(5, 0);
    let connection = history.connection(0);
    history
        .call(6, Call::WritesStarted(connection, vec![0]))
        .call(106, Call::Timeout);
    assert_eq!(history.broken(), [""; 0]);
    (history, connection)
}

#[test]
fn a_retry_beside_its_own_unfinished_frame_bites() {
    let (mut history, connection) = timed_out();
    history.call(206, Call::Timeout);
    assert!(!history.last().outputs.iter().any(is_write));
    history.call(207, Call::WritesDone(connection, vec![0]));
    assert!(history.last().outputs.iter().any(is_write));
    assert_eq!(history.broken(), [""; 0]);
    history.last().call = Call::Timeout;
    bites(&history, frames::BESIDE);
}

#[test]
fn a_try_more_than_is_allowed_bites() {
    let (mut history, _) = timed_out();
    let with = |max: u32| exact().max_attempts(max).build().expect("it makes sense");
    history.config = with(2);
    assert_eq!(history.broken(), [""; 0]);
    history.config = with(1);
    bites(&history, retries::ATTEMPTS);
}

#[test]
fn a_retry_that_nobody_pays_for_bites() {
    let (mut history, _) = timed_out();
    let scheduled =
        |output: &&Output| matches!(output, Output::Event(Event::RetryScheduled { .. }));
    let retry = *history
        .outputs()
        .find(scheduled)
        .expect("it is tried again");
    let with = |per_second| {
        let budget = RetryBudget {
            per_submit_milli: 0,
            per_second,
            max: 1,
        };
        exact()
            .retry_budget(budget)
            .build()
            .expect("it makes sense")
    };
    history.call(206, Call::Timeout);
    history.last().outputs.push(retry);
    history.config = with(9);
    bites(&history, retries::BUDGET);
    history.config = with(10);
    assert!(!history.broken().contains(&retries::BUDGET));
}

#[test]
fn a_connection_that_a_reply_does_not_heal_bites() {
    let (mut history, connection) = timed_out();
    let unhealthy = history.cluster.clone();
    let reply = Input::Reply {
        connection,
        to: ReplyTo::Serial(0),
        verdict: Verdict::DONE,
    };
    history.input(107, reply);
    assert_eq!(history.broken(), [""; 0]);
    history.steps.last_mut().expect("a step").1 = unhealthy;
    bites(&history, replies::HEALS);
}
