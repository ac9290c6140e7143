//! Building a client.

use core::fmt;
use std::{
    boxed::Box,
    hash::BuildHasher,
    string::{String, ToString},
    vec::Vec,
};

use super::{
    BuildError, Handle, Runtime, ServerSource, ServersError, shared::Shared, sync::Arc,
    task::Driver,
};
use crate::{
    Config, Endpoint, NodeSpec, Source, SourceId,
    client::{Client, Protocol},
};

/// Builds a [`Handle`] and starts its driver.
#[must_use]
pub struct Builder<P, R> {
    protocol: P,
    servers: Servers,
    fallback: Option<String>,
    sources: Vec<(Source, Option<Box<dyn ServerSource>>)>,
    config: Config,
    seed: Option<u64>,
    runtime: Option<R>,
    #[cfg(feature = "record")]
    recording: Option<Box<dyn std::io::Write + Send + Sync>>,
    #[cfg(feature = "record")]
    observer: Option<Box<dyn crate::record::Observer>>,
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
            fallback: None,
            sources: Vec::new(),
            config: Config::default(),
            seed: None,
            runtime: None,
            #[cfg(feature = "record")]
            recording: None,
            #[cfg(feature = "record")]
            observer: None,
        }
    }

    /// The servers, as `host:port,host:port`; blanks around an entry do not matter. `unix:/path` is a
    /// Unix socket, if its path has no commas; for others see [`nodes`](Self::nodes). Replaces an
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

    /// Another source of servers, besides the application's list and the other sources (SEMANTICS
    /// 7.2): the list in force is the union of the last good answers. It is asked first when the client
    /// is built, then as the configuration says ([`refresh_interval`](Config::refresh_interval) and
    /// what is beside it). Its [`SourceId`] counts the sources in the order in which they are given,
    /// those of the configuration first. Default: none; at most 32, or the build fails.
    ///
    /// Many clients of a process can share one retrieval: [`SharedSource`](super::SharedSource).
    pub fn source(mut self, source: impl ServerSource) -> Self {
        self.sources
            .push((Source::primary(), Some(Box::new(source))));
        self
    }

    /// A source whose servers join only when all others have failed, and leave when another source has
    /// a good list again (SEMANTICS 7.9). Otherwise as [`source`](Self::source).
    pub fn fallback_source(mut self, source: impl ServerSource) -> Self {
        self.sources
            .push((Source::fallback(), Some(Box::new(source))));
        self
    }

    /// The cluster itself is a source, as a protocol with
    /// [discovery](crate::client::Protocol::has_discovery) allows: it is asked on a connection to one
    /// of its nodes, once there is one (SEMANTICS 7.2). Without such a protocol the build fails.
    pub fn discovery(mut self) -> Self {
        self.sources.push((Source::discovery(), None));
        self
    }

    /// Servers that join only when all others have failed, as `host:port,host:port` (SEMANTICS 7.9);
    /// [`Handle::set_fallback`] replaces them. Replaces an earlier list. Default: none.
    pub fn fallback(mut self, servers: impl Into<String>) -> Self {
        self.fallback = Some(servers.into());
        self
    }

    /// How the client behaves. Default: [`Config::default`]. Sources are given to the builder; of the
    /// configuration's own only those are allowed that the cluster answers.
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
        self.observer = None;
        self
    }

    /// Shows each step of the client's core to `observer`, under the client's lock. It is dropped when
    /// the last handle and the driver are gone. A client is observed or recorded, not both: what was
    /// asked for last counts.
    #[cfg(feature = "record")]
    pub fn observe(mut self, observer: Box<dyn crate::record::Observer>) -> Self {
        self.observer = Some(observer);
        self.recording = None;
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
        let (config, sources) = add_sources(self.config, self.sources)?;
        #[cfg(not(feature = "record"))]
        let mut client = Client::new(self.protocol, config, seed, now)?;
        #[cfg(feature = "record")]
        let mut client = match (self.recording, self.observer) {
            (None, None) => Client::new(self.protocol, config, seed, now)?,
            (None, Some(observer)) => Client::observe(self.protocol, config, seed, now, observer)?,
            (Some(sink), _) => Client::record(self.protocol, config, seed, now, sink)?,
        };
        let nodes = match self.servers {
            Servers::Text(text) => parse(&text)?,
            Servers::List(nodes) => nodes,
        };
        if !nodes.is_empty() {
            client.set_nodes(now, &nodes).map_err(ServersError::from)?;
        }
        if let Some(fallback) = self.fallback {
            let nodes = parse(&fallback).map_err(BuildError::Fallback)?;
            let set = client.set_fallback(now, &nodes);
            set.map_err(|error| BuildError::Fallback(error.into()))?;
        }
        let shared = Arc::new(Shared::new(client));
        runtime.spawn(Driver::new(Arc::clone(&shared), runtime.clone(), sources));
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

type Sources = Vec<(SourceId, Box<dyn ServerSource>)>;

/// The configuration with these sources, and who answers for which.
fn add_sources(
    config: Config,
    added: Vec<(Source, Option<Box<dyn ServerSource>>)>,
) -> Result<(Config, Sources), BuildError> {
    let mut own = (0..).zip(config.sources());
    if let Some((index, _)) = own.find(|(_, source)| !source.is_discovery()) {
        let source_id = SourceId::new(index);
        return Err(BuildError::UnansweredSource { source_id });
    }
    let first = config.sources().len() as u32;
    let (mut builder, mut sources) = (config.to_builder(), Vec::new());
    for (index, (kind, source)) in (first..).zip(added) {
        builder = builder.source(kind);
        sources.extend(source.map(|source| (SourceId::new(index), source)));
    }
    Ok((builder.build()?, sources))
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
            (
                "unix:/run/x.sock, a:1",
                Ok(vec!["unix:/run/x.sock".into(), "a:1".into()]),
            ),
        ] {
            assert_eq!(texts(servers), expected, "{servers:?}");
        }
    }
}
