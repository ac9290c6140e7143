//! Servers that die and hang.

use std::time::{Duration, Instant};

use redial::{Cause, Event, Stage, driver::ClientEvent};
use redial_tests::{
    waiting::soon,
    zookeeper::{
        Ensemble,
        jute::{Reply, Request},
    },
};

use crate::support::Session;

const TIMEOUT: Duration = Duration::from_secs(6);

#[tokio::test]
async fn a_session_and_what_it_owns_survive_the_kill_of_its_server() {
    let Some(mut ensemble) = Ensemble::start(3) else {
        return;
    };
    let mut session = Session::start(TIMEOUT, 1, ensemble.nodes());
    let begun = session.established().await;
    assert_eq!((begun.timeout, begun.resumed), (TIMEOUT, false));
    session.create("/mine", true).await;

    let server = session.server().expect("a server");
    ensemble.kill(ensemble.at(server));
    let resumed = session.established().await;
    assert_eq!((resumed.id, resumed.resumed), (begun.id, true));
    assert_ne!(session.server(), Some(server));
    let Ok(Reply::Data { stat, .. }) = session.ask(Request::get("/mine")).await else {
        panic!("the node ends with the session");
    };
    assert_eq!(stat.ephemeral_owner, begun.id);
}

#[tokio::test]
async fn when_the_leader_is_killed_every_client_is_back_with_its_session() {
    let Some(mut ensemble) = Ensemble::start(3) else {
        return;
    };
    let mut sessions: Vec<_> = (0..50)
        .map(|seed| Session::start(TIMEOUT, seed, ensemble.nodes()))
        .collect();
    let mut ids = Vec::new();
    for session in &mut sessions {
        ids.push(session.established().await.id);
    }
    let start = Instant::now();
    ensemble.kill(ensemble.leader());
    // Followers drop their clients too, until there is another leader.
    for (session, id) in sessions.iter_mut().zip(ids) {
        let resumed = session.established().await;
        assert_eq!((resumed.id, resumed.resumed), (id, true));
    }
    println!("50 clients were back after {:?}", start.elapsed());
    for session in &sessions {
        assert!(session.ask(Request::get("/")).await.is_ok());
    }
}

#[tokio::test]
async fn a_frozen_server_is_left_when_it_does_not_answer_the_ping() {
    let Some(ensemble) = Ensemble::start(3) else {
        return;
    };
    // The leader works all the time.
    let followers = ensemble.followers();
    let nodes = followers.iter().map(|&server| ensemble.node(server));
    let mut session = Session::start(TIMEOUT, 1, nodes.collect());
    let begun = session.established().await;
    let server = session.server().expect("a server");
    let start = Instant::now();
    ensemble.freeze(ensemble.at(server));
    assert_eq!(session.disconnected().await, Cause::KeepaliveTimeout);
    assert!(start.elapsed() < TIMEOUT * 2 / 3 + Duration::from_secs(1));

    let resumed = session.established().await;
    assert_eq!((resumed.id, resumed.resumed), (begun.id, true));
    assert_ne!(session.server(), Some(server));
    assert!(session.ask(Request::get("/")).await.is_ok());
}

#[tokio::test]
async fn a_frozen_server_that_accepts_is_left_at_the_end_of_its_share_of_the_session_timeout() {
    let Some(ensemble) = Ensemble::start(3) else {
        return;
    };
    let followers = ensemble.followers();
    ensemble.freeze(followers[0]);
    let nodes: Vec<_> = followers
        .iter()
        .map(|&server| ensemble.node(server))
        .collect();
    let mut given_up = 0;
    let mut sessions: Vec<_> = (0..10)
        .map(|seed| Session::start(TIMEOUT, seed, nodes.clone()))
        .collect();
    for session in &mut sessions {
        session.established().await;
        assert_eq!(session.server(), Some(ensemble.address(followers[1])));
        given_up += handshakes_given_up(session).await;
    }
    // Each draws which of the two it tries first.
    assert!((1..10).contains(&given_up), "{given_up}");
}

/// How many handshakes ended at their deadline before the first that worked.
async fn handshakes_given_up(session: &mut Session) -> usize {
    let mut given_up = 0;
    loop {
        let record = soon(session.events.next()).await.expect("an open client");
        match record.event {
            ClientEvent::Cluster(Event::AttemptEnded { cause: None, .. }) => return given_up,
            ClientEvent::Cluster(Event::AttemptEnded {
                cause,
                stage,
                duration,
                ..
            }) => {
                let expected = (Stage::Handshake, Some(Cause::SetupTimeout));
                assert_eq!((stage, cause), expected);
                let late = duration.saturating_sub(TIMEOUT / 2);
                assert!(late < Duration::from_secs(1), "{duration:?}");
                given_up += 1;
            }
            _ => {}
        }
    }
}
