//! What was expected, and where.

use thiserror::Error;

use super::{MAX_BYTES, MAX_ENTRIES};

/// A text that is no server list: the first place where it cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
#[error("line {line}, column {column}: expected {expected}")]
pub struct ParseError {
    /// From 1. Lines end with a line feed, a carriage return, or both.
    pub line: u32,
    /// From 1, in characters.
    pub column: u32,
    /// What should have stood there.
    pub expected: Expected,
}

/// What a text should have had at a place.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
#[non_exhaustive]
pub enum Expected {
    /// The text is longer than 1 MiB.
    #[error("at most {MAX_BYTES} bytes")]
    FewerBytes,
    /// There are more than 10,000 distinct servers.
    #[error("at most {MAX_ENTRIES} servers")]
    FewerEntries,
    /// The text names no server that a client can connect to.
    #[error("at least one server for clients")]
    Server,
    /// A host.
    #[error(
        "a host: 1 to 253 letters, digits, dots, underscores and hyphens, or an IPv6 address in \
         brackets"
    )]
    Host,
    /// What stands in brackets.
    #[error("an IPv6 address without zone and a closing bracket")]
    Ipv6,
    /// After a closing bracket.
    #[error("a colon and a port, or the end")]
    Colon,
    /// A port; where none may be left out, also at the end.
    #[error("a port, 1 to 65535 (an IPv6 address stands in brackets)")]
    Port,
    /// What follows `unix:`.
    #[error("an absolute path or `@` and a name, in all 2 to 108 bytes without control characters")]
    SocketPath,
    /// The name after `dns-srv://`.
    #[error("the name of SRV records: 1 to 253 letters, digits, dots, underscores and hyphens")]
    SrvName,
    /// An element of the chroot's path.
    #[error("a path element that is neither empty nor `.` nor `..`")]
    PathElement,
    /// A character of the chroot's path.
    #[error(
        "a character that ZooKeeper allows in a path: no control character, none of U+D800 to \
         U+F8FF, none from U+FFF0 on"
    )]
    PathCharacter,
    /// After `\u` in a dynamic configuration.
    #[error("four hexadecimal digits of a character")]
    Escape,
    /// The key of a line of a dynamic configuration.
    #[error("`server.`, `group.` or `weight.` and a number, or `version`")]
    Key,
    /// The number of a server or a group, or a weight.
    #[error("a decimal number of 64 bits")]
    Number,
    /// The version of a dynamic configuration.
    #[error("a hexadecimal number of 64 bits")]
    Version,
    /// An address that servers use among themselves.
    #[error("`host:port:port` or `host:port:port:role`")]
    ServerAddress,
    /// A server's second port.
    #[error("another port than the first")]
    OtherPort,
    /// A server's role.
    #[error("`participant` or `observer`")]
    Role,
    /// The role of one of several addresses of a server.
    #[error("the same role as before")]
    SameRole,
    /// After a server's client address.
    #[error("the end of the server")]
    ServerEnd,
}

/// A `ParseError` whose place is still an offset in bytes.
#[derive(Clone, Copy)]
pub(super) struct Fault {
    pub(super) at: usize,
    pub(super) expected: Expected,
}

impl Fault {
    /// An error unless the text is short enough to be read.
    pub(super) const fn check_length(text: &str) -> Result<(), Self> {
        if text.len() <= MAX_BYTES {
            return Ok(());
        }
        Err(Self {
            at: MAX_BYTES,
            expected: Expected::FewerBytes,
        })
    }

    pub(super) fn in_text(self, text: &str) -> ParseError {
        let (mut line, mut column, mut last) = (1, 1, None);
        let before = text.char_indices().take_while(|&(at, _)| at < self.at);
        for (_, c) in before {
            match (last, c) {
                (Some('\r'), '\n') => {}
                (_, '\r' | '\n') => (line, column) = (line + 1, 1),
                _ => column += 1,
            }
            last = Some(c);
        }
        ParseError {
            line,
            column,
            expected: self.expected,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_line_and_a_column_in_characters() {
        let text = "a\nü€b\r\nc\r\rd";
        for (before, line, column) in [
            ("", 1, 1),
            ("a", 1, 2),
            ("a\n", 2, 1),
            ("a\nü€", 2, 3),
            ("a\nü€b\r\n", 3, 1),
            ("a\nü€b\r\nc\r\r", 5, 1),
            (text, 5, 2),
        ] {
            let expected = Expected::Host;
            let at = before.len();
            let error = ParseError {
                line,
                column,
                expected,
            };
            assert_eq!(Fault { at, expected }.in_text(text), error);
        }
    }

    #[test]
    fn an_error_says_the_place_and_what_was_expected() {
        let error = ParseError {
            line: 2,
            column: 7,
            expected: Expected::Role,
        };
        let text = "line 2, column 7: expected `participant` or `observer`";
        assert_eq!(alloc::string::ToString::to_string(&error), text);
    }
}
