//! What is going to happen, by time.

use std::collections::BTreeMap;

use redial::{AttemptId, ConnectionId, Instant, RefreshId};

use super::{Answer, Fault, Op, network::Happens, sources::Told};

/// Something that is going to happen.
#[derive(Clone, Debug)]
pub(super) enum Due {
    /// The application acts.
    Op(Op),
    /// A server or the resolver changes.
    Fault(Fault),
    /// A look-up is answered.
    Resolved(AttemptId, Answer),
    /// A source of server lists has answered.
    Told(RefreshId, Told),
    /// Something on a connection.
    Network(ConnectionId, Happens),
}

/// The future, in the order of time; at one time in the order in which it was decided.
#[derive(Debug, Default)]
pub(super) struct Events {
    queue: BTreeMap<(Instant, u64), Due>,
    added: u64,
}

impl Events {
    pub(super) fn add(&mut self, at: Instant, due: Due) {
        self.queue.insert((at, self.added), due);
        self.added += 1;
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.queue.first_key_value().map(|((at, _), _)| *at)
    }

    pub(super) fn take(&mut self) -> Option<Due> {
        self.queue.pop_first().map(|(_, due)| due)
    }
}
