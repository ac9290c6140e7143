//! The ensemble's list of its servers, followed.

use std::time::Duration;

use redial::{DynamicConfig, driver::Error};
use redial_tokio::Client;
use tokio::time::sleep;

use crate::jute::{CONFIG_PATH, Push, Reply, Request, ServerError, ZooKeeper};

/// Takes the ensemble's list for the client's own whenever it is newer.
pub(crate) struct Follower {
    client: Client<ZooKeeper>,
    /// Of the list that was taken last.
    version: Option<i64>,
    wait: Duration,
}

impl Follower {
    pub(crate) const fn new(client: Client<ZooKeeper>) -> Self {
        Self {
            client,
            version: None,
            wait: Duration::ZERO,
        }
    }

    /// Looks for a newer list, because of this push: the session is on another server, or the list has
    /// changed.
    pub(crate) async fn follow(&mut self, push: &Push) {
        match push {
            Push::Session { id, .. } => self.wait = spread(*id),
            // All clients are told at once, and need not all move at once.
            Push::Changed { .. } => sleep(self.wait).await,
        }
        // If it does not work now it will with the next connection.
        match self.read().await {
            Ok(Ok(Reply::Data { data, .. })) => self.take(&data),
            Ok(Ok(other)) => println!("no configuration: {other:?}"),
            Ok(Err(error)) => println!("no configuration: {error}"),
            Err(error) => println!("no configuration: {error}"),
        }
    }

    /// Reads the list and has its next change pushed.
    async fn read(&self) -> Result<Result<Reply, ServerError>, Error> {
        // This server may not know yet what another one told us.
        let path = CONFIG_PATH.to_owned();
        self.client
            .request(Request::Sync { path })
            .idempotent()
            .await?;
        let read = self.client.request(Request::watch(CONFIG_PATH));
        let response = read.idempotent().await?;
        Ok(response.reply.expect("requests have replies"))
    }

    fn take(&mut self, data: &[u8]) {
        let config = match DynamicConfig::parse(&String::from_utf8_lossy(data)) {
            Ok(config) => config,
            Err(error) => return println!("no configuration: {error}"),
        };
        if config.version <= self.version {
            return;
        }
        match self.client.set_nodes(&config.nodes()) {
            Ok(()) => {
                self.version = config.version;
                let servers = config.servers.iter();
                let servers: Vec<_> = servers
                    .map(|server| server.client_address.to_string())
                    .collect();
                println!("the servers are {}", servers.join(", "));
            }
            Err(error) => println!("no list: {error}"),
        }
    }
}

/// Up to a second; another one for each session.
fn spread(id: i64) -> Duration {
    // The golden ratio spreads numbers evenly that follow each other.
    let hash = id.cast_unsigned().wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Duration::from_millis(hash >> 54)
}
