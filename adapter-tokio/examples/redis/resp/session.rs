//! What must be remembered of one connection to know what its bytes mean.
//!
//! RESP has no correlation ids: the n-th reply answers the n-th command. But some frames are no
//! replies, and some commands are answered more than once. So each command leaves a note when it is
//! written, and what comes is held against the oldest note.

use std::collections::VecDeque;

use redial::{
    HandshakeError, Limits, ReplyTo, Verdict,
    client::{Item, Malformed},
};

use super::{Command, Value, parse::Frame, scan::Scanner};

/// One connection.
#[derive(Debug)]
pub struct Session {
    pub(super) scanner: Scanner,
    /// It speaks RESP3, in which a push can be told by its first byte.
    resp3: bool,
    ready: bool,
    /// What was written and is not answered, oldest first.
    unanswered: VecDeque<Unanswered>,
    /// Channels and patterns subscribed to, as of the last confirmation; and shard channels.
    subscriptions: (i64, i64),
}

/// A command that is not answered.
#[derive(Debug)]
struct Unanswered {
    /// For a command about subscriptions: its name, and how many confirmations are to come.
    confirmations: Option<(&'static str, usize)>,
    /// Whether anybody waits for the reply. It comes all the same.
    awaited: bool,
}

impl Session {
    pub(super) const fn new(resp3: bool) -> Self {
        Self {
            scanner: Scanner::new(),
            resp3,
            ready: false,
            unanswered: VecDeque::new(),
            subscriptions: (0, 0),
        }
    }

    /// This command is being written.
    pub(super) fn note(&mut self, command: &Command, awaited: bool) {
        self.unanswered.push_back(Unanswered {
            confirmations: command.confirmations(),
            awaited,
        });
    }

    /// What a frame means; `None` if it means nothing to the application.
    pub(super) fn item(
        &mut self,
        frame: Frame,
    ) -> Result<Option<Item<Value, Vec<Value>>>, Malformed> {
        match frame {
            Frame::Reply(Value::Array(values)) if !self.resp3 && self.is_push(&values) => {
                self.push(values)
            }
            Frame::Push(values) => self.push(values),
            Frame::Reply(value) if self.ready => self.reply(value),
            Frame::Reply(value) => Ok(Some(self.end_handshake(&value))),
        }
    }

    /// RESP2 has no frames of their own for pushes: they are arrays, which mean this only while
    /// there are subscriptions, or when a confirmation is due.
    fn is_push(&self, values: &[Value]) -> bool {
        let kind = values.first().and_then(Value::bytes);
        let subscribed = self.subscriptions != (0, 0);
        let is_message = matches!(
            kind,
            Some(b"message" | b"pmessage" | b"smessage" | b"sunsubscribe")
        );
        (subscribed && is_message) || (kind.is_some() && kind == self.due_confirmation())
    }

    fn due_confirmation(&self) -> Option<&'static [u8]> {
        let (name, _) = self.unanswered.front()?.confirmations?;
        Some(name.as_bytes())
    }

    /// A push. One that confirms the oldest command is its reply, and no push to the application.
    fn push(&mut self, values: Vec<Value>) -> Result<Option<Item<Value, Vec<Value>>>, Malformed> {
        if let [kind, .., Value::Integer(count)] = &values[..]
            && let Some(kind) = kind.bytes()
            && kind.ends_with(b"subscribe")
        {
            match kind {
                b"ssubscribe" | b"sunsubscribe" => self.subscriptions.1 = *count,
                _ => self.subscriptions.0 = *count,
            }
        }
        let kind = values.first().and_then(Value::bytes);
        if kind.is_none() || kind != self.due_confirmation() {
            return Ok(Some(Item::Push(values)));
        }
        if let Some(Unanswered {
            confirmations: Some((_, left @ 2..)),
            ..
        }) = self.unanswered.front_mut()
        {
            *left -= 1;
            return Ok(None);
        }
        self.reply(Value::Array(values))
    }

    /// The last or only answer to the oldest command.
    fn reply(&mut self, value: Value) -> Result<Option<Item<Value, Vec<Value>>>, Malformed> {
        let Some(Unanswered { awaited, .. }) = self.unanswered.pop_front() else {
            return Err(Malformed("a reply to no command"));
        };
        // redial matches it to the oldest request that awaits a reply: one that nobody awaits must
        // not be given to it.
        Ok(awaited.then(|| Item::Reply {
            to: ReplyTo::Oldest,
            verdict: verdict(&value),
            throttle: None,
            reply: value,
        }))
    }

    fn end_handshake(&mut self, reply: &Value) -> Item<Value, Vec<Value>> {
        match self.refusal(reply) {
            Some(error) => Item::HandshakeFailed(error),
            None => {
                self.ready = true;
                Item::HandshakeDone(Limits::NONE)
            }
        }
    }

    /// How the server refuses us, if it does.
    fn refusal(&self, reply: &Value) -> Option<HandshakeError> {
        let Value::Error(text) = reply else {
            return None;
        };
        Some(match reply.error_code()? {
            b"WRONGPASS" | b"NOAUTH" | b"NOPERM" | b"DENIED" => HandshakeError::Rejected,
            // A server before 6.0 calls the command unknown.
            b"NOPROTO" => HandshakeError::Version,
            b"ERR" if text.starts_with(b"ERR unknown command") => HandshakeError::Version,
            // Before 6.0, or the server knows of no password.
            b"ERR" if text.windows(8).any(|word| word == b"password") => HandshakeError::Rejected,
            // Loading, or busy: it will answer commands so too, and they know what to do.
            code if code != b"ERR" && !self.resp3 => return None,
            // Such as too many clients.
            _ => HandshakeError::Closed,
        })
    }
}

/// What a reply means for its command. An error is for the application to read, like any reply; a
/// verdict is for those that say: not now, or not here.
fn verdict(reply: &Value) -> Verdict {
    match reply.error_code() {
        // How long to wait is not said, so redial's retry backoff rules.
        Some(b"LOADING" | b"BUSY" | b"TRYAGAIN") => Verdict::RETRY_HERE,
        Some(b"READONLY" | b"MASTERDOWN" | b"CLUSTERDOWN") => Verdict::RETRY_ELSEWHERE,
        _ => Verdict::DONE,
    }
}
