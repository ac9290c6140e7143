//! Waiting until a request could be written, without one.

use super::{Client, Protocol, Response};
use crate::{
    ConnectionId, Instant, NodeId, Reason, RequestError, RequestId, RequestOptions, SubmitError,
};

impl<P: Protocol> Client<P> {
    /// Waits as a request would, its place in the queue, its timeout and the nodes that are dialled
    /// for it included, but sends nothing: it completes as a [`Response`] without reply, of the
    /// first node that could have taken it.
    ///
    /// # Errors
    ///
    /// As [`submit`](Self::submit).
    pub fn await_ready(
        &mut self,
        now: Instant,
        options: RequestOptions,
    ) -> Result<RequestId, SubmitError> {
        let request = self.cluster.submit(now, options)?;
        self.awaiting_ready.insert(request, None);
        Ok(request)
    }

    /// If this Write is for nothing but to know that it is possible: notes the node and gives the
    /// slot back.
    pub(super) fn note_ready(&mut self, connection: ConnectionId, request: RequestId) -> bool {
        let Some(ready) = self.awaiting_ready.get_mut(request) else {
            return false;
        };
        *ready = self.cluster.connection(connection).map(|view| view.node);
        self.cluster.cancel(self.cluster.now(), request);
        true
    }

    /// How a request that waited for readiness ends, where `ready` is the node that was found.
    pub(super) fn complete_ready(
        ready: Option<NodeId>,
        error: RequestError,
    ) -> Result<Response<P::Reply>, RequestError> {
        match ready {
            Some(node) if error.reason == Reason::Cancelled => Ok(Response {
                reply: None,
                node,
                attempts: 0,
                elapsed: error.elapsed,
                retry_refused: false,
                budget_exhausted: false,
            }),
            _ => Err(error),
        }
    }
}
