//! SEMANTICS 2.1: the states of a node.

use redial::{Cause, CloseError, ConnectError, HandshakeError, NodeState, Stage};
use redial_tests::script::{Script, any, build, exact, ms, old, t};

const ONE: &[&str] = &["10.0.0.1:1"];
const TWO: &[&str] = &["10.0.0.1:1", "10.0.0.2:1"];
const NAME: &[&str] = &["db.example:1"];

/// A node whose attempt began at 0, by a request that has been cancelled.
fn dialled(list: &[&str]) -> Script {
    let mut s = Script::new(build(exact()), list);
    s.at(0).begin(0).whatever();
    s
}

#[track_caller]
fn failed(s: &Script, stage: Stage, cause: Cause) {
    let failure = s.view(0).last_failure.expect("a failure");
    assert_eq!((failure.stage, failure.cause), (stage, cause));
    assert_eq!(s.view(0).failures, 1);
    assert_eq!(s.rests_until(0), Some(failure.at + ms(100)));
    assert!(s.state(0).is_idle());
}

/// 2.1, row 1.
#[test]
fn an_unwanted_node_is_left_alone() {
    let mut s = Script::new(build(exact()), TWO);
    s.gives(&[]).no_deadline();
    assert_eq!(s.state(0), NodeState::Disconnected);
    assert_eq!((s.view(0).last_attempt, s.rests_until(0)), (None, None));
}

/// 2.1, row 1: an IP address is dialled at once, a name is looked up first.
#[test]
fn an_attempt_begins_with_a_look_up_only_for_a_name() {
    let mut s = Script::new(build(exact()), &["10.0.0.1:1", "db.example:1"]);
    s.at(5).submit_on(0, any()).gives(&["connect n0"]);
    s.submit_on(1, any()).gives(&["resolve n1"]);
    assert_eq!(
        (s.state(0), s.state(1)),
        (NodeState::Connecting, NodeState::Resolving)
    );
    assert_eq!(s.view(0).setup_deadline, Some(t(10_005)));
    assert_eq!(s.view(1).setup_deadline, Some(t(10_005)));
}

/// 2.1: an opaque endpoint has no addresses and is dialled at once.
#[test]
fn an_opaque_endpoint_is_dialled_without_an_address() {
    let mut s = Script::empty(build(exact()), 0);
    let opaque = redial::Endpoint::Opaque("/run/db.sock".into());
    s.set_specs(vec![redial::NodeSpec::new(opaque)]);
    s.submit(any()).gives(&["connect n0"]);
    let view = s
        .cluster()
        .connection(s.connection(0))
        .expect("it is being set up");
    assert_eq!((view.address, view.connected), (None, false));
}

/// 2.1: from a name to Ready.
#[test]
fn a_node_goes_through_all_stages() {
    let mut s = dialled(NAME);
    s.resolved(0, &["10.0.0.9:1"])
        .gives(&["connect n0 10.0.0.9:1"]);
    assert_eq!(s.state(0), NodeState::Connecting);
    s.connected(0).gives(&["handshake n0"]);
    assert_eq!(s.state(0), NodeState::Handshaking);
    s.ready(0).gives(&[]);
    assert_eq!(s.state(0), NodeState::Ready);
    assert_eq!(s.view(0).setup_deadline, None);
    assert_eq!(s.view(0).connection, Some(s.connection(0)));
    s.no_deadline();
}

/// 2.1: where the protocol has no handshake, transport up means Ready.
#[test]
fn without_a_handshake_a_node_is_ready_once_connected() {
    let mut s = Script::new(build(exact().handshake(false)), ONE);
    s.at(0).submit(any()).gives(&["connect n0"]);
    s.connected(0).gives(&["write n0 r0"]);
    assert_eq!(s.state(0), NodeState::Ready);
}

/// 2.1, R013, R103, R117: no address is a failure like another.
#[test]
fn a_look_up_that_fails_or_gives_no_address_is_a_failure_of_stage_resolve() {
    let mut s = dialled(NAME);
    s.at(30).resolve_failed(0).gives(&[]);
    failed(&s, Stage::Resolve, Cause::ResolveFailed);
    let mut s = dialled(NAME);
    s.at(30).resolved(0, &[]).gives(&[]);
    failed(&s, Stage::Resolve, Cause::NoAddress);
}

/// 2.1, R065.
#[test]
fn a_transport_that_does_not_come_up_is_a_failure_of_stage_connect() {
    for (error, cause) in [
        (ConnectError::Refused, Cause::Refused),
        (ConnectError::Unreachable, Cause::Unreachable),
        (ConnectError::Reset, Cause::Reset),
        (ConnectError::Other, Cause::ConnectFailed),
    ] {
        let mut s = dialled(ONE);
        s.at(30).connect_failed(0, error).gives(&[]);
        failed(&s, Stage::Connect, cause);
    }
}

