//! A client on tokio under test, and the events that it gives out.

use std::{collections::BTreeMap, fmt, future::IntoFuture, net::SocketAddr, time::Duration};

use redial::{
    Cause, Config, ConnectionId, Event, NodeSpec, RequestError, Stage,
    client::length_prefixed::LengthPrefixed,
    driver::{ClientEvent, Error, Events},
};
use redial_tokio::Client;

/// What a busy machine may take for whatever needs no timer. No test passes by waiting it out.
const PATIENCE: Duration = Duration::from_secs(20);

/// Waits for what has to come.
///
/// # Panics
///
/// If it does not come in good time.
pub async fn soon<F: IntoFuture>(future: F) -> F::Output {
    tokio::time::timeout(PATIENCE, future.into_future())
        .await
        .unwrap_or_else(|_| panic!("nothing after {PATIENCE:?}"))
}

/// Waits until `condition` holds, which nobody will tell us.
///
/// # Panics
///
/// If it does not in good time.
pub async fn until(mut condition: impl FnMut() -> bool) {
    soon(async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// How a request failed that was accepted.
///
/// # Panics
///
/// If it was not, or did not.
pub fn failure<R: fmt::Debug>(result: Result<R, Error>) -> RequestError {
    match result {
        Err(Error::Request(error)) => error,
        other => panic!("a failure of the request was expected: {other:?}"),
    }
}

/// A client and its events.
#[derive(Debug)]
pub struct RealClient {
    /// The user's handle.
    pub handle: Client<LengthPrefixed>,
    events: Events,
    addresses: BTreeMap<ConnectionId, SocketAddr>,
}

/// How an attempt failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FailedAttempt {
    /// How far it had come.
    pub stage: Stage,
    /// Why it failed.
    pub cause: Cause,
    /// How long it took.
    pub duration: Duration,
}

impl RealClient {
    /// A client of these nodes.
    ///
    /// # Panics
    ///
    /// If it cannot be built.
    #[must_use]
    pub fn start(config: Config, nodes: &[SocketAddr]) -> Self {
        Self::start_seeded(config, nodes, 1)
    }

    /// The same with another seed.
    ///
    /// # Panics
    ///
    /// If it cannot be built.
    #[must_use]
    pub fn start_seeded(config: Config, nodes: &[SocketAddr], seed: u64) -> Self {
        let handle = Client::builder(LengthPrefixed::new())
            .nodes(specs(nodes))
            .config(config)
            .seed(seed)
            .build()
            .expect("a valid configuration");
        let events = handle.events();
        Self {
            handle,
            events,
            addresses: BTreeMap::new(),
        }
    }

    /// Replaces the list by these nodes.
    ///
    /// # Panics
    ///
    /// If it is not accepted.
    pub fn set_nodes(&self, nodes: &[SocketAddr]) {
        self.handle.set_nodes(&specs(nodes)).expect("a valid list");
    }

    /// Sends one request, which any node may answer and which may be repeated, and sees it echoed.
    ///
    /// # Panics
    ///
    /// If it is not.
    pub async fn assert_echoes(&self, payload: &'static str) {
        let response = soon(self.handle.request(payload.into()).idempotent()).await;
        assert_eq!(response.expect("an answer").reply, Some(payload.into()));
    }

    /// How the next attempt at this address fails.
    pub async fn failed_attempt(&mut self, at: SocketAddr) -> FailedAttempt {
        loop {
            if let Event::AttemptEnded {
                stage,
                address,
                duration,
                cause: Some(cause),
                ..
            } = self.event().await
                && address == Some(at)
            {
                return FailedAttempt {
                    stage,
                    cause,
                    duration,
                };
            }
        }
    }

    /// Why the next connection to this address ends that was up.
    pub async fn disconnected(&mut self, from: SocketAddr) -> Cause {
        loop {
            if let Event::Disconnected {
                connection, cause, ..
            } = self.event().await
                && self.addresses.get(&connection) == Some(&from)
            {
                return cause;
            }
        }
    }

    async fn event(&mut self) -> Event {
        loop {
            let record = soon(self.events.next())
                .await
                .expect("the client has not ended");
            if let ClientEvent::Cluster(event) = record.event {
                if let Event::Connected {
                    connection,
                    address: Some(address),
                    ..
                } = event
                {
                    self.addresses.insert(connection, address);
                }
                return event;
            }
        }
    }
}

fn specs(nodes: &[SocketAddr]) -> Vec<NodeSpec> {
    nodes.iter().copied().map(NodeSpec::from).collect()
}
