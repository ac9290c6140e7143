//! Server lists as text, as files, URLs and databases hold them.

use core::fmt::Display;
use std::{collections::BTreeSet, io, string::ToString, vec::Vec};

use super::source::{ServerList, SourceError};
use crate::{
    ConnectString, DynamicConfig, Expected, NodeSpec, ParseError, Servers, servers::MAX_ENTRIES,
};

impl ServerList {
    /// Reads a list from text, as every source does that gets one as text. The form is told by the
    /// first line that is neither blank nor a comment:
    ///
    /// - With a `=` that no slash precedes it is ZooKeeper's dynamic configuration, as
    ///   [`DynamicConfig`] reads it, with keys, and with a version if it gives one.
    /// - Else each line is a [`ConnectString`]: one server, or several with commas between them. Blank
    ///   lines and lines that begin with `#` are passed over, and so is a path after the servers. What
    ///   begins with `unix:/` or `unix:@` is a Unix socket
    ///   ([`Endpoint::unix_path`](crate::Endpoint::unix_path)), whose path then has no commas.
    ///
    /// A server without port gets `default_port`; with 0 each needs its own. Dynamic configurations
    /// always give their ports. There are at most 10,000 servers. `place` is where the text is from, for
    /// errors: a path, a URL without credentials. The size of the whole is the source's to limit, before
    /// it reads.
    ///
    /// ```
    /// use redial::driver::ServerList;
    ///
    /// let list = ServerList::parse("# ours\na:9092\nb", 9092, "/etc/servers").unwrap();
    /// assert_eq!(list.nodes.len(), 2);
    /// let error = ServerList::parse("a:9092\nb:x", 9092, "/etc/servers").unwrap_err();
    /// assert!(error.to_string().starts_with("/etc/servers: line 2, column 3: "));
    /// ```
    ///
    /// # Errors
    ///
    /// [`Malformed`](SourceError::Malformed) with line and column, [`Indirect`](SourceError::Indirect)
    /// for `dns-srv://`, which names no servers, and [`Io`](SourceError::Io) if it is not UTF-8.
    pub fn parse(
        text: impl AsRef<[u8]>,
        default_port: u16,
        place: impl Display,
    ) -> Result<Self, SourceError> {
        let malformed = |error| SourceError::Malformed {
            place: place.to_string(),
            error,
        };
        let text = str::from_utf8(text.as_ref()).map_err(|error| {
            SourceError::io(&place, &io::Error::new(io::ErrorKind::InvalidData, error))
        })?;
        if is_dynamic(text) {
            let config = DynamicConfig::parse(text).map_err(malformed)?;
            let mut list = Self::new(config.nodes());
            list.version = config.version.and_then(|version| version.try_into().ok());
            return Ok(list);
        }
        let nodes = lines(text, default_port).map_err(malformed)?;
        let place = || place.to_string();
        nodes
            .map(Self::new)
            .ok_or_else(|| SourceError::Indirect { place: place() })
    }
}

fn is_dynamic(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with(['#', '!']));
    let mark = first.and_then(|line| line.chars().find(|c| matches!(c, '=' | '/')));
    mark == Some('=') && !first.is_some_and(has_unix_socket)
}

/// The servers of all lines, each once; none if a line names where to ask for them.
fn lines(text: &str, default_port: u16) -> Result<Option<Vec<NodeSpec>>, ParseError> {
    let (mut nodes, mut known) = (Vec::new(), BTreeSet::new());
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim().is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        let servers = servers(line, default_port).map_err(|error| ParseError {
            line: number,
            ..error
        })?;
        let Servers::Listed(servers) = servers else {
            return Ok(None);
        };
        for server in servers {
            if !known.insert(server.clone()) {
                continue;
            }
            if nodes.len() == MAX_ENTRIES {
                return Err(ParseError {
                    line: number,
                    column: 1,
                    expected: Expected::FewerEntries,
                });
            }
            nodes.push(NodeSpec::new(server));
        }
    }
    if nodes.is_empty() {
        // Says what is missing.
        ConnectString::parse("", default_port)?;
    }
    Ok(Some(nodes))
}

