//! Kind `node_history`: attempts, failures and backoff of one node over time.

use std::time::Duration;

use redial::{
    Backoff, CloseError, Config, ConnectError, Input, Instant, Jitter, Limit, Limits, Warm,
    record::Call,
};
use serde::Deserialize;

use super::{
    embedder::{Embedder, LONG},
    expect,
};

#[derive(Deserialize)]
pub(super) struct Vector {
    config: Settings,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    reconnect_backoff_ms: u64,
    reconnect_backoff_max_ms: u64,
    connection_setup_timeout_ms: u64,
    connection_setup_timeout_max_ms: u64,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Step {
    /// The attempt with this number starts exactly now.
    Attempt(Attempt),
    Fact(Observed),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Attempt {
    t: u64,
    attempt: usize,
    setup_deadline: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Observed {
    t: u64,
    fact: Fact,
    failures: Option<u32>,
    next_attempt: Option<u64>,
}

#[derive(Clone, Copy, Deserialize, Debug)]
#[serde(rename_all = "snake_case")]
enum Fact {
    Refused,
    /// Only the clock moves; the setup deadline is due.
    Time,
    TransportConnected,
    Ready,
    Closed,
}

const NODE: usize = 0;

impl Vector {
    pub(super) fn replay(&self) -> Result<(), String> {
        let start = match self.steps.first() {
            Some(Step::Attempt(Attempt { t, .. }) | Step::Fact(Observed { t, .. })) => *t,
            None => return Err("no steps".to_owned()),
        };
        let mut embedder = Embedder::new(self.config.build()?, 1, Instant::from_millis(start))?;
        for step in &self.steps {
            match step {
                Step::Attempt(attempt) => attempt.check(&mut embedder)?,
                Step::Fact(observed) => observed.check(&mut embedder)?,
            }
        }
        Ok(())
    }
}

impl Settings {
    fn build(&self) -> Result<Config, String> {
        let backoff = |base, max| {
            let ms = Duration::from_millis;
            Backoff::new(ms(base), ms(max), 2)
        };
        Config::kafka()
            .to_builder()
            .jitter(Jitter::None)
            .warm(Warm::All)
            .handshake_timeout(Limit::After(LONG))
            .reconnect_backoff(backoff(
                self.reconnect_backoff_ms,
                self.reconnect_backoff_max_ms,
            ))
            .connection_setup_timeout(backoff(
                self.connection_setup_timeout_ms,
                self.connection_setup_timeout_max_ms,
            ))
            .build()
            .map_err(|error| format!("config: {error}"))
    }
}

impl Attempt {
    fn check(&self, embedder: &mut Embedder) -> Result<(), String> {
        let now = Instant::from_millis(self.t);
        embedder.advance(now)?;
        embedder.call(now, Call::Timeout);
        let at = |what: &str| format!("attempt {}, {what}", self.attempt);
        expect(&at("number"), self.attempt, embedder.dials.len())?;
        expect(
            &at("start"),
            Some(now),
            embedder.dials.last().map(|dial| dial.at),
        )?;
        let deadline = Instant::from_millis(self.setup_deadline);
        expect(
            &at("setup deadline"),
            Some(deadline),
            embedder.view(NODE).setup_deadline,
        )
    }
}

impl Observed {
    fn check(&self, embedder: &mut Embedder) -> Result<(), String> {
        let now = Instant::from_millis(self.t);
        embedder.advance(now)?;
        match self.fact {
            Fact::Time => {
                embedder.call(now, Call::Timeout);
            }
            Fact::Refused => embedder.fact(now, NODE, |connection| Input::ConnectFailed {
                connection,
                error: ConnectError::Refused,
            })?,
            Fact::TransportConnected => {
                embedder.fact(now, NODE, |connection| Input::Connected { connection })?;
            }
            Fact::Ready => embedder.fact(now, NODE, |connection| Input::HandshakeDone {
                connection,
                limits: Limits::NONE,
            })?,
            Fact::Closed => embedder.fact(now, NODE, |connection| Input::Closed {
                connection,
                error: CloseError::Peer,
            })?,
        }
        let at = |what: &str| format!("{what} after {:?} at {}", self.fact, self.t);
        let view = embedder.view(NODE);
        if let Some(failures) = self.failures {
            expect(&at("failures"), failures, view.failures)?;
        }
        if let Some(next_attempt) = self.next_attempt {
            let next_attempt = Instant::from_millis(next_attempt);
            // Without a rest the node is dialled again in the same call.
            let began = embedder.dials.last().map(|dial| dial.at);
            let came = if view.state.is_setup() {
                began
            } else {
                view.next_attempt
            };
            expect(&at("next attempt"), Some(next_attempt), came)?;
        }
        Ok(())
    }
}
