//! Kind `pick`: who gets a request for any node.

use std::time::Duration;

use redial::{
    Backoff, Config, ConnectError, Input, Instant, Jitter, Limit, Limits, NodeState, NodeView,
    RequestOptions,
    record::{Answer, Call},
};
use serde::Deserialize;

use super::{
    embedder::{Embedder, long},
    expect,
};

#[derive(Deserialize)]
pub(super) struct Vector {
    now: u64,
    max_in_flight: u32,
    reconnect_backoff_ms: u64,
    nodes: Vec<Node>,
    pick_one_of: Vec<usize>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case", deny_unknown_fields)]
enum Node {
    Ready {
        in_flight: u32,
        throttled_until: Option<u64>,
    },
    Connecting,
    Handshaking,
    Disconnected {
        /// The later of its start and its end; never tried without.
        last_attempt: Option<u64>,
        next_attempt: Option<u64>,
    },
}

impl Vector {
    pub(super) fn replay(&self) -> Result<(), String> {
        if let Some(node) = self
            .pick_one_of
            .iter()
            .find(|node| **node >= self.nodes.len())
        {
            return Err(format!("there is no node {node}"));
        }
        let mut embedder = Embedder::new(self.config()?, self.nodes.len(), self.start())?;
        self.bring_about(&mut embedder)?;
        for (index, node) in self.nodes.iter().enumerate() {
            node.check(embedder.view(index), self.now)
                .map_err(|what| format!("node {index} before the submit, {what}"))?;
        }
        self.pick(&mut embedder)
    }

    fn config(&self) -> Result<Config, String> {
        Config::kafka()
            .to_builder()
            .jitter(Jitter::None)
            .reconnect_backoff(Backoff::constant(Duration::from_millis(
                self.reconnect_backoff_ms,
            )))
            .connection_setup_timeout(long())
            .handshake_timeout(Limit::Never)
            .request_timeout(Limit::Never)
            .delivery_timeout(Limit::Never)
            .max_in_flight(self.max_in_flight)
            .build()
            .map_err(|error| format!("config: {error}"))
    }

    /// The first thing that happens.
    fn start(&self) -> Instant {
        let first = self.nodes.iter().filter_map(Node::last_attempt).min();
        Instant::from_millis(first.unwrap_or(self.now).min(self.now))
    }

    /// What is Ready is so from the start; then the failures in their order; what is in setup began
    /// last.
    fn bring_about(&self, embedder: &mut Embedder) -> Result<(), String> {
        let (start, now) = (self.start(), Instant::from_millis(self.now));
        for (index, node) in self.nodes.iter().enumerate() {
            if let Node::Ready {
                in_flight,
                throttled_until,
            } = *node
            {
                make_ready(embedder, index, start)?;
                for _ in 0..in_flight {
                    let write = embedder.writes.len();
                    submit(
                        embedder,
                        start,
                        RequestOptions::new().on(embedder.id(index)),
                    )?;
                    expect("hand-overs", write + 1, embedder.writes.len())?;
                    embedder.accept(start, write);
                }
                if let Some(until) = throttled_until.map(Instant::from_millis) {
                    embedder.fact(start, index, |connection| Input::Throttled {
                        connection,
                        until,
                    })?;
                }
            }
        }
        let mut failures: Vec<(u64, usize)> = (0..)
            .zip(&self.nodes)
            .filter_map(|(index, node)| Some((node.last_attempt()?, index)))
            .collect();
        failures.sort_unstable();
        for (at, index) in failures {
            let at = Instant::from_millis(at);
            embedder.advance(at)?;
            begin(embedder, index, at)?;
            embedder.fact(at, index, |connection| Input::ConnectFailed {
                connection,
                error: ConnectError::Refused,
            })?;
        }
        embedder.advance(now)?;
        for (index, node) in self.nodes.iter().enumerate() {
            if matches!(node, Node::Connecting | Node::Handshaking) {
                begin(embedder, index, now)?;
            }
            if matches!(node, Node::Handshaking) {
                embedder.fact(now, index, |connection| Input::Connected { connection })?;
            }
        }
        embedder.call(now, Call::Timeout);
        Ok(())
    }

