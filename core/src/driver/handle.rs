//! The handle: what an application holds.

use core::{fmt, future::poll_fn, task::Poll, time::Duration};
use std::vec::Vec;

use super::{
    Builder, Error, Events, Pushes, Request, ResponseFuture, Runtime, ServersError, builder,
    feed::Feed,
    shared::Shared,
    sync::{Arc, lock},
};
use crate::{
    Endpoint, Hint, Instant, NodeId, NodeSnapshot, NodeSpec, RequestOptions, SetNodesError,
    ShutdownError, Snapshot, Stats, client::Protocol,
};

/// A client of a clustered service: cheap to clone, the same on every runtime.
///
/// An adapter has an alias with its runtime filled in, such as `redial_tokio::Client<P>`.
///
/// When the last clone, and the last future of a request, is dropped, everything is closed at once;
/// [`shutdown`](Self::shutdown) lets requests finish first.
///
/// The destructors of a request, a reply and a push may run under the client's lock: they must not
/// call the client.
pub struct Handle<P: Protocol, R: Runtime> {
    pub(super) inner: Arc<Inner<P, R>>,
}

pub(super) struct Inner<P: Protocol, R: Runtime> {
    pub(super) shared: Arc<Shared<P>>,
    pub(super) runtime: R,
}

impl<P: Protocol, R: Runtime> Handle<P, R> {
    /// Begins to build a client that speaks this protocol.
    pub fn builder(protocol: P) -> Builder<P, R> {
        Builder::new(protocol)
    }

    pub(super) fn new(shared: Arc<Shared<P>>, runtime: R) -> Self {
        Self {
            inner: Arc::new(Inner { shared, runtime }),
        }
    }

    /// A request: say more about it, then `.await` it. It is submitted when it is first polled, and
    /// its timeouts count from then. Dropping its future cancels it.
    pub fn request(&self, request: P::Request) -> Request<P, R> {
        Request::new(Arc::clone(&self.inner), request)
    }

    /// Waits until a request for any node could be written, dialling as for a request, and returns
    /// the node that would get it. Statistics count it as a request that was cancelled.
    ///
    /// # Errors
    ///
    /// As a request: [`Reason::Timeout`](crate::Reason::Timeout) after `timeout`.
    pub fn ready(
        &self,
        timeout: Duration,
    ) -> impl Future<Output = Result<NodeId, Error>> + use<P, R> {
        let options = RequestOptions::new().timeout(timeout);
        let response = ResponseFuture::ready(Arc::clone(&self.inner), options);
        async { Ok(response.await?.node) }
    }

    /// Replaces the server list, given as `host:port,host:port`. Nodes that stay keep their
    /// connections.
    ///
    /// # Errors
    ///
    /// [`ServersError`]; the old list stays.
    pub fn set_servers(&self, servers: &str) -> Result<(), ServersError> {
        Ok(self.set_nodes(&builder::parse(servers)?)?)
    }

    /// Replaces the application's server list; those of [sources](Builder::source) stay in force beside
    /// it (SEMANTICS 7.2). Nodes that stay keep their connections (SEMANTICS 7.6).
    ///
    /// # Errors
    ///
    /// [`SetNodesError`]; the old list stays.
    pub fn set_nodes(&self, nodes: &[NodeSpec]) -> Result<(), SetNodesError> {
        let Inner { shared, runtime } = &*self.inner;
        shared.call(|state| state.client.set_nodes(runtime.now(), nodes))
    }

    /// Replaces the list of fallback servers, which join when all others have failed (SEMANTICS 7.9).
    /// The lists of fallback sources stay.
    ///
    /// # Errors
    ///
    /// [`SetNodesError`], also for an empty list; the old list stays.
    pub fn set_fallback(&self, nodes: &[NodeSpec]) -> Result<(), SetNodesError> {
        let Inner { shared, runtime } = &*self.inner;
        shared.call(|state| state.client.set_fallback(runtime.now(), nodes))
    }

