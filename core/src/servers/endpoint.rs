//! Endpoints and the entries of a server list.

use alloc::{boxed::Box, collections::BTreeMap, string::String};
use core::{
    fmt,
    net::{IpAddr, Ipv6Addr, SocketAddr},
    str::FromStr,
};

use thiserror::Error;

/// Where a node is reached.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Endpoint {
    /// An IP address and port; never resolved.
    Address(SocketAddr),
    /// A name and port; resolved before an attempt. Make one with [`Endpoint::name`].
    #[non_exhaustive]
    Name {
        /// Lower case.
        host: Box<str>,
        /// The port.
        port: u16,
    },
    /// Anything else, for transports that have no IP addresses. `unix:/path` is a Unix socket, which
    /// the adapters can dial; see [`Endpoint::unix_path`].
    Opaque(Box<str>),
}

impl Endpoint {
    /// A host name and port. Upper case is folded: names that differ only in case are equal.
    ///
    /// # Errors
    ///
    /// A host name has 1 to 253 characters of `A–Z a–z 0–9 . _ -`; a port is not 0.
    pub fn name(host: &str, port: u16) -> Result<Self, EndpointError> {
        if !is_host_name(host) {
            return Err(EndpointError::Host);
        }
        if port == 0 {
            return Err(EndpointError::Port);
        }
        Ok(Self::Name {
            host: host.to_ascii_lowercase().into(),
            port,
        })
    }

    /// Where the Unix socket is that the opaque endpoint `unix:/path` stands for. For `unix:@name`, an
    /// abstract name of Linux, that is a NUL and the name, as sockets take it. `None` for all else.
    #[must_use]
    pub fn unix_path(&self) -> Option<String> {
        let Self::Opaque(text) = self else {
            return None;
        };
        unix_socket(text).map(|path| path.replacen('@', "\0", usize::from(path.starts_with('@'))))
    }
}

/// The `/path` or `@name` of a Unix socket's text.
fn unix_socket(text: &str) -> Option<&str> {
    let path = text.strip_prefix("unix:")?;
    (path.len() > 1 && path.starts_with(['/', '@'])).then_some(path)
}

/// As many bytes as a Unix socket's address has for it on Linux; elsewhere they are fewer.
const LONGEST_PATH: usize = 108;

/// Whether a text is 1 to 253 of `A–Z a–z 0–9 . _ -`.
pub(super) fn is_host_name(text: &str) -> bool {
    let valid = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'_' | b'-');
    (1..=253).contains(&text.len()) && text.bytes().all(valid)
}

/// 1 to 5 digits without sign, 1 to 65535.
pub(super) fn parse_port(text: &str) -> Option<u16> {
    let digits = (1..=5).contains(&text.len()) && text.bytes().all(|c| c.is_ascii_digit());
    text.parse().ok().filter(|&port| digits && port > 0)
}

/// `host:port`, `1.2.3.4:port` or `[v6]:port`; `unix:/path` or `unix:@name` for a Unix socket, with 2 to
/// 108 bytes after the colon.
impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        // Else it is a host of this name.
        let is_port = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
        if text
            .strip_prefix("unix:")
            .is_some_and(|rest| !is_port(rest))
        {
            let fits = |path: &str| path.len() <= LONGEST_PATH && !path.contains(char::is_control);
            return match unix_socket(text).is_some_and(fits) {
                true => Ok(Self::Opaque(text.into())),
                false => Err(EndpointError::Path),
            };
        }
        let (host, port) = text.rsplit_once(':').ok_or(EndpointError::Port)?;
        let port = parse_port(port).ok_or(EndpointError::Port)?;
        if let Some(inner) = host.strip_prefix('[') {
            let inner = inner.strip_suffix(']').ok_or(EndpointError::Host)?;
            let ip: Ipv6Addr = inner.parse().map_err(|_| EndpointError::Host)?;
            return Ok(Self::Address(SocketAddr::new(ip.into(), port)));
        }
        match host.parse() {
            Ok(ip @ IpAddr::V4(_)) => Ok(Self::Address(SocketAddr::new(ip, port))),
            _ => Self::name(host, port),
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => write!(f, "{address}"),
            Self::Name { host, port } => write!(f, "{host}:{port}"),
            Self::Opaque(text) => f.write_str(text),
        }
    }
}

