//! [`Client`]: requests and replies as bytes, over [`Cluster`].

use alloc::collections::VecDeque;
use core::{fmt, net::SocketAddr, time::Duration};

use super::{
    ClientOutput, Protocol, Refused, TransportInput, connection::Connection, table::Table,
};
#[cfg(not(feature = "record"))]
use crate::Cluster as Core;
#[cfg(feature = "record")]
use crate::record::{Observer, RecordError, Recorder as Core};
use crate::{
    AttemptId, Cluster, Config, ConfigError, ConnectionId, Deadline, DeadlineReason, Hint, Input,
    Instant, NodeId, NodeSpec, RefreshId, RequestId, RequestOptions, SetNodesError, ShutdownError,
};

/// A client of a clustered service: [`Cluster`] with a [`Protocol`], payloads and bytes.
///
/// It is driven like the core. Its methods are of five kinds: commands, facts, time, outputs,
/// getters. Any call is legal at any time; a stale id is ignored. After each call drain
/// [`poll_output`](Self::poll_output), then wait for the next fact or for
/// [`poll_timeout`](Self::poll_timeout); [`drive`](Self::drive) does both.
pub struct Client<P: Protocol> {
    pub(super) cluster: Core,
    pub(super) protocol: P,
    pub(super) requests: Table<RequestId, Request<P::Request>>,
    /// Those that wait for readiness only, and the node that was found.
    pub(super) awaiting_ready: Table<RequestId, Option<NodeId>>,
    /// Those whose transport is up.
    pub(super) connections: Table<ConnectionId, Connection<P::Connection>>,
    /// Outputs that come before those that still wait in the cluster.
    pub(super) outputs: VecDeque<ClientOutput<P>>,
}

/// What is kept of a request until its completion: a retry encodes it again.
pub(super) struct Request<R> {
    pub(super) payload: R,
    pub(super) expects_reply: bool,
}

impl<P: Protocol> Client<P> {
    /// A client without servers. The same protocol, configuration, seed and calls give the same
    /// outputs.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if the configuration does not suit the protocol, which says whether there is
    /// a handshake and how replies are matched, whatever the configuration says.
    pub fn new(protocol: P, config: Config, seed: u64, now: Instant) -> Result<Self, ConfigError> {
        let config = suited(config, &protocol)?;
        Ok(Self::over(Core::new(config, seed, now), protocol))
    }

    /// The same, and records what its core is told to `sink`, for [`replay`](crate::record::replay).
    /// Payloads and bytes are not recorded.
    ///
    /// # Errors
    ///
    /// [`RecordError`] if the configuration does not suit the protocol or cannot be written.
    #[cfg(feature = "record")]
    pub fn record(
        protocol: P,
        config: Config,
        seed: u64,
        now: Instant,
        sink: impl std::io::Write + Send + Sync + 'static,
    ) -> Result<Self, RecordError> {
        let config = suited(config, &protocol)?;
        Ok(Self::over(Core::start(config, seed, now, sink)?, protocol))
    }

    /// The same, and shows each step of its core to `observer`.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    #[cfg(feature = "record")]
    pub fn observe(
        protocol: P,
        config: Config,
        seed: u64,
        now: Instant,
        observer: alloc::boxed::Box<dyn Observer>,
    ) -> Result<Self, ConfigError> {
        let config = suited(config, &protocol)?;
        Ok(Self::over(
            Core::observe(config, seed, now, observer),
            protocol,
        ))
    }

    const fn over(cluster: Core, protocol: P) -> Self {
        Self {
            cluster,
            protocol,
            requests: Table::new(),
            awaiting_ready: Table::new(),
            connections: Table::new(),
            outputs: VecDeque::new(),
        }
    }

    // Commands.

    /// Replaces the server list (SEMANTICS 7.6).
    ///
    /// # Errors
    ///
    /// As [`Cluster::set_nodes`]; the old list then stays.
    pub fn set_nodes(&mut self, now: Instant, list: &[NodeSpec]) -> Result<(), SetNodesError> {
        self.cluster.set_nodes(now, list)
    }

    /// Replaces the fallback list (SEMANTICS 7.9).
    ///
    /// # Errors
    ///
    /// As [`Cluster::set_fallback`]; the old one then stays.
    pub fn set_fallback(&mut self, now: Instant, list: &[NodeSpec]) -> Result<(), SetNodesError> {
        self.cluster.set_fallback(now, list)
    }

    /// Sends a request. If accepted it completes exactly once, by an output.
    ///
    /// # Errors
    ///
    /// [`Refused`] gives it back if it is not accepted.
    pub fn submit(
        &mut self,
        now: Instant,
        request: P::Request,
        options: RequestOptions,
    ) -> Result<RequestId, Refused<P::Request>> {
        let expects_reply = options.expects_reply && self.protocol.expects_reply(&request);
        let bytes = match options.bytes {
            0 => u32::try_from(self.protocol.size(&request)).unwrap_or(u32::MAX),
            bytes => bytes,
        };
        let options = RequestOptions {
            expects_reply,
            bytes,
            ..options
        };
        match self.cluster.submit(now, options) {
            Ok(id) => {
                let payload = request;
                let request = Request {
                    payload,
                    expects_reply,
                };
                self.requests.insert(id, request);
                Ok(id)
            }
            Err(error) => Err(Refused { request, error }),
        }
    }

    /// Gives up a request; it completes as cancelled. False if it was complete already.
    pub fn cancel(&mut self, now: Instant, request: RequestId) -> bool {
        self.cluster.cancel(now, request)
    }