    /// Says what was learned elsewhere: another network, a node that is up or down (SEMANTICS 8.5).
    pub fn hint(&self, hint: Hint) {
        let Inner { shared, runtime } = &*self.inner;
        shared.call(|state| {
            if !state.ended {
                state.client.hint(runtime.now(), hint);
            }
        });
    }

    /// What happens from now on. Every receiver gets every event. It costs nothing while nobody
    /// listens.
    #[must_use]
    pub fn events(&self) -> Events {
        let (feed, receiver) = Feed::new();
        let mut state = lock(&self.inner.shared.state);
        if state.ended && !mutant!(FeedsPastEnd) {
            let _ = feed.end();
        }
        state.events.push(feed);
        receiver
    }

    /// What servers send unasked, from now on. There is one receiver: a new one takes over, and the
    /// earlier one ends. Without a receiver pushes are dropped.
    #[must_use]
    pub fn pushes(&self) -> Pushes<P::Push> {
        let (feed, receiver) = Feed::new();
        let mut state = lock(&self.inner.shared.state);
        if state.ended {
            let _ = feed.end();
        }
        let earlier = state.pushes.replace(feed);
        drop(state);
        if let Some(waker) = earlier.and_then(|feed| feed.end()) {
            waker.wake();
        }
        receiver
    }

    /// A node as it is now, `None` if it has left the list.
    #[must_use]
    pub fn node(&self, node: NodeId) -> Option<NodeSnapshot> {
        let state = lock(&self.inner.shared.state);
        state.client.cluster().node_snapshot(node)
    }

    /// All nodes of the list as they are now.
    #[must_use]
    pub fn nodes(&self) -> Vec<NodeSnapshot> {
        self.snapshot().nodes
    }

    /// All that can be seen now: counters, gauges and nodes.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let state = lock(&self.inner.shared.state);
        state.client.cluster().snapshot()
    }

    /// The node at this endpoint.
    #[must_use]
    pub fn find(&self, endpoint: &Endpoint) -> Option<NodeId> {
        lock(&self.inner.shared.state)
            .client
            .cluster()
            .find(endpoint)
    }

    /// The node with this key.
    #[must_use]
    pub fn find_key(&self, key: &str) -> Option<NodeId> {
        lock(&self.inner.shared.state)
            .client
            .cluster()
            .find_key(key)
    }

    /// Counters and gauges.
    #[must_use]
    pub fn stats(&self) -> Stats {
        lock(&self.inner.shared.state).client.cluster().stats()
    }

    /// This moment, by the clock that events are dated with.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.inner.runtime.now()
    }

    /// Ends the client: new requests and those not yet written fail as closed, the others may finish
    /// within `drain`. Returns when all is closed. Begins at once, not at the first poll.
    ///
    /// A second call can shorten the drain.
    ///
    /// # Errors
    ///
    /// [`ShutdownError`] for a drain that would never end.
    pub fn shutdown(
        &self,
        drain: Duration,
    ) -> impl Future<Output = Result<(), ShutdownError>> + use<P, R> {
        let Inner { shared, runtime } = &*self.inner;
        let begun = shared.call(|state| state.client.shutdown(runtime.now(), drain));
        let shared = Arc::clone(shared);
        async move {
            begun?;
            poll_fn(|cx| {
                let mut state = lock(&shared.state);
                if state.ended && !mutant!(AwaitsPastEnd) {
                    return Poll::Ready(());
                }
                if !state.end.iter().any(|waker| waker.will_wake(cx.waker())) {
                    state.end.push(cx.waker().clone());
                }
                Poll::Pending
            })
            .await;
            Ok(())
        }
    }
}

impl<P: Protocol, R: Runtime> Clone for Handle<P, R> {
    fn clone(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
        }
    }
}

impl<P: Protocol, R: Runtime> fmt::Debug for Handle<P, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle")
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

/// The last handle is gone.
impl<P: Protocol, R: Runtime> Drop for Inner<P, R> {
    fn drop(&mut self) {
        let _ = self.shared.call(|state| match state.ended {
            // Perhaps by a panic in the client, which then must not be called again.
            true => Ok(()),
            // Zero is never too long.
            false => state.client.shutdown(self.runtime.now(), Duration::ZERO),
        });
    }
}
