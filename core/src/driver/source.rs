//! Who knows where the servers are: what the driver asks for server lists.

use core::{fmt, future::Future, pin::Pin};
use std::{
    boxed::Box,
    io,
    string::{String, ToString},
    sync::Arc,
};

use thiserror::Error;

use crate::{NodeSpec, ParseError};

/// A retrieval under way.
pub type Retrieval = Pin<Box<dyn Future<Output = Result<ServerList, SourceError>> + Send>>;

/// Waits for a change.
pub type Changed = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A source of server lists: a file, a URL, DNS, a database, a callback (SEMANTICS 7.2).
///
/// It says what the list is now, and perhaps when it has changed. When it is asked, how often after a
/// failure and what its answer does is the client's business (SEMANTICS 7.3 to 7.6): it needs no
/// schedule, no cache and no retries of its own.
///
/// Both methods and the futures run in the client's one task, outside of its lock: they must not
/// block, and a panic ends the client. They may use the client's own handle.
pub trait ServerSource: Send + Sync + 'static {
    /// Begins to retrieve the list. At most one retrieval a client is under way. It is dropped when the
    /// client's [`refresh_timeout`](crate::Config::refresh_timeout) has passed or when the client ends;
    /// the future needs no timeout of its own.
    ///
    /// The future fails if there is no list: then the client goes on with the one that it has. It need
    /// not check a list; one that is empty or not well-formed changes nothing.
    fn retrieve(&self) -> Retrieval;

    /// Waits until the list may have changed; then the client asks again, no sooner than
    /// [`refresh_min_interval`](crate::Config::refresh_min_interval) after it asked last. To say so
    /// without need costs a retrieval, not more.
    ///
    /// It is called right before a retrieval: once before the first one, and after it was ready before
    /// the next one. A change from then on must make it ready, also one during that retrieval.
    /// Default: never, so the list is retrieved at its times only.
    fn changed(&self) -> Changed {
        Box::pin(core::future::pending())
    }
}

impl<S: ServerSource + ?Sized> ServerSource for Arc<S> {
    fn retrieve(&self) -> Retrieval {
        (**self).retrieve()
    }

    fn changed(&self) -> Changed {
        (**self).changed()
    }
}

/// The answer of a [`ServerSource`].
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ServerList {
    /// The servers. An empty list changes nothing.
    pub nodes: Arc<[NodeSpec]>,
    /// Of two lists of a source the one with the greater version is the newer: one that is not above
    /// that of the source's last good list is ignored (SEMANTICS 7.5). Without a version a list is
    /// always taken.
    pub version: Option<u64>,
}

impl ServerList {
    /// A list without a version.
    #[must_use]
    pub fn new(nodes: impl Into<Arc<[NodeSpec]>>) -> Self {
        Self {
            nodes: nodes.into(),
            version: None,
        }
    }

    /// With this version.
    #[must_use]
    pub const fn version(mut self, version: u64) -> Self {
        self.version = Some(version);
        self
    }
}

/// Why a source gave no list. The old list stays.
///
/// No credential may be in its texts; of a URL neither user nor query.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum SourceError {
    /// It could not be read.
    #[error("{place}: {error}")]
    Io {
        /// What was to be read: a path, a URL without credentials.
        place: String,
        /// The kind of failure.
        kind: io::ErrorKind,
        /// What the system said.
        error: String,
    },
    /// It is larger than any list may be.
    #[error("{place}: more than {max} bytes")]
    TooLarge {
        /// What was to be read.
        place: String,
        /// The limit.
        max: usize,
    },
    /// It is no server list.
    #[error("{place}: {error}")]
    Malformed {
        /// What was read.
        place: String,
        /// Where, and what was expected there.
        error: ParseError,
    },
    /// A server answered, with something else than a list.
    #[error("{place}: the server answered with status {status}")]
    Status {
        /// What was asked for.
        place: String,
        /// HTTP's status code, or what corresponds to it.
        status: u16,
    },
    /// A server wants credentials, or other ones.
    #[error("{place}: access denied (status {status}): the credentials are missing or wrong")]
    AccessDenied {
        /// What was asked for.
        place: String,
        /// HTTP's status code, 401 or 403, or what corresponds to it.
        status: u16,
    },
    /// A server sent us elsewhere, where we do not go.
    #[error("{place}: {error}")]
    Redirect {
        /// Where it did.
        place: String,
        /// Why we do not.
        error: RedirectError,
    },
    /// It names where to ask for the servers, not the servers: `dns-srv://name`, for example, which is
    /// for a source that asks DNS.
    #[error("{place}: it names no servers but where to ask for them")]
    Indirect {
        /// What was read.
        place: String,
    },
    /// DNS gave no list.
    #[error("{name}: {failure}")]
    Dns {
        /// The name that was asked for.
        name: String,
        /// What was wrong.
        failure: DnsFailure,
    },
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

