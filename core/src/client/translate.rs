//! From the outputs of [`Cluster`](crate::Cluster) to those of [`Client`]: payloads come in, Writes
//! become bytes.

use super::{Client, ClientAction, ClientOutput, Protocol, Response, connection::PendingWrite};
use crate::{
    Action, Certainty, Completion, ConnectionId, Output, Reason, RequestError, RequestId, Success,
    SuccessKind,
};

impl<P: Protocol> Client<P> {
    /// Everything that waits in the cluster.
    pub(super) fn translate_waiting(&mut self) {
        self.translate_with(&mut None);
    }

    /// Everything that waits in the cluster, where `reply` is what was just read.
    pub(super) fn translate_with(&mut self, reply: &mut Option<P::Reply>) {
        while let Some(output) = self.cluster.poll_output() {
            if let Some(output) = self.translate(output, reply) {
                self.outputs.push_back(output);
            }
        }
    }

    /// This output for the user, if it is one.
    pub(super) fn translate(
        &mut self,
        output: Output,
        reply: &mut Option<P::Reply>,
    ) -> Option<ClientOutput<P>> {
        Some(match output {
            Output::Action(action) => ClientOutput::Action(self.translate_action(action)?),
            Output::Completion(completion) => self.complete(completion, reply),
            Output::Event(event) => ClientOutput::Event(event),
            Output::Terminated => ClientOutput::Terminated,
        })
    }

    fn translate_action(&mut self, action: Action) -> Option<ClientAction> {
        Some(match action {
            Action::Resolve { attempt, node } => ClientAction::Resolve { attempt, node },
            Action::AbortResolve { attempt } => ClientAction::AbortResolve { attempt },
            Action::Connect {
                connection,
                attempt,
                node,
                address,
            } => ClientAction::Connect {
                connection,
                attempt,
                node,
                address,
            },
            // Begun when the transport came up; its first bytes may be waiting.
            Action::Handshake { connection } => self.transmit_if_needed(connection)?,
            Action::Write {
                connection,
                request,
                serial,
            } => self.queue_write(connection, request, serial)?,
            Action::Probe { connection } => {
                let open = self.connections.get_mut(connection)?;
                self.protocol.keepalive(&mut open.state, &mut open.output);
                self.transmit_if_needed(connection)?
            }
            // Left in its queue: it is passed over when its turn comes.
            Action::Withdraw { .. } => return None,
            Action::Close { connection } => {
                self.connections.remove(connection);
                ClientAction::Close { connection }
            }
            Action::Abort { connection } => {
                self.connections.remove(connection);
                ClientAction::Abort { connection }
            }
            Action::Refresh { refresh, source } => ClientAction::Refresh { refresh, source },
            Action::Discover {
                refresh,
                connection,
                ..
            } => {
                let open = self.connections.get_mut(connection)?;
                self.protocol.discover(&mut open.state, &mut open.output);
                open.discoveries.push_back(refresh);
                self.transmit_if_needed(connection)?
            }
        })
    }

    fn transmit_if_needed(&mut self, connection: ConnectionId) -> Option<ClientAction> {
        let open = self.connections.get_mut(connection)?;
        let needed = !open.output.is_empty() && open.announce();
        needed.then_some(ClientAction::Transmit { connection })
    }

    fn queue_write(
        &mut self,
        connection: ConnectionId,
        request: RequestId,
        serial: u32,
    ) -> Option<ClientAction> {
        if self.note_ready(connection, request) {
            return None;
        }
        let open = self.connections.get_mut(connection)?;
        let now = self.cluster.now();
        let may_write = |serial| self.cluster.may_write(now, connection, serial);
        open.queue(PendingWrite { request, serial }, may_write);
        open.announce()
            .then_some(ClientAction::Transmit { connection })
    }

    fn complete(
        &mut self,
        Completion { request, result }: Completion,
        reply: &mut Option<P::Reply>,
    ) -> ClientOutput<P> {
        self.requests.remove(request);
        let mut result = result.and_then(|success| respond(success, reply));
        if let (Err(error), Some(ready)) = (&result, self.awaiting_ready.remove(request)) {
            result = Self::complete_ready(ready, *error);
        }
        ClientOutput::Completion { request, result }
    }
}

fn respond<R>(success: Success, reply: &mut Option<R>) -> Result<Response<R>, RequestError> {
    let Success {
        kind,
        node,
        attempts,
        elapsed,
        retry_refused,
        budget_exhausted,
    } = success;
    let reply = match kind {
        SuccessKind::Sent => None,
        SuccessKind::Reply => {
            let reply = reply.take();
            debug_assert!(
                reply.is_some(),
                "a reply completes its request in the call that reads it"
            );
            Some(reply.ok_or(RequestError {
                reason: Reason::Protocol,
                stage: None,
                node: Some(node),
                attempts,
                elapsed,
                certainty: Certainty::Answered,
                budget_exhausted,
            })?)
        }
    };
    Ok(Response {
        reply,
        node,
        attempts,
        elapsed,
        retry_refused,
        budget_exhausted,
    })
}
