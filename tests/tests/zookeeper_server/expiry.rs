//! The session's end.

use std::{thread, time::Duration};

use redial::SubmitError;
use redial_tests::{
    waiting::soon,
    zookeeper::{
        Ensemble,
        jute::{Reply, Request},
    },
};

use crate::support::Session;

const TIMEOUT: Duration = Duration::from_secs(1);

async fn assert_has_ended(session: &Session) {
    let refused = soon(session.client.request(Request::get("/"))).await;
    assert_eq!(refused, Err(SubmitError::Closed.into()));
}

#[tokio::test]
async fn a_session_that_expires_while_its_process_sleeps_ends_the_client_once() {
    let Some(ensemble) = Ensemble::start(1) else {
        return;
    };
    let mut session = Session::start(TIMEOUT, 1, ensemble.nodes());
    assert_eq!(session.established().await.timeout, TIMEOUT);
    session.create("/mine", true).await;
    // The client's own thread.
    thread::sleep(3 * TIMEOUT);
    assert_eq!(session.expiries().await, 1);
    assert_has_ended(&session).await;

    let other = Session::start(TIMEOUT, 2, ensemble.nodes());
    assert!(other.ask(Request::get("/mine")).await.is_err());
}

#[tokio::test]
async fn a_session_that_the_server_says_is_over_ends_the_client_once() {
    let Some(ensemble) = Ensemble::start(1) else {
        return;
    };
    let mut session = Session::start(TIMEOUT, 1, ensemble.nodes());
    session.established().await;
    let closed = session.ask(Request::CloseSession).await;
    assert_eq!(closed, Ok(Reply::Done));
    assert_eq!(session.expiries().await, 1);
    assert_has_ended(&session).await;
}
