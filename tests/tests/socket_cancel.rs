//! Over real sockets: futures and handles that are dropped, and shutdown.

use std::{future::IntoFuture, time::Duration};

use redial::{Config, SubmitError, Warm, driver::Error};
use redial_tests::{
    real_client::{RealClient, soon, until},
    servers::{Gate, Server, ways},
};

/// Sends a request and drops its future as soon as its connection waits at the gate.
async fn drop_at(gate: &Gate, client: &RealClient, payload: Vec<u8>) {
    tokio::select! {
        _ = client.handle.request(payload.into()).into_future() => panic!("answered too early"),
        () = until(|| gate.is_reached()) => {}
    }
}

#[tokio::test]
async fn a_request_that_is_dropped_while_queued_is_never_written() {
    let gate = Gate::closed();
    let server = Server::start(ways::reply_after(gate.clone()));
    let config = Config::builder()
        .max_in_flight(1u32)
        .build()
        .expect("a valid configuration");
    let client = RealClient::start(config, &[server.address()]);
    let first = tokio::spawn(client.handle.request("first".into()).into_future());
    until(|| gate.is_reached()).await;

    let queued = client.handle.request("queued".into()).into_future();
    assert!(tokio::time::timeout(Duration::ZERO, queued).await.is_err());
    gate.open();
    assert!(soon(first).await.expect("no panic").is_ok());
    client.assert_echoes("next").await;
    assert_eq!(server.received(), [&b"first"[..], b"next"]);
}

#[tokio::test]
async fn a_request_that_is_dropped_after_it_was_written_leaves_the_next_its_own_reply() {
    let gate = Gate::closed();
    let server = Server::start(ways::reply_after(gate.clone()));
    let client = RealClient::start(Config::default(), &[server.address()]);
    drop_at(&gate, &client, b"dropped".to_vec()).await;
    gate.open();
    client.assert_echoes("next").await;
    assert_eq!(client.handle.stats().late_replies, 1);
}

#[tokio::test]
async fn a_request_that_is_dropped_while_its_reply_is_partly_read_leaves_the_next_its_own_reply() {
    let gate = Gate::closed();
    let server = Server::start(ways::half_a_reply_before(gate.clone()));
    let client = RealClient::start(Config::default(), &[server.address()]);
    drop_at(&gate, &client, b"dropped".to_vec()).await;
    gate.open();
    client.assert_echoes("next").await;
    assert_eq!(client.handle.stats().late_replies, 1);
}

#[tokio::test]
async fn a_request_that_is_dropped_while_partly_written_is_written_to_its_end() {
    let gate = Gate::closed();
    let server = Server::start(ways::read_after(gate.clone()));
    let client = RealClient::start(Config::default(), &[server.address()]);
    let more_than_the_kernel_buffers = vec![b'x'; 15 << 20];
    drop_at(&gate, &client, more_than_the_kernel_buffers.clone()).await;
    gate.open();
    client.assert_echoes("next").await;
    assert_eq!(
        server.received(),
        [&more_than_the_kernel_buffers[..], b"next"]
    );
}

#[tokio::test]
async fn a_thousand_requests_dropped_at_any_moment_leave_nothing_in_flight() {
    let server = Server::start(ways::echo);
    let client = RealClient::start(Config::default(), &[server.address()]);
    for request in 0..1000 {
        let steps = async {
            for _ in 0..request % 50 {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            biased;
            _ = client.handle.request("dropped".into()).into_future() => {}
            () = steps => {}
        }
    }
    client.assert_echoes("next").await;
    until(|| client.handle.stats().in_flight == 0).await;
    let stats = client.handle.stats();
    assert_eq!((stats.open_requests, server.accepted()), (0, 1));
    // The moments were what they should be: before the write, and between it and the reply.
    assert!(
        server.received().len() < 1001 && stats.late_replies > 0,
        "{stats:?}"
    );
}

#[tokio::test]
async fn dropping_the_last_handle_closes_every_connection() {
    let (ready, mute) = (Server::start(ways::echo), Server::start(ways::mute));
    let config = Config::builder()
        .warm(Warm::All)
        .build()
        .expect("a valid configuration");
    let client = RealClient::start(config, &[ready.address(), mute.address()]);
    let last = client.handle.clone();
    until(|| ready.open() == 1 && mute.open() == 1).await;

    drop(client);
    let response = soon(last.request("still open".into()))
        .await
        .expect("an answer");
    assert_eq!(response.reply, Some("still open".into()));

    drop(last);
    until(|| ready.open() == 0 && mute.open() == 0).await;
}

#[tokio::test]
async fn shutdown_lets_what_was_written_finish_and_refuses_the_rest() {
    let gate = Gate::closed();
    let server = Server::start(ways::reply_after(gate.clone()));
    let client = RealClient::start(Config::default(), &[server.address()]);
    let written = tokio::spawn(client.handle.request("written".into()).into_future());
    until(|| gate.is_reached()).await;

    let drained = client.handle.shutdown(Duration::from_secs(20));
    let refused = soon(client.handle.request("late".into())).await;
    assert_eq!(refused, Err(Error::Submit(SubmitError::Closed)));
    gate.open();
    let response = soon(written).await.expect("no panic").expect("an answer");
    assert_eq!(response.reply, Some("written".into()));
    soon(drained).await.expect("a drain that ends");
    until(|| server.open() == 0).await;
}
