//! An ensemble that grows and shrinks under many clients.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use redial::{Event, driver::ClientEvent};
use redial_tests::{
    waiting::{soon, until},
    zookeeper::{
        Ensemble,
        jute::{CONFIG_PATH, Push, Request},
    },
};

use crate::{
    configuration::{configuration, reconfigure},
    support::Session,
};

const TIMEOUT: Duration = Duration::from_secs(10);
const CLIENTS: usize = 300;

#[tokio::test]
async fn when_an_ensemble_grows_the_clients_spread_with_the_least_moves_and_keep_their_sessions() {
    let Some(mut ensemble) = Ensemble::start(3) else {
        return;
    };
    let admin = Session::start(TIMEOUT, 1_000, ensemble.nodes());
    let (mut sessions, mut ids) = (Vec::new(), Vec::new());
    for seed in 0..CLIENTS as u64 {
        let mut session = Session::start(TIMEOUT, seed, ensemble.nodes());
        ids.push(session.established().await.id);
        configuration(&session, Request::watch(CONFIG_PATH)).await;
        sessions.push(session);
    }
    let before = servers(&sessions);
    for _ in 0..2 {
        let joining = ensemble.start_another();
        reconfigure(&admin, Some(joining), None).await;
    }

    let mut moves = Vec::new();
    for session in &mut sessions {
        moves.push(follow(session).await);
    }
    for ((session, id), moves) in sessions.iter_mut().zip(ids).zip(&moves) {
        if *moves {
            let resumed = session.established().await;
            assert_eq!((resumed.id, resumed.resumed), (id, true));
        }
    }
    until(|| sessions.iter().all(|session| session.server().is_some())).await;
    let after = servers(&sessions);
    for ((before, after), moves) in before.iter().zip(&after).zip(&moves) {
        assert_eq!(before != after, *moves);
        assert!(
            !moves || ensemble.at(*after) >= 3,
            "to a server that joined"
        );
    }

    let moved = moves.iter().filter(|moves| **moves).count();
    println!(
        "{moved} of {CLIENTS} moved: {:?} to {:?}",
        loads(&before),
        loads(&after)
    );
    assert_within_five_deviations(moved, 2.0 / 5.0);
    let loads = loads(&after);
    assert_eq!(loads.len(), 5);
    for load in loads.into_values() {
        assert_within_five_deviations(load, 1.0 / 5.0);
    }
    for (session, server) in sessions.into_iter().zip(after) {
        assert_eq!(session.replay().await, Some(server));
    }
}

#[tokio::test]
async fn when_an_ensemble_shrinks_only_clients_of_leaving_servers_move_and_evenly() {
    let Some(ensemble) = Ensemble::start(5) else {
        return;
    };
    let leaving = &ensemble.followers()[..2];
    let admin = Session::start(TIMEOUT, 1_000, vec![ensemble.node(ensemble.leader())]);
    let mut sessions = Vec::new();
    for seed in 0..CLIENTS as u64 {
        let mut session = Session::start(TIMEOUT, seed, ensemble.nodes());
        session.established().await;
        configuration(&session, Request::watch(CONFIG_PATH)).await;
        sessions.push(session);
    }
    let before = servers(&sessions);
    let numbers = leaving.iter().map(|server| (server + 1).to_string());
    let numbers = numbers.collect::<Vec<_>>().join(",");
    reconfigure(&admin, None, Some(numbers)).await;

    for session in &mut sessions {
        follow(session).await;
    }
    until(|| sessions.iter().all(|session| session.server().is_some())).await;
    let after = servers(&sessions);
    for ((session, before), after) in sessions.iter().zip(&before).zip(&after) {
        assert!(!leaving.contains(&ensemble.at(*after)));
        if !leaving.contains(&ensemble.at(*before)) {
            assert_eq!(before, after);
            assert_eq!(session.client.stats().attempts, 1);
        }
        assert!(session.ask(Request::get("/")).await.is_ok());
    }
    println!("{:?} to {:?}", loads(&before), loads(&after));
    for load in loads(&after).into_values() {
        assert_within_five_deviations(load, 1.0 / 3.0);
    }
}

/// Is told of a change, reads the servers and takes them. Returns whether it moves.
async fn follow(session: &mut Session) -> bool {
    while !matches!(session.push().await, Push::Changed { .. }) {}
    let path = CONFIG_PATH.to_owned();
    assert!(session.ask(Request::Sync { path }).await.is_ok());
    let config = configuration(session, Request::watch(CONFIG_PATH)).await;
    let nodes = config.nodes();
    session.client.set_nodes(&nodes).expect("a valid list");
    loop {
        let record = soon(session.events.next()).await;
        let event = record.expect("an open client").event;
        if let ClientEvent::Cluster(Event::Rebalanced { moves }) = event {
            return moves;
        }
    }
}

fn servers(sessions: &[Session]) -> Vec<SocketAddr> {
    let servers = sessions.iter().map(Session::server);
    servers.collect::<Option<_>>().expect("all have one")
}

fn loads(servers: &[SocketAddr]) -> BTreeMap<SocketAddr, usize> {
    let mut loads = BTreeMap::new();
    for server in servers {
        *loads.entry(*server).or_default() += 1;
    }
    loads
}

/// `count` of all clients did what each does with this probability.
fn assert_within_five_deviations(count: usize, probability: f64) {
    let clients = CLIENTS as f64;
    let deviation = (clients * probability * (1.0 - probability)).sqrt();
    let off = (count as f64 - clients * probability).abs();
    assert!(off <= 5.0 * deviation, "{count} of {CLIENTS}");
}
