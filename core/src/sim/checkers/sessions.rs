//! A session of which nothing is heard is over.

use core::time::Duration;

use super::{Rule, Seen, Violation, ensure, ledger::Ledger};
use crate::{Event, Input, Instant, NodeState, Output, record::Call};

/// SEMANTICS 8.6.
#[derive(Clone, Default)]
pub(super) struct Sessions {
    /// As the last handshake said.
    timeout: Option<Duration>,
    heard: Instant,
}

pub(super) const ENDS: &str = "a session of which nothing is heard ends in time (SEMANTICS 8.6)";

impl Rule for Sessions {
    fn after_step(&mut self, seen: &Seen<'_>, ledger: &Ledger) -> Result<(), Violation> {
        let step = seen.step;
        match step.call {
            Call::Input(Input::HandshakeDone { limits, .. })
                if limits.session_timeout.is_some() && step.outputs.iter().any(is_ready) =>
            {
                self.timeout = limits.session_timeout;
                self.heard = step.now;
            }
            Call::Input(Input::Received { .. } | Input::Push { .. } | Input::Reply { .. }) => {
                self.heard = step.now
            }
            _ => {}
        }
        let lasts = self.timeout.map(|timeout| timeout.saturating_mul(4) / 3);
        let end = lasts.map_or(Instant::MAX, |lasts| self.heard + lasts);
        ensure!(
            !step.is_timeout() || ledger.shut_down || end > step.now || end == Instant::MAX,
            ENDS,
            "nothing was heard since {}, it ended at {end}",
            self.heard
        );
        Ok(())
    }
}

const fn is_ready(output: &Output) -> bool {
    matches!(
        output,
        Output::Event(Event::StateChanged {
            to: NodeState::Ready,
            ..
        })
    )
}
