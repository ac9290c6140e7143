//! The calls that a script makes, by name.

use std::net::SocketAddr;

use redial::{
    CloseError, ConnectError, HandshakeError, Hint, Input, Instant, Limits, NodeSpec, ReplyTo,
    RequestOptions, Verdict, record::Call,
};

use super::{Conn, Script, ms, specs, t};

/// Commands and time.
impl Script {
    /// Replaces the server list.
    pub fn set_nodes(&mut self, list: &[&str]) -> &mut Self {
        self.set_specs(specs(list))
    }

    /// Replaces the server list.
    pub fn set_specs(&mut self, list: Vec<NodeSpec>) -> &mut Self {
        self.call(Call::SetNodes(list))
    }

    /// Submits the next request.
    pub fn submit(&mut self, options: RequestOptions) -> &mut Self {
        self.call(Call::Submit(options))
    }

    /// Submits the next request, for this node.
    pub fn submit_on(&mut self, node: usize, options: RequestOptions) -> &mut Self {
        self.submit(options.on(self.id(node)))
    }

    /// Cancels a request.
    pub fn cancel(&mut self, request: usize) -> &mut Self {
        self.call(Call::Cancel(self.requests[request]))
    }

    /// Tells the core what is known from elsewhere.
    pub fn hint(&mut self, hint: Hint) -> &mut Self {
        self.call(Call::Hint(hint))
    }

    /// The node is said to be up.
    pub fn node_up(&mut self, node: usize) -> &mut Self {
        self.hint(Hint::NodeUp(self.id(node)))
    }

    /// The node is said to be down.
    pub fn node_down(&mut self, node: usize) -> &mut Self {
        self.hint(Hint::NodeDown(self.id(node)))
    }

    /// Shuts down with this drain.
    pub fn shutdown(&mut self, drain_millis: u64) -> &mut Self {
        self.call(Call::Shutdown(ms(drain_millis)))
    }

    /// Gives the core its time.
    pub fn tick(&mut self) -> &mut Self {
        self.call(Call::Timeout)
    }

    /// Gives any fact.
    pub fn input(&mut self, input: Input) -> &mut Self {
        self.call(Call::Input(input))
    }
}

/// Sources of server lists.
impl Script {
    /// Replaces the fallback list.
    pub fn set_fallback(&mut self, list: &[&str]) -> &mut Self {
        self.call(Call::SetFallback(specs(list)))
    }

    /// The source answers its newest refresh with this list, without a version.
    pub fn answers(&mut self, source: u32, list: &[&str]) -> &mut Self {
        self.answers_version(source, None, list)
    }

    /// The source answers its newest refresh with this list.
    pub fn answers_version(
        &mut self,
        source: u32,
        version: Option<u64>,
        list: &[&str],
    ) -> &mut Self {
        let refresh = self.refresh(source, 0);
        self.call(Call::Refreshed(refresh, version, specs(list)))
    }

    /// The source cannot be asked.
    pub fn refresh_fails(&mut self, source: u32) -> &mut Self {
        let refresh = self.refresh(source, 0);
        self.input(Input::RefreshFailed { refresh })
    }
}

/// Setup.
impl Script {
    /// The node's name has these addresses.
    ///
    /// # Panics
    ///
    /// If one is no address.
    pub fn resolved(&mut self, node: usize, addresses: &[&str]) -> &mut Self {
        let parse = |text: &&str| text.parse::<SocketAddr>().expect("an address");
        let addresses = addresses.iter().map(parse).collect();
        self.call(Call::Resolved(self.attempt(node), addresses))
    }

    /// The node's name cannot be resolved.
    pub fn resolve_failed(&mut self, node: usize) -> &mut Self {
        self.input(Input::ResolveFailed {
            attempt: self.attempt(node),
        })
    }

    /// The transport is up.
    pub fn connected(&mut self, connection: impl Into<Conn>) -> &mut Self {
        let connection = self.connection(connection);
        self.input(Input::Connected { connection })
    }

    /// Nobody listens.
    pub fn refused(&mut self, connection: impl Into<Conn>) -> &mut Self {
        self.connect_failed(connection, ConnectError::Refused)
    }

    /// The transport did not come up.
    pub fn connect_failed(
        &mut self,
        connection: impl Into<Conn>,
        error: ConnectError,
    ) -> &mut Self {
        let connection = self.connection(connection);
        self.input(Input::ConnectFailed { connection, error })
    }

    /// The handshake is done.
    pub fn ready(&mut self, connection: impl Into<Conn>) -> &mut Self {
        self.ready_with(connection, Limits::NONE)
    }

    /// The handshake is done, with limits.
    pub fn ready_with(&mut self, connection: impl Into<Conn>, limits: Limits) -> &mut Self {
        let connection = self.connection(connection);
        self.input(Input::HandshakeDone { connection, limits })
    }

