//! Why a request failed, or a client could not be built.

use std::string::String;

use thiserror::Error;

use crate::{ConfigError, EndpointError, RequestError, SetNodesError, SourceId, SubmitError};

/// Why a request failed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
pub enum Error {
    /// It was not accepted. It leaves no trace.
    #[error(transparent)]
    Submit(#[from] SubmitError),
    /// It was accepted and failed: where, after how long, and whether the peer may have seen it.
    #[error(transparent)]
    Request(#[from] RequestError),
}

impl Error {
    /// Whether it makes sense and is safe to send the request again: the failure is not for ever,
    /// and no peer has seen the request. One that is idempotent may be sent again in more cases.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        match self {
            Self::Submit(error) => matches!(error, SubmitError::QueueFull),
            Self::Request(error) => error.is_retryable(),
        }
    }
}

/// Why a text or list of servers was not accepted. The old list stays.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ServersError {
    /// An entry of the text is no endpoint.
    #[error("entry {index}, {entry:?}: {error}")]
    Entry {
        /// Which, from 0.
        index: usize,
        /// Its text.
        entry: String,
        /// What is wrong with it.
        error: EndpointError,
    },
    /// The list was not accepted.
    #[error(transparent)]
    List(#[from] SetNodesError),
}

/// Why a client could not be built. Never for a reason of the network.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The servers.
    #[error("servers: {0}")]
    Servers(#[from] ServersError),
    /// The fallback servers.
    #[error("fallback: {0}")]
    Fallback(ServersError),
    /// The configuration names a source that nobody answers.
    #[error(
        "source {source_id} of the configuration: give it to the builder, which adds it itself"
    )]
    UnansweredSource {
        /// Its place in [`Config::sources`](crate::Config::sources).
        source_id: SourceId,
    },
    /// The configuration, together with what the protocol needs.
    #[error("configuration: {0}")]
    Config(#[from] ConfigError),
    /// It was built outside of a runtime, and none was given.
    #[error("no runtime: build the client inside of one or give it to the builder")]
    NoRuntime,
    /// It cannot be recorded.
    #[cfg(feature = "record")]
    #[error("recording: {0}")]
    Record(crate::record::RecordError),
}

#[cfg(feature = "record")]
impl From<crate::record::RecordError> for BuildError {
    fn from(error: crate::record::RecordError) -> Self {
        match error {
            crate::record::RecordError::Config(error) => Self::Config(error),
            error => Self::Record(error),
        }
    }
}
