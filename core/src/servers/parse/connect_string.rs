//! Connect strings.

use alloc::{boxed::Box, vec::Vec};
use core::{fmt, str::FromStr};

use super::{Distinct, Expected, Fault, ParseError, Piece};
use crate::{Endpoint, NodeSpec, servers::endpoint::is_host_name};

const SRV: &str = "dns-srv://";

/// What a connect string says: `host[:port],…[/chroot]` or `dns-srv://name[/chroot]`
/// (SEMANTICS 7.1).
///
/// The grammar is ZooKeeper's, without what its clients silently misread:
///
/// - Entries are separated by commas. Blanks around an entry and empty entries are dropped. Entries
///   that are equal (the host without case, an IPv6 address by value) are one.
/// - A host is an IPv4 address, an IPv6 address in brackets and without zone, or a name of 1 to 253
///   of `A–Z a–z 0–9 . _ -`.
/// - A port is 1 to 5 digits, 1 to 65535. A missing or empty one takes the default; after brackets
///   with a colon it may not be empty.
/// - The chroot goes from the first `/` to the end; `/` alone is none. It is a path of ZooKeeper:
///   no element is empty, `.` or `..`.
/// - The text has at most 1 MiB and 10,000 distinct entries, and at least one.
///
/// ```
/// use redial::{ConnectString, Servers};
///
/// let parsed = ConnectString::parse("A, b:2182, [::1]:7/app", 2181)?;
/// assert_eq!(parsed.to_string(), "a:2181,b:2182,[::1]:7/app");
/// assert_eq!(parsed.nodes()[1], "b:2182".parse().unwrap());
///
/// let parsed: ConnectString = "dns-srv://_zk._tcp.example.com".parse()?;
/// assert_eq!(parsed.servers, Servers::Srv("_zk._tcp.example.com".into()));
///
/// let error = ConnectString::parse("a:2181,::1", 2181).unwrap_err();
/// assert_eq!((error.line, error.column), (1, 8));
/// # Ok::<(), redial::ParseError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConnectString {
    /// The servers, or where to ask for them.
    pub servers: Servers,
    /// The path that every path of the application is meant below; it begins with a slash.
    pub chroot: Option<Box<str>>,
}

/// The servers of a connect string.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Servers {
    /// They are named, in this order, each once.
    Listed(Vec<Endpoint>),
    /// They are what the SRV records of this name (in lower case) say.
    Srv(Box<str>),
}

impl ConnectString {
    /// The port of ZooKeeper's servers, which [`FromStr`] takes for the default.
    pub const DEFAULT_PORT: u16 = 2181;

    /// Reads a connect string. Entries without port get `default_port`; if that is 0, each needs
    /// its own.
    ///
    /// # Errors
    ///
    /// The place of the first thing that is not as the type's documentation says.
    pub fn parse(text: &str, default_port: u16) -> Result<Self, ParseError> {
        Fault::check_length(text)
            .and_then(|()| parse(Piece::new(text), default_port))
            .map_err(|fault| fault.in_text(text))
    }

    /// The list for [`Cluster::set_nodes`](crate::Cluster::set_nodes), without keys. Empty if the
    /// servers are to be asked for.
    #[must_use]
    pub fn nodes(&self) -> Vec<NodeSpec> {
        match &self.servers {
            Servers::Listed(servers) => servers.iter().cloned().map(NodeSpec::new).collect(),
            Servers::Srv(_) => Vec::new(),
        }
    }
}

/// With ZooKeeper's default port, 2181.
impl FromStr for ConnectString {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::parse(text, Self::DEFAULT_PORT)
    }
}

/// The connect string with every port, which reads as the same again.
impl fmt::Display for ConnectString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.servers {
            Servers::Listed(servers) => {
                for (i, server) in servers.iter().enumerate() {
                    let comma = if i > 0 { "," } else { "" };
                    write!(f, "{comma}{server}")?;
                }
            }
            Servers::Srv(name) => write!(f, "{SRV}{name}")?,
        }
        f.write_str(self.chroot.as_deref().unwrap_or_default())
    }
}

fn parse(text: Piece<'_>, default_port: u16) -> Result<ConnectString, Fault> {
    let srv = text.trim_start().strip_prefix(SRV);
    let (before, path) = split_path(srv.unwrap_or(text));
    let servers = if srv.is_some() {
        Servers::Srv(srv_name(before.trim_end())?)
    } else {
        Servers::Listed(servers(before, default_port)?)
    };
    let chroot = path.map(chroot).transpose()?.flatten();
    Ok(ConnectString { servers, chroot })
}

/// What stands before the first slash and what stands after it.
fn split_path(text: Piece<'_>) -> (Piece<'_>, Option<Piece<'_>>) {
    match text.split_once('/') {
        Some((before, path)) => (before, Some(path)),
        None => (text, None),
    }
}

fn srv_name(name: Piece<'_>) -> Result<Box<str>, Fault> {
    if is_host_name(name.text) {
        Ok(name.text.to_ascii_lowercase().into())
    } else {
        Err(name.fault(Expected::SrvName))
    }
}

fn servers(list: Piece<'_>, default_port: u16) -> Result<Vec<Endpoint>, Fault> {
    let (mut servers, mut distinct) = (Vec::new(), Distinct::default());
    for entry in list.split(',').map(Piece::trim).filter(|e| !e.is_empty()) {
        let server = server(entry, default_port)?;
        if distinct.insert(&server, entry)? {
            servers.push(server);
        }
    }
    if servers.is_empty() {
        return Err(list.end().fault(Expected::Server));
    }
    Ok(servers)
}

fn server(entry: Piece<'_>, default_port: u16) -> Result<Endpoint, Fault> {
    let (host, port) = entry.host()?;
    let port = match port {
        Some(port) if host.is_v6() || !port.is_empty() => port.port()?,
        _ if default_port > 0 => default_port,
        _ => return Err(entry.end().fault(Expected::Port)),
    };
    Ok(host.endpoint(port))
}

/// Checks a path, given without its first slash, as ZooKeeper's `PathUtils` does.
fn chroot(path: Piece<'_>) -> Result<Option<Box<str>>, Fault> {
    if path.is_empty() {
        return Ok(None);
    }
    for element in path.split('/') {
        if matches!(element.text, "" | "." | "..") {
            return Err(element.fault(Expected::PathElement));
        }
    }
    if let Some((i, _)) = path.text.char_indices().find(|&(_, c)| !is_path_char(c)) {
        let at = path.at + i;
        let expected = Expected::PathCharacter;
        return Err(Fault { at, expected });
    }
    Ok(Some(["/", path.text].concat().into()))
}

const fn is_path_char(c: char) -> bool {
    !matches!(c, '\0'..='\x1f' | '\x7f'..='\u{9f}' | '\u{e000}'..='\u{f8ff}' | '\u{fff0}'..)
}