    /// The peer rejects our credentials.
    pub fn rejected(&mut self, connection: impl Into<Conn>) -> &mut Self {
        self.handshake_failed(connection, HandshakeError::Rejected)
    }

    /// The handshake failed.
    pub fn handshake_failed(
        &mut self,
        connection: impl Into<Conn>,
        error: HandshakeError,
    ) -> &mut Self {
        let connection = self.connection(connection);
        self.input(Input::HandshakeFailed { connection, error })
    }
}

/// On an open connection.
impl Script {
    /// The first byte of the request's frame leaves.
    pub fn started(&mut self, request: usize) -> &mut Self {
        let (connection, serial) = self.place(request);
        self.input(Input::WriteStarted { connection, serial })
    }

    /// The transport has the whole frame of the request.
    pub fn done(&mut self, request: usize) -> &mut Self {
        let (connection, serial) = self.place(request);
        self.input(Input::WriteDone { connection, serial })
    }

    /// The request is wholly written.
    pub fn written(&mut self, request: usize) -> &mut Self {
        self.started(request).done(request)
    }

    /// The encoder refuses the request.
    pub fn encoder_refuses(&mut self, request: usize) -> &mut Self {
        let (connection, serial) = self.place(request);
        self.input(Input::WriteRejected { connection, serial })
    }

    /// The request's reply comes, by correlation id.
    pub fn reply(&mut self, request: usize) -> &mut Self {
        self.verdict(request, Verdict::DONE)
    }

    /// A reply to the request comes and means this.
    pub fn verdict(&mut self, request: usize, verdict: Verdict) -> &mut Self {
        let (connection, serial) = self.place(request);
        let to = ReplyTo::Serial(serial);
        self.input(Input::Reply {
            connection,
            to,
            verdict,
        })
    }

    /// A reply with this correlation id comes.
    pub fn reply_serial(&mut self, connection: impl Into<Conn>, serial: u32) -> &mut Self {
        let connection = self.connection(connection);
        let to = ReplyTo::Serial(serial);
        self.input(Input::Reply {
            connection,
            to,
            verdict: Verdict::DONE,
        })
    }

    /// The next reply comes, of a protocol that matches by order.
    pub fn reply_next(&mut self, connection: impl Into<Conn>) -> &mut Self {
        let connection = self.connection(connection);
        let to = ReplyTo::Oldest;
        self.input(Input::Reply {
            connection,
            to,
            verdict: Verdict::DONE,
        })
    }

    /// The transport takes no more.
    pub fn blocked(&mut self, connection: impl Into<Conn>) -> &mut Self {
        let connection = self.connection(connection);
        self.input(Input::WriteBlocked { connection })
    }

    /// The transport has taken bytes.
    pub fn progress(&mut self, connection: impl Into<Conn>) -> &mut Self {
        let connection = self.connection(connection);
        self.input(Input::WriteProgress { connection })
    }

    /// Bytes come.
    pub fn received(&mut self, connection: impl Into<Conn>) -> &mut Self {
        let connection = self.connection(connection);
        self.input(Input::Received { connection })
    }

    /// Something comes that nobody asked for.
    pub fn push(&mut self, connection: impl Into<Conn>) -> &mut Self {
        let connection = self.connection(connection);
        self.input(Input::Push { connection })
    }

    /// The peer throttles until this time.
    pub fn throttled(&mut self, connection: impl Into<Conn>, until_millis: u64) -> &mut Self {
        self.throttled_until(connection, t(until_millis))
    }

    /// The peer throttles until this time.
    pub fn throttled_until(&mut self, connection: impl Into<Conn>, until: Instant) -> &mut Self {
        let connection = self.connection(connection);
        self.input(Input::Throttled { connection, until })
    }

    /// The peer says that it will close.
    pub fn draining(&mut self, connection: impl Into<Conn>) -> &mut Self {
        let connection = self.connection(connection);
        self.input(Input::PeerDraining { connection })
    }

    /// The peer closes in good order.
    pub fn closed(&mut self, connection: impl Into<Conn>) -> &mut Self {
        self.ended(connection, CloseError::Peer)
    }

    /// The connection is reset.
    pub fn reset(&mut self, connection: impl Into<Conn>) -> &mut Self {
        self.ended(connection, CloseError::Io)
    }

    /// The connection ended like this.
    pub fn ended(&mut self, connection: impl Into<Conn>, error: CloseError) -> &mut Self {
        let connection = self.connection(connection);
        self.input(Input::Closed { connection, error })
    }

    fn place(&self, request: usize) -> (redial::ConnectionId, u32) {
        self.writes[&self.requests[request]]
    }
}