/// Why DNS gave no list.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum DnsFailure {
    /// NXDOMAIN: there is no such name. A service none of whose servers is ready may have none.
    #[error("there is no such name (NXDOMAIN)")]
    NoSuchName,
    /// The name exists, but has no records of the type that was asked for.
    #[error("the name has no such records")]
    NoRecords,
    /// The record says that the service is decidedly not to be had (RFC 2782: the target `.`).
    #[error("the service is not available, as its record says")]
    NoService,
    /// SERVFAIL: the name server could not find out.
    #[error("the name server failed (SERVFAIL)")]
    ServerFailed,
    /// REFUSED: the name server does not answer this question, or not from here.
    #[error("the name server refused (REFUSED)")]
    Refused,
    /// No answer in time.
    #[error("no answer in time")]
    TimedOut,
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

impl SourceError {
    /// Any other failure, by its text.
    pub fn other(error: impl fmt::Display) -> Self {
        Self::Other(error.to_string())
    }

    /// A failure of DNS.
    pub fn dns(name: impl fmt::Display, failure: DnsFailure) -> Self {
        Self::Dns {
            name: name.to_string(),
            failure,
        }
    }

    /// A failure to read.
    pub fn io(place: impl fmt::Display, error: &io::Error) -> Self {
        Self::Io {
            place: place.to_string(),
            kind: error.kind(),
            error: error.to_string(),
        }
    }
}

/// Why a redirect is not followed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
#[non_exhaustive]
pub enum RedirectError {
    /// There were too many in a row.
    #[error("redirected more than {max} times")]
    TooMany {
        /// The limit.
        max: u32,
    },
    /// It leads from an encrypted connection to one that is not.
    #[error("redirected from https to http")]
    Insecure,
    /// It does not say where to, or names something that is not asked like this.
    #[error("redirected to no usable URL")]
    Unusable,
}

/// A callback as a [`ServerSource`]: an async closure that returns the list.
///
/// ```
/// use redial::driver::{ServerList, SourceError, from_fn};
///
/// # let look_up = |_: &str| ["10.0.0.1:9092"];
/// let source = from_fn(move || {
///     let found = look_up("orders");
///     async move {
///         let nodes: Result<Vec<_>, _> = found.iter().map(|server| server.parse()).collect();
///         Ok(ServerList::new(nodes.map_err(SourceError::other)?))
///     }
/// });
/// # let _ = source;
/// ```
pub fn from_fn<F, A>(ask: F) -> FromFn<F>
where
    F: Fn() -> A + Send + Sync + 'static,
    A: Future<Output = Result<ServerList, SourceError>> + Send + 'static,
{
    FromFn(ask)
}

/// What [`from_fn`] makes.
#[derive(Clone, Copy)]
pub struct FromFn<F>(F);

impl<F, A> ServerSource for FromFn<F>
where
    F: Fn() -> A + Send + Sync + 'static,
    A: Future<Output = Result<ServerList, SourceError>> + Send + 'static,
{
    fn retrieve(&self) -> Retrieval {
        Box::pin((self.0)())
    }
}

impl<F> fmt::Debug for FromFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FromFn").finish_non_exhaustive()
    }
}
