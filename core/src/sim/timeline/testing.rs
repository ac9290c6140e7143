//! Traces written by hand, for the tests of this folder.

use core::time::Duration;

use crate::{
    Action, AttemptId, Cause, Certainty, Completion, ConnectionId, Event, Instant, NodeId,
    NodeState, Output, Reason, RequestError, RequestId, RequestOptions, Success, SuccessKind,
    record::{Answer, Call},
    sim::{Fault, Line, Occurrence, Target, Trace, What},
};

/// A trace of client 0 as it is written. Node, connection and request numbers are those of the calls;
/// connection `n` leads to node `n`.
pub(super) struct Script {
    now: Instant,
    trace: Trace,
}

pub(super) fn script() -> Script {
    Script {
        now: Instant::ORIGIN,
        trace: Trace::default(),
    }
}

pub(super) const fn node(index: u32) -> NodeId {
    NodeId {
        index,
        generation: 0,
    }
}

const fn request(index: u32) -> RequestId {
    RequestId {
        index,
        generation: 0,
    }
}

const fn connection(index: u32) -> ConnectionId {
    ConnectionId {
        index,
        generation: 0,
    }
}

impl Script {
    pub(super) fn at(mut self, millis: u64) -> Self {
        self.now = Instant::from_millis(millis);
        self
    }

    pub(super) fn trace(self) -> Trace {
        self.trace
    }

    fn line(mut self, what: What) -> Self {
        self.trace.lines.push(Line { at: self.now, what });
        self
    }

    fn output(self, output: Output) -> Self {
        self.line(What::Output { client: 0, output })
    }

    pub(super) fn event(self, event: Event) -> Self {
        self.output(Output::Event(event))
    }

    pub(super) fn call(self, call: Call, answer: Answer) -> Self {
        self.line(What::Call {
            client: 0,
            call,
            answer,
        })
    }

    /// Server `n` is node `n`.
    pub(super) fn node(self, n: u32) -> Self {
        let address = std::format!("10.0.0.{}:9092", n + 1);
        let endpoint = address.parse().expect("an address");
        self.line(What::Node {
            client: 0,
            node: node(n),
            server: Some(n),
            endpoint,
        })
    }

    pub(super) fn state(
        self,
        n: u32,
        from: NodeState,
        to: NodeState,
        cause: impl Into<Option<Cause>>,
    ) -> Self {
        let cause = cause.into();
        self.event(Event::StateChanged {
            node: node(n),
            from,
            to,
            cause,
        })
    }

    /// Node `n` is dialled, and Ready so long after.
    pub(super) fn ready(self, n: u32, millis: u64) -> Self {
        let began = self.now;
        let up = Event::Connected {
            node: node(n),
            connection: connection(n),
            address: None,
        };
        let dial = Action::Connect {
            connection: connection(n),
            attempt: AttemptId {
                index: n,
                generation: 0,
            },
            node: node(n),
            address: None,
        };
        let mut script = self
            .state(n, NodeState::Disconnected, NodeState::Connecting, None)
            .output(Output::Action(dial));
        script.now = began + Duration::from_millis(millis);
        script
            .event(up)
            .state(n, NodeState::Connecting, NodeState::Ready, None)
    }

    /// The connection of node `n` is lost.
    pub(super) fn lose(self, n: u32, cause: Cause) -> Self {
        self.state(n, NodeState::Ready, NodeState::Disconnected, cause)
            .event(Event::Disconnected {
                node: node(n),
                connection: connection(n),
                cause,
            })
    }

    pub(super) fn submit(self, r: u32) -> Self {
        let call = Call::Submit(RequestOptions::new());
        self.call(call, Answer::Submit(Ok(request(r))))
    }

    /// Request `r` is handed over to node `n`.
    pub(super) fn write(self, r: u32, n: u32) -> Self {
        self.output(Output::Action(Action::Write {
            connection: connection(n),
            request: request(r),
            serial: r,
        }))
    }

    pub(super) fn retry(self, r: u32, n: u32) -> Self {
        let at = self.now;
        self.event(Event::RetryScheduled {
            request: request(r),
            node: node(n),
            at,
        })
    }

    pub(super) fn reply(self, r: u32) -> Self {
        let success = Success {
            kind: SuccessKind::Reply,
            node: node(0),
            attempts: 1,
            elapsed: Duration::ZERO,
            retry_refused: false,
            budget_exhausted: false,
        };
        self.output(Output::Completion(Completion {
            request: request(r),
            result: Ok(success),
        }))
    }

    pub(super) fn fail(self, r: u32, reason: Reason) -> Self {
        let error = RequestError {
            reason,
            stage: None,
            node: None,
            attempts: 1,
            elapsed: Duration::ZERO,
            certainty: Certainty::PossiblyWritten,
            budget_exhausted: false,
        };
        self.output(Output::Completion(Completion {
            request: request(r),
            result: Err(error),
        }))
    }

    fn occurrence(at: u64, lasts: u64, target: Target, fault: Fault) -> Occurrence {
        Occurrence {
            at: Instant::from_millis(at),
            lasts: Duration::from_millis(lasts),
            target,
            fault,
        }
    }

    /// A fault that began at `at` begins now …
    pub(super) fn begins(self, at: u64, lasts: u64, target: Target, fault: Fault) -> Self {
        let occurrence = Self::occurrence(at, lasts, target, fault);
        self.line(What::Begins(occurrence))
    }

    /// … or is over.
    pub(super) fn ends(self, at: u64, lasts: u64, target: Target, fault: Fault) -> Self {
        let occurrence = Self::occurrence(at, lasts, target, fault);
        self.line(What::Ends(occurrence))
    }
}

/// Three servers serve, the second crashes for two seconds: of two requests that are there one is
/// answered after a retry and one fails. Ten requests go before, ten during it, ten after.
pub(super) fn crash() -> Trace {
    let mut script = script().at(0).node(0).node(1).node(2);
    for n in 0..3 {
        script = script.at(0).ready(n, 20);
    }
    for r in 0..10 {
        let at = 100 + 80 * u64::from(r);
        script = script.at(at).submit(r).write(r, r % 3).at(at + 10).reply(r);
    }
    let fault = |script: Script| script.begins(1_000, 2_000, Target::Server(1), Fault::Crash);
    script = script
        .at(990)
        .submit(90)
        .write(90, 1)
        .submit(91)
        .write(91, 1);
    script = fault(script.at(1_000)).at(1_010).lose(1, Cause::Io);
    script = script
        .retry(90, 1)
        .fail(91, Reason::Disconnected(Cause::Io));
    script = script.at(1_100).write(90, 0).at(1_120).reply(90);
    for r in 10..20 {
        let at = 1_200 + 80 * u64::from(r);
        script = script
            .at(at)
            .submit(r)
            .write(r, r % 2 * 2)
            .at(at + 10)
            .reply(r);
    }
    script = script
        .at(3_000)
        .ends(1_000, 2_000, Target::Server(1), Fault::Crash);
    script = script.at(3_180).ready(1, 20);
    for r in 20..30 {
        let at = 2_000 + 80 * u64::from(r);
        script = script.at(at).submit(r).write(r, r % 3).at(at + 10).reply(r);
    }
    let shutdown = Call::Shutdown(Duration::ZERO);
    let script = script.at(5_000).call(shutdown, Answer::Shutdown(Ok(())));
    script.output(Output::Terminated).trace()
}
