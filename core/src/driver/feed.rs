//! Bounded queues from the driver to whoever listens: events and pushes.

use core::{
    future::poll_fn,
    mem,
    task::{Context, Poll, Waker},
};
use std::collections::VecDeque;

use super::{
    SourceError,
    sync::{Arc, Mutex, lock},
};
use crate::{ConnectionId, Event, Instant, NodeId, SourceId, client::Malformed};

/// How many items wait for a receiver; then the oldest is dropped and counted (SEMANTICS 10.1).
const CAPACITY: usize = 4096;

/// Receives [events](super::Handle::events).
pub type Events = Receiver<EventRecord>;

/// Receives what the servers send unasked: [`Handle::pushes`](super::Handle::pushes).
pub type Pushes<U> = Receiver<PushRecord<U>>;

/// Something that happened, and when.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct EventRecord {
    /// When, by the runtime's clock: [`Handle::now`](super::Handle::now).
    pub at: Instant,
    /// What.
    pub event: ClientEvent,
}

/// What happened.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ClientEvent {
    /// In the cluster.
    Cluster(Event),
    /// The bytes of a connection are not the protocol's; it ends.
    Malformed {
        /// Which node sent them.
        node: NodeId,
        /// On which connection.
        connection: ConnectionId,
        /// What is wrong with them.
        error: Malformed,
    },
    /// A source gave no server list, so the list stays as it is. The core's
    /// [`Refreshed`](Event::Refreshed), which does not say why, follows.
    SourceFailed {
        /// Which.
        source: SourceId,
        /// Why.
        error: SourceError,
    },
}

/// Something that a server sent unasked.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct PushRecord<U> {
    /// When it was read, by the runtime's clock.
    pub at: Instant,
    /// Which server.
    pub node: NodeId,
    /// On which connection.
    pub connection: ConnectionId,
    /// What.
    pub push: U,
}

/// Receives items in order. At most 4,096 wait; then the oldest is dropped and counted, so that a
/// receiver that is never read costs no more than that.
#[derive(Debug)]
pub struct Receiver<T> {
    feed: Arc<Feed<T>>,
}

impl<T> Receiver<T> {
    /// The next item; `None` when the client has ended and everything was received. Cancel safe.
    pub async fn next(&mut self) -> Option<T> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// [`next`](Self::next) for hand-written futures and streams.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let waker = cx.waker().clone();
        let mut inner = lock(&self.feed.inner);
        if let Some(item) = inner.items.pop_front() {
            return Poll::Ready(Some(item));
        }
        if inner.ended {
            return Poll::Ready(None);
        }
        mutant!(SleepsUnlocked => {
            drop(inner);
            inner = lock(&self.feed.inner);
        });
        let old = inner.waker.replace(waker);
        drop(inner);
        drop(old);
        Poll::Pending
    }

    /// How many items were dropped because too many waited.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        lock(&self.feed.inner).dropped
    }
}

/// The driver's end.
#[derive(Debug)]
pub(super) struct Feed<T> {
    inner: Mutex<Inner<T>>,
}

#[derive(Debug)]
struct Inner<T> {
    items: VecDeque<T>,
    dropped: u64,
    ended: bool,
    waker: Option<Waker>,
}

impl<T> Feed<T> {
    /// A feed and its receiver.
    pub(super) fn new() -> (Arc<Self>, Receiver<T>) {
        let inner = Inner {
            items: VecDeque::new(),
            dropped: 0,
            ended: false,
            waker: None,
        };
        let feed = Arc::new(Self {
            inner: Mutex::new(inner),
        });
        (Arc::clone(&feed), Receiver { feed })
    }

    /// Whether the receiver is gone.
    pub(super) fn is_abandoned(this: &Arc<Self>) -> bool {
        Arc::strong_count(this) == 1
    }

    /// Adds an item. Returns whom to wake.
    #[must_use]
    pub(super) fn push(&self, item: T) -> Option<Waker> {
        let mut inner = lock(&self.inner);
        if inner.items.len() == CAPACITY {
            inner.items.pop_front();
            inner.dropped += 1;
        }
        inner.items.push_back(item);
        inner.waker.take()
    }

    /// Nothing more will come. Returns whom to wake.
    #[must_use]
    pub(super) fn end(&self) -> Option<Waker> {
        let mut inner = lock(&self.inner);
        inner.ended = true;
        mem::take(&mut inner.waker)
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    fn drain(receiver: &mut Receiver<usize>) -> Vec<Option<usize>> {
        let mut cx = Context::from_waker(Waker::noop());
        let mut items = Vec::new();
        while let Poll::Ready(item) = receiver.poll_next(&mut cx) {
            items.push(item);
            if item.is_none() {
                break;
            }
        }
        items
    }

    #[test]
    fn the_oldest_items_are_dropped_and_counted() {
        let (feed, mut receiver) = Feed::new();
        for item in 0..CAPACITY + 2 {
            assert!(feed.push(item).is_none());
        }
        let items = drain(&mut receiver);
        assert_eq!((items.len(), items[0]), (CAPACITY, Some(2)));
        assert_eq!(receiver.dropped(), 2);
    }

    #[test]
    fn what_waits_is_received_after_the_end() {
        let (feed, mut receiver) = Feed::new();
        assert!(feed.push(1).is_none());
        assert!(feed.end().is_none());
        assert_eq!(drain(&mut receiver), [Some(1), None]);
    }

    #[test]
    fn a_waiting_receiver_is_woken_once() {
        let (feed, mut receiver) = Feed::new();
        assert_eq!(drain(&mut receiver), []);
        assert!(feed.push(1).is_some());
        assert!(feed.push(2).is_none());
    }

    #[test]
    fn a_dropped_receiver_is_noticed() {
        let (feed, receiver) = Feed::<usize>::new();
        assert!(!Feed::is_abandoned(&feed));
        drop(receiver);
        assert!(Feed::is_abandoned(&feed));
    }
}