/// The servers of one line.
fn servers(line: &str, default_port: u16) -> Result<Servers, ParseError> {
    if !has_unix_socket(line) {
        return Ok(ConnectString::parse(line, default_port)?.servers);
    }
    // In a connect string the first slash would begin a path, so it is read piece by piece.
    let (mut servers, mut before) = (Vec::new(), 0);
    for entry in line.split(',') {
        let blanks = entry.chars().take_while(|c| c.is_whitespace()).count() as u32;
        let at = |column| ParseError {
            line: 1,
            column: before + column,
            expected: Expected::SocketPath,
        };
        if is_unix_socket(entry) {
            let socket = entry.trim().parse();
            servers.push(socket.map_err(|_| at(blanks + 1))?);
        } else if !entry.trim().is_empty() {
            let parsed = ConnectString::parse(entry, default_port);
            let parsed = parsed.map_err(|error| ParseError {
                expected: error.expected,
                ..at(error.column)
            })?;
            match parsed.servers {
                Servers::Listed(listed) => servers.extend(listed),
                elsewhere @ Servers::Srv(_) => return Ok(elsewhere),
            }
        }
        before += entry.chars().count() as u32 + 1;
    }
    Ok(Servers::Listed(servers))
}

/// Whether one of its entries is meant to be a Unix socket.
fn has_unix_socket(line: &str) -> bool {
    line.split(',').any(is_unix_socket)
}

fn is_unix_socket(entry: &str) -> bool {
    let rest = entry.trim_start().strip_prefix("unix:");
    rest.is_some_and(|rest| rest.starts_with(['/', '@']))
}

#[cfg(test)]
mod tests {
    use std::{format, string::String};

    use super::*;

    fn endpoints(text: &str) -> Result<Vec<String>, (u32, u32)> {
        match lines(text, 7) {
            Ok(nodes) => Ok(nodes
                .unwrap_or_default()
                .iter()
                .map(|node| node.endpoint.to_string())
                .collect()),
            Err(error) => Err((error.line, error.column)),
        }
    }

    #[test]
    fn lines_and_commas_separate_servers_and_errors_have_their_place() {
        for (text, expected) in [
            ("a:1", Ok(vec!["a:1"])),
            ("a:1,b\n", Ok(vec!["a:1", "b:7"])),
            ("# ours\r\n\r\n a:1 \r\nb:2\r\na:1", Ok(vec!["a:1", "b:2"])),
            ("a:1/app=x", Ok(vec!["a:1"])),
            ("dns-srv://x", Ok(vec![])),
            (
                " unix:/run/a , unix:@b,c\nd:1/x\n",
                Ok(vec!["unix:/run/a", "unix:@b", "c:7", "d:1"]),
            ),
            ("a:1,,unix:/x,", Ok(vec!["a:1", "unix:/x"])),
            ("unix:9", Ok(vec!["unix:9"])),
            ("a:1, unix:/", Err((1, 6))),
            ("#\nü:1,unix:@x", Err((2, 1))),
            ("unix:/x, b c", Err((1, 10))),
            ("unix:/x,dns-srv://x", Ok(vec![])),
            ("", Err((1, 1))),
            ("# none\n", Err((1, 1))),
            ("a:1\n\nb:2,c d", Err((3, 5))),
        ] {
            let expected = expected.map(|list: Vec<_>| list.into_iter().map(Into::into).collect());
            assert_eq!(endpoints(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_text_has_at_most_ten_thousand_servers_in_all_of_its_lines() {
        let text = |count| -> String { (0..count).map(|i| format!("h{i}:1\n")).collect() };
        let most = text(10_000) + "H0:1\n";
        assert_eq!(endpoints(&most).map(|list| list.len()), Ok(10_000));
        assert_eq!(endpoints(&text(10_001)), Err((10_001, 1)));
    }

    #[test]
    fn an_assignment_makes_a_dynamic_configuration() {
        for (text, expected) in [
            ("server.1=a:2888:3888;2181", true),
            ("\n# a comment\n! another\nversion = 1f", true),
            ("a:1", false),
            ("a:1/x=y", false),
            ("unix:@x=y", false),
            ("a:1,unix:@x=y", false),
            ("# version=1\na:1", false),
            ("", false),
        ] {
            assert_eq!(is_dynamic(text), expected, "{text:?}");
        }
    }
}
