//! Does what the cluster asks for.

use std::time::Duration;

use redial::{
    Action, Completion, Endpoint, Output, RequestId, Success, SuccessKind,
    record::{Answer, Call, Step},
};

use super::{Due, World, Wrong};

impl World {
    /// Calls the cluster, and does what it asks for.
    pub(super) fn call(&mut self, call: Call) -> Result<(), Wrong> {
        self.call_with_reply(call, None)
    }

    /// The same, where the call is the reply to this request.
    pub(super) fn call_with_reply(
        &mut self,
        call: Call,
        replied: Option<RequestId>,
    ) -> Result<(), Wrong> {
        let step = self.cluster.call(self.now, call)?;
        if let (Call::Submit(options), Answer::Submit(Ok(request))) = (&step.call, step.answer) {
            self.requests.push(request);
            self.network.submitted(request, options.expects_reply);
        }
        self.check_reply(&step, replied)?;
        self.trace.step(&step);
        step.outputs
            .into_iter()
            .try_for_each(|output| self.output(output))
    }

    /// What the world knows better than anybody: whose reply it was.
    fn check_reply(&self, step: &Step, replied: Option<RequestId>) -> Result<(), Wrong> {
        for output in &step.outputs {
            if let Output::Completion(Completion {
                request,
                result:
                    Ok(Success {
                        kind: SuccessKind::Reply,
                        ..
                    }),
            }) = output
                && Some(*request) != replied
            {
                return Err(Wrong::Reply(format!(
                    "{request} got the reply to {replied:?}\n{}",
                    self.trace
                )));
            }
        }
        Ok(())
    }

    fn output(&mut self, output: Output) -> Result<(), Wrong> {
        let Output::Action(action) = output else {
            return Ok(());
        };
        match action {
            Action::Resolve { attempt, node } => {
                let spec = self.cluster.cluster().spec(node);
                let answer = match spec.map(|spec| &spec.endpoint) {
                    Some(Endpoint::Name { host, .. }) => self.resolver.look_up(host),
                    _ => super::Answer::Fails,
                };
                let at = self.now + Duration::from_millis(2);
                self.events.add(at, Due::Resolved(attempt, answer));
            }
            Action::Connect {
                connection,
                address,
                ..
            } => self.dial(connection, address),
            Action::Handshake { connection } => self.greet(connection),
            Action::Write {
                connection,
                request,
                serial,
            } => {
                return self.write(connection, request, serial);
            }
            Action::Close { connection } | Action::Abort { connection } => {
                self.network.forget(connection);
            }
            Action::Refresh { refresh, source }
            | Action::Discover {
                refresh, source, ..
            } => {
                self.ask(refresh, source);
            }
            Action::Probe { connection } => self.probed(connection),
            // A Write that was withdrawn may not be started: `may_write` says so.
            _ => {}
        }
        Ok(())
    }
}