    /// Submits, and judges what came of it.
    fn pick(&self, embedder: &mut Embedder) -> Result<(), String> {
        let (dials, writes) = (embedder.dials.len(), embedder.writes.len());
        let now = Instant::from_millis(self.now);
        submit(embedder, now, RequestOptions::new())?;
        let dialled: Vec<usize> = embedder.dials[dials..]
            .iter()
            .map(|dial| dial.node)
            .collect();
        let written: Vec<usize> = embedder.writes[writes..]
            .iter()
            .map(|write| write.node)
            .collect();
        let right = |node: &usize| self.pick_one_of.contains(node);
        let in_setup = |node: &usize| embedder.view(*node).state.is_setup();
        let ok = match (&written[..], &dialled[..]) {
            ([node], []) | ([], [node]) => right(node),
            ([], []) => self.pick_one_of.iter().all(in_setup),
            _ => false,
        };
        if ok {
            return Ok(());
        }
        Err(format!(
            "expected one of {:?}, came a hand-over to {written:?} and a dial of {dialled:?}",
            self.pick_one_of
        ))
    }
}

impl Node {
    const fn last_attempt(&self) -> Option<u64> {
        match *self {
            Self::Disconnected { last_attempt, .. } => last_attempt,
            _ => None,
        }
    }

    /// The getters show this state.
    fn check(self, view: NodeView<'_>, now: u64) -> Result<(), String> {
        let (state, taken) = match self {
            Self::Ready { in_flight, .. } => (NodeState::Ready, in_flight),
            Self::Connecting => (NodeState::Connecting, 0),
            Self::Handshaking => (NodeState::Handshaking, 0),
            Self::Disconnected { .. } => (NodeState::Disconnected, 0),
        };
        expect("state", state, view.state)?;
        expect("in flight", taken, view.in_flight)?;
        expect("queued", 0, view.queued)?;
        match self {
            Self::Ready {
                throttled_until, ..
            } => {
                let until = throttled_until
                    .filter(|until| *until > now)
                    .map(Instant::from_millis);
                expect("throttled until", until, view.throttled_until)
            }
            Self::Disconnected {
                last_attempt,
                next_attempt,
            } => {
                let (last, next) = (last_attempt, next_attempt);
                expect(
                    "last attempt",
                    last.map(Instant::from_millis),
                    view.last_attempt,
                )?;
                expect(
                    "next attempt",
                    next.map(Instant::from_millis),
                    view.next_attempt,
                )
            }
            Self::Connecting | Self::Handshaking => Ok(()),
        }
    }
}

fn make_ready(embedder: &mut Embedder, node: usize, at: Instant) -> Result<(), String> {
    begin(embedder, node, at)?;
    embedder.fact(at, node, |connection| Input::Connected { connection })?;
    embedder.fact(at, node, |connection| Input::HandshakeDone {
        connection,
        limits: Limits::NONE,
    })
}

/// Begins an attempt: by a bound request that is cancelled before the outcome.
fn begin(embedder: &mut Embedder, node: usize, at: Instant) -> Result<(), String> {
    let dials = embedder.dials.len();
    let options = RequestOptions::new().on(embedder.id(node));
    let step = embedder.call(at, Call::Submit(options));
    let Answer::Submit(Ok(request)) = step.answer else {
        return Err(format!(
            "expected an accepted request, came {:?}",
            step.answer
        ));
    };
    embedder.call(at, Call::Cancel(request));
    expect("dials", dials + 1, embedder.dials.len())
}

/// Submits; it must be handed over or wait.
fn submit(embedder: &mut Embedder, at: Instant, options: RequestOptions) -> Result<(), String> {
    match embedder.call(at, Call::Submit(options)).answer {
        Answer::Submit(Ok(_)) => Ok(()),
        answer => Err(format!("expected an accepted request, came {answer:?}")),
    }
}
