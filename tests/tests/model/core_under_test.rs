//! The core, spoken to and read in the model's words.

use std::{sync::OnceLock, time::Duration};

use redial::{
    Action, Backoff, BackoffReset, Candidate, CloseError, Cluster, Completion as Completed, Config,
    ConnectError, ConnectionId, Endpoint, Event, HandshakeError, HedgeDelay, Input, Instant,
    Jitter, Limit, Limits, Matching, Next, NodeId, NodeSpec, OnRequestTimeout, Output, ReplyTo,
    RequestId, RequestOptions, RetryBudget, Select, SelectionPolicy, SubmitError, Warm as CoreWarm,
};

use crate::{
    frames::Verdict,
    rules::{Growth, Micros, Policy, Reset, Rules, SEEDS, Warm},
    state::{C, Completion, Model, N, Out, Phase, Refusal, Run},
    step::{Act, Transition},
};

/// The core, and who is who.
#[derive(Debug)]
pub(crate) struct Core {
    cluster: Cluster,
    nodes: Vec<NodeId>,
    connections: Vec<(C, ConnectionId)>,
    requests: Vec<RequestId>,
    /// What was done and came of it, a line each.
    history: String,
}

impl Core {
    pub(crate) fn new(rules: &Rules) -> Self {
        Self {
            cluster: Cluster::new(config(rules), rules.seed, Instant::ORIGIN),
            nodes: Vec::new(),
            connections: Vec::new(),
            requests: Vec::new(),
            history: String::new(),
        }
    }

    /// Takes the step, and says what came of it.
    pub(crate) fn step(&mut self, Transition { at, act }: &Transition) -> Vec<Out> {
        let (now, mut out) = (instant(*at), Vec::new());
        let cluster = &mut self.cluster;
        match act {
            Act::Timeout => cluster.handle_timeout(now),
            Act::Nodes(names) => {
                let list: Vec<NodeSpec> = names.iter().map(|name| spec(*name)).collect();
                if cluster.set_nodes(now, &list).is_err() {
                    out.push(Out::NoList);
                }
                let ids = list
                    .iter()
                    .filter_map(|spec| self.cluster.find(&spec.endpoint));
                let new = ids
                    .filter(|id| !self.nodes.contains(id))
                    .collect::<Vec<_>>();
                self.nodes.extend(new);
            }
            Act::Submit(asked) => {
                let limit = |timeout: Option<Micros>| timeout.map(|t| Limit::After(micros(t)));
                let mut options = RequestOptions::new().timeout(Limit::Never);
                options.timeout = limit(asked.timeout).or(options.timeout);
                options.request_timeout = limit(asked.request_timeout);
                options.idempotent = asked.idempotent;
                options.fail_fast = asked.fail_fast;
                options.expects_reply = asked.expects_reply;
                if let Some(n) = asked.bound_to {
                    options = options.on(self.nodes[n]);
                }
                match cluster.submit(now, options) {
                    Ok(request) => self.requests.push(request),
                    Err(error) => out.push(Out::Refused(refusal(error))),
                }
            }
            Act::Cancel(r) => {
                cluster.cancel(now, self.requests[*r]);
            }
            Act::Shutdown(drain) => cluster.shutdown(now, micros(*drain)).expect("it ends"),
            fact => {
                let c = fact.names().expect("it is about a connection");
                let mut known = self.connections.iter();
                let (_, connection) = *known.find(|(known, _)| *known == c).expect("was dialled");
                cluster.handle_input(now, input(fact, connection));
            }
        }
        while let Some(output) = self.cluster.poll_output() {
            out.extend(self.read(output));
        }
        self.history += &format!("{at} {act:?}\n");
        for out in &out {
            self.history += &format!("    {out:?}\n");
        }
        out
    }

    pub(crate) fn history(&self) -> &str {
        &self.history
    }