/// 2.1: the report is the end of the transport.
#[test]
fn a_handshake_that_fails_is_a_failure_of_stage_handshake() {
    for (error, cause) in [
        (HandshakeError::Closed, Cause::PeerClosed),
        (HandshakeError::Malformed, Cause::Malformed),
        (HandshakeError::Version, Cause::VersionRefused),
        (HandshakeError::Tls, Cause::TlsRefused),
    ] {
        let mut s = dialled(ONE);
        s.at(10).connected(0).gives(&["handshake n0"]);
        s.at(30).handshake_failed(0, error).gives(&[]);
        failed(&s, Stage::Handshake, cause);
        assert_eq!(s.state(0), NodeState::Disconnected);
    }
}

/// 2.1: a transport that ends during the handshake; R023, K07: it coming up resets nothing.
#[test]
fn a_transport_that_closes_during_the_handshake_is_a_failure_of_stage_handshake() {
    for (error, cause) in [
        (CloseError::Peer, Cause::PeerClosed),
        (CloseError::Io, Cause::Io),
        (CloseError::Protocol, Cause::ProtocolError),
    ] {
        let mut s = dialled(ONE);
        s.at(10).connected(0).gives(&["handshake n0"]);
        s.at(30).ended(0, error).gives(&[]);
        failed(&s, Stage::Handshake, cause);
    }
}

/// 2.1, 6.1.
#[test]
fn rejected_credentials_are_a_state_of_their_own() {
    let mut s = dialled(ONE);
    s.at(10).connected(0).gives(&["handshake n0"]);
    s.at(30).rejected(0).gives(&[]);
    failed(&s, Stage::Authenticate, Cause::CredentialsRejected);
    assert_eq!(s.state(0), NodeState::AuthenticationFailed);
    s.at(130).submit_on(0, any()).gives(&["connect n0"]);
    assert_eq!(s.state(0), NodeState::Connecting);
}

/// 2.1: the session's end ends the client.
#[test]
fn a_fatal_handshake_ends_the_client() {
    let mut s = Script::new(build(exact()), TWO);
    s.establish(0);
    s.submit_on(0, any())
        .submit_on(1, any())
        .gives(&["write n0 r0", "connect n1"]);
    s.started(0).connected(1).gives(&["handshake n1"]);
    s.at(30)
        .handshake_failed(1, HandshakeError::Fatal)
        .tick()
        .gives(&[
            "r0 Closed PossiblyWritten",
            "r1 Closed NeverWritten",
            "close n0",
            "terminated",
        ]);
    let expired = |event: &redial::Event| matches!(event, redial::Event::SessionExpired { .. });
    assert_eq!(s.events().into_iter().filter(expired).count(), 1);
    s.submit(any()).gives(&["error Closed"]).no_deadline();
}

/// 2.1, R003, R005, R007, K01, Z29: whatever the stage and whether or not the adapter answers.
#[test]
fn the_setup_deadline_holds_in_every_stage() {
    let mut s = dialled(NAME);
    s.deadline(10_000)
        .at(10_000)
        .tick()
        .gives(&["abort-resolve n0"]);
    failed(&s, Stage::Resolve, Cause::SetupTimeout);

    let mut s = dialled(ONE);
    s.deadline(10_000).at(10_000).tick().gives(&["abort n0"]);
    failed(&s, Stage::Connect, Cause::SetupTimeout);

    let mut s = dialled(ONE);
    s.at(4_000).connected(0).gives(&["handshake n0"]);
    s.deadline(10_000).at(10_000).tick().gives(&["abort n0"]);
    failed(&s, Stage::Handshake, Cause::SetupTimeout);
}

/// 2.1: a begun attempt runs to its end when nothing wants it any more.
#[test]
fn an_attempt_outlives_the_request_that_began_it() {
    let mut s = dialled(ONE);
    assert_eq!(s.state(0), NodeState::Connecting);
    s.at(10).connected(0).gives(&["handshake n0"]);
    s.at(20).ready(0).gives(&[]);
    assert_eq!(s.state(0), NodeState::Ready);
}

/// 2.1, R015, R111: removal in every state leaves no timer and no pending action, and counts as no
/// failure.
#[test]
fn a_node_can_be_removed_in_every_state() {
    let removed = |s: &mut Script, outputs: &[&str]| {
        s.set_nodes(&["10.0.0.77:1"]).gives(outputs).no_deadline();
        assert!(s.cluster().node(s.id(0)).is_none());
        assert_eq!(s.cluster().stats().connections, 0);
        let stats = s.cluster().stats();
        assert_eq!(
            (stats.nodes, stats.nodes_in_setup, stats.nodes_ready),
            (1, 0, 0)
        );
    };
    removed(&mut Script::new(build(exact()), ONE), &[]);
    removed(&mut dialled(NAME), &["abort-resolve n0"]);
    removed(&mut dialled(ONE), &["abort n0"]);

    let mut s = dialled(ONE);
    s.connected(0).whatever();
    removed(&mut s, &["abort n0"]);
    assert_eq!(s.cluster().stats().failures_handshake, 0);

    let mut s = dialled(ONE);
    s.refused(0).whatever();
    removed(&mut s, &[]);

    let mut s = Script::new(build(exact()), ONE);
    s.establish(0);
    removed(&mut s, &["close n0"]);
    assert_eq!(s.cluster().stats().failures_established, 0);
}

