//! The ensemble's list of its servers, followed.

use std::{fmt::Display, time::Duration};

use redial::{DynamicConfig, driver::Error};
use redial_tokio::Client;
use tokio::time::sleep;

use crate::{
    jute::{CONFIG_PATH, Push, Reply, Request, ServerError, ZooKeeper},
    watch::print,
};

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
    ///
    /// The protocol sets watches anew on another server. The list is read there all the same: for the
    /// first time, or because the last time may have failed or been synced with the server before.
    pub(crate) async fn follow(&mut self, push: &Push) {
        match push {
            Push::Session { id, .. } => self.wait = spread(*id),
            // All clients are told at once, and need not all read, and move, at once.
            Push::Changed { .. } => sleep(self.wait).await,
        }
        // What does not work now is done again with the next connection.
        match self.read().await {
            Ok(Ok(Reply::Data { data, .. })) => self.take(&data),
            Ok(Ok(other)) => self.print(format_args!("no configuration: {other:?}")),
            Ok(Err(error)) => self.print(format_args!("no configuration: {error}")),
            Err(error) => self.print(format_args!("no configuration: {error}")),
        }
    }

    /// Reads the list and has its next change pushed.
    async fn read(&self) -> Result<Result<Reply, ServerError>, Error> {
        // Our server may lag behind the one that changed the list.
        let path = CONFIG_PATH.to_owned();
        match self.ask(Request::Sync { path }).await? {
            Ok(_) => self.ask(Request::watch(CONFIG_PATH)).await,
            error => Ok(error),
        }
    }

    async fn ask(&self, request: Request) -> Result<Result<Reply, ServerError>, Error> {
        let response = self.client.request(request).idempotent().await?;
        Ok(response.reply.expect("requests have replies"))
    }

    fn take(&mut self, data: &[u8]) {
        let config = match DynamicConfig::parse(&String::from_utf8_lossy(data)) {
            Ok(config) => config,
            Err(error) => return self.print(format_args!("no configuration: {error}")),
        };
        // Each new connection reads it, so mostly it is known.
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
                self.print(format_args!("the servers are {}", servers.join(", ")));
            }
            Err(error) => self.print(format_args!("no list: {error}")),
        }
    }

    fn print(&self, what: impl Display) {
        print(self.client.now(), CONFIG_PATH, what);
    }
}

/// Up to a second; another one for each session.
fn spread(id: i64) -> Duration {
    // The golden ratio spreads numbers evenly that follow each other.
    let hash = id.cast_unsigned().wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Duration::from_millis(hash >> 54)
}
