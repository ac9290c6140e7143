mod operation;
mod server;

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    time::Duration,
};

use arbitrary::{Arbitrary, Unstructured};
use redial::{
    AttemptId, Config, ConnectionId, Hint, Instant, NodeId, NodeSpec, RefreshId, RequestId,
    RequestOptions, Source, SourceId,
    client::{Client, ClientAction, ClientOutput, TransportInput},
    sim::Watch,
};

use self::{
    operation::{Hinted, List, Operation, Operations, Submitted},
    server::{Server, WILD},
};
use crate::{
    lab::{Chance, Dialect, Request, Speaker, config},
    script::specs,
};

/// Whatever an embedder does, with whatever ids and however late: the rules of the core hold, each
/// request that was accepted completes once and with its own reply, no command is about a connection
/// that is not there, what is due is done, and after a shutdown it ends.
pub fn client_operations(data: &[u8]) {
    let data = Unstructured::new(data);
    if let Ok(Operations {
        choices,
        seed,
        operations,
    }) = Operations::arbitrary_take_rest(data)
    {
        let mut embedder = Embedder::new(&choices, seed.into());
        for operation in operations {
            embedder.perform(operation);
        }
        embedder.end();
    }
}

/// How long the drain of the last shutdown may take.
const DRAIN: Duration = Duration::from_secs(1);

/// Entries of server lists: addresses, names, keys, and an address that a name may have.
const SERVERS: [&str; 8] = [
    "10.0.0.1:1",
    "10.0.0.2:1",
    "db.example:1",
    "a=10.0.0.3:1",
    "a=10.0.0.1:1",
    "b=db.example:1",
    "10.0.0.4:1",
    "other.example:1",
];

struct Embedder {
    client: Client<Speaker>,
    dialect: Dialect,
    watch: Watch,
    now: Instant,
    /// Whether the outputs of the last operation were taken.
    drained: bool,
    /// Those of the next will not be.
    leaves_outputs: bool,
    ids: Ids,
    servers: BTreeMap<ConnectionId, Server>,
    /// Those that the client has.
    connections: BTreeSet<ConnectionId>,
    /// Those that were told to be up when the client had them.
    up: BTreeSet<ConnectionId>,
    /// Those that have ended while outputs waited, which may be about them.
    ended: Vec<ConnectionId>,
    /// Those that are not complete, with their numbers.
    open: BTreeMap<RequestId, u64>,
    submitted: u64,
    is_terminated: bool,
}

/// All that there ever were, and some of another client.
#[derive(Default)]
struct Ids {
    nodes: Vec<NodeId>,
    attempts: Vec<AttemptId>,
    connections: Vec<ConnectionId>,
    requests: Vec<RequestId>,
    refreshes: Vec<RefreshId>,
}

impl Embedder {
    fn new(choices: &[u8], seed: u64) -> Self {
        let mut choices = Chance::given(choices.iter().map(|choice| (*choice).into()).collect());
        let dialect = Dialect::draw(&mut choices);
        let config = match choices.below(4) {
            3 => config::preset(&mut choices, &dialect),
            _ => config::any(&mut choices, &dialect),
        };
        let mut other = Self::with(Dialect::PLAIN, sources(), 0);
        other.perform(Operation::SetNodes(List::ALL));
        for node in other.ids.nodes.clone() {
            other.submit(RequestOptions::new().on(node), true);
        }
        other.drain();
        Self {
            ids: other.ids,
            ..Self::with(dialect, config, seed)
        }
    }

    fn with(dialect: Dialect, config: Config, seed: u64) -> Self {
        let (now, watch) = (Instant::from_millis(5_000), Watch::new(Vec::new()));
        let observer = Box::new(watch.clone());
        let client = Client::observe(Speaker::new(dialect), config, seed, now, observer);
        Self {
            client: client.expect("it suits the protocol"),
            dialect,
            watch,
            now,
            drained: true,
            leaves_outputs: false,
            ids: Ids::default(),
            servers: BTreeMap::new(),
            connections: BTreeSet::new(),
            up: BTreeSet::new(),
            ended: Vec::new(),
            open: BTreeMap::new(),
            submitted: 0,
            is_terminated: false,
        }
    }

    fn perform(&mut self, operation: Operation) {
        if matches!(operation, Operation::Undrained) {
            self.leaves_outputs = true;
            return;
        }
        self.act(operation);
        match std::mem::take(&mut self.leaves_outputs) {
            true => self.drained = false,
            false => self.drain(),
        }
    }

