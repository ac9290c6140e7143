//! What an application asks.

use std::iter;

use bytes::{BufMut, Bytes, BytesMut};

/// A command: its name and its arguments. `Command::new("SET").arg("key").arg("value")`.
#[derive(Clone, PartialEq, Eq, Debug)]
#[must_use]
pub struct Command {
    name: Bytes,
    arguments: Vec<Bytes>,
}

/// Commands after which the connection speaks otherwise, or holds a state that belongs to one
/// caller. On a connection that all callers share they would change what others get.
const NOT_FOR_SHARED_CONNECTIONS: [&str; 16] = [
    "ASKING",
    "AUTH",
    "DISCARD",
    "EXEC",
    "HELLO",
    "MONITOR",
    "MULTI",
    "PSYNC",
    "QUIT",
    "READONLY",
    "READWRITE",
    "RESET",
    "SELECT",
    "SYNC",
    "UNWATCH",
    "WATCH",
];

/// Commands that are answered by one confirmation for each channel.
const OF_SUBSCRIPTIONS: [&str; 6] = [
    "subscribe",
    "psubscribe",
    "ssubscribe",
    "unsubscribe",
    "punsubscribe",
    "sunsubscribe",
];

impl Command {
    /// A command without arguments.
    pub fn new(name: impl Into<Bytes>) -> Self {
        Self {
            name: name.into(),
            arguments: Vec::new(),
        }
    }

    /// With one more argument.
    pub fn arg(mut self, argument: impl Into<Bytes>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Its bytes without those of the framing.
    pub(super) fn size(&self) -> usize {
        self.words().map(Bytes::len).sum()
    }

    /// Appends it as it goes over the wire: an array of strings.
    pub(super) fn encode(&self, out: &mut BytesMut) {
        put_length(out, b'*', 1 + self.arguments.len());
        for word in self.words() {
            put_length(out, b'$', word.len());
            out.put_slice(word);
            out.put_slice(b"\r\n");
        }
    }

    /// Which of the subscription commands it is, as its confirmations name it, and how many of them
    /// come.
    pub(super) fn confirmations(&self) -> Option<(&'static str, usize)> {
        let name = OF_SUBSCRIPTIONS.into_iter().find(|name| self.is(name))?;
        // Without a channel an error comes, which is one reply too.
        Some((name, self.arguments.len().max(1)))
    }

    /// Whether it may go over a connection that all callers share.
    pub(super) fn is_for_shared_connections(&self) -> bool {
        let begins_with = |word: &str| {
            let first = self.arguments.first();
            first.is_some_and(|first| first.eq_ignore_ascii_case(word.as_bytes()))
        };
        let switches_mode = (self.is("CLIENT") && begins_with("REPLY"))
            || (self.is("SCRIPT") && begins_with("DEBUG"));
        // It is confirmed as often as there are channels, which the server alone knows.
        let unsubscribes_from_all = self.arguments.is_empty()
            && self
                .confirmations()
                .is_some_and(|(name, _)| name.ends_with("unsubscribe"));
        !switches_mode
            && !unsubscribes_from_all
            && !NOT_FOR_SHARED_CONNECTIONS.iter().any(|name| self.is(name))
    }

    fn words(&self) -> impl Iterator<Item = &Bytes> {
        iter::once(&self.name).chain(&self.arguments)
    }

    #[inline]
    fn is(&self, name: &str) -> bool {
        self.name.len() == name.len() && self.name.eq_ignore_ascii_case(name.as_bytes())
    }
}

/// The line that says how much follows. `write!` would cost more than all the rest of a command.
fn put_length(out: &mut BytesMut, kind: u8, length: usize) {
    // A kind, 20 digits at most, and the end of the line, which is filled from behind.
    let (mut line, mut start, mut left) = (*b"---------------------\r\n", 21, length);
    loop {
        start -= 1;
        line[start] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    line[start - 1] = kind;
    out.put_slice(&line[start - 1..]);
}
