//! What is written, where, and what must never be.

use alloc::collections::BTreeMap;

use super::{Rule, Seen, Violation, ensure, ledger::Ledger};
use crate::{Action, ConnectionId, Input, Instant, NodeId, Output, RequestId, record::Call};

/// DESIGN 4.15; SEMANTICS 1.1, 2.1, 4.3, 4.6.
#[derive(Clone, Default)]
pub(super) struct Frames {
    throttled: BTreeMap<NodeId, Instant>,
}

pub(super) const READY: &str = "only a Ready connection is written to (SEMANTICS 2.1)";
pub(super) const BOUND: &str = "a bound request is written to its node only (SEMANTICS 4.1)";
pub(super) const DUE: &str = "a request past its deadline is never handed over (SEMANTICS 1.1)";
pub(super) const ONE_PLACE: &str = "a request is in one place (SEMANTICS 4.3)";
pub(super) const BESIDE: &str =
    "a retry is not written beside its own unfinished frame (SEMANTICS 4.5)";
pub(super) const SERIAL: &str = "serials rise by one on a connection (SEMANTICS 4.4)";
pub(super) const THROTTLE: &str = "a throttled node gets no new request (SEMANTICS 4.6)";
pub(super) const NEVER: &str = "what ended before its hand-over is never written (DESIGN 4.15)";
pub(super) const SAFE: &str =
    "what is not idempotent is tried again only if it was not executed (SEMANTICS 4.7)";
pub(super) const FINISH: &str = "a frame that is begun is not withdrawn (DESIGN 4.15)";

impl Rule for Frames {
    fn after_call(&mut self, seen: &Seen<'_>, ledger: &Ledger) -> Result<(), Violation> {
        self.note_throttle(seen, ledger);
        Ok(())
    }

    fn on_output(
        &mut self,
        output: &Output,
        _seen: &Seen<'_>,
        ledger: &Ledger,
    ) -> Result<(), Violation> {
        match *output {
            Output::Action(Action::Write {
                connection,
                request,
                serial,
            }) => self.check_write(connection, request, serial, ledger),
            Output::Action(Action::Withdraw {
                connection, serial, ..
            }) => {
                let frame = ledger.connections.get(&connection);
                let frame = frame.and_then(|entry| entry.frames.get(&serial));
                ensure!(
                    frame.is_some_and(|frame| frame.started.is_none()),
                    FINISH,
                    "{connection} #{serial} was withdrawn: {frame:?}"
                );
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// What has left may not be started any more.
    fn after_step(&mut self, seen: &Seen<'_>, ledger: &Ledger) -> Result<(), Violation> {
        let ended = ledger.ended.iter();
        let ended = ended.flat_map(|(id, entry)| entry.frames.keys().map(|serial| (*id, *serial)));
        for (id, serial) in ledger.removed.iter().copied().chain(ended) {
            ensure!(
                !seen.cluster.may_write(seen.step.now, id, serial),
                NEVER,
                "{id} #{serial} may still be written"
            );
        }
        Ok(())
    }
}

impl Frames {
    fn check_write(
        &self,
        connection: ConnectionId,
        request: RequestId,
        serial: u32,
        ledger: &Ledger,
    ) -> Result<(), Violation> {
        let entry = ledger
            .connections
            .get(&connection)
            .filter(|entry| entry.ready);
        ensure!(
            entry.is_some(),
            READY,
            "{request} is written to {connection}"
        );
        let Some(entry) = entry else { return Ok(()) };
        ensure!(
            !entry.announced,
            READY,
            "{request} is written to {connection}, which is closing"
        );
        ensure!(
            entry.next_serial == serial,
            SERIAL,
            "{request} has serial {serial} on {connection}, not {}",
            entry.next_serial
        );
        let open = ledger.requests.get(&request);
        ensure!(open.is_some(), NEVER, "{request} is written after its end");
        let Some(open) = open else { return Ok(()) };
        ensure!(
            open.place.is_none(),
            ONE_PLACE,
            "{request} is already at {:?}",
            open.place
        );
        let mut frames = entry.frames.iter();
        let unfinished =
            frames.find(|(_, frame)| frame.request == request && !frame.done && !frame.answered);
        ensure!(
            unfinished.is_none(),
            BESIDE,
            "{request} is written to {connection} as #{serial} beside {unfinished:?}"
        );
        ensure!(
            open.options.idempotent || open.hand_overs == 0 || open.not_executed,
            SAFE,
            "{request} was handed over {} times",
            open.hand_overs
        );
        ensure!(
            open.bound_to().is_none_or(|node| node == entry.node),
            BOUND,
            "{request} is written to {}",
            entry.node
        );
        ensure!(
            !open.is_due(ledger.now),
            DUE,
            "{request} was due at {}",
            open.deadline
        );
        let until = self
            .throttled
            .get(&entry.node)
            .copied()
            .unwrap_or(Instant::ORIGIN);
        ensure!(
            until <= ledger.now,
            THROTTLE,
            "{request} is written to {}, throttled until {until}",
            entry.node
        );
        Ok(())
    }

    /// A throttle said on a node's own connection holds until its end, and never regresses. An
    /// update may give the node another endpoint, which starts fresh (SEMANTICS 7.6).
    fn note_throttle(&mut self, seen: &Seen<'_>, ledger: &Ledger) {
        match seen.step.call {
            Call::Input(Input::Throttled { connection, until }) => {
                let entry = ledger.connections.get(&connection);
                if let Some(entry) = entry.filter(|entry| entry.ready && !entry.announced) {
                    let own = seen
                        .cluster
                        .node(entry.node)
                        .and_then(|node| node.connection);
                    if own == Some(connection) {
                        let end = self.throttled.entry(entry.node).or_insert(until);
                        *end = until.max(*end);
                    }
                }
            }
            Call::SetNodes(_) | Call::SetFallback(_) | Call::Refreshed(..) => {
                self.throttled.clear();
            }
            _ => {}
        }
    }
}
