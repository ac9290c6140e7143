//! ZooKeeper's dynamic configuration.

use alloc::{collections::BTreeMap, string::ToString, vec::Vec};
use core::str::FromStr;

use super::{Distinct, Expected, Fault, ParseError, Piece, piece::Host, properties::Properties};
use crate::{Endpoint, NodeSpec};

/// What ZooKeeper's dynamic configuration tells a client: the client addresses of the servers, and
/// the version (SEMANTICS 7.1). The text is that of the file or of the node `/zookeeper/config`:
///
/// ```text
/// server.1=zk1.example.com:2888:3888:participant;2181
/// server.2=zk2.example.com:2888:3888:observer;10.0.0.2:2181
/// version=100000000
/// ```
///
/// It is written as Java properties: comments begin with `#` or `!`, a backslash escapes or lets a
/// line go on, `=`, `:` or blanks separate key and value, of equal keys the last counts.
///
/// - `server.N=address|…[;client]`, where an address is `host:port:port[:role]`. The ports of one
///   address differ, the roles that are said agree.
/// - A client address that is a bare port, or whose host is `0.0.0.0` or `[::]`, is at the server's
///   own host, the first of several addresses.
/// - A server without a client address is left out. Servers with one client address are one, the
///   first. Observers alone are enough.
/// - Lines `group.N` and `weight.N` have to be readable; whether they fit the servers is not checked.
/// - Errors are: an unknown key, a version that is not hexadecimal, a third field after another `;`
///   (the secure port of ZooKeeper 3.10), no client address at all.
/// - Hosts and ports are those of a [`ConnectString`](crate::ConnectString), but no port has a
///   default. The text has at most 1 MiB and 10,000 distinct client addresses.
///
/// ```
/// use redial::DynamicConfig;
///
/// let text = "server.2=b:2888:3888;2181\nserver.1=a:2888:3888:observer;10.0.0.1:2182\nversion=1f";
/// let config = DynamicConfig::parse(text)?;
/// assert_eq!(config.version, Some(0x1f));
/// let nodes = config.nodes();
/// assert_eq!(nodes[0], "b:2181".parse::<redial::NodeSpec>().unwrap().with_key("2"));
/// assert_eq!(nodes[1].endpoint, "10.0.0.1:2182".parse().unwrap());
/// # Ok::<(), redial::ParseError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DynamicConfig {
    /// The servers that clients can connect to, in the order of the text.
    pub servers: Vec<DynamicServer>,
    /// Of two configurations the one with the greater version is the newer. None if the text gives
    /// none, as in a file.
    pub version: Option<i64>,
}

/// A server of a dynamic configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DynamicServer {
    /// The `N` of `server.N`.
    pub number: i64,
    /// Where clients connect to it.
    pub client_address: Endpoint,
}

impl DynamicConfig {
    /// Reads a dynamic configuration.
    ///
    /// # Errors
    ///
    /// The place of the first thing that is not as the type's documentation says.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        Fault::check_length(text)
            .and_then(|()| Properties::read(text))
            .and_then(|properties| parse(&properties).map_err(|fault| properties.in_file(fault)))
            .map_err(|fault| fault.in_text(text))
    }

    /// The list for [`Cluster::set_nodes`](crate::Cluster::set_nodes). A node's key is the server's
    /// number, so that a server that moves to another address stays the same node; a list that
    /// gives no keys, such as a connect string, still means the same nodes by host and port.
    #[must_use]
    pub fn nodes(&self) -> Vec<NodeSpec> {
        let node = |server: &DynamicServer| {
            NodeSpec::new(server.client_address.clone()).with_key(server.number.to_string())
        };
        self.servers.iter().map(node).collect()
    }
}

impl FromStr for DynamicConfig {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::parse(text)
    }
}

