//! The driver: the one task that owns the sockets and the timer.

use core::{
    future::Future,
    mem,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll, Waker},
};
use std::{boxed::Box, collections::VecDeque, io, sync::Arc as StdArc, vec, vec::Vec};

use super::{
    access::Access,
    connection::{Connection, Turn},
    retrieval::ListSource,
    runtime::{Runtime, Timer},
    shared::{Shared, Todo},
    source::ServerSource,
    sync::Arc,
    wakeups::{Source, SourceWaker},
};
use crate::{
    AttemptId, Instant, SourceId,
    client::{Protocol, TransportInput},
};

/// How many turns of sources, or expiries of the timer, one poll serves before it lets other tasks
/// run.
const BUDGET: usize = 32;

/// With so many calls of handles a flush waits for no more.
const ENOUGH: usize = 512;

/// For one read or one write. As much as a connection may have handed over and not accepted.
const BUFFER: usize = 64 * 1024;

/// The future that a runtime runs.
pub(super) struct Driver<P: Protocol, R: Runtime> {
    access: Access<P, R>,
    timer: R::Timer,
    /// When the timer will wake us, unless it has.
    armed: Option<Instant>,
    resolves: Vec<Option<Resolve>>,
    connections: Vec<Option<Connection<R::Stream>>>,
    /// By `SourceId::index`; none where the cluster itself answers.
    lists: Vec<Option<ListSource>>,
    ready: VecDeque<Source>,
    /// A connection has something new to send.
    fresh: bool,
    /// Other tasks had their turn to add to it.
    yielded: bool,
    buffer: Box<[u8]>,
}

struct Resolve {
    attempt: AttemptId,
    future: Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send>>,
    source: StdArc<SourceWaker>,
}

impl<P: Protocol, R: Runtime> Driver<P, R> {
    pub(super) fn new(
        shared: Arc<Shared<P>>,
        runtime: R,
        sources: Vec<(SourceId, Box<dyn ServerSource>)>,
    ) -> Self {
        let mut lists = Vec::new();
        for (id, source) in sources {
            let list = ListSource::new(id, source, &shared.wakeups);
            put(&mut lists, id.index(), list);
        }
        Self {
            lists,
            timer: runtime.timer(),
            access: Access::new(shared, runtime),
            armed: None,
            resolves: Vec::new(),
            connections: Vec::new(),
            ready: VecDeque::new(),
            fresh: false,
            yielded: false,
            buffer: vec![0; BUFFER].into(),
        }
    }
}

/// Nothing in it is pinned but what is boxed.
impl<P: Protocol, R: Runtime> Unpin for Driver<P, R> {}