impl From<SocketAddr> for Endpoint {
    fn from(address: SocketAddr) -> Self {
        Self::Address(address)
    }
}

/// Why a text is no endpoint.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
pub enum EndpointError {
    /// The host is neither a name of 1 to 253 letters, digits, dots, underscores and hyphens nor an
    /// IP address (IPv6 in brackets, without zone).
    #[error("invalid host")]
    Host,
    /// The port is missing or not 1 to 65535.
    #[error("invalid port")]
    Port,
    /// What follows `unix:` is neither an absolute path nor `@` and a name, has control characters, or
    /// is longer than 108 bytes, which no socket can be bound to.
    #[error("invalid path of a Unix socket")]
    Path,
}

/// One entry of a server list.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct NodeSpec {
    /// Where it is reached.
    pub endpoint: Endpoint,
    /// The application's own name for it, such as a broker id. Two entries are the same node by key
    /// if both have one, else by endpoint.
    #[cfg_attr(feature = "serde", serde(default))]
    pub key: Option<Box<str>>,
    /// Whatever the application wants to know about it, such as its rack.
    #[cfg_attr(feature = "serde", serde(default))]
    pub labels: BTreeMap<String, String>,
    /// An address that the name is known to stand for: if an established connection leads there,
    /// it is that node (SEMANTICS 7.6).
    #[cfg_attr(feature = "serde", serde(default))]
    pub address: Option<SocketAddr>,
}

impl NodeSpec {
    /// An entry without key and labels.
    #[must_use]
    pub fn new(endpoint: impl Into<Endpoint>) -> Self {
        Self {
            endpoint: endpoint.into(),
            key: None,
            labels: BTreeMap::new(),
            address: None,
        }
    }

    /// The same with a key.
    #[must_use]
    pub fn with_key(self, key: impl Into<Box<str>>) -> Self {
        Self {
            key: Some(key.into()),
            ..self
        }
    }

    /// The same with a label.
    #[must_use]
    pub fn with_label(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.insert(name.into(), value.into());
        self
    }
}

impl From<SocketAddr> for NodeSpec {
    fn from(address: SocketAddr) -> Self {
        Self::new(address)
    }
}

impl FromStr for NodeSpec {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        text.parse().map(|endpoint: Endpoint| Self::new(endpoint))
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn the_text_of_a_unix_socket_is_an_opaque_endpoint_and_comes_back_as_it_was() {
        for (text, path) in [
            ("unix:/run/redis.sock", "/run/redis.sock"),
            ("unix:/a b:1", "/a b:1"),
            ("unix:@name", "\0name"),
            ("unix:/a@b", "/a@b"),
        ] {
            let endpoint: Endpoint = text.parse().expect(text);
            assert_eq!(endpoint, Endpoint::Opaque(text.into()));
            assert_eq!(endpoint.to_string(), text);
            assert_eq!(endpoint.unix_path().as_deref(), Some(path));
        }
    }

    #[test]
    fn what_only_looks_like_a_unix_socket_is_a_host_or_an_error() {
        let host = "unix:9092".parse();
        assert_eq!(host, Endpoint::name("unix", 9092));
        assert_eq!(host.map(|host| host.unix_path()), Ok(None));
        for (text, error) in [
            ("unix:", EndpointError::Path),
            ("unix:/", EndpointError::Path),
            ("unix:@", EndpointError::Path),
            ("unix:run/x", EndpointError::Path),
            ("unix:/a\0b", EndpointError::Path),
            ("unix:99999", EndpointError::Port),
            ("UNIX:/run/x", EndpointError::Port),
        ] {
            assert_eq!(text.parse::<Endpoint>(), Err(error), "{text:?}");
        }
        assert_eq!(Endpoint::Opaque("/run/x".into()).unix_path(), None);
    }

    #[test]
    fn the_path_of_a_unix_socket_fits_into_a_sockets_address() {
        let parse =
            |length: usize| alloc::format!("unix:/{}", "x".repeat(length - 1)).parse::<Endpoint>();
        assert!(parse(108).is_ok());
        assert_eq!(parse(109), Err(EndpointError::Path));
    }
}