    /// Ends the client: what is handed over may finish for `drain` (SEMANTICS 9.1).
    ///
    /// # Errors
    ///
    /// As [`Cluster::shutdown`].
    pub fn shutdown(&mut self, now: Instant, drain: Duration) -> Result<(), ShutdownError> {
        self.cluster.shutdown(now, drain)
    }

    /// Takes a hint that the application has from elsewhere (SEMANTICS 8.5).
    pub fn hint(&mut self, now: Instant, hint: Hint) {
        self.cluster.hint(now, hint);
    }

    // Facts.

    /// Takes a fact about a transport.
    pub fn handle_input(&mut self, now: Instant, input: TransportInput) {
        let input = match input {
            TransportInput::ResolveFailed { attempt } => Input::ResolveFailed { attempt },
            TransportInput::Connected { connection } => return self.open(now, connection),
            TransportInput::ConnectFailed { connection, error } => {
                Input::ConnectFailed { connection, error }
            }
            TransportInput::Closed { connection, error } => {
                return self.end(now, connection, error);
            }
            TransportInput::WriteBlocked { connection } => Input::WriteBlocked { connection },
        };
        self.cluster.handle_input(now, input);
    }

    /// Takes the addresses that a Resolve action asked for.
    pub fn resolved(&mut self, now: Instant, attempt: AttemptId, addresses: &[SocketAddr]) {
        self.cluster.resolved(now, attempt, addresses);
    }

    /// Takes the server list that a Refresh action asked for, as [`Cluster::refreshed`]. A source that
    /// the cluster itself answers, [`Source::discovery`](crate::Source::discovery), is asked through
    /// the protocol.
    pub fn refreshed(
        &mut self,
        now: Instant,
        refresh: RefreshId,
        version: Option<u64>,
        list: &[NodeSpec],
    ) {
        self.cluster.refreshed(now, refresh, version, list);
    }

    /// The source that a Refresh action named could not be asked, or gave no server list.
    pub fn refresh_failed(&mut self, now: Instant, refresh: RefreshId) {
        self.cluster
            .handle_input(now, Input::RefreshFailed { refresh });
    }

    /// Takes bytes that came on a connection, split in any way.
    pub fn read(&mut self, now: Instant, connection: ConnectionId, bytes: &[u8]) {
        self.decode(now, connection, bytes);
    }

    /// The bytes that are to be sent on a connection next, in one piece; empty if there are none
    /// now. What is returned counts as handed over: tell with [`transmitted`](Self::transmitted)
    /// what the transport accepted, and call again. Bytes that it did not accept are returned
    /// again.
    pub fn transmit(&mut self, now: Instant, connection: ConnectionId) -> &[u8] {
        if self.cluster.connection(connection).is_none() {
            return &[]; // It has ended, though its Close may still wait to be drained.
        }
        self.encode(now, connection);
        let open = self.connections.get(connection);
        open.map_or(&[], |open| &open.output)
    }

    /// The transport has accepted the first `count` bytes of what `transmit` returned.
    pub fn transmitted(&mut self, now: Instant, connection: ConnectionId, count: usize) {
        let Some(open) = self.connections.get_mut(connection) else {
            return;
        };
        let count = count.min(open.output.len());
        if count == 0 {
            return;
        }
        open.accept(count);
        let frames = core::iter::from_fn(|| open.next_accepted_frame());
        self.cluster.writes_done(now, connection, frames);
    }

    // Time.

    /// Does what is due at `now`. Too early is no harm.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.cluster.handle_timeout(now);
    }

    // Outputs.

    /// The next output. Drain until `None` after each call.
    pub fn poll_output(&mut self) -> Option<ClientOutput<P>> {
        if let Some(output) = self.outputs.pop_front() {
            return Some(output);
        }
        while let Some(output) = self.cluster.poll_output() {
            if let Some(output) = self.translate(output, &mut None) {
                return Some(output);
            }
        }
        None
    }

    /// When to call [`handle_timeout`](Self::handle_timeout), and why: now while outputs wait.
    pub fn poll_timeout(&self) -> Option<Deadline> {
        match self.outputs.is_empty() {
            true => self.cluster.poll_timeout(),
            false => Some(Deadline {
                at: self.cluster.now(),
                reason: DeadlineReason::Outputs,
            }),
        }
    }

    /// [`handle_timeout`](Self::handle_timeout), every output to `on_output`, and
    /// [`poll_timeout`](Self::poll_timeout).
    pub fn drive(
        &mut self,
        now: Instant,
        mut on_output: impl FnMut(&mut Self, ClientOutput<P>),
    ) -> Option<Deadline> {
        self.handle_timeout(now);
        while let Some(output) = self.poll_output() {
            on_output(self, output);
        }
        self.poll_timeout()
    }

    // Getters.

    /// The core, with all that can be read of it.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// The protocol.
    pub const fn protocol(&self) -> &P {
        &self.protocol
    }

    /// The protocol, to change what it holds, such as credentials.
    pub const fn protocol_mut(&mut self) -> &mut P {
        &mut self.protocol
    }
}

/// The configuration with what the protocol knows.
fn suited<P: Protocol>(config: Config, protocol: &P) -> Result<Config, ConfigError> {
    if !protocol.has_discovery() && config.sources().iter().any(|source| source.is_discovery()) {
        return Err(ConfigError::NoDiscovery);
    }
    config
        .to_builder()
        .handshake(protocol.has_handshake())
        .keepalive(protocol.has_keepalive())
        .one_session(protocol.has_one_session())
        .matching(protocol.matching())
        .build()
}

impl<P: Protocol + fmt::Debug> fmt::Debug for Client<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("protocol", &self.protocol)
            .field("cluster", &self.cluster)
            .finish_non_exhaustive()
    }
}
