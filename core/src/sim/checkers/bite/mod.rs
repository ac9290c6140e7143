//! Each rule can fail: an honest history passes, and one that is doctored against the rule does not.

mod end;
mod nodes;
mod requests;
mod retries;
mod silence;
mod sources;
mod writes;

use alloc::{vec, vec::Vec};
use core::time::Duration;

use super::{
    Checker, Rules, completions, connections, deadlines, failures, frames, governor, isolation,
    lists, progress, refreshes, replies, rules, sessions, shutdown, slots, stalls, transitions,
    unions, upkeep,
};
use crate::{
    Action, Backoff, Cause, Certainty, CloseError, Cluster, Completion, Config, ConfigBuilder,
    ConnectError, ConnectionId, Deadline, DeadlineReason, Event, Input, Instant, Jitter, Limit,
    Limits, NodeSpec, NodeState, Output, Reason, ReplyTo, RequestError, RequestId, RequestOptions,
    Success, SuccessKind, Verdict, Warm,
    record::{Answer, Call, Step},
};

/// Steps, and the cluster after each.
struct History {
    config: Config,
    cluster: Cluster,
    steps: Vec<(Step, Cluster)>,
}

impl History {
    fn new(config: ConfigBuilder, list: &[&str]) -> Self {
        let config = config.build().expect("it makes sense");
        let mut history = Self {
            cluster: Cluster::new(config.clone(), 0, t(0)),
            config,
            steps: Vec::new(),
        };
        history.call(0, Call::SetNodes(specs(list)));
        history
    }

    fn call(&mut self, at: u64, call: Call) -> &mut Self {
        let step = Step::take(&mut self.cluster, t(at), call);
        self.steps.push((step, self.cluster.clone()));
        self
    }

    fn input(&mut self, at: u64, input: Input) -> &mut Self {
        self.call(at, Call::Input(input))
    }

    fn submit_on(&mut self, at: u64, node: usize, options: RequestOptions) -> RequestId {
        let node = self
            .cluster
            .nodes()
            .nth(node)
            .expect("it is in the list")
            .id;
        self.call(at, Call::Submit(options.on(node)));
        match self.last().answer {
            Answer::Submit(Ok(request)) => request,
            answer => panic!("{answer:?}"),
        }
    }

    fn connection(&self, number: usize) -> ConnectionId {
        let connect = |output: &Output| match output {
            Output::Action(Action::Connect { connection, .. }) => Some(*connection),
            _ => None,
        };
        self.outputs()
            .filter_map(connect)
            .nth(number)
            .expect("so many were dialled")
    }

    fn outputs(&self) -> impl Iterator<Item = &Output> {
        self.steps.iter().flat_map(|(step, _)| &step.outputs)
    }

    fn ready(&mut self, at: u64, number: usize) -> &mut Self {
        let connection = self.connection(number);
        self.input(at, Input::Connected { connection });
        self.input(
            at,
            Input::HandshakeDone {
                connection,
                limits: Limits::NONE,
            },
        )
    }

    fn last(&mut self) -> &mut Step {
        &mut self.steps.last_mut().expect("a step").0
    }

    /// Takes the outputs of this kind out of the whole history.
    fn hide(&mut self, hidden: impl Fn(&Output) -> bool) {
        for (step, _) in &mut self.steps {
            step.outputs.retain(|output| !hidden(output));
        }
    }

    /// The rules that are broken: the first one that each checker finds.
    fn broken(&self) -> Vec<&'static str> {
        let found = rules(&self.config).into_iter().filter_map(|rule| {
            let mut checker = Rules::new(&self.config, vec![rule]);
            let mut steps = self.steps.iter();
            steps.find_map(|(step, cluster)| checker.after_step(step, cluster).err())
        });
        found.map(|violation| violation.rule).collect()
    }
}

const TWO: &[&str] = &["10.0.0.1:1", "10.0.0.2:1"];

/// Nothing happens by chance, and nothing beside what a test is about.
fn exact() -> ConfigBuilder {
    Config::builder()
        .jitter(Jitter::None)
        .address_attempt_delay(Limit::Never)
        .hedge_delay(Limit::Never)
        .max_idle(Limit::Never)
        .retry_budget(None)
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

const fn t(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn specs(list: &[&str]) -> Vec<NodeSpec> {
    let spec = |text: &&str| text.parse().expect("an endpoint");
    list.iter().map(spec).collect()
}

fn any() -> RequestOptions {
    RequestOptions::new()
}

/// Both nodes are Ready; a request is written to each.
fn busy() -> (History, RequestId, RequestId) {
    busy_with(exact())
}

fn busy_with(config: ConfigBuilder) -> (History, RequestId, RequestId) {
    let mut history = History::new(config, TWO);
    let first = history.submit_on(0, 0, any());
    let second = history.submit_on(0, 1, any());
    history.ready(5, 0).ready(5, 1);
    (history, first, second)
}

fn started(history: &mut History) {
    for number in 0..2 {
        let connection = history.connection(number);
        history.input(
            6,
            Input::WriteStarted {
                connection,
                serial: 0,
            },
        );
        history.input(
            6,
            Input::WriteDone {
                connection,
                serial: 0,
            },
        );
    }
}

fn failure(reason: Reason) -> RequestError {
    RequestError {
        reason,
        stage: None,
        node: None,
        attempts: 0,
        elapsed: ms(5),
        certainty: Certainty::NeverWritten,
        budget_exhausted: false,
    }
}

const fn failed(request: RequestId, error: RequestError) -> Output {
    Output::Completion(Completion {
        request,
        result: Err(error),
    })
}

const fn is_write(output: &Output) -> bool {
    matches!(output, Output::Action(Action::Write { .. }))
}

#[track_caller]
fn bites(history: &History, rule: &str) {
    let broken = history.broken();
    assert!(broken.contains(&rule), "{rule} is not among {broken:?}");
}

#[test]
fn an_honest_history_breaks_no_rule() {
    let (mut history, first, second) = busy();
    assert_eq!(history.broken(), [""; 0]);
    started(&mut history);
    history
        .call(8, Call::Cancel(first))
        .call(8, Call::Cancel(second));
    let connection = history.connection(0);
    history.input(
        9,
        Input::Closed {
            connection,
            error: CloseError::Peer,
        },
    );
    history.call(10, Call::SetNodes(specs(&TWO[1..])));
    history
        .call(11, Call::Timeout)
        .call(11, Call::Shutdown(ms(5)))
        .call(16, Call::Timeout);
    assert_eq!(history.broken(), [""; 0]);
}
