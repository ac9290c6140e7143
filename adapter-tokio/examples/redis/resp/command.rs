//! What an application asks.

use bytes::{BufMut, Bytes, BytesMut};

/// A command: its name and its arguments. `Command::new("SET").arg("key").arg("value")`.
#[derive(Clone, PartialEq, Eq, Debug)]
#[must_use]
pub struct Command {
    words: Vec<Bytes>,
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
            words: vec![name.into()],
        }
    }

    /// With one more argument.
    pub fn arg(mut self, argument: impl Into<Bytes>) -> Self {
        self.words.push(argument.into());
        self
    }

    /// Its bytes without those of the framing.
    pub(super) fn size(&self) -> usize {
        self.words.iter().map(Bytes::len).sum()
    }

    /// Appends it as it goes over the wire: an array of strings.
    pub(super) fn encode(&self, out: &mut BytesMut) {
        put_length(out, b'*', self.words.len());
        for word in &self.words {
            put_length(out, b'$', word.len());
            out.put_slice(word);
            out.put_slice(b"\r\n");
        }
    }

    /// Which of the subscription commands it is, as its confirmations name it, and how many of them
    /// come.
    pub(super) fn confirmations(&self) -> Option<(&'static str, usize)> {
        let name = OF_SUBSCRIPTIONS.into_iter().find(|name| self.is(0, name))?;
        // Without a channel an error comes, which is one reply too.
        Some((name, (self.words.len() - 1).max(1)))
    }

    /// Whether it may go over a connection that all callers share.
    pub(super) fn is_for_shared_connections(&self) -> bool {
        let switches_mode = (self.is(0, "CLIENT") && self.is(1, "REPLY"))
            || (self.is(0, "SCRIPT") && self.is(1, "DEBUG"));
        // It is confirmed as often as there are channels, which the server alone knows.
        let unsubscribes_from_all = self.words.len() == 1
            && self
                .confirmations()
                .is_some_and(|(name, _)| name.ends_with("unsubscribe"));
        !switches_mode
            && !unsubscribes_from_all
            && !NOT_FOR_SHARED_CONNECTIONS
                .iter()
                .any(|name| self.is(0, name))
    }

    fn is(&self, index: usize, word: &str) -> bool {
        self.words
            .get(index)
            .is_some_and(|given| given.eq_ignore_ascii_case(word.as_bytes()))
    }
}

/// The line that says how much follows. `write!` would cost more than all the rest of a command.
fn put_length(out: &mut BytesMut, kind: u8, length: usize) {
    let (mut digits, mut start, mut left) = ([0; 20], 20, length);
    loop {
        start -= 1;
        digits[start] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    out.put_u8(kind);
    out.put_slice(&digits[start..]);
    out.put_slice(b"\r\n");
}
