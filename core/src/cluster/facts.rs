//! What each fact leads to.

use core::net::SocketAddr;

use crate::{
    AttemptId, Cause, CloseError, Cluster, ConnectError, ConnectionId, HandshakeError, Input,
    NodeState, Stage,
    node::{Ending, Phase},
};

impl Cluster {
    /// Ids that are stale, and facts that make no sense where their object is, are ignored and
    /// counted (SEMANTICS 2.3, 12).
    pub(super) fn take_fact(&mut self, input: Input) {
        let taken = match input {
            Input::ResolveFailed { attempt } => self.resolve_failed(attempt),
            Input::Connected { connection } => self.on(connection, |cluster, c| {
                match cluster.connections[c].phase {
                    Phase::Connecting => cluster.transport_is_up(c),
                    _ => cluster.stats.stale_facts += 1,
                }
            }),
            Input::ConnectFailed { connection, error } => self.on(connection, |cluster, c| {
                match cluster.connections[c].phase {
                    Phase::Connecting => cluster.connect_failed(c, connect_cause(error)),
                    _ => cluster.stats.stale_facts += 1,
                }
            }),
            Input::HandshakeDone { connection, limits } => self.on(connection, |cluster, c| {
                match cluster.connections[c].phase {
                    Phase::Handshaking => cluster.become_ready(c, limits),
                    _ => cluster.stats.stale_facts += 1,
                }
            }),
            Input::HandshakeFailed { connection, error } => self.on(connection, |cluster, c| {
                match cluster.connections[c].phase {
                    Phase::Handshaking => cluster.handshake_failed(c, error),
                    _ => cluster.stats.stale_facts += 1,
                }
            }),
            Input::WriteStarted { connection, serial } => {
                self.on(connection, |cluster, c| cluster.write_started(c, serial))
            }
            Input::WriteDone { connection, serial } => {
                self.on(connection, |cluster, c| cluster.write_done(c, serial))
            }
            Input::WriteRejected { connection, serial } => {
                self.on(connection, |cluster, c| cluster.write_rejected(c, serial))
            }
            Input::WriteBlocked { connection } => {
                self.on(connection, |cluster, c| cluster.write_blocked(c))
            }
            Input::WriteProgress { connection } => {
                self.on(connection, |cluster, c| cluster.write_progress(c))
            }
            Input::Received { connection } => self.on(connection, Self::received),
            Input::Push { connection } => self.on(connection, Self::pushed),
            Input::Reply {
                connection,
                to,
                verdict,
            } => self.on(connection, |cluster, c| cluster.reply(c, to, verdict)),
            Input::Throttled { connection, until } => {
                self.on(connection, |cluster, c| cluster.throttle(c, until))
            }
            Input::PeerDraining { connection } => {
                self.on(connection, |cluster, c| cluster.peer_draining(c))
            }
            Input::Closed { connection, error } => {
                self.on(connection, |cluster, c| cluster.closed(c, error))
            }
            Input::RefreshFailed { refresh } => self.refresh_failed(refresh),
        };
        if !taken {
            self.stats.stale_facts += 1;
        }
    }

    pub(super) fn take_writes_started(
        &mut self,
        connection: ConnectionId,
        serials: impl Iterator<Item = u32>,
    ) {
        let known = self.on(connection, |cluster, c| {
            for serial in serials {
                cluster.write_started(c, serial);
            }
        });
        self.stats.stale_facts += u64::from(!known);
    }

    pub(super) fn take_writes_done(
        &mut self,
        connection: ConnectionId,
        serials: impl Iterator<Item = u32>,
    ) {
        let known = self.on(connection, |cluster, c| {
            for serial in serials {
                cluster.frame_accepted(c, serial);
            }
            cluster.write_progress(c);
        });
        self.stats.stale_facts += u64::from(!known);
    }

    pub(super) fn take_addresses(&mut self, attempt: AttemptId, addresses: &[SocketAddr]) {
        match self.resolving(attempt) {
            Some(a) => self.resolved_to(a, addresses),
            None => self.stats.stale_facts += 1,
        }
    }

    fn resolve_failed(&mut self, attempt: AttemptId) -> bool {
        let Some(a) = self.resolving(attempt) else {
            return false;
        };
        let ending = Ending {
            stage: Stage::Resolve,
            cause: Cause::ResolveFailed,
        };
        self.attempt_failed(a, ending);
        true
    }

