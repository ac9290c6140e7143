//! A client under test, and the events that it gives out.

use std::{fmt, ops::Deref, time::Duration};

use redial::{
    Cause, Config, Event, NodeId, NodeSpec, RequestError, Stage,
    client::{Response, length_prefixed::LengthPrefixed},
    driver::{Builder, ClientEvent, Error, Events, Handle, Runtime},
};

use crate::{
    site::{Node, specs},
    wait::soon,
};

/// A client: its handle and its events.
pub(crate) struct Client<R: Runtime> {
    handle: Handle<LengthPrefixed, R>,
    events: Events,
    runtime: R,
}

/// How an attempt failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FailedAttempt {
    /// How far it had come.
    pub(crate) stage: Stage,
    pub(crate) cause: Cause,
    /// How long it took.
    pub(crate) duration: Duration,
}

impl<R: Runtime> Deref for Client<R> {
    type Target = Handle<LengthPrefixed, R>;

    fn deref(&self) -> &Self::Target {
        &self.handle
    }
}

impl<R: Runtime> Client<R> {
    pub(crate) fn new(builder: Builder<LengthPrefixed, R>, runtime: R) -> Self {
        let handle = builder
            .runtime(runtime.clone())
            .build()
            .expect("what was said is correct");
        let events = handle.events();
        Self {
            handle,
            events,
            runtime,
        }
    }

    /// A client on this runtime.
    pub(crate) fn on(runtime: R, config: Config, nodes: Vec<NodeSpec>) -> Self {
        let builder = Handle::builder(LengthPrefixed::new());
        Self::new(builder.config(config).nodes(nodes).seed(1), runtime)
    }

    /// A second handle.
    pub(crate) fn handle(&self) -> Handle<LengthPrefixed, R> {
        self.handle.clone()
    }

    /// The id of a node of the list.
    pub(crate) fn id(&self, node: &Node) -> NodeId {
        self.find(node.endpoint()).expect("it is in the list")
    }

    /// Replaces the list by these nodes.
    pub(crate) fn list<'a>(&self, nodes: impl IntoIterator<Item = &'a Node>) {
        self.set_nodes(&specs(nodes)).expect("a valid list");
    }

    /// Sends one request, which any node may answer and which may be repeated, and sees it echoed.
    pub(crate) async fn assert_echoes(&self, payload: &'static str) {
        let request = self.request(payload.into()).idempotent();
        assert_echoed(soon(self.runtime.clone(), request).await, payload);
    }

    /// How the next attempt at this node fails.
    pub(crate) async fn failed_attempt(&mut self, at: &Node) -> FailedAttempt {
        let id = self.id(at);
        loop {
            if let Event::AttemptEnded {
                node,
                stage,
                duration,
                cause: Some(cause),
                ..
            } = self.event().await
                && node == id
            {
                return FailedAttempt {
                    stage,
                    cause,
                    duration,
                };
            }
        }
    }

    /// Why the next connection to this node ends that was up.
    pub(crate) async fn disconnected(&mut self, from: &Node) -> Cause {
        let id = self.id(from);
        loop {
            if let Event::Disconnected { node, cause, .. } = self.event().await
                && node == id
            {
                return cause;
            }
        }
    }

    /// What happens next in the cluster.
    pub(crate) async fn event(&mut self) -> Event {
        loop {
            let record = soon(self.runtime.clone(), self.events.next()).await;
            let record = record.expect("the client has not ended");
            if let ClientEvent::Cluster(event) = record.event {
                return event;
            }
        }
    }
}

/// How a request failed that was accepted.
pub(crate) fn failure<T: fmt::Debug>(result: Result<T, Error>) -> RequestError {
    match result {
        Err(Error::Request(error)) => error,
        other => panic!("a failure of the request was expected: {other:?}"),
    }
}

/// The request has come back.
pub(crate) fn assert_echoed(
    result: Result<Response<bytes::Bytes>, Error>,
    payload: impl AsRef<[u8]>,
) -> Response<bytes::Bytes> {
    let response = result.expect("an answer");
    assert_eq!(response.reply.as_deref(), Some(payload.as_ref()));
    response
}
