//! SEMANTICS 3.1: setup timeouts that are a share of the session's.

use core::time::Duration;

use redial::{Cause, ConfigBuilder, Instant, Limits, SetupTimeout, Stage};
use redial_tests::script::{Script, after, any, build, exact, ms};

const ONE: &[&str] = &["10.0.0.1:1"];
const TWO: &[&str] = &["10.0.0.1:1", "10.0.0.2:1"];
const THREE: &[&str] = &["10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"];

fn share_of(session_timeout: Duration) -> ConfigBuilder {
    exact().connection_setup_timeout(SetupTimeout::SessionShare { session_timeout })
}

/// The first node is being dialled since 0.
fn dialling(config: ConfigBuilder, list: &[&str]) -> Script {
    let mut s = Script::new(build(config), list);
    s.begin(0).whatever();
    s
}

/// 3.1.
#[test]
fn an_attempt_has_the_session_timeout_divided_by_the_number_of_servers() {
    for (list, share) in [(ONE, 6_000), (TWO, 3_000), (THREE, 2_000)] {
        let mut s = dialling(share_of(ms(6_000)), list);
        s.deadline(share).at(share - 1).tick().gives(&[]);
        s.at(share).tick().gives(&["abort n0"]);
        let failure = s.view(0).last_failure.expect("it failed");
        assert_eq!(
            (failure.stage, failure.cause),
            (Stage::Connect, Cause::SetupTimeout)
        );
    }
}

/// 3.1: it is constant, whatever failed before.
#[test]
fn the_share_does_not_grow_with_failures() {
    let mut s = dialling(share_of(ms(4_000)), TWO);
    for round in 0..5 {
        let start = 60_000 * round;
        s.deadline(start + 2_000)
            .at(start + 2_000)
            .tick()
            .gives(&["abort n0"]);
        s.at(start + 60_000).begin(0).whatever();
    }
}

/// 3.1: resolving included.
#[test]
fn the_share_counts_from_the_start_of_the_attempt() {
    let mut s = dialling(share_of(ms(2_000)), &["a:1", "b:1"]);
    s.at(700)
        .resolved(0, &["10.0.0.1:1"])
        .whatever()
        .deadline(1_000);
    s.at(1_000).tick().gives(&["abort n0"]);
}

/// 3.1: once more for the handshake.
#[test]
fn the_handshake_has_a_share_of_its_own() {
    let mut s = dialling(share_of(ms(6_000)), TWO);
    s.at(2_999)
        .connected(0)
        .gives(&["handshake n0"])
        .deadline(5_999);
    s.at(5_998).tick().gives(&[]);
    s.at(5_999).tick().gives(&["abort n0"]);
    let failure = s.view(0).last_failure.expect("it failed");
    assert_eq!(
        (failure.stage, failure.cause),
        (Stage::Handshake, Cause::SetupTimeout)
    );
}

/// 3.1: a handshake timeout takes the place of the handshake's share.
#[test]
fn a_handshake_timeout_is_used_instead_of_the_share() {
    let mut s = dialling(share_of(ms(6_000)).handshake_timeout(after(500)), TWO);
    s.deadline(3_000)
        .at(1_000)
        .connected(0)
        .whatever()
        .deadline(1_500);
    // Nor does a new list change it.
    s.set_nodes(THREE).gives(&[]).deadline(1_500);
    s.at(1_500).tick().gives(&["abort n0"]);
    assert_eq!(
        s.view(0).last_failure.expect("it failed").cause,
        Cause::HandshakeTimeout
    );
}

/// 3.1: a long list, a short session.
#[test]
fn a_share_is_at_least_a_millisecond() {
    dialling(share_of(ms(2)), THREE).deadline(1);
    dialling(share_of(ms(3)), THREE).deadline(1);
    dialling(share_of(Duration::from_nanos(1)), ONE).deadline(1);
}

/// 3.1: in nanoseconds.
#[test]
fn a_share_is_exact() {
    let s = dialling(share_of(ms(10)), THREE);
    let due = s.cluster().poll_timeout().expect("it is armed").at;
    assert_eq!(due, Instant::from_nanos(3_333_333));
}

/// 3.1: recomputed at once when the list changes, in both directions.
#[test]
fn the_share_of_an_attempt_follows_the_list() {
    let mut s = dialling(share_of(ms(6_000)), TWO);
    s.deadline(3_000)
        .at(1_000)
        .set_nodes(THREE)
        .gives(&[])
        .deadline(2_000);
    s.at(1_500).set_nodes(ONE).gives(&[]).deadline(6_000);
    s.at(1_700).set_nodes(THREE).gives(&[]).deadline(2_000);
    s.at(2_000).tick().gives(&["abort n0"]);
}

/// 3.1: of a handshake too, from its own start.
#[test]
fn the_share_of_a_handshake_follows_the_list() {
    let mut s = dialling(share_of(ms(6_000)), TWO);
    s.at(1_000).connected(0).whatever().deadline(4_000);
    s.at(1_100).set_nodes(THREE).gives(&[]).deadline(3_000);
}

/// 1.1, 3.1: a share that is over already fires at the next timeout, not in the update.
#[test]
fn an_attempt_that_is_over_its_new_share_ends_at_the_next_timeout() {
    let mut s = dialling(share_of(ms(6_000)), ONE);
    s.deadline(6_000)
        .at(2_500)
        .set_nodes(THREE)
        .gives(&[])
        .deadline(2_500);
    s.tick().gives(&["abort n0"]);
}

/// 3.1: an equal list moves nothing.
#[test]
fn an_equal_list_does_not_give_more_time() {
    let mut s = dialling(share_of(ms(6_000)), TWO);
    for now in [500, 1_000, 2_999] {
        s.at(now)
            .set_nodes(&[TWO[1], TWO[0]])
            .gives(&[])
            .deadline(3_000);
    }
}

/// 3.1, 8.6: recomputed at once when a handshake gives another session timeout.
#[test]
fn the_share_follows_the_session_timeout() {
    let mut s = dialling(share_of(ms(30_000)), THREE);
    s.begin(1).whatever().deadline(10_000);
    s.at(1_000).connected(0).whatever().deadline(10_000);
    s.at(2_000)
        .ready_with(0, Limits::NONE.with_session(ms(9_000)))
        .gives(&[])
        .deadline(3_000);
    s.at(3_000).tick().gives(&["abort n1"]);
    // And is used for the next.
    s.at(3_500)
        .submit_on(2, any())
        .gives(&["connect n2"])
        .deadline(6_500);
}

/// 3.1, 7.9: the end of an attempt is due when fallback nodes take a part of its time; the step in
/// which they join handles it.
#[test]
fn fallback_nodes_that_join_by_the_clock_end_an_overdue_attempt_in_the_same_step() {
    let mut s = Script::new(build(share_of(ms(10_000))), ONE);
    s.begin(0).refused(0).whatever();
    // They join, and with the next good list they leave, not to join again within 10 s.
    s.set_fallback(THREE).set_nodes(ONE).whatever();
    s.at(5_000).begin(0).whatever().deadline(10_000);
    s.at(10_000).tick().gives(&["abort n0"]);
    assert_eq!(s.view(0).failures, 2);
    assert_eq!(s.cluster().nodes().count(), 3);
}