    /// The attempt, if it waits for a look-up.
    fn resolving(&self, id: AttemptId) -> Option<u32> {
        let attempt = self.attempts.get(id.index, id.generation)?;
        let state = self.nodes[attempt.node].state;
        (state == NodeState::Resolving).then_some(id.index)
    }

    /// Runs `take` with the connection's index, if the id is not stale.
    fn on(&mut self, id: ConnectionId, take: impl FnOnce(&mut Self, u32)) -> bool {
        let known = self.connections.get(id.index, id.generation).is_some();
        if known {
            take(self, id.index);
        }
        known
    }

    fn closed(&mut self, c: u32, error: CloseError) {
        let cause = match error {
            CloseError::Peer => Cause::PeerClosed,
            CloseError::Io => Cause::Io,
            CloseError::Protocol => Cause::ProtocolError,
        };
        match self.connections[c].phase {
            Phase::Connecting => self.connect_failed(c, cause),
            Phase::Handshaking => self.setup_ended(c, Stage::Handshake, cause),
            Phase::Ready => self.lost(c, cause, true),
            Phase::Draining(_) => self.end_connection(c, cause, true),
        }
    }

    fn received(&mut self, c: u32) {
        match self.connections[c].phase {
            Phase::Connecting => self.stats.stale_facts += 1,
            _ => self.heard_from(c),
        }
    }

    fn pushed(&mut self, c: u32) {
        self.received(c);
        self.note_activity(c);
    }

    fn handshake_failed(&mut self, c: u32, error: HandshakeError) {
        let (stage, cause) = match error {
            HandshakeError::Closed => (Stage::Handshake, Cause::PeerClosed),
            HandshakeError::Malformed => (Stage::Handshake, Cause::Malformed),
            HandshakeError::Version => (Stage::Handshake, Cause::VersionRefused),
            HandshakeError::Tls => (Stage::Handshake, Cause::TlsRefused),
            HandshakeError::Rejected => (Stage::Authenticate, Cause::CredentialsRejected),
            HandshakeError::Fatal => return self.session_over(c),
        };
        self.setup_ended(c, stage, cause);
    }
}

const fn connect_cause(error: ConnectError) -> Cause {
    match error {
        ConnectError::Refused => Cause::Refused,
        ConnectError::Unreachable => Cause::Unreachable,
        ConnectError::Reset => Cause::Reset,
        ConnectError::Other => Cause::ConnectFailed,
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::{Action, Config, Instant, Output, RequestOptions};

    /// A connection with three Writes out, and their serials.
    fn three_writes() -> (Cluster, ConnectionId, Vec<u32>) {
        let now = Instant::ORIGIN;
        let config = Config::builder().handshake(false).build().unwrap();
        let mut cluster = Cluster::new(config, 1, now);
        cluster
            .set_nodes(now, &["10.0.0.1:1".parse().unwrap()])
            .unwrap();
        for _ in 0..3 {
            cluster.submit(now, RequestOptions::new()).unwrap();
        }
        let (mut serials, mut up) = (Vec::new(), None);
        cluster.drive(now, |cluster, output| match output {
            Output::Action(Action::Connect { connection, .. }) => {
                up = Some(connection);
                cluster.handle_input(now, Input::Connected { connection });
            }
            Output::Action(Action::Write { serial, .. }) => serials.push(serial),
            _ => {}
        });
        (cluster, up.unwrap(), serials)
    }

    #[test]
    fn facts_about_many_writes_are_as_good_as_one_fact_a_write() {
        let ((mut many, connection, serials), (mut single, ..)) = (three_writes(), three_writes());
        assert_eq!(serials.len(), 3);
        let seen = |cluster: &Cluster| (cluster.snapshot(), cluster.poll_timeout());
        let now = Instant::from_nanos(1);
        // The first is named twice: the second time it is stale.
        let named = [serials[0], serials[0], serials[1]];

        many.writes_started(now, connection, named);
        for serial in named {
            single.handle_input(now, Input::WriteStarted { connection, serial });
        }
        assert_eq!(seen(&many), seen(&single));
        assert_eq!(many.stats().stale_facts, 1);

        many.writes_done(now, connection, named);
        single.handle_input(now, Input::WriteProgress { connection });
        for serial in named {
            single.handle_input(now, Input::WriteDone { connection, serial });
        }
        assert_eq!(seen(&many), seen(&single));
        assert_eq!(many.stats().stale_facts, 2);

        let stale = ConnectionId {
            generation: connection.generation + 1,
            ..connection
        };
        many.writes_started(now, stale, named);
        many.writes_done(now, stale, named);
        assert_eq!(many.stats().stale_facts, 4);
    }
}
