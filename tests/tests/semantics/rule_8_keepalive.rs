//! SEMANTICS 8.2, 4.10: keepalives show in time that a peer is gone.

use redial::{Cause, ConfigBuilder, Instant, KeepaliveOn, NodeState, Stage, Warm};
use redial_tests::script::{Script, after, any, build, exact, ms};

const ONE: &[&str] = &["10.0.0.1:1"];

/// After a second of silence, answered within 300 ms.
fn keepalive() -> ConfigBuilder {
    exact()
        .keepalive(true)
        .keepalive_interval(after(1_000))
        .keepalive_timeout(ms(300))
}

fn ready(config: ConfigBuilder) -> Script {
    let mut s = Script::new(build(config), ONE);
    s.whatever().establish(0);
    s
}

/// 8.2: sent when nothing was received for the interval, to the nanosecond.
#[test]
fn a_silent_peer_is_asked_after_the_interval() {
    let mut s = ready(keepalive());
    s.deadline(1_000);
    s.at_instant(Instant::from_nanos(999_999_999))
        .tick()
        .gives(&[]);
    s.at(1_000).tick().gives(&["probe n0"]).deadline(1_300);
}

/// 8.2, R087: and without a byte the connection is closed K + P after the last one.
#[test]
fn a_peer_that_says_nothing_is_closed_after_the_timeout() {
    let mut s = ready(keepalive());
    s.at(400).received(0).gives(&[]).deadline(1_400);
    s.at(1_400).tick().gives(&["probe n0"]).deadline(1_700);
    s.at_instant(Instant::from_nanos(1_699_999_999))
        .tick()
        .gives(&[]);
    s.at(1_700).tick().gives(&["close n0"]).no_deadline();
    let failure = s.view(0).last_failure.expect("a failure");
    assert_eq!(
        (failure.stage, failure.cause),
        (Stage::Established, Cause::KeepaliveTimeout)
    );
    assert_eq!(s.view(0).failures, 1);
}

/// 8.2, R085, R087: what we send is no proof that the peer lives.
#[test]
fn writing_does_not_put_a_keepalive_off() {
    let mut s = ready(keepalive().write_timeout(after(60_000)));
    for request in 0..10 {
        s.at(100 * request as u64)
            .submit(any())
            .written(request)
            .progress(0)
            .whatever();
    }
    s.deadline(1_000).at(1_000).tick().gives(&["probe n0"]);
    s.submit(any())
        .written(10)
        .gives(&["write n0 r10"])
        .deadline(1_300);
    s.at(1_300).tick();
    assert!(s.take().contains(&"close n0".to_owned()));
}

/// 8.2: any byte is: of a reply, of a push, of whatever.
#[test]
fn any_byte_puts_the_keepalive_off() {
    let mut s = ready(keepalive());
    s.at(0).submit(any()).written(0).whatever();
    s.at(200).reply(0).gives(&["r0 reply n0"]).deadline(1_200);
    s.at(300).push(0).gives(&[]).deadline(1_300);
    s.at(400).received(0).gives(&[]).deadline(1_400);
}

/// 8.2: and answers a keepalive.
#[test]
fn any_byte_answers_a_keepalive() {
    for kind in 0..3 {
        let mut s = ready(keepalive());
        s.at(0).submit(any()).written(0).whatever();
        s.at(1_000).tick().gives(&["probe n0"]);
        s.at(1_200);
        match kind {
            0 => s.received(0),
            1 => s.push(0),
            _ => s.reply(0),
        };
        s.whatever().deadline(2_200);
        s.at(2_200).tick().gives(&["probe n0"]);
    }
}

/// 1.1: a byte that is handed in before the timeout is handled wins, even if it is late.
#[test]
fn a_late_byte_wins_if_it_comes_before_the_timeout_is_handled() {
    let mut s = ready(keepalive());
    s.at(1_000).tick().gives(&["probe n0"]);
    s.at(5_000).received(0).gives(&[]).deadline(6_000);
}

/// 8.2: with `Sent` our own silence counts; a keepalive counts as bytes sent (4.10).
#[test]
fn with_sent_our_own_silence_counts() {
    let mut s = ready(keepalive().keepalive_on(KeepaliveOn::Sent));
    s.at(500).received(0).gives(&[]).deadline(1_000);
    s.at(600)
        .submit(any())
        .written(0)
        .whatever()
        .deadline(1_600);
    s.at(700).progress(0).gives(&[]).deadline(1_700);
    s.at(1_700).tick().gives(&["probe n0"]).deadline(2_000);
    s.at(1_800).received(0).gives(&[]).deadline(2_700);
}

/// 8.2: with `Either`, when either direction has been silent for that long.
#[test]
fn with_either_the_longer_silence_counts() {
    let mut s = ready(keepalive().keepalive_on(KeepaliveOn::Either));
    s.at(500).received(0).gives(&[]).deadline(1_000);
    s.at(600).progress(0).gives(&[]).deadline(1_500);
    s.at(1_500).tick().gives(&["probe n0"]);
    s.at(1_600).received(0).gives(&[]).deadline(2_500);
}

