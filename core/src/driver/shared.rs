//! What the handles and the driver share, under one lock.

use core::{mem, net::SocketAddr, task::Waker};
use std::{boxed::Box, sync::Arc as StdArc, vec::Vec};

use super::{
    feed::{ClientEvent, EventRecord, Feed, PushRecord},
    sync::{Arc, Mutex, lock},
    waiters::Waiters,
    wakeups::Wakeups,
};
use crate::{
    AttemptId, ConnectionId, Endpoint, Instant, NodeSpec, RefreshId, RequestError, SourceId,
    client::{Client, ClientAction, ClientOutput, Protocol, Response},
};

/// How a request ended.
pub(super) type Outcome<P> = Result<Response<<P as Protocol>::Reply>, RequestError>;

/// The lock and what is inside. Nothing is woken, and no system call made, while it is held.
pub(super) struct Shared<P: Protocol> {
    pub(super) state: Mutex<State<P>>,
    pub(super) wakeups: StdArc<Wakeups>,
}

pub(super) struct State<P: Protocol> {
    pub(super) client: Client<P>,
    pub(super) waiters: Waiters<Outcome<P>>,
    pub(super) events: Vec<Arc<Feed<EventRecord>>>,
    pub(super) pushes: Option<Arc<Feed<PushRecord<P::Push>>>>,
    /// Who waits for the end.
    pub(super) end: Vec<Waker>,
    /// The driver is gone.
    pub(super) ended: bool,
    /// How often handles have called the client since the driver drained it last. If they have, the
    /// driver is awake.
    calls: usize,
}

/// What came out of the client and is to be done without the lock.
#[derive(Default)]
pub(super) struct Outbox {
    pub(super) todo: Vec<Todo>,
    pub(super) wake: Vec<Waker>,
    /// How often handles have called the client since the last flush.
    pub(super) calls: usize,
    pub(super) terminated: bool,
    /// The refreshes whose answers are waited for.
    refreshes: Vec<RefreshId>,
}

/// An action with what it needs to be carried out.
pub(super) enum Todo {
    Resolve {
        attempt: AttemptId,
        host: Box<str>,
        port: u16,
    },
    AbortResolve {
        attempt: AttemptId,
    },
    Connect {
        connection: ConnectionId,
        node: NodeSpec,
        address: Option<SocketAddr>,
    },
    Transmit {
        connection: ConnectionId,
    },
    Close {
        connection: ConnectionId,
    },
    Abort {
        connection: ConnectionId,
    },
    Retrieve {
        refresh: RefreshId,
        source: SourceId,
    },
    /// The refresh is answered, too late to be answered, or not wanted any more.
    GiveUp {
        refresh: RefreshId,
    },
}

impl<P: Protocol> Shared<P> {
    pub(super) fn new(client: Client<P>) -> Self {
        let state = State {
            client,
            waiters: Waiters::new(),
            events: Vec::new(),
            pushes: None,
            end: Vec::new(),
            ended: false,
            calls: 0,
        };
        Self {
            state: Mutex::new(state),
            wakeups: StdArc::default(),
        }
    }

    /// For handles: changes the client, and leaves the outputs to the driver.
    pub(super) fn call<T>(&self, change: impl FnOnce(&mut State<P>) -> T) -> T {
        mutant!(WakesBeforeCall => self.wakeups.wake());
        let mut state = lock(&self.state);
        let result = change(&mut state);
        state.calls += 1;
        let first = state.calls == 1 && !mutant!(WakesBeforeCall);
        drop(state);
        if first {
            self.wakeups.wake();
        }
        result
    }
}

impl<P: Protocol> State<P> {
    /// For the driver, after every change: handles what is due, drains all outputs, and returns the
    /// next deadline.
    pub(super) fn settle(&mut self, now: Instant, outbox: &mut Outbox) -> Option<Instant> {
        outbox.calls += mem::take(&mut self.calls);
        self.client.handle_timeout(now);
        while let Some(output) = self.client.poll_output() {
            self.hand_out(now, output, outbox);
        }
        let Outbox {
            refreshes, todo, ..
        } = outbox;
        refreshes.retain(|&refresh| {
            let waited_for = self.client.cluster().is_refreshing(refresh);
            if !waited_for {
                todo.push(Todo::GiveUp { refresh });
            }
            waited_for
        });
        self.client.poll_timeout().map(|deadline| deadline.at)
    }

    fn hand_out(&mut self, now: Instant, output: ClientOutput<P>, outbox: &mut Outbox) {
        match output {
            ClientOutput::Completion { request, result } => {
                // A request whose future is gone has nobody to wake.
                outbox
                    .wake
                    .extend(self.waiters.complete(request, result).ok());
            }
            ClientOutput::Action(ClientAction::Refresh { refresh, source }) => {
                outbox.refreshes.push(refresh);
                outbox.todo.push(Todo::Retrieve { refresh, source });
            }
            ClientOutput::Action(action) => outbox.todo.extend(self.prepare(action)),
            ClientOutput::Push {
                node,
                connection,
                push,
            } => {
                self.pushes.take_if(|feed| Feed::is_abandoned(feed));
                if let Some(feed) = &self.pushes {
                    let record = PushRecord {
                        at: now,
                        node,
                        connection,
                        push,
                    };
                    outbox.wake.extend(feed.push(record));
                }
            }
            ClientOutput::Event(event) => self.publish(now, ClientEvent::Cluster(event), outbox),
            ClientOutput::Malformed {
                node,
                connection,
                error,
            } => {
                self.publish(
                    now,
                    ClientEvent::Malformed {
                        node,
                        connection,
                        error,
                    },
                    outbox,
                );
            }
            ClientOutput::Terminated => outbox.terminated = true,
        }
    }

    pub(super) fn publish(&mut self, at: Instant, event: ClientEvent, outbox: &mut Outbox) {
        self.events.retain(|feed| !Feed::is_abandoned(feed));
        let record = EventRecord { at, event };
        outbox.wake.extend(
            self.events
                .iter()
                .filter_map(|feed| feed.push(record.clone())),
        );
    }

    /// Adds the names, which can be read now and perhaps not later.
    fn prepare(&self, action: ClientAction) -> Option<Todo> {
        let spec = |node| self.client.cluster().spec(node);
        Some(match action {
            ClientAction::Resolve { attempt, node } => match &spec(node)?.endpoint {
                Endpoint::Name { host, port } => Todo::Resolve {
                    attempt,
                    host: host.clone(),
                    port: *port,
                },
                Endpoint::Address(_) | Endpoint::Opaque(_) => return None,
            },
            ClientAction::Connect {
                connection,
                node,
                address,
                ..
            } => Todo::Connect {
                connection,
                node: spec(node)?.clone(),
                address,
            },
            ClientAction::AbortResolve { attempt } => Todo::AbortResolve { attempt },
            ClientAction::Transmit { connection } => Todo::Transmit { connection },
            ClientAction::Close { connection } => Todo::Close { connection },
            ClientAction::Abort { connection } => Todo::Abort { connection },
            ClientAction::Refresh { .. } => return None,
        })
    }

    /// The driver is gone: whoever still waits is told so.
    pub(super) fn end(&mut self, closed: RequestError, wake: &mut Vec<Waker>) {
        self.ended = true;
        self.waiters.complete_all(|| Err(closed), wake);
        wake.extend(self.events.drain(..).filter_map(|feed| feed.end()));
        wake.extend(self.pushes.take().and_then(|feed| feed.end()));
        wake.append(&mut self.end);
    }
}