    fn act(&mut self, operation: Operation) {
        let now = self.now;
        match operation {
            Operation::Submit(submitted) => {
                let options = self.options(&submitted);
                self.submit(options, submitted.is_encodable());
            }
            Operation::AwaitReady(submitted) => {
                let options = self.options(&submitted);
                let accepted = self.client.await_ready(now, options);
                self.accepted(accepted.ok());
            }
            Operation::Cancel(index) => {
                if let Some(request) = newest(&self.ids.requests, index) {
                    let is_open = self.open.contains_key(&request);
                    assert!(!self.client.cancel(now, request) || is_open);
                }
            }
            Operation::SetNodes(which) => drop(self.client.set_nodes(now, &list(which))),
            Operation::SetFallback(which) => drop(self.client.set_fallback(now, &list(which))),
            Operation::Hint(hinted) => {
                if let Some(hint) = self.hint(&hinted) {
                    self.client.hint(now, hint);
                }
            }
            Operation::Shutdown(drain) => drop(self.client.shutdown(now, drain.length())),
            Operation::Resolved(index, hosts) => {
                if let Some(attempt) = newest(&self.ids.attempts, index) {
                    let address = |host: u8| SocketAddr::from(([10, 0, 0, 1 + host % 6], 1));
                    // The first says how many.
                    let hosts = [hosts[0], hosts[1], hosts[1] / 2];
                    let addresses = &hosts.map(address)[..usize::from(hosts[0]) % 4];
                    self.client.resolved(now, attempt, addresses);
                }
            }
            Operation::ResolveFailed(index) => {
                if let Some(attempt) = newest(&self.ids.attempts, index) {
                    let failed = TransportInput::ResolveFailed { attempt };
                    self.client.handle_input(now, failed);
                }
            }
            Operation::Refreshed(index, version, which) => {
                if let Some(refresh) = newest(&self.ids.refreshes, index) {
                    let version = version.map(u64::from);
                    self.client.refreshed(now, refresh, version, &list(which));
                }
            }
            Operation::RefreshFailed(index) => {
                if let Some(refresh) = newest(&self.ids.refreshes, index) {
                    self.client.refresh_failed(now, refresh);
                }
            }
            Operation::Connected(index)
            | Operation::ConnectFailed(index, _)
            | Operation::Closed(index, _)
            | Operation::WriteBlocked(index)
            | Operation::Write(index, _)
            | Operation::WriteTooMuch(index)
            | Operation::Answer(index)
            | Operation::Say(index, _)
            | Operation::Read(index, _)
            | Operation::Nonsense(index, _) => {
                if let Some(connection) = newest(&self.ids.connections, index) {
                    self.act_on(connection, operation);
                }
            }
            Operation::Pass(time) => self.now += time.length(),
            Operation::ToDeadline => {
                let deadline = self.client.poll_timeout();
                self.now = deadline.map_or(now, |deadline| deadline.at);
            }
            Operation::Back(time) => {
                let back = (now - Instant::ORIGIN).saturating_sub(time.length());
                self.now = Instant::ORIGIN + back;
            }
            Operation::Undrained => {}
        }
    }

    /// What happens to a connection.
    fn act_on(&mut self, connection: ConnectionId, operation: Operation) {
        let now = self.now;
        let server = self.servers.entry(connection).or_default();
        // Also one that it has not told of yet.
        let is_known = self.client.cluster().connection(connection).is_some();
        match operation {
            Operation::Connected(_) => {
                let connected = TransportInput::Connected { connection };
                self.client.handle_input(now, connected);
                self.up.extend(is_known.then_some(connection));
            }
            Operation::ConnectFailed(_, error) => {
                let error = error.into();
                let failed = TransportInput::ConnectFailed { connection, error };
                self.client.handle_input(now, failed);
                if is_known && !self.up.contains(&connection) {
                    self.ended(connection);
                }
            }
            Operation::Closed(_, error) => {
                let error = error.into();
                let closed = TransportInput::Closed { connection, error };
                self.client.handle_input(now, closed);
                if is_known {
                    self.ended(connection);
                }
            }
            Operation::WriteBlocked(_) => {
                let blocked = TransportInput::WriteBlocked { connection };
                self.client.handle_input(now, blocked);
            }
            Operation::Write(_, count) => {
                let bytes = self.client.transmit(now, connection);
                // Up to all of a few frames.
                let count = bytes.len().min(usize::from(count) * 4);
                server.input.extend_from_slice(&bytes[..count]);
                self.client.transmitted(now, connection, count);
            }
            Operation::WriteTooMuch(_) => {
                let bytes = self.client.transmit(now, connection);
                server.input.extend_from_slice(bytes);
                self.client.transmitted(now, connection, usize::MAX);
            }
            Operation::Answer(_) => server.answer(&self.dialect, list(List::ALL)),
            Operation::Say(_, said) => server.say(said, &self.dialect),
            Operation::Read(_, count) => {
                let count = server.output.len().min(usize::from(count) * 4);
                let bytes = server.output.split_to(count);
                self.client.read(now, connection, &bytes);
            }
            Operation::Nonsense(_, bytes) => self.client.read(now, connection, &bytes),
            _ => {}
        }
    }

    fn ended(&mut self, connection: ConnectionId) {
        match self.drained {
            true => _ = self.connections.remove(&connection),
            false => self.ended.push(connection),
        }
    }

