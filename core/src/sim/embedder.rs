//! A client in the simulated world: what a loop around [`Client`] does, on virtual time.

use core::mem;
use std::{boxed::Box, string::String, vec::Vec};

use super::{
    workload::{App, Workload},
    world::{LinkId, Notice, World, listed_by_address, listed_by_name},
};
use crate::{
    AttemptId, CloseError, ConnectionId, Endpoint, Instant, NodeSpec, RefreshId, RequestError,
    client::{Client, ClientAction, ClientOutput, Protocol, Response, TransportInput},
};

/// So many requests may complete within the call at the instant at which they were submitted: an
/// application that replaces each of them would never come to an end.
const MAX_AT_ONCE: u32 = 100_000;

/// For a workload's time; all other tags are those of the client's deadline.
const WORKLOAD: u64 = u64::MAX;

/// A client, and its hold on the world.
pub(super) struct Embedder<P: Protocol> {
    number: u32,
    client: Client<P>,
    workload: Box<dyn Workload<P>>,
    named: bool,
    /// Whether servers that join or leave the list are told by the application.
    lists: bool,
    links: Vec<(ConnectionId, LinkId)>,
    /// Look-ups and retrievals under way, by tag.
    resolves: Vec<(u64, AttemptId)>,
    refreshes: Vec<(u64, RefreshId)>,
    tags: u64,
    /// When the world will wake it.
    armed: Option<Instant>,
    is_over: bool,
    end: End,
    /// Requests that were completed, if that is of interest.
    done: Option<Vec<Done<P::Reply>>>,
    /// Time does not go on: see [`MAX_AT_ONCE`].
    pub(super) is_stuck: bool,
    /// What must not happen has happened.
    pub(super) failure: Option<String>,
}

/// A request that is complete.
pub(super) struct Done<R> {
    pub(super) submitted: Instant,
    pub(super) completed: Instant,
    pub(super) result: Result<Response<R>, RequestError>,
}

/// Whether it has ended, and whether that is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    NotYet,
    New,
    Known,
}

impl<P: Protocol> Embedder<P> {
    pub(super) fn new(
        number: u32,
        client: Client<P>,
        workload: Box<dyn Workload<P>>,
        named: bool,
        lists: bool,
    ) -> Self {
        Self {
            number,
            client,
            workload,
            named,
            lists,
            links: Vec::new(),
            resolves: Vec::new(),
            refreshes: Vec::new(),
            tags: 0,
            armed: None,
            is_over: false,
            end: End::NotYet,
            done: None,
            is_stuck: false,
            failure: None,
        }
    }

    pub(super) const fn client(&self) -> &Client<P> {
        &self.client
    }

    pub(super) fn keep_outcomes(&mut self) {
        self.done = Some(Vec::new());
    }

    pub(super) fn take_outcomes(&mut self) -> Vec<Done<P::Reply>> {
        self.done.as_mut().map(mem::take).unwrap_or_default()
    }

    /// Whether it is being shut down, or was.
    pub(super) const fn is_over(&self) -> bool {
        self.is_over
    }

    pub(super) fn has_ended(&self) -> bool {
        self.end != End::NotYet
    }

    /// Whether it has ended, the first time that this is asked.
    pub(super) fn takes_end(&mut self) -> bool {
        let is_new = self.end == End::New;
        if is_new {
            self.end = End::Known;
        }
        is_new
    }

    /// The application gives the client its first list, and begins.
    pub(super) fn start(&mut self, world: &mut World) {
        if self.lists {
            self.set_list(world);
        }
        self.act(world);
        self.settle(world);
    }