/// 8.2: with `Received` it makes no difference how long we have been silent.
#[test]
fn with_received_our_own_silence_does_not_count() {
    let mut s = ready(keepalive());
    s.at(0);
    for tenth in 1..40 {
        s.at(tenth * 100).received(0).tick().gives(&[]);
    }
}

/// 4.10: at most one is outstanding.
#[test]
fn no_second_keepalive_is_sent_while_one_is_out() {
    let mut s = ready(keepalive().keepalive_timeout(ms(5_000)));
    s.at(1_000).tick().gives(&["probe n0"]).deadline(6_000);
    s.at(3_000).tick().gives(&[]).deadline(6_000);
}

/// 4.10: it needs no slot and ignores throttles, and blocked writing: its timeout runs from the call
/// that emits it.
#[test]
fn a_keepalive_needs_no_slot_and_ignores_throttles_and_blocked_writing() {
    let mut s = ready(keepalive().max_in_flight(1u32).write_timeout(after(60_000)));
    s.at(0)
        .submit(any())
        .written(0)
        .submit(any())
        .gives(&["write n0 r0"]);
    s.throttled(0, 900_000).blocked(0).gives(&[]);
    s.at(1_000).tick().gives(&["probe n0"]).deadline(1_300);
    assert_eq!(s.view(0).in_flight, 1);
    s.at(1_300).tick().gives(&[
        "close n0",
        "r0 Disconnected(KeepaliveTimeout) PossiblyWritten",
    ]);
}

/// 4.10: it is no request: nothing completes, nothing is counted.
#[test]
fn a_keepalive_is_no_request() {
    let mut s = ready(keepalive());
    let before = s.cluster().stats();
    s.at(1_000).tick().gives(&["probe n0"]);
    s.at(1_100).received(0).gives(&[]);
    assert_eq!(s.cluster().stats(), before);
}

/// 8.2: none before Ready, where the setup deadline holds.
#[test]
fn a_node_in_setup_gets_no_keepalive() {
    let mut s = Script::new(build(keepalive()), ONE);
    s.at(0).begin(0).whatever().deadline(10_000);
    s.connected(0).gives(&["handshake n0"]).deadline(10_000);
    s.at(5_000).tick().gives(&[]);
    s.received(0).gives(&[]).deadline(10_000);
}

/// 8.2: without an interval there is none.
#[test]
fn without_an_interval_there_is_no_keepalive() {
    let mut s = ready(exact().keepalive(true));
    s.no_deadline()
        .at(1_000_000)
        .received(0)
        .tick()
        .gives(&[])
        .no_deadline();
}

/// 9.1: after a shutdown none is sent, and the timeout of one that is out stays armed.
#[test]
fn after_a_shutdown_no_keepalive_is_sent_and_its_timeout_holds() {
    let mut s = ready(keepalive());
    s.at(0).submit(any()).written(0).whatever();
    s.at(500).shutdown(10_000).gives(&[]).deadline(10_500);
    s.at(2_000).tick().gives(&[]);

    let mut s = ready(keepalive());
    s.at(0).submit(any()).written(0).whatever();
    s.at(1_000).tick().gives(&["probe n0"]);
    s.at(1_100).shutdown(10_000).gives(&[]).deadline(1_300);
    s.at(1_300).tick().gives(&[
        "close n0",
        "r0 Disconnected(KeepaliveTimeout) PossiblyWritten",
        "terminated",
    ]);
}

/// 2.1: what happens on a detached connection changes nothing else of its node.
#[test]
fn a_keepalive_that_times_out_on_a_draining_connection_is_no_failure_of_the_node() {
    let mut s = ready(keepalive());
    s.at(0)
        .submit(any())
        .written(0)
        .reply(0)
        .submit(any())
        .written(1)
        .whatever();
    s.at(1_000).tick().gives(&["probe n0"]);
    s.at(1_100).draining(0).gives(&[]).deadline(1_300);
    s.at(1_300).tick().gives(&[
        "close n0",
        "r1 Disconnected(KeepaliveTimeout) PossiblyWritten",
    ]);
    assert_eq!(
        (s.view(0).failures, s.state(0)),
        (0, NodeState::Disconnected)
    );
}

/// 8.2: a new connection starts anew.
#[test]
fn a_new_connection_owes_no_answer() {
    let mut s = ready(keepalive().warm(Warm::All));
    s.at(1_000).tick().gives(&["probe n0"]);
    s.at(1_100).closed(0).gives(&[]);
    s.at(1_200).tick().gives(&["connect n0"]);
    s.connected(0)
        .ready(0)
        .gives(&["handshake n0"])
        .deadline(2_200);
}

/// 8.2, R087: every connection that is open at all is held to it, when the process slept, too.
#[test]
fn after_a_sleep_each_connection_is_asked_once() {
    let mut s = Script::new(build(keepalive()), &["10.0.0.1:1", "10.0.0.2:1"]);
    s.at(0).establish(0).establish(1);
    s.at(3_600_000)
        .tick()
        .gives(&["probe n0", "probe n1"])
        .deadline(3_600_300);
}