impl<P: Protocol, R: Runtime> Future for Driver<P, R> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        if !mutant!(RegistersLate) {
            this.access.shared.wakeups.register(cx.waker());
        }
        this.access.settle();
        mutant!(RegistersLate => this.access.shared.wakeups.register(cx.waker()));
        let mut budget = BUDGET;
        while budget > 0 {
            this.act();
            if this.access.outbox.terminated {
                return Poll::Ready(());
            }
            this.access.shared.wakeups.take_ready(&mut this.ready);
            if this.ready.is_empty() {
                if this.poll_timer(cx).is_pending() {
                    return Poll::Pending;
                }
                budget -= 1;
                this.access.settle();
            } else if this.waits_for_more() {
                break;
            }
            let round = this.ready.len().min(budget);
            budget -= round;
            for _ in 0..round {
                this.poll_next_source();
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl<P: Protocol, R: Runtime> Driver<P, R> {
    /// Whether to let the other tasks run once before the flush: only while requests other than the
    /// one to be sent are open, for else there is nobody who could add to it; and not if there is
    /// enough to send, so that the peer is at work while the rest gathers.
    fn waits_for_more(&mut self) -> bool {
        let others = self.access.waiting > 1 && self.access.outbox.calls < ENOUGH;
        let wait = mem::take(&mut self.fresh) && others && !self.yielded;
        if !wait {
            self.access.outbox.calls = 0;
        }
        self.yielded = wait;
        wait
    }

    /// Ready when it is time to look at the clock. A deadline that has moved away leaves the timer
    /// alone: one idle wake-up costs less than setting it anew for every request.
    fn poll_timer(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(deadline) = self.access.deadline else {
            return Poll::Pending;
        };
        if self.armed.is_none_or(|armed| deadline < armed) {
            self.timer.set(deadline);
            self.armed = Some(deadline);
        }
        let polled = self.timer.poll(cx);
        if polled.is_ready() {
            self.armed = None;
        }
        polled
    }

    fn poll_next_source(&mut self) {
        let Some(source) = self.ready.pop_front() else {
            return;
        };
        let turn = match source {
            Source::Resolve(index) => match self.resolves.get_mut(index) {
                Some(Some(resolve)) => resolve.poll(&mut self.access),
                _ => Turn::Wait,
            },
            Source::Connection(index) => match self.connections.get_mut(index) {
                Some(Some(connection)) => connection.poll(&mut self.access, &mut self.buffer),
                _ => Turn::Wait,
            },
            Source::List(index) => match self.lists.get_mut(index) {
                Some(Some(list)) => list.poll(&mut self.access),
                _ => Turn::Wait,
            },
        };
        match (turn, source) {
            (Turn::Wait, _) | (Turn::Gone, Source::List(_)) => {}
            (Turn::Again, _) => self.ready.push_back(source),
            (Turn::Gone, Source::Resolve(index)) => self.resolves[index] = None,
            (Turn::Gone, Source::Connection(index)) => self.connections[index] = None,
        }
    }

    /// Carries out what the client wants.
    fn act(&mut self) {
        let mut todo = mem::take(&mut self.access.outbox.todo);
        for todo in todo.drain(..) {
            self.carry_out(todo);
        }
        // Keeps the allocation.
        self.access.outbox.todo = todo;
    }

    fn carry_out(&mut self, todo: Todo) {
        let wakeups = &self.access.shared.wakeups;
        match todo {
            Todo::Transmit { connection } => {
                if let Some(Some(c)) = self.connections.get_mut(connection.index())
                    && c.id == connection
                {
                    c.transmit();
                    self.fresh = true;
                    self.ready.push_back(Source::Connection(connection.index()));
                }
            }
            Todo::Resolve {
                attempt,
                host,
                port,
            } => {
                let source = Source::Resolve(attempt.index());
                let resolve = Resolve {
                    attempt,
                    future: Box::pin(self.access.runtime.resolve(&host, port)),
                    source: wakeups.source(source),
                };
                put(&mut self.resolves, attempt.index(), resolve);
                self.ready.push_back(source);
            }
            Todo::AbortResolve { attempt } => {
                take(&mut self.resolves, attempt.index(), |resolve| {
                    resolve.attempt == attempt
                });
            }
            Todo::Connect {
                connection,
                node,
                address,
            } => {
                let source = Source::Connection(connection.index());
                let connect = self.access.runtime.connect(&node, address);
                let entry = Connection::new(connection, connect, wakeups.source(source));
                put(&mut self.connections, connection.index(), entry);
                self.ready.push_back(source);
            }
            Todo::Close { connection } | Todo::Abort { connection } => {
                let entry = take(&mut self.connections, connection.index(), |c| {
                    c.id == connection
                });
                if let Some(entry) = entry {
                    entry.close();
                }
            }
            Todo::Retrieve { refresh, source } => {
                if let Some(Some(list)) = self.lists.get_mut(source.index()) {
                    list.retrieve(refresh);
                    self.ready.push_back(Source::List(source.index()));
                }
            }
            Todo::GiveUp { refresh } => {
                for list in self.lists.iter_mut().flatten() {
                    list.give_up(refresh);
                }
            }
        }
    }
}

impl Resolve {
    fn poll<P: Protocol, R: Runtime>(&mut self, access: &mut Access<P, R>) -> Turn {
        self.source.take_listed();
        let waker = Waker::from(StdArc::clone(&self.source));
        let Poll::Ready(result) = self.future.as_mut().poll(&mut Context::from_waker(&waker))
        else {
            return Turn::Wait;
        };
        let attempt = self.attempt;
        match result {
            Ok(addresses) => access.with(|client, now| client.resolved(now, attempt, &addresses)),
            Err(_) => access.input(TransportInput::ResolveFailed { attempt }),
        }
        Turn::Gone
    }
}

fn put<T>(table: &mut Vec<Option<T>>, index: usize, entry: T) {
    if table.len() <= index {
        table.resize_with(index + 1, || None);
    }
    table[index] = Some(entry);
}

fn take<T>(table: &mut [Option<T>], index: usize, is_it: impl Fn(&T) -> bool) -> Option<T> {
    table.get_mut(index)?.take_if(|entry| is_it(entry))
}