    /// What is different in the core, if anything is.
    pub(crate) fn differs(&self, model: &Model) -> Option<String> {
        let micros = |at: Instant| at.as_nanos() / 1_000;
        let deadline = self
            .cluster
            .poll_timeout()
            .map(|deadline| micros(deadline.at));
        if deadline != model.next_deadline() {
            let (core, model) = (self.cluster.poll_timeout(), model.next_deadline());
            return Some(format!("next deadline: core {core:?}, model {model:?}"));
        }
        let is_running = model.run == Run::Running;
        for (n, node) in model.nodes.iter().enumerate() {
            let view = self.cluster.node(self.nodes[n]);
            if !node.listed {
                assert!(view.is_none(), "node {n} has left");
                continue;
            }
            let view = view.expect("the node is listed");
            let ready = model.ready(n);
            let core = (
                (
                    view.state,
                    view.failures,
                    view.in_flight as usize,
                    view.queued as usize,
                ),
                (view.next_attempt.map(micros), view.last_attempt.map(micros)),
                (
                    view.setup_deadline.map(micros),
                    view.throttled_until.map(micros),
                ),
                view.last_failure
                    .map(|last| ((last.stage, last.cause), micros(last.at))),
                view.unhealthy,
            );
            let stable = ready.is_some_and(|c| model.is_stable(c));
            let delayed = model.waiting().into_iter().filter(|&r| {
                let request = &model.requests[r];
                request.place != crate::state::Place::Waiting && request.asked.bound_to == Some(n)
            });
            let queued = model.queue(Some(n)).len() + delayed.count();
            let failures = if stable { 0 } else { node.failures };
            let throttled = model.is_throttled(n) && is_running;
            let model = (
                (node.state, failures, model.in_flight(n), queued),
                (node.next_attempt, node.last_attempt),
                (
                    node.attempt.map(|attempt| attempt.deadline),
                    throttled.then_some(node.throttled_until),
                ),
                node.last_failure,
                ready.is_some_and(|c| model.connections[&c].unhealthy),
            );
            if core != model {
                return Some(format!("node {n}: core\n{core:?}, model\n{model:?}"));
            }
        }
        for (c, id) in &self.connections {
            let known = model.connections.get(c);
            let core = self.cluster.connection(*id).map(|view| {
                let open = view.in_flight - view.tombstones;
                (
                    view.connected,
                    view.draining,
                    view.in_flight as usize,
                    open as usize,
                )
            });
            let model = known.map(|connection| {
                let open = connection.frames.values().filter(|f| f.request.is_some());
                (
                    connection.phase != Phase::Connecting,
                    matches!(connection.phase, Phase::Draining(..)),
                    connection.frames.len(),
                    open.count(),
                )
            });
            if core != model {
                return Some(format!("connection {c:?}: core {core:?}, model {model:?}"));
            }
        }
        None
    }

    fn read(&mut self, output: Output) -> Option<Out> {
        Some(match output {
            Output::Action(action) => self.read_action(action),
            Output::Completion(Completed { request, result }) => {
                let took = |elapsed: Duration| elapsed.as_micros() as Micros;
                let completion = match result {
                    Ok(success) => Completion {
                        result: Ok(success.kind),
                        node: Some(self.node(success.node)),
                        handed_over: success.attempts,
                        took: took(success.elapsed),
                        retry_refused: success.retry_refused,
                        budget_exhausted: success.budget_exhausted,
                    },
                    Err(error) => Completion {
                        result: Err((error.reason, error.stage, error.certainty)),
                        node: error.node.map(|node| self.node(node)),
                        handed_over: error.attempts,
                        took: took(error.elapsed),
                        retry_refused: false,
                        budget_exhausted: error.budget_exhausted,
                    },
                };
                Out::Completed(self.request(request), completion)
            }
            Output::Terminated => Out::Terminated,
            Output::Event(event) => match event {
                Event::StateChanged {
                    node,
                    from,
                    to,
                    cause,
                } => Out::State(self.node(node), from, to, cause),
                Event::Unhealthy { node } => Out::Unhealthy(self.node(node)),
                Event::Healed { node } => Out::Healed(self.node(node)),
                _ => return None,
            },
        })
    }

