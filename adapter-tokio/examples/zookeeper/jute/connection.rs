//! What must be remembered of one connection to know what its bytes mean.

use std::collections::VecDeque;

use redial::client::Malformed;

use super::{Push, Request, request::Kind};

/// One connection.
#[derive(Debug)]
pub struct Connection {
    pub(super) ready: bool,
    /// The number of the last request: above 0, as those below mean something else.
    xid: i32,
    /// What was written and is not answered, oldest first.
    unanswered: VecDeque<Unanswered>,
    /// To be told once the handshake has been.
    pub(super) then: Option<Push>,
}

/// A request that is not answered.
#[derive(Debug)]
pub(super) struct Unanswered {
    xid: i32,
    pub(super) kind: Kind,
    /// What is watched once it is answered.
    pub(super) watched: Option<String>,
    pub(super) asked_by: AskedBy,
}

/// Who asked.
#[derive(Clone, Copy, Debug)]
pub(super) enum AskedBy {
    Caller,
    /// Nobody waits for the reply. It comes all the same.
    Nobody,
    Discovery,
}

impl Connection {
    pub(super) const fn new() -> Self {
        Self {
            ready: false,
            xid: 0,
            unanswered: VecDeque::new(),
            then: None,
        }
    }

    /// The number of the next request.
    pub(super) fn next_xid(&self) -> i32 {
        self.xid.checked_add(1).unwrap_or(1)
    }

    /// This request is being written with the next number.
    pub(super) fn note(&mut self, request: &Request, asked_by: AskedBy) {
        self.xid = self.next_xid();
        self.unanswered.push_back(Unanswered {
            xid: self.xid,
            kind: request.kind(),
            watched: request.watched().map(str::to_owned),
            asked_by,
        });
    }

    /// The request that a reply with this number answers: the oldest, or something is wrong.
    pub(super) fn answered(&mut self, xid: i32) -> Result<Unanswered, Malformed> {
        let oldest = self.unanswered.pop_front();
        oldest
            .filter(|request| request.xid == xid)
            .ok_or(Malformed("a reply out of its turn"))
    }
}
