//! Which servers there are, as the ensemble itself says.

use std::time::Duration;

use redial::{Config, DynamicConfig, Source};
use redial_tests::{
    waiting::until,
    zookeeper::{
        Ensemble,
        jute::{CONFIG_PATH, Change, Push, Reply, Request},
    },
};

use crate::support::Session;

const TIMEOUT: Duration = Duration::from_secs(6);

pub(crate) async fn configuration(session: &Session, request: Request) -> DynamicConfig {
    let reply = session.ask(request).await;
    let Ok(Reply::Data { data, .. }) = reply else {
        panic!("a configuration was expected: {reply:?}");
    };
    let text = str::from_utf8(&data).expect("a text");
    text.parse().expect("a configuration")
}

/// Changes the ensemble; returns what it is then.
pub(crate) async fn reconfigure(
    session: &Session,
    joining: Option<String>,
    leaving: Option<String>,
) -> DynamicConfig {
    configuration(session, Request::Reconfig { joining, leaving }).await
}

#[tokio::test]
async fn a_client_that_knows_one_server_learns_of_all() {
    let Some(ensemble) = Ensemble::start(3) else {
        return;
    };
    let config = Config::zookeeper(TIMEOUT).to_builder();
    let config = config.sources([Source::discovery()]).build();
    let config = config.expect("a valid configuration");
    let session = Session::with(config, TIMEOUT, 1, vec![ensemble.node(0)]);
    until(|| session.client.nodes().len() == 3).await;
    for server in 0..3 {
        let endpoint = ensemble.node(server).endpoint;
        assert!(session.client.find(&endpoint).is_some());
    }
    assert_eq!(session.client.stats().failures_established, 0);
}

#[tokio::test]
async fn a_server_that_joins_is_pushed_as_a_change_of_the_configuration() {
    let Some(mut ensemble) = Ensemble::start(3) else {
        return;
    };
    let mut session = Session::start(TIMEOUT, 1, ensemble.nodes());
    session.established().await;
    let old = configuration(&session, Request::watch(CONFIG_PATH)).await;
    assert_eq!(old.servers.len(), 3);

    let joining = ensemble.start_another();
    let new = reconfigure(&session, Some(joining), None).await;
    assert_eq!(new.servers.len(), 4);
    assert!(new.version > old.version);
    let path = CONFIG_PATH.into();
    let change = Change::Data;
    assert_eq!(session.push().await, Push::Changed { path, change });
    let read = configuration(&session, Request::get(CONFIG_PATH)).await;
    assert_eq!(read, new);
}