    fn read_action(&mut self, action: Action) -> Out {
        match action {
            Action::Connect {
                connection, node, ..
            } => {
                let n = self.node(node);
                let before = self.connections.iter().filter(|((of, _), _)| *of == n);
                let c = (n, before.count());
                self.connections.push((c, connection));
                Out::Connect(c)
            }
            Action::Handshake { connection } => Out::Handshake(self.connection(connection)),
            Action::Abort { connection } => Out::Abort(self.connection(connection)),
            Action::Close { connection } => Out::Close(self.connection(connection)),
            Action::Write {
                connection,
                request,
                serial,
            } => Out::Write(self.connection(connection), serial, self.request(request)),
            Action::Withdraw {
                connection,
                request,
                serial,
            } => Out::Withdraw(self.connection(connection), serial, self.request(request)),
            other => panic!("{other:?} is not in the model"),
        }
    }

    fn node(&self, id: NodeId) -> N {
        let place = self.nodes.iter().position(|known| *known == id);
        place.expect("a node of the list")
    }

    fn connection(&self, id: ConnectionId) -> C {
        let mut known = self.connections.iter();
        known
            .find(|(_, known)| *known == id)
            .expect("a connection that was dialled")
            .0
    }

    fn request(&self, id: RequestId) -> usize {
        let place = self.requests.iter().position(|known| *known == id);
        place.expect("an accepted request")
    }
}

/// By which lots the core of this seed dials nodes that were never tried: it is asked, once.
pub(crate) fn lots(seed: u64) -> Vec<usize> {
    static LOTS: OnceLock<Vec<Vec<usize>>> = OnceLock::new();
    LOTS.get_or_init(|| (0..SEEDS).map(draw_lots).collect())[seed as usize].clone()
}

fn draw_lots(seed: u64) -> Vec<usize> {
    const NODES: usize = 24;
    let config = Config::builder().hedge_delay(micros(1)).max_hedges(100_u32);
    let config = config.build().expect("it makes sense");
    let mut cluster = Cluster::new(config, seed, Instant::ORIGIN);
    let list: Vec<NodeSpec> = (0..NODES).map(spec).collect();
    cluster.set_nodes(Instant::ORIGIN, &list).expect("a list");
    cluster
        .submit(Instant::ORIGIN, RequestOptions::new())
        .expect("accepted");
    let mut lots = vec![0; NODES];
    for lot in 0..NODES {
        cluster.drive(instant(lot as Micros), |cluster, output| {
            if let Output::Action(Action::Connect { node, .. }) = output {
                let known = cluster.spec(node).expect("it is listed");
                let n = list.iter().position(|spec| spec == known);
                lots[n.expect("it is in the list")] = lot;
            }
        });
    }
    lots
}

fn spec(name: usize) -> NodeSpec {
    NodeSpec::new(Endpoint::Opaque(format!("{name:02}").into()))
}

fn micros(micros: Micros) -> Duration {
    Duration::from_micros(micros)
}

fn instant(at: Micros) -> Instant {
    Instant::ORIGIN + micros(at)
}

/// The fewest in flight, of equals the first by name.
#[derive(Debug)]
struct Fewest;