/// 2.1: the end of a Ready connection is a failure of stage Established.
#[test]
fn an_established_connection_that_ends_is_a_failure() {
    for (error, cause) in [
        (CloseError::Peer, Cause::PeerClosed),
        (CloseError::Io, Cause::Io),
        (CloseError::Protocol, Cause::ProtocolError),
    ] {
        let mut s = Script::new(build(exact()), ONE);
        s.establish(0);
        s.at(5_000).ended(0, error).gives(&[]);
        failed(&s, Stage::Established, cause);
        assert_eq!(s.view(0).last_attempt, Some(t(5_000)));
    }
}

/// 2.1, R113, K21: in-flight requests are settled in the same step.
#[test]
fn what_is_in_flight_is_settled_in_the_step_that_ends_its_connection() {
    let mut s = Script::new(build(exact()), ONE);
    s.establish(0);
    s.submit(any())
        .submit(any())
        .gives(&["write n0 r0", "write n0 r1"]);
    s.written(0).started(1).gives(&[]);
    s.closed(0).gives(&[
        "r0 Disconnected(PeerClosed) PossiblyWritten",
        "r1 Disconnected(PeerClosed) PossiblyWritten",
    ]);
}

/// 2.1: the peer's announcement is a planned end once the connection has been of use.
#[test]
fn a_peer_that_says_it_will_close_after_a_reply_is_no_failure() {
    let mut s = Script::new(build(exact()), ONE);
    s.establish(0);
    s.submit(any()).written(0).reply(0).whatever();
    s.at(50).draining(0).gives(&["close n0"]);
    assert_eq!((s.view(0).failures, s.rests_until(0)), (0, None));
    assert_eq!(s.state(0), NodeState::Disconnected);
    s.submit(any()).gives(&["connect n0"]);
}

/// 2.1: and also when it has been Ready for the maximum backoff, whatever resets the counter.
#[test]
fn a_peer_that_says_it_will_close_is_a_failure_only_of_a_young_connection_without_a_reply() {
    for (ready_for, failures) in [(9_999, 1), (10_000, 0)] {
        for reset in [
            redial::BackoffReset::OnReady,
            redial::BackoffReset::OnFirstReply,
        ] {
            let mut s = Script::new(build(exact().backoff_reset(reset)), ONE);
            s.establish(0);
            s.at(ready_for).draining(0).gives(&["close n0"]);
            assert_eq!(
                s.view(0).failures,
                failures,
                "after {ready_for} ms, {reset:?}"
            );
        }
    }
}

/// 2.1: a reply that comes later on the draining connection resets the counter and nothing else.
#[test]
fn a_late_reply_on_a_draining_connection_resets_the_counter_alone() {
    let mut s = Script::new(build(exact()), ONE);
    s.establish(0);
    s.submit(any()).written(0).whatever();
    s.at(40).draining(0).gives(&[]);
    assert_eq!((s.view(0).failures, s.rests_until(0)), (1, Some(t(140))));
    s.at(60).reply(0).gives(&["r0 reply n0", "close n0"]);
    assert_eq!((s.view(0).failures, s.rests_until(0)), (0, Some(t(140))));
}

/// 2.1: the announcement during setup is a failure of that stage.
#[test]
fn a_peer_that_says_it_will_close_during_setup_is_a_failure_of_that_stage() {
    let mut s = dialled(ONE);
    s.at(10).connected(0).gives(&["handshake n0"]);
    s.at(30).draining(0).gives(&["abort n0"]);
    failed(&s, Stage::Handshake, Cause::PeerDraining);
}

/// 2.1: what was not handed over is withdrawn from a draining connection and picked again.
#[test]
fn a_draining_connection_keeps_only_what_was_handed_over() {
    let mut s = Script::new(build(exact()), ONE);
    s.establish(0);
    s.submit(any()).written(0).reply(0).whatever();
    s.submit(any()).submit(any()).started(1).whatever();
    s.at(50)
        .draining(0)
        .gives(&["withdraw n0 r2", "connect n0"]);
    s.submit(any()).gives(&[]);
    s.at(55).connected(0).gives(&["handshake n0"]);
    s.at(60).ready(0).gives(&["write n0 r2", "write n0 r3"]);
    s.at(70)
        .done(1)
        .reply(1)
        .gives(&["r1 reply n0", "close n0-1"]);
}