    fn options(&self, submitted: &Submitted) -> RequestOptions {
        let node = submitted.on.and_then(|on| newest(&self.ids.nodes, on));
        let options = submitted.options();
        node.map_or(options, |node| options.on(node))
    }

    fn submit(&mut self, options: RequestOptions, encodable: bool) {
        let request = Request {
            number: self.submitted,
            plain: true,
            encodable,
        };
        let accepted = self.client.submit(self.now, request, options);
        self.accepted(accepted.ok());
    }

    fn accepted(&mut self, request: Option<RequestId>) {
        if let Some(request) = request {
            let other = self.open.insert(request, self.submitted);
            assert!(other.is_none(), "{request} is of two requests");
            self.ids.requests.push(request);
        }
        self.submitted += 1;
    }

    fn hint(&self, hinted: &Hinted) -> Option<Hint> {
        let node = |index| newest(&self.ids.nodes, index);
        Some(match *hinted {
            Hinted::NetworkChanged => Hint::NetworkChanged,
            Hinted::Resumed => Hint::Resumed,
            Hinted::NodeUp(index) => Hint::NodeUp(node(index)?),
            Hinted::NodeDown(index) => Hint::NodeDown(node(index)?),
            Hinted::SourceChanged(source) => Hint::SourceChanged(SourceId::new(source.into())),
        })
    }

    /// Does what is due, and takes all outputs.
    fn drain(&mut self) {
        self.client.handle_timeout(self.now);
        while let Some(output) = self.client.poll_output() {
            self.take(output);
        }
        for connection in self.ended.drain(..) {
            self.connections.remove(&connection);
        }
        self.drained = true;
        for view in self.client.cluster().nodes() {
            if !self.ids.nodes.contains(&view.id) {
                self.ids.nodes.push(view.id);
            }
        }
        let deadline = self.client.poll_timeout();
        let now = self.client.cluster().now();
        assert!(deadline.is_none_or(|deadline| deadline.at > now));
        if let Some(broken) = self.watch.broken() {
            panic!("{broken}");
        }
    }

    fn take(&mut self, output: ClientOutput<Speaker>) {
        assert!(!self.is_terminated, "{output:?} comes after the end");
        match output {
            ClientOutput::Action(action) => self.carry_out(action),
            ClientOutput::Completion { request, result } => {
                let number = self.open.remove(&request);
                let number = number.expect("only what is open completes");
                let reply = result.ok().and_then(|response| response.reply);
                assert!(reply.is_none_or(|reply| reply == number || reply == WILD));
            }
            ClientOutput::Terminated => self.is_terminated = true,
            _ => {}
        }
    }

    fn carry_out(&mut self, action: ClientAction) {
        match action {
            ClientAction::Resolve { attempt, .. } => self.ids.attempts.push(attempt),
            ClientAction::Connect { connection, .. } => {
                self.ids.connections.push(connection);
                assert!(self.connections.insert(connection), "{action:?}");
                self.servers.insert(connection, Server::default());
            }
            ClientAction::Transmit { connection } => {
                assert!(self.connections.contains(&connection), "{action:?}");
                assert!(self.up.contains(&connection), "{action:?}");
            }
            ClientAction::Close { connection } | ClientAction::Abort { connection } => {
                assert!(self.connections.remove(&connection), "{action:?}");
            }
            ClientAction::Refresh { refresh, .. } => self.ids.refreshes.push(refresh),
            _ => {}
        }
    }

    /// It ends in time, and nothing is left.
    fn end(mut self) {
        self.drain();
        let _ = self.client.shutdown(self.now, DRAIN);
        let last = self.client.cluster().now() + DRAIN;
        self.drain();
        while let Some(deadline) = self.client.poll_timeout() {
            assert!(deadline.at <= last, "{deadline:?} is after the end");
            self.now = deadline.at;
            self.drain();
        }
        assert!(self.is_terminated);
        assert!(self.open.is_empty(), "{:?} never complete", self.open);
        assert!(self.connections.is_empty(), "{:?}", self.connections);
        self.watch.end(self.now, self.client.cluster());
        if let Some(broken) = self.watch.broken() {
            panic!("{broken}");
        }
    }
}

/// Of seven sources.
fn sources() -> Config {
    let sources = Config::builder().sources(vec![Source::primary(); 7]);
    sources.build().expect("it makes sense")
}

fn list(which: List) -> Vec<NodeSpec> {
    let chosen = (0..).zip(SERVERS).filter(|(bit, _)| which.0 >> bit & 1 > 0);
    specs(&chosen.map(|(_, server)| server).collect::<Vec<_>>())
}

/// The one at this index from the newest.
fn newest<T: Copy>(all: &[T], index: u8) -> Option<T> {
    let index = usize::from(index).checked_rem(all.len())?;
    Some(all[all.len() - 1 - index])
}
