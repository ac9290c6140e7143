//! A client that takes its servers from a URL.

use std::{collections::BTreeSet, time::Duration};

use redial::{
    Config, ConfigBuilder, Event, RefreshResult,
    client::length_prefixed::LengthPrefixed,
    driver::{ClientEvent, Events, ServerSource, SourceError},
};
use redial_tests::waiting::{soon, until};
use redial_tokio::{Client, HttpSource};

pub(crate) struct Rig {
    pub(crate) client: Client<LengthPrefixed>,
    events: Events,
}

/// Asks every 100 ms, whether that works or not.
pub(crate) fn often() -> ConfigBuilder {
    let period = Duration::from_millis(100);
    Config::builder()
        .refresh_interval(period)
        .refresh_jitter(Duration::ZERO)
        .refresh_min_interval(period)
}

impl Rig {
    pub(crate) fn new(source: impl ServerSource) -> Self {
        Self::with(source, often())
    }

    pub(crate) fn with(source: impl ServerSource, config: ConfigBuilder) -> Self {
        let client = Client::builder(LengthPrefixed::new())
            .config(config.build().expect("it makes sense"))
            .source(source)
            .build()
            .expect("it makes sense");
        let events = client.events();
        Self { client, events }
    }

    /// In alphabetical order.
    pub(crate) fn servers(&self) -> Vec<String> {
        let nodes = self.client.nodes();
        let servers = nodes.iter().map(|node| node.spec.endpoint.to_string());
        servers.collect::<BTreeSet<_>>().into_iter().collect()
    }

    pub(crate) async fn until(&self, expected: &[&str]) {
        until(|| self.servers() == expected).await;
    }

    /// The next failure that `is_it`.
    pub(crate) async fn failure(&mut self, is_it: impl Fn(&SourceError) -> bool) -> SourceError {
        loop {
            let record = soon(self.events.next()).await.expect("an open client");
            if let ClientEvent::SourceFailed { error, .. } = record.event
                && is_it(&error)
            {
                return error;
            }
        }
    }

    /// What comes of the next refresh.
    pub(crate) async fn refreshed(&mut self) -> RefreshResult {
        loop {
            let record = soon(self.events.next()).await.expect("an open client");
            if let ClientEvent::Cluster(Event::Refreshed { result, .. }) = record.event {
                return result;
            }
        }
    }
}

pub(crate) fn source(url: &str) -> HttpSource {
    HttpSource::new(url).expect("it makes sense")
}