fn parse(properties: &Properties) -> Result<DynamicConfig, Fault> {
    let (mut found, mut version) = (Vec::new(), None);
    for (key, value) in properties.pairs() {
        let value = value.trim_end();
        if let Some(server) = key.strip_prefix("server.") {
            let number = number(server)?;
            let address = client_address(value)?.map(|address| (address, value));
            found.push((number, address));
        } else if let Some(group) = key.strip_prefix("group.") {
            number(group)?;
            value.split(':').try_for_each(|id| number(id).map(drop))?;
        } else if let Some(weight) = key.strip_prefix("weight.") {
            number(weight)?;
            number(value)?;
        } else if key.text == "version" {
            let hexadecimal = i64::from_str_radix(value.text, 16);
            version = Some(hexadecimal.map_err(|_| value.fault(Expected::Version))?);
        } else {
            return Err(key.fault(Expected::Key));
        }
    }
    let servers = distinct(found)?;
    if servers.is_empty() {
        let (at, expected) = (usize::MAX, Expected::Server);
        return Err(Fault { at, expected });
    }
    Ok(DynamicConfig { servers, version })
}

type Found<'a> = (i64, Option<(Endpoint, Piece<'a>)>);

/// Each number once, even if it is spelled in two ways: the last counts, as with keys. Each address
/// once: the first counts.
fn distinct(found: Vec<Found<'_>>) -> Result<Vec<DynamicServer>, Fault> {
    let numbers = found.iter().enumerate();
    let last: BTreeMap<i64, usize> = numbers.map(|(i, &(number, _))| (number, i)).collect();
    let (mut servers, mut distinct) = (Vec::new(), Distinct::default());
    for (i, (number, address)) in found.into_iter().enumerate() {
        if let Some((client_address, piece)) = address
            && last.get(&number) == Some(&i)
            && distinct.insert(&client_address, piece)?
        {
            servers.push(DynamicServer {
                number,
                client_address,
            });
        }
    }
    Ok(servers)
}

fn number(piece: Piece<'_>) -> Result<i64, Fault> {
    let number = piece.text.parse();
    number.map_err(|_| piece.fault(Expected::Number))
}

/// `address|…[;client]`
fn client_address(server: Piece<'_>) -> Result<Option<Endpoint>, Fault> {
    let (addresses, client) = match server.split_once(';') {
        Some((addresses, client)) => (addresses, client),
        None => (server, server.end()),
    };
    let own = own_host(addresses)?;
    if client.is_empty() {
        return Ok(None);
    }
    if let Some((client, _)) = client.split_once(';') {
        return Err(client.end().fault(Expected::ServerEnd));
    }
    if !client.text.contains(':') {
        return Ok(Some(own.endpoint(client.port()?)));
    }
    let (host, port) = client.host()?;
    let host = if host.is_unspecified() { own } else { host };
    let port = port.unwrap_or(client.end()).port()?;
    Ok(Some(host.endpoint(port)))
}

/// The first host of `host:port:port[:role]|…`.
fn own_host(addresses: Piece<'_>) -> Result<Host<'_>, Fault> {
    let (mut first, mut known) = (None, None);
    // One separator may stand at the end.
    let text = addresses.text.strip_suffix('|').unwrap_or(addresses.text);
    for address in (Piece { text, ..addresses }).split('|') {
        let (host, role) = server_address(address)?;
        first.get_or_insert(host);
        if let Some((role, piece)) = role
            && *known.get_or_insert(role) != role
        {
            return Err(piece.fault(Expected::SameRole));
        }
    }
    first.ok_or_else(|| addresses.fault(Expected::ServerAddress))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Participant,
    Observer,
}

/// `host:port:port[:role]`: its host, and its role if it says one.
fn server_address(address: Piece<'_>) -> Result<(Host<'_>, Option<(Role, Piece<'_>)>), Fault> {
    let (host, rest) = address.host()?;
    let ports = rest.and_then(|rest| rest.split_once(':'));
    let (first, rest) = ports.ok_or_else(|| address.fault(Expected::ServerAddress))?;
    let (second, role) = match rest.split_once(':') {
        Some((second, role)) => (second, role.trim()),
        None => (rest, rest.end()),
    };
    if first.port()? == second.port()? {
        return Err(second.fault(Expected::OtherPort));
    }
    let role = match role.text {
        "" => None,
        text if text.eq_ignore_ascii_case("participant") => Some((Role::Participant, role)),
        text if text.eq_ignore_ascii_case("observer") => Some((Role::Observer, role)),
        _ => return Err(role.fault(Expected::Role)),
    };
    Ok((host, role))
}
