//! A careless embedder of the bare core, for what cannot happen in the simulator: it gives the time
//! late, tells facts in any order and some never, leaves transports blocked, and its names have several
//! addresses.

use std::{net::SocketAddr, time::Duration};

use redial::{
    Action, Config, ConnectError, Input, Instant, Jitter, Limits, NodeSpec, Output, ReplyTo,
    RequestId, RequestOptions, Verdict,
    record::{Answer, Call, Step},
    sim::Checker,
};

use crate::{
    lab::Chance,
    watched::{Failure, Watched},
};

/// So many calls are made.
const CALLS: u32 = 500;

/// A walk by chance.
///
/// # Errors
///
/// A rule was broken.
pub(super) fn walk(seed: u64, more: Box<dyn Checker>) -> Result<(), Failure> {
    let mut walk = Walk {
        watched: Watched::with(&config(), seed, Instant::ORIGIN, vec![more]),
        chance: Chance::new(seed, 9),
        now: Instant::ORIGIN,
        requests: Vec::new(),
        facts: Vec::new(),
    };
    walk.call(Call::SetNodes(nodes()))?;
    for _ in 0..CALLS {
        walk.now += walk.chance.millis(100);
        if let Some(call) = walk.next() {
            walk.call(call)?;
        }
    }
    walk.call(Call::Shutdown(Duration::ZERO))
}

/// No jitter, so that rests are as long as they should be.
fn config() -> Config {
    let ms = Duration::from_millis;
    let config = Config::builder()
        .jitter(Jitter::None)
        .request_timeout(ms(3_000))
        .write_timeout(ms(600));
    config.build().expect("it makes sense")
}

fn nodes() -> Vec<NodeSpec> {
    let texts = ["10.0.0.1:1", "db.example:1", "other.example:1"];
    let node = |text: &str| text.parse().expect("an endpoint");
    texts.map(node).into()
}

struct Walk {
    watched: Watched,
    chance: Chance,
    now: Instant,
    requests: Vec<RequestId>,
    /// What has happened and was not told.
    facts: Vec<Call>,
}

impl Walk {
    fn next(&mut self) -> Option<Call> {
        match self.chance.below(100) {
            0..25 => Some(Call::Submit(self.options())),
            25..30 => {
                let request = self.chance.pick(self.requests.get(..1)?);
                Some(Call::Cancel(request))
            }
            30..50 => Some(Call::Timeout),
            _ => {
                let fact = self.chance.below(self.facts.len() as u64) as usize;
                let is_there = fact < self.facts.len();
                is_there.then(|| self.facts.swap_remove(fact))
            }
        }
    }

    fn options(&mut self) -> RequestOptions {
        let mut options = RequestOptions::new();
        options.idempotent = self.chance.below(2) == 0;
        if self.chance.below(2) == 0 {
            options = options.timeout(self.chance.millis(1_000));
        }
        options
    }

    /// Makes the call, and finds out what it makes happen.
    fn call(&mut self, call: Call) -> Result<(), Failure> {
        if let Call::Input(Input::WriteStarted { connection, serial }) = call
            && !self
                .watched
                .cluster()
                .may_write(self.now, connection, serial)
        {
            return Ok(());
        }
        let step = self.watched.call(self.now, call)?;
        self.happens_after(&step.call);
        if let Answer::Submit(Ok(request)) = step.answer {
            self.requests.insert(0, request);
        }
        self.happens(&step);
        Ok(())
    }

    fn happens(&mut self, step: &Step) {
        for output in &step.outputs {
            let Output::Action(action) = *output else {
                continue;
            };
            let fact = match action {
                Action::Resolve { attempt, .. } => {
                    let addresses = [2, 3, 4].map(|n| SocketAddr::from(([10, 0, 0, n], 1)));
                    Call::Resolved(attempt, addresses.into())
                }
                Action::Connect { connection, .. } if self.chance.below(4) == 0 => {
                    let error = ConnectError::Refused;
                    Call::Input(Input::ConnectFailed { connection, error })
                }
                Action::Connect { connection, .. } => Call::Input(Input::Connected { connection }),
                Action::Handshake { connection } => {
                    let limits = Limits::NONE;
                    Call::Input(Input::HandshakeDone { connection, limits })
                }
                Action::Write {
                    connection, serial, ..
                } => Call::Input(Input::WriteStarted { connection, serial }),
                _ => continue,
            };
            self.facts.push(fact);
        }
    }

    /// A frame that is begun is taken and answered, unless its transport is blocked.
    fn happens_after(&mut self, call: &Call) {
        let next = match *call {
            Call::Input(Input::WriteStarted { connection, .. }) if self.chance.below(8) == 0 => {
                Input::WriteBlocked { connection }
            }
            Call::Input(Input::WriteStarted { connection, serial }) => {
                Input::WriteDone { connection, serial }
            }
            Call::Input(Input::WriteDone { connection, serial }) => Input::Reply {
                connection,
                to: ReplyTo::Serial(serial),
                verdict: Verdict::DONE,
            },
            _ => return,
        };
        self.facts.push(Call::Input(next));
    }
}
