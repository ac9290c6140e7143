//! The rules of the governor, of hints and of upkeep.

use super::*;
use crate::Hint;

fn probed() -> History {
    let config = exact()
        .keepalive(true)
        .keepalive_interval(ms(100))
        .keepalive_timeout(ms(50));
    let mut history = History::new(config, &TWO[..1]);
    let request = history.submit_on(0, 0, any());
    history.ready(0, 0).call(0, Call::Cancel(request));
    history.call(100, Call::Timeout);
    history
}

const fn is_probe(output: &Output) -> bool {
    matches!(output, Output::Action(Action::Probe { .. }))
}

#[test]
fn an_honest_probe_bites_nothing() {
    let mut history = probed();
    assert_eq!(
        history.outputs().filter(|output| is_probe(output)).count(),
        1
    );
    history.call(150, Call::Timeout);
    assert_eq!(history.broken(), [""; 0]);
}

#[test]
fn a_second_probe_bites() {
    let mut history = probed();
    let probe = history.outputs().copied().find(is_probe);
    history.last().outputs.extend(probe);
    bites(&history, upkeep::ONE_PROBE);
}

#[test]
fn a_probe_that_is_not_sent_bites() {
    let mut history = probed();
    history.hide(is_probe);
    bites(&history, upkeep::SILENCE);
}

#[test]
fn in_a_session_a_peer_is_silent_after_a_third_of_its_timeout() {
    let config = exact().keepalive(true).keepalive_interval(ms(50));
    let mut history = History::new(config, &TWO[..1]);
    let request = history.submit_on(0, 0, any());
    let connection = history.connection(0);
    history.input(0, Input::Connected { connection });
    let limits = Limits::NONE.with_session(ms(300));
    history.input(0, Input::HandshakeDone { connection, limits });
    history.call(0, Call::Cancel(request));
    history.call(50, Call::Timeout).call(100, Call::Timeout);
    assert_eq!(history.broken(), [""; 0]);
    history.hide(is_probe);
    bites(&history, upkeep::SILENCE);
}

#[test]
fn a_probe_that_nobody_answers_and_that_closes_nothing_bites() {
    let mut history = probed();
    history.call(150, Call::Timeout);
    history.hide(|output| matches!(output, Output::Action(Action::Close { .. })));
    bites(&history, upkeep::ANSWER);
}

#[test]
fn a_write_on_a_connection_past_its_limit_bites() {
    let mut history = History::new(exact(), &TWO[..1]);
    let request = history.submit_on(0, 0, any());
    history.ready(0, 0).call(0, Call::Cancel(request));
    history.submit_on(100, 0, any());
    assert_eq!(history.broken(), [""; 0]);
    // With limits configured the same is wrong.
    for config in [exact().max_idle(ms(100)), exact().max_age(ms(100))] {
        history.config = config.build().expect("it makes sense");
        bites(&history, upkeep::STALE);
    }
}

#[test]
fn a_connection_that_grows_old_bites() {
    let mut history = History::new(exact(), &TWO[..1]);
    history.submit_on(0, 0, any());
    history.ready(0, 0).call(100, Call::Timeout);
    history.config = exact().max_age(ms(100)).build().expect("it makes sense");
    bites(&history, upkeep::AGE);
}

#[test]
fn attempts_that_begin_too_soon_bite() {
    let mut history = History::new(exact().warm(Warm::All), TWO);
    history.config = exact()
        .warm(Warm::All)
        .attempts_per_second(1)
        .build()
        .expect("it makes sense");
    bites(&history, governor::RATE);
    history.config = exact()
        .warm(Warm::All)
        .max_concurrent_attempts(1)
        .build()
        .expect("it makes sense");
    bites(&history, governor::CONCURRENT);
}

#[test]
fn a_hint_that_makes_a_rest_longer_bites() {
    let mut history = History::new(exact(), &TWO[..1]);
    history.submit_on(0, 0, any());
    let connection = history.connection(0);
    let refused = Input::ConnectFailed {
        connection,
        error: ConnectError::Refused,
    };
    history.input(1, refused);
    let resting = history.cluster.clone();
    history.call(2, Call::Hint(Hint::NetworkChanged));
    assert_eq!(history.broken(), [""; 0]);
    // The same backwards.
    let place = history.steps.len();
    let shortened = core::mem::replace(&mut history.steps[place - 1].1, resting);
    history.steps[place - 2].1 = shortened;
    bites(&history, failures::HINT);
}

#[test]
fn a_session_that_outlives_its_silence_bites() {
    let mut history = History::new(exact(), &TWO[..1]);
    history.submit_on(0, 0, any());
    let connection = history.connection(0);
    history.input(0, Input::Connected { connection });
    let limits = Limits::NONE.with_session(ms(300));
    history.input(0, Input::HandshakeDone { connection, limits });
    history.call(399, Call::Timeout);
    assert_eq!(history.broken(), [""; 0]);
    history.last().now = t(400);
    bites(&history, sessions::ENDS);
}