    /// Something has happened to it.
    pub(super) fn notice(&mut self, world: &mut World, notice: Notice) {
        let now = world.now;
        match notice {
            Notice::Connected(_, link, result) => {
                if let Some(connection) = self.connection(link) {
                    let input = match result {
                        Ok(()) => TransportInput::Connected { connection },
                        Err(error) => {
                            self.links.retain(|(_, known)| *known != link);
                            TransportInput::ConnectFailed { connection, error }
                        }
                    };
                    self.client.handle_input(now, input);
                }
            }
            Notice::Readable(_, link) => self.read(world, link),
            Notice::Writable(_, link) => {
                if let Some(connection) = self.connection(link) {
                    self.transmit(world, connection);
                }
            }
            Notice::Resolved(_, tag, addresses) => {
                if let Some(attempt) = take(&mut self.resolves, tag) {
                    match addresses {
                        Some(addresses) => self.client.resolved(now, attempt, &addresses),
                        None => {
                            let input = TransportInput::ResolveFailed { attempt };
                            self.client.handle_input(now, input);
                        }
                    }
                }
            }
            Notice::Listed(_, tag, list) => {
                if let Some(refresh) = take(&mut self.refreshes, tag) {
                    match list {
                        Some(list) => {
                            let list = self.specs(&list);
                            self.client.refreshed(now, refresh, None, &list);
                        }
                        None => self.client.refresh_failed(now, refresh),
                    }
                }
            }
            Notice::Time(_, WORKLOAD) => self.act(world),
            Notice::Time(..) => {
                // Only the last time that was set counts; a deadline may have moved away since.
                if self.armed.is_some_and(|armed| armed <= now) {
                    self.armed = None;
                }
                let due = self.client.poll_timeout();
                if due.is_some_and(|deadline| deadline.at <= now) {
                    self.client.handle_timeout(now);
                }
            }
            Notice::ListChanged => {
                if self.lists && !self.is_over {
                    self.set_list(world);
                }
            }
        }
        self.settle(world);
    }

    /// Ends it: what is handed over may finish.
    pub(super) fn shut_down(&mut self, world: &mut World, drain: core::time::Duration) {
        self.is_over = true;
        let _ = self.client.shutdown(world.now, drain);
        self.settle(world);
    }

    /// Does what the client wants, tells the workload what has happened, and sets the time.
    fn settle(&mut self, world: &mut World) {
        let mut at_once = 0;
        while let Some(output) = self.client.poll_output() {
            match output {
                ClientOutput::Action(action) => self.carry_out(world, action),
                ClientOutput::Completion { request, result } => {
                    self.with_app(world, |workload, app| {
                        workload.completed(app, request, &result);
                    });
                    at_once += u32::from(elapsed(&result).is_zero());
                    self.keep(world.now, result);
                    if at_once > MAX_AT_ONCE {
                        self.is_stuck = true;
                        return;
                    }
                }
                ClientOutput::Push { node, push, .. } => {
                    self.with_app(world, |workload, app| workload.pushed(app, node, push));
                }
                ClientOutput::Terminated => self.end = End::New,
                ClientOutput::Malformed { .. } | ClientOutput::Event(_) => {}
            }
        }
        if let Some(deadline) = self.client.poll_timeout()
            && self.armed.is_none_or(|armed| deadline.at < armed)
        {
            self.armed = Some(deadline.at);
            world.wake_at(deadline.at, self.number, 0);
        }
    }

    fn keep(&mut self, completed: Instant, result: Result<Response<P::Reply>, RequestError>) {
        let Some(done) = &mut self.done else {
            return;
        };
        let elapsed = elapsed(&result);
        done.push(Done {
            submitted: Instant::from_nanos(
                completed
                    .as_nanos()
                    .saturating_sub(elapsed.as_nanos() as u64),
            ),
            completed,
            result,
        });
    }

