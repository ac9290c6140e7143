//! Over real sockets: nodes that die while they serve.

use std::{future::IntoFuture, time::Duration};

use bytes::Bytes;
use redial::{Cause, Certainty, Config, Reason, Warm};
use redial_tests::{
    real_client::{RealClient, failure, soon, until},
    servers::{ChildServer, Gate, Server, ways},
};

const SECOND: Duration = Duration::from_secs(1);

/// More than the kernel takes for a peer that does not read.
fn more_than_the_kernel_buffers() -> Bytes {
    vec![b'x'; 15 << 20].into()
}

/// Sends a request that may be repeated to a client that knows `dying` only, and tells it of a node
/// that is alive once the connection to `dying` has ended, for the cause that is returned.
async fn answered_elsewhere(config: Config, dying: &Server, payload: Bytes) -> Cause {
    let alive = Server::start(ways::echo);
    let mut client = RealClient::start(config, &[dying.address()]);
    let request = client.handle.request(payload).idempotent();
    let request = tokio::spawn(request.into_future());
    let cause = client.disconnected(dying.address()).await;

    client.set_nodes(&[dying.address(), alive.address()]);
    let response = soon(request)
        .await
        .expect("no panic")
        .expect("another node answers");
    assert!(response.attempts >= 2);
    assert_eq!(alive.received().len(), 1);
    cause
}

#[tokio::test]
async fn an_idempotent_request_is_answered_elsewhere_after_a_reset_in_the_middle_of_its_reply() {
    let dying = Server::start(ways::reset_in_a_reply);
    let cause = answered_elsewhere(Config::default(), &dying, "hello".into()).await;
    assert_eq!(cause, Cause::Io);
}

#[tokio::test]
async fn an_idempotent_request_is_answered_elsewhere_after_garbage_instead_of_its_reply() {
    let dying = Server::start(ways::garbage_for_a_reply);
    let cause = answered_elsewhere(Config::default(), &dying, "hello".into()).await;
    assert_eq!(cause, Cause::ProtocolError);
}

#[tokio::test]
async fn an_idempotent_request_is_answered_elsewhere_when_its_node_stops_reading() {
    let dying = Server::start(ways::stop_reading);
    let config = Config::builder()
        .write_timeout(SECOND)
        .build()
        .expect("a valid configuration");
    let cause = answered_elsewhere(config, &dying, more_than_the_kernel_buffers()).await;
    assert_eq!(cause, Cause::WriteStall);
}

#[tokio::test]
async fn a_request_that_may_have_been_carried_out_is_not_repeated_after_a_reset() {
    let dying = Server::start(ways::reset_in_a_reply);
    let client = RealClient::start(Config::default(), &[dying.address()]);

    let error = failure(soon(client.handle.request("hello".into())).await);
    assert_eq!(error.reason, Reason::Disconnected(Cause::Io));
    assert_eq!(error.certainty, Certainty::PossiblyWritten);
    assert_eq!(dying.received().len(), 1);
}

#[tokio::test]
async fn replies_are_read_while_writing_is_blocked() {
    let gate = Gate::closed();
    let server = Server::start(ways::stop_reading_but_answer_one(gate.clone()));
    let client = RealClient::start(Config::default(), &[server.address()]);
    let first = tokio::spawn(client.handle.request("first".into()).into_future());
    until(|| gate.is_reached()).await;

    let large = client.handle.request(more_than_the_kernel_buffers());
    let blocked = tokio::spawn(large.into_future());
    tokio::time::sleep(SECOND / 2).await;
    gate.open();
    let response = soon(first).await.expect("no panic").expect("an answer");
    assert_eq!(response.reply, Some("first".into()));
    assert!(!blocked.is_finished());
    blocked.abort();
}

#[tokio::test]
async fn a_stopped_process_is_found_out_by_a_request_timeout_and_another_node_answers() {
    let stopped = ChildServer::start(env!("CARGO_BIN_EXE_echo_server")).expect("a child process");
    let alive = Server::start(ways::echo);
    let config = Config::builder()
        .warm(Warm::All)
        .request_timeout(SECOND)
        .build()
        .expect("a valid configuration");
    let client = RealClient::start(config, &[stopped.address()]);
    client.assert_echoes("running").await;

    stopped.stop().expect("SIGSTOP");
    let request = client.handle.request("hello".into()).idempotent();
    let request = tokio::spawn(request.into_future());
    until(|| client.handle.stats().in_flight == 1).await;
    client.set_nodes(&[stopped.address(), alive.address()]);

    let response = soon(request)
        .await
        .expect("no panic")
        .expect("another node answers");
    assert!(
        response.attempts >= 2 && response.elapsed >= SECOND,
        "{response:?}"
    );
    assert_eq!(alive.received(), [b"hello"]);
}

#[tokio::test]
async fn a_process_that_goes_on_after_a_stop_answers_late_and_the_next_gets_its_own_reply() {
    let server = ChildServer::start(env!("CARGO_BIN_EXE_echo_server")).expect("a child process");
    let client = RealClient::start(Config::default(), &[server.address()]);
    client.assert_echoes("running").await;

    server.stop().expect("SIGSTOP");
    let given_up = client.handle.request("given up".into()).timeout(SECOND);
    let error = failure(soon(given_up).await);
    assert_eq!(
        (error.reason, error.certainty),
        (Reason::Timeout, Certainty::PossiblyWritten)
    );

    server.resume().expect("SIGCONT");
    client.assert_echoes("next").await;
    assert_eq!(client.handle.stats().late_replies, 1);
}

#[tokio::test]
async fn a_slow_node_is_waited_for_on_one_connection() {
    let server = Server::start(ways::slow(Duration::from_millis(200)));
    let client = RealClient::start(Config::default(), &[server.address()]);
    let requests: Vec<_> = ["a", "b", "c", "d", "e"]
        .into_iter()
        .map(|payload| {
            (
                payload,
                tokio::spawn(client.handle.request(payload.into()).into_future()),
            )
        })
        .collect();
    for (payload, request) in requests {
        let response = soon(request).await.expect("no panic").expect("a reply");
        assert_eq!(
            (response.reply, response.attempts),
            (Some(payload.into()), 1)
        );
    }
    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn a_reply_that_comes_byte_by_byte_is_read_whole() {
    let server = Server::start(ways::dribble(Duration::from_millis(5)));
    let client = RealClient::start(Config::default(), &[server.address()]);
    client.assert_echoes("byte by byte").await;
}
