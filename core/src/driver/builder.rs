//! Building a client.

use core::fmt;
#[cfg(feature = "record")]
use std::boxed::Box;
use std::{
    hash::BuildHasher,
    string::{String, ToString},
    vec::Vec,
};

use super::{BuildError, Handle, Runtime, ServersError, shared::Shared, sync::Arc, task::Driver};
use crate::{
    Config, Endpoint, NodeSpec,
    client::{Client, Protocol},
};

/// Builds a [`Handle`] and starts its driver.
#[must_use]
pub struct Builder<P, R> {
    protocol: P,
    servers: Servers,
    config: Config,
    seed: Option<u64>,
    runtime: Option<R>,
    #[cfg(feature = "record")]
    recording: Option<Box<dyn std::io::Write + Send + Sync>>,
}

enum Servers {
    Text(String),
    List(Vec<NodeSpec>),
}

impl<P: Protocol, R: Runtime> Builder<P, R> {
    pub(super) fn new(protocol: P) -> Self {
        Self {
            protocol,
            servers: Servers::List(Vec::new()),
            config: Config::default(),
            seed: None,
            runtime: None,
            #[cfg(feature = "record")]
            recording: None,
        }
    }

    /// The servers, as `host:port,host:port`; blanks around an entry do not matter. Replaces an
    /// earlier list. Without any, requests wait until a list is set.
    pub fn servers(mut self, servers: impl Into<String>) -> Self {
        self.servers = Servers::Text(servers.into());
        self
    }

    /// The servers, with keys and labels. Replaces an earlier list.
    pub fn nodes(mut self, nodes: impl Into<Vec<NodeSpec>>) -> Self {
        self.servers = Servers::List(nodes.into());
        self
    }

    /// How the client behaves. Default: [`Config::default`].
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// From which all random choices follow: the order of nodes, jitter. Default: a number drawn
    /// from the operating system's randomness, through [`RandomState`](std::hash::RandomState). Clients of one service
    /// should not share a seed, or they will all choose the same node.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// The runtime. Default: the one of the context in which [`build`](Self::build) is called.
    pub fn runtime(mut self, runtime: R) -> Self {
        self.runtime = Some(runtime);
        self
    }

    /// Records what the client's core is told to `sink`, for [`replay`](crate::record::replay). The
    /// sink is written under the client's lock: put a buffer around a file. The recording ends when
    /// the last handle and the driver are gone.
    #[cfg(feature = "record")]
    pub fn record(mut self, sink: impl std::io::Write + Send + Sync + 'static) -> Self {
        self.recording = Some(Box::new(sink));
        self
    }

    /// Starts the client. Nothing is dialled before a request wants it, unless the configuration
    /// keeps nodes [warm](crate::ConfigBuilder::warm).
    ///
    /// # Errors
    ///
    /// [`BuildError`], for what was said wrongly; never for a reason of the network.
    pub fn build(self) -> Result<Handle<P, R>, BuildError>
    where
        P: Protocol<Request: Send, Reply: Send, Push: Send, Connection: Send> + Send + 'static,
    {
        let runtime = self
            .runtime
            .or_else(R::current)
            .ok_or(BuildError::NoRuntime)?;
        let seed = self.seed.unwrap_or_else(draw_seed);
        let now = runtime.now();
        #[cfg(not(feature = "record"))]
        let mut client = Client::new(self.protocol, self.config, seed, now)?;
        #[cfg(feature = "record")]
        let mut client = match self.recording {
            None => Client::new(self.protocol, self.config, seed, now)?,
            Some(sink) => Client::record(self.protocol, self.config, seed, now, sink)?,
        };
        let nodes = match self.servers {
            Servers::Text(text) => parse(&text)?,
            Servers::List(nodes) => nodes,
        };
        if !nodes.is_empty() {
            client.set_nodes(now, &nodes).map_err(ServersError::from)?;
        }
        let shared = Arc::new(Shared::new(client));
        runtime.spawn(Driver::new(Arc::clone(&shared), runtime.clone()));
        Ok(Handle::new(shared, runtime))
    }
}

impl<P, R> fmt::Debug for Builder<P, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("config", &self.config)
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}

#[expect(
    clippy::disallowed_types,
    reason = "here the seed itself is drawn, once"
)]
fn draw_seed() -> u64 {
    std::hash::RandomState::new().hash_one(())
}

/// The entries of `host:port,host:port`.
pub(super) fn parse(servers: &str) -> Result<Vec<NodeSpec>, ServersError> {
    let entry = |(index, entry): (usize, &str)| match entry.trim().parse::<Endpoint>() {
        Ok(endpoint) => Ok(NodeSpec::new(endpoint)),
        Err(error) => Err(ServersError::Entry {
            index,
            entry: entry.trim().to_string(),
            error,
        }),
    };
    servers.split(',').enumerate().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn a_list_of_servers_is_parsed_or_the_wrong_entry_is_named() {
        let texts = |servers| {
            parse(servers).map(|nodes| {
                nodes
                    .iter()
                    .map(|node| node.endpoint.to_string())
                    .collect::<Vec<_>>()
            })
        };
        let wrong = |index, entry: &str, error| {
            Err(ServersError::Entry {
                index,
                entry: entry.into(),
                error,
            })
        };
        use crate::EndpointError::{Host, Port};
        for (servers, expected) in [
            ("a:1", Ok(vec!["a:1".into()])),
            (
                "a:1, [::1]:2 ,1.2.3.4:3",
                Ok(vec!["a:1".into(), "[::1]:2".into(), "1.2.3.4:3".into()]),
            ),
            ("", wrong(0, "", Port)),
            ("a:1,", wrong(1, "", Port)),
            ("a:1,b", wrong(1, "b", Port)),
            ("a b:1", wrong(0, "a b:1", Host)),
        ] {
            assert_eq!(texts(servers), expected, "{servers:?}");
        }
    }
}