    fn carry_out(&mut self, world: &mut World, action: ClientAction) {
        match action {
            ClientAction::Resolve { attempt, node } => {
                let spec = self.client.cluster().spec(node);
                if let Some(Endpoint::Name { host, .. }) = spec.map(|spec| &spec.endpoint) {
                    self.tags += 1;
                    self.resolves.push((self.tags, attempt));
                    world.resolve(self.number, self.tags, host);
                }
            }
            ClientAction::AbortResolve { attempt } => {
                self.resolves.retain(|(_, known)| *known != attempt);
            }
            ClientAction::Connect {
                connection,
                address,
                ..
            } => {
                let link = world.dial(self.number, address);
                self.links.push((connection, link));
            }
            ClientAction::Transmit { connection } => self.transmit(world, connection),
            ClientAction::Close { connection } | ClientAction::Abort { connection } => {
                self.close(world, connection);
            }
            ClientAction::Refresh { refresh, .. } => {
                self.tags += 1;
                self.refreshes.push((self.tags, refresh));
                world.retrieve(self.number, self.tags);
            }
        }
    }

    fn read(&mut self, world: &mut World, link: LinkId) {
        let now = world.now;
        let Some(connection) = self.connection(link) else {
            return;
        };
        let bytes = world.arrived(link);
        let count = bytes.len();
        if count > 0 {
            self.client.read(now, connection, bytes);
            world.take(link, count);
        }
        if let Some(error) = world.ended(link) {
            self.close(world, connection);
            self.ended(now, connection, error);
        }
    }

    fn ended(&mut self, now: Instant, connection: ConnectionId, error: CloseError) {
        let input = TransportInput::Closed { connection, error };
        self.client.handle_input(now, input);
    }

    fn transmit(&mut self, world: &mut World, connection: ConnectionId) {
        let now = world.now;
        let Some(link) = self.link(connection) else {
            return;
        };
        loop {
            let bytes = self.client.transmit(now, connection);
            if bytes.is_empty() {
                return;
            }
            let count = world.write(link, bytes);
            if count == 0 {
                let input = TransportInput::WriteBlocked { connection };
                return self.client.handle_input(now, input);
            }
            self.client.transmitted(now, connection, count);
        }
    }

    fn close(&mut self, world: &mut World, connection: ConnectionId) {
        if let Some(link) = self.link(connection) {
            world.close(link);
            self.links.retain(|(_, known)| *known != link);
        }
    }

    fn act(&mut self, world: &mut World) {
        let mut at = None;
        self.with_app(world, |workload, app| at = workload.act(app));
        if let Some(at) = at {
            world.wake_at(at, self.number, WORKLOAD);
        }
    }

    fn with_app(
        &mut self,
        world: &World,
        call: impl FnOnce(&mut dyn Workload<P>, &mut App<'_, P>),
    ) {
        let mut app = App {
            now: world.now,
            client: &mut self.client,
            failure: &mut self.failure,
            is_over: self.is_over,
            calm_from: world.calm_from,
        };
        call(&mut *self.workload, &mut app);
    }

    fn set_list(&mut self, world: &World) {
        let list = self.specs(&world.list());
        // An empty list is refused, and changes nothing.
        let _ = self.client.set_nodes(world.now, &list);
    }

    fn specs(&self, servers: &[u32]) -> Vec<NodeSpec> {
        let spec = match self.named {
            true => listed_by_name,
            false => listed_by_address,
        };
        servers.iter().map(|server| spec(*server)).collect()
    }

    fn link(&self, connection: ConnectionId) -> Option<LinkId> {
        let mut links = self.links.iter();
        links
            .find(|(known, _)| *known == connection)
            .map(|(_, link)| *link)
    }

    fn connection(&self, link: LinkId) -> Option<ConnectionId> {
        let mut links = self.links.iter();
        links
            .find(|(_, known)| *known == link)
            .map(|(connection, _)| *connection)
    }
}

fn elapsed<R>(result: &Result<Response<R>, RequestError>) -> core::time::Duration {
    match result {
        Ok(response) => response.elapsed,
        Err(error) => error.elapsed,
    }
}

fn take<T: Copy>(waiting: &mut Vec<(u64, T)>, tag: u64) -> Option<T> {
    let place = waiting.iter().position(|(known, _)| *known == tag)?;
    Some(waiting.swap_remove(place).1)
}