impl Select for Fewest {
    fn select(&self, candidates: &[Candidate<'_>], _: u64) -> Option<usize> {
        let order = |&i: &usize| (candidates[i].in_flight, &candidates[i].spec.endpoint);
        (0..candidates.len()).min_by_key(order)
    }
}

fn config(rules: &Rules) -> Config {
    let backoff = |growth: Growth| Backoff::new(micros(growth.base), micros(growth.max), 2);
    let limit = |after: Option<Micros>| after.map_or(Limit::Never, |t| Limit::After(micros(t)));
    let config = Config::builder()
        .jitter(Jitter::None)
        .max_idle(Limit::Never)
        .address_attempt_delay(Limit::Never)
        .selection(match rules.policy {
            Policy::Fewest => SelectionPolicy::custom(Fewest),
            Policy::RoundRobin => SelectionPolicy::RoundRobin,
        })
        .handshake(rules.handshake)
        .matching(match rules.by_order {
            true => Matching::Order,
            false => Matching::Serial,
        })
        .on_request_timeout(match rules.timeout_disconnects {
            true => OnRequestTimeout::Disconnect,
            false => OnRequestTimeout::Keep,
        })
        .connection_setup_timeout(backoff(rules.setup))
        .handshake_timeout(limit(rules.handshake_timeout))
        .reconnect_backoff(backoff(rules.reconnect))
        .backoff_reset(match rules.reset {
            Reset::OnFirstReply => BackoffReset::OnFirstReply,
            Reset::OnReady => BackoffReset::OnReady,
            Reset::StableFor(enough) => BackoffReset::StableFor(micros(enough)),
        })
        .hedge_delay(HedgeDelay::from(limit(rules.hedge_delay)))
        .max_hedges(rules.max_hedges as u32)
        .warm(match rules.warm {
            Warm::None => CoreWarm::None,
            Warm::All => CoreWarm::All,
            Warm::AtLeast(least) => CoreWarm::AtLeast(least as u32),
        })
        .request_timeout(limit(rules.request_timeout))
        .retry_backoff(backoff(rules.retry))
        .max_attempts(rules.max_attempts)
        .retry_budget(rules.budget.map(|budget| RetryBudget {
            per_submit_milli: budget.per_submit_milli as u32,
            per_second: budget.per_second as u32,
            max: budget.max as u32,
        }))
        .max_in_flight(rules.max_in_flight as u32)
        .queue_max_requests(rules.queue_max as u32)
        .unhealthy_after(rules.unhealthy_after)
        .write_timeout(limit(rules.write_timeout))
        .drain_timeout(micros(rules.drain_timeout));
    config.build().expect("it makes sense")
}

fn refusal(error: SubmitError) -> Refusal {
    match error {
        SubmitError::Closed => Refusal::Closed,
        SubmitError::QueueFull => Refusal::QueueFull,
        SubmitError::UnknownNode(_) => Refusal::UnknownNode,
        SubmitError::AuthenticationFailed => Refusal::AuthenticationFailed,
        other => panic!("{other} is not in the model"),
    }
}

fn input(fact: &Act, connection: ConnectionId) -> Input {
    match *fact {
        Act::Connected(_) => Input::Connected { connection },
        Act::Refused(_) => Input::ConnectFailed {
            connection,
            error: ConnectError::Refused,
        },
        Act::HandshakeDone(_, limit) => Input::HandshakeDone {
            connection,
            limits: Limits::in_flight(limit as u32),
        },
        Act::HandshakeRejected(_) => Input::HandshakeFailed {
            connection,
            error: HandshakeError::Rejected,
        },
        Act::HandshakeClosed(_) => Input::HandshakeFailed {
            connection,
            error: HandshakeError::Closed,
        },
        Act::WriteStarted(_, serial) => Input::WriteStarted { connection, serial },
        Act::WriteDone(_, serial) => Input::WriteDone { connection, serial },
        Act::WriteRejected(_, serial) => Input::WriteRejected { connection, serial },
        Act::Blocked(_) => Input::WriteBlocked { connection },
        Act::Progress(_) => Input::WriteProgress { connection },
        Act::Reply(_, serial, verdict) => Input::Reply {
            connection,
            to: serial.map_or(ReplyTo::Oldest, ReplyTo::Serial),
            verdict: read(verdict),
        },
        Act::Throttled(_, until) => Input::Throttled {
            connection,
            until: instant(until),
        },
        Act::PeerDrains(_) => Input::PeerDraining { connection },
        Act::Closed(_) => Input::Closed {
            connection,
            error: CloseError::Peer,
        },
        _ => unreachable!("no fact about a connection"),
    }
}

fn read(verdict: Verdict) -> redial::Verdict {
    match verdict {
        Verdict::Done => redial::Verdict::DONE,
        Verdict::Again {
            here,
            after,
            not_executed,
        } => redial::Verdict {
            next: if here {
                Next::RetryHere
            } else {
                Next::RetryElsewhere
            },
            after: micros(after),
            not_executed,
            refresh: false,
        },
    }
}
