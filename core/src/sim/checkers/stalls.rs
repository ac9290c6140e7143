//! A transport that accepts nothing is not waited for without end.

use alloc::{collections::BTreeMap, vec::Vec};

use super::{
    Rule, Seen, Violation, ensure,
    ledger::{Connection, Ledger},
};
use crate::{Config, ConnectionId, Input, Instant, Limit, record::Call};

/// SEMANTICS 8.3.
#[derive(Clone)]
pub(super) struct Stalls {
    write_timeout: Limit,
    /// Connections that have something to write.
    writing: BTreeMap<ConnectionId, Writing>,
}

#[derive(Clone)]
struct Writing {
    /// When it began, or bytes were accepted last.
    since: Instant,
    /// Frames that are not wholly accepted.
    serials: Vec<u32>,
}

pub(super) const CLOSED: &str =
    "a transport that accepts nothing is closed in time (SEMANTICS 8.3)";

impl Stalls {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            write_timeout: config.write_timeout(),
            writing: BTreeMap::new(),
        }
    }
}

impl Rule for Stalls {
    fn after_step(&mut self, seen: &Seen<'_>, ledger: &Ledger) -> Result<(), Violation> {
        let now = seen.step.now;
        if let Call::Input(
            Input::WriteProgress { connection } | Input::WriteDone { connection, .. },
        )
        | Call::WritesDone(connection, _) = &seen.step.call
        {
            self.writing.remove(connection);
        }
        let ready = ledger.connections.iter().filter(|(_, entry)| entry.ready);
        let writing = ready.filter_map(|(id, entry)| {
            let before = self.writing.get(id);
            Some((*id, Writing::go_on(before, entry, now)?))
        });
        self.writing = writing.collect();
        for (id, Writing { since, serials }) in &self.writing {
            let due = since.after(self.write_timeout);
            ensure!(
                !seen.step.is_timeout() || due > now || due == Instant::MAX,
                CLOSED,
                "{id} has taken nothing of {serials:?} since {since}"
            );
        }
        Ok(())
    }
}

impl Writing {
    /// The time runs on while it is blocked, or a frame stays; other frames begin it anew.
    fn go_on(before: Option<&Self>, entry: &Connection, now: Instant) -> Option<Self> {
        let frames = entry.frames.iter().filter(|(_, frame)| !frame.done);
        let serials: Vec<u32> = frames.map(|(serial, _)| *serial).collect();
        if serials.is_empty() && !entry.blocked {
            return None;
        }
        let stays = |before: &&Self| {
            entry.blocked || before.serials.iter().any(|serial| serials.contains(serial))
        };
        let since = before.filter(stays).map_or(now, |before| before.since);
        Some(Self { since, serials })
    }
}
