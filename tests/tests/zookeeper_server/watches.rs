//! Changes that servers push.

use std::time::Duration;

use redial_tests::zookeeper::{
    Ensemble,
    jute::{Change, Push, Request, ServerError},
};

use crate::support::Session;

const TIMEOUT: Duration = Duration::from_secs(6);

fn changed(path: &str, change: Change) -> Push {
    let path = path.into();
    Push::Changed { path, change }
}

#[tokio::test]
async fn a_change_is_pushed_once_to_who_watches() {
    let Some(ensemble) = Ensemble::start(1) else {
        return;
    };
    let mut watcher = Session::start(TIMEOUT, 1, ensemble.nodes());
    let writer = Session::start(TIMEOUT, 2, ensemble.nodes());
    watcher.established().await;
    let path = "/watched".to_owned();
    let exists = Request::Exists { path, watch: true };
    let absent = watcher.ask(exists).await;
    assert_eq!(absent, Err(ServerError::NO_NODE));
    writer.create("/watched", false).await;
    assert_eq!(watcher.push().await, changed("/watched", Change::Created));

    // Told, it does not watch any more.
    writer.write("/watched", "a").await;
    assert!(watcher.ask(Request::watch("/watched")).await.is_ok());
    writer.write("/watched", "b").await;
    assert_eq!(watcher.push().await, changed("/watched", Change::Data));
}

#[tokio::test]
async fn a_change_is_pushed_that_happened_while_the_watcher_had_no_server() {
    let Some(mut ensemble) = Ensemble::start(3) else {
        return;
    };
    let mut watcher = Session::start(TIMEOUT, 1, ensemble.nodes());
    watcher.established().await;
    watcher.create("/watched", false).await;
    assert!(watcher.ask(Request::watch("/watched")).await.is_ok());

    let server = ensemble.at(watcher.server().expect("a server"));
    let others = (0..3).filter(|&other| other != server);
    let others = others.map(|other| ensemble.node(other)).collect();
    let writer = Session::start(TIMEOUT, 2, others);
    writer.create("/before", false).await;
    // The watcher has a server that does not work: what comes from now on it will hear of elsewhere.
    ensemble.freeze(server);
    writer.write("/watched", "x").await;
    ensemble.kill(server);
    assert!(watcher.established().await.resumed);
    assert_eq!(watcher.push().await, changed("/watched", Change::Data));
}
