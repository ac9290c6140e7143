//! The driver's side of a source of server lists.

use core::{
    mem,
    task::{Context, Poll, Waker},
};
use std::{boxed::Box, sync::Arc};

use super::{
    access::Access,
    connection::Turn,
    runtime::Runtime,
    source::{Changed, Retrieval, ServerSource},
    wakeups::{Source, SourceWaker, Wakeups},
};
use crate::{Hint, RefreshId, SourceId, client::Protocol};

/// A source and what is asked of it.
pub(super) struct ListSource {
    id: SourceId,
    source: Box<dyn ServerSource>,
    /// The refresh under way.
    retrieval: Option<(RefreshId, Retrieval)>,
    /// From the first retrieval on, until it has told of a change; then from the next retrieval on.
    changed: Option<Changed>,
    waker: Arc<SourceWaker>,
}

impl ListSource {
    pub(super) fn new(id: SourceId, source: Box<dyn ServerSource>, wakeups: &Arc<Wakeups>) -> Self {
        Self {
            id,
            source,
            retrieval: None,
            changed: None,
            waker: wakeups.source(Source::List(id.index())),
        }
    }

    /// Begins a retrieval, after which it must be polled.
    pub(super) fn retrieve(&mut self, refresh: RefreshId) {
        let source = &self.source;
        self.retrieval = None;
        self.changed.get_or_insert_with(|| source.changed());
        self.retrieval = Some((refresh, source.retrieve()));
    }

    /// Nobody waits for this refresh any more.
    pub(super) fn give_up(&mut self, refresh: RefreshId) {
        self.retrieval
            .take_if(|(under_way, _)| *under_way == refresh);
    }

    pub(super) fn poll<P: Protocol, R: Runtime>(&mut self, access: &mut Access<P, R>) -> Turn {
        self.waker.take_listed();
        let waker = Waker::from(Arc::clone(&self.waker));
        let mut cx = Context::from_waker(&waker);
        // First the change: it is older than the answer that comes now.
        if let Some(changed) = &mut self.changed
            && changed.as_mut().poll(&mut cx).is_ready()
        {
            self.changed = None;
            let hint = Hint::SourceChanged(self.id);
            access.with(|client, now| client.hint(now, hint));
        }
        let Some((refresh, retrieval)) = &mut self.retrieval else {
            return Turn::Wait;
        };
        let refresh = *refresh;
        if let Poll::Ready(answer) = retrieval.as_mut().poll(&mut cx) {
            drop(mem::take(&mut self.retrieval));
            match answer {
                Ok(list) => access.with(|client, now| {
                    client.refreshed(now, refresh, list.version, &list.nodes);
                }),
                Err(error) => access.refresh_failed(refresh, self.id, &error),
            }
        }
        Turn::Wait
    }
}
