//! The driver's access to the client.

use core::{task::Waker, time::Duration};

use super::{
    feed::ClientEvent,
    runtime::Runtime,
    shared::{Outbox, Shared, State},
    source::SourceError,
    sync::{Arc, lock},
};
use crate::{
    Certainty, Instant, Reason, RefreshId, RequestError, SourceId,
    client::{Client, Protocol, TransportInput},
};

/// Changes the client and keeps what comes out of it.
pub(super) struct Access<P: Protocol, R: Runtime> {
    pub(super) shared: Arc<Shared<P>>,
    pub(super) runtime: R,
    pub(super) outbox: Outbox,
    /// When the client must be called again.
    pub(super) deadline: Option<Instant>,
    /// How many requests are waited for.
    pub(super) waiting: usize,
    /// A call has not returned: the user's protocol panicked.
    panicked: bool,
}

impl<P: Protocol, R: Runtime> Access<P, R> {
    pub(super) fn new(shared: Arc<Shared<P>>, runtime: R) -> Self {
        Self {
            shared,
            runtime,
            outbox: Outbox::default(),
            deadline: None,
            waiting: 0,
            panicked: false,
        }
    }

    /// Makes this change; then handles what is due by the clock, drains all outputs and reads the
    /// deadline.
    pub(super) fn with<T>(&mut self, change: impl FnOnce(&mut Client<P>, Instant) -> T) -> T {
        self.with_state(|state, now, _| change(&mut state.client, now))
    }

    fn with_state<T>(
        &mut self,
        change: impl FnOnce(&mut State<P>, Instant, &mut Outbox) -> T,
    ) -> T {
        self.panicked = true;
        let mut state = lock(&self.shared.state);
        let now = self.runtime.now();
        let result = change(&mut state, now, &mut self.outbox);
        self.deadline = state.settle(now, &mut self.outbox);
        self.waiting = state.waiters.waiting();
        drop(state);
        self.panicked = false;
        self.outbox.wake.drain(..).for_each(Waker::wake);
        result
    }

    pub(super) fn input(&mut self, input: TransportInput) {
        self.with(|client, now| client.handle_input(now, input));
    }

    /// A source of server lists gave none; the listeners learn why.
    pub(super) fn refresh_failed(
        &mut self,
        refresh: RefreshId,
        source: SourceId,
        error: &SourceError,
    ) {
        self.with_state(|state, now, outbox| {
            let error = error.clone();
            let event = ClientEvent::SourceFailed { source, error };
            state.publish(now, event, outbox);
            state.client.refresh_failed(now, refresh);
        });
    }

    /// Does what is due and takes up what the handles have changed.
    pub(super) fn settle(&mut self) {
        self.with(|_, _| ());
    }
}

/// The driver has ended, its runtime has dropped it, or it panicked: nobody may wait for ever.
impl<P: Protocol, R: Runtime> Drop for Access<P, R> {
    fn drop(&mut self) {
        if !self.outbox.terminated && !self.panicked {
            // Each request learns what is known of its fate. Zero is never too long.
            let _ = self.with(|client, now| client.shutdown(now, Duration::ZERO));
        }
        let closed = RequestError {
            reason: Reason::Closed,
            stage: None,
            node: None,
            attempts: 0,
            elapsed: Duration::ZERO,
            certainty: Certainty::PossiblyWritten,
            budget_exhausted: false,
        };
        lock(&self.shared.state).end(closed, &mut self.outbox.wake);
        self.outbox.wake.drain(..).for_each(Waker::wake);
    }
}