/// 2.1, R077: it is closed at the drain deadline at the latest; the request is settled then.
#[test]
fn a_draining_connection_is_closed_when_its_time_is_over() {
    let mut s = Script::new(build(exact()), ONE);
    s.establish(0);
    s.submit(any().request_timeout(ms(90_000)))
        .written(0)
        .whatever();
    s.submit(any()).written(1).reply(1).whatever();
    s.at(1_000).draining(0).gives(&[]).deadline(31_000);
    s.at(31_000)
        .tick()
        .gives(&["close n0", "r0 Disconnected(PeerDraining) PossiblyWritten"]);
    assert_eq!(s.view(0).failures, 0);
}

/// 2.1: tombstones do not hold a draining connection.
#[test]
fn a_tombstone_does_not_hold_a_draining_connection() {
    let mut s = Script::new(build(exact()), ONE);
    s.establish(0);
    s.submit(any())
        .submit(any())
        .written(0)
        .written(1)
        .reply(1)
        .whatever();
    s.cancel(0).gives(&["r0 Cancelled PossiblyWritten"]);
    s.at(50).draining(0).gives(&["close n0"]);
}

/// 2.1, R043: but a frame that is partly written does; it is written to its end.
#[test]
fn a_partly_written_frame_holds_a_draining_connection() {
    let mut s = Script::new(build(exact()), ONE);
    s.establish(0);
    s.submit(any())
        .submit(any())
        .written(0)
        .reply(0)
        .started(1)
        .whatever();
    s.cancel(1).gives(&["r1 Cancelled PossiblyWritten"]);
    s.at(50).draining(0).gives(&[]);
    s.at(60).done(1).gives(&["close n0"]);
}

/// 2.1: at most two drain for one node; the older is closed.
#[test]
fn of_three_draining_connections_the_oldest_is_closed() {
    let mut s = Script::new(build(exact()), ONE);
    for request in [0, 2, 4] {
        s.establish(0);
        s.submit(any()).submit(any()).whatever();
        s.written(request)
            .written(request + 1)
            .reply(request)
            .whatever();
        if request < 4 {
            s.draining(0).gives(&[]);
        }
    }
    s.draining(0).gives(&[
        "close n0-2",
        "r1 Disconnected(PeerDraining) PossiblyWritten",
    ]);
    s.reply(3).gives(&["r3 reply n0", "close n0-1"]);
    s.reply(5).gives(&["r5 reply n0", "close n0"]);
}

/// 2.1: whichever of the two has ended.
#[test]
fn a_draining_connection_that_has_ended_makes_room_for_another() {
    for (ended, stays) in [(0, 1), (1, 0)] {
        let mut s = Script::new(build(exact()), ONE);
        for request in 0..4 {
            s.establish(0);
            s.submit(any()).written(request).whatever();
            s.draining(0);
            if request == 1 {
                s.reply(ended).whatever();
            }
            if request < 3 {
                s.gives(&[]);
                let rested = s.rests_until(0).expect("it failed");
                s.at_instant(rested);
            }
        }
        let close = format!("close n0-{}", 3 - stays);
        let failure = format!("r{stays} Disconnected(PeerDraining) PossiblyWritten");
        s.gives(&[&close, &failure]);
    }
}

/// 2.1: what happens on a detached connection changes nothing else of the node.
#[test]
fn the_end_of_a_detached_connection_is_no_failure_of_the_node() {
    let mut s = Script::new(build(exact()), ONE);
    s.establish(0);
    s.submit(any())
        .submit(any())
        .written(0)
        .written(1)
        .reply(0)
        .whatever();
    s.draining(0).gives(&[]);
    s.establish(0);
    s.submit(any()).gives(&["write n0 r2"]);
    s.throttled(old(0), 99_000).gives(&[]);
    s.closed(old(0))
        .gives(&["r1 Disconnected(PeerClosed) PossiblyWritten"]);
    assert_eq!(s.state(0), NodeState::Ready);
    assert_eq!((s.view(0).failures, s.view(0).throttled_until), (0, None));
    assert_eq!(s.cluster().stats().failures_established, 0);
}

/// 2.1, 3.1, R011: the setup deadline holds whichever direction the transport is blocked in.
#[test]
fn a_handshake_that_cannot_be_written_ends_at_the_setup_deadline() {
    let mut s = dialled(ONE);
    s.at(10).connected(0).gives(&["handshake n0"]);
    s.blocked(0).gives(&[]).deadline(10_000);
    s.at(5_000)
        .progress(0)
        .blocked(0)
        .gives(&[])
        .deadline(10_000);
    s.at(10_000).tick().gives(&["abort n0"]);
    failed(&s, Stage::Handshake, Cause::SetupTimeout);
}
