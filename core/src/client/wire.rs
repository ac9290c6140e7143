//! What [`Client`] does with the bytes of a connection, from its beginning to its end.

use core::time::Duration;

use super::{
    Client, ClientAction, ClientOutput, Item, Malformed, Outgoing, Peer, Protocol, Rejected,
    byte_layer::Request,
    connection::{Connection, PendingWrite},
};
use crate::{CloseError, ConnectionId, HandshakeError, Input, Instant};

const UNASKED: Malformed = Malformed("an answer about servers that was not asked for");

impl<P: Protocol> Client<P> {
    /// A transport is up: its protocol state begins.
    pub(super) fn open(&mut self, now: Instant, connection: ConnectionId) {
        self.cluster
            .handle_input(now, Input::Connected { connection });
        if self.connections.get(connection).is_some() {
            return; // Told twice.
        }
        let Some(view) = self.cluster.connection(connection) else {
            return; // Stale, or it lost its race.
        };
        let Some(spec) = self.cluster.spec(view.node) else {
            return;
        };
        let peer = Peer {
            connection,
            node: view.node,
            spec,
            address: view.address,
        };
        let state = self.protocol.open(peer);
        let handshake = self.protocol.has_handshake();
        let mut open = Connection::new(view.node, state, !handshake);
        if handshake {
            self.protocol
                .start_handshake(&mut open.state, &mut open.output);
        }
        self.connections.insert(connection, open);
    }

    /// Takes bytes that came, and every item that is whole by now.
    pub(super) fn decode(&mut self, now: Instant, connection: ConnectionId, bytes: &[u8]) {
        if self.cluster.connection(connection).is_none() {
            return; // It has ended, though its Close may still wait to be drained.
        }
        // What is read goes out in the order in which it came, after what was there before.
        self.translate_waiting();
        let Some(open) = self.connections.get_mut(connection) else {
            return;
        };
        if bytes.is_empty() {
            return;
        }
        open.input.extend_from_slice(bytes);
        let unsent = open.output.len();
        self.cluster
            .handle_input(now, Input::Received { connection });
        self.translate_waiting();
        // Looked up each time, because an item can end its connection.
        while let Some(open) = self.connections.get_mut(connection) {
            match self
                .protocol
                .decode(&mut open.state, &mut open.input, &mut open.output)
            {
                Ok(Some(item)) => self.handle_item(now, connection, item),
                Ok(None) if open.input.len() > self.protocol.max_buffered() => {
                    self.malformed(now, connection, Malformed("frame over the limit"));
                }
                Ok(None) => {
                    open.trim_input();
                    if open.output.len() > unsent && open.announce() {
                        let transmit = ClientAction::Transmit { connection };
                        self.outputs.push_back(ClientOutput::Action(transmit));
                    }
                    return;
                }
                Err(error) => self.malformed(now, connection, error),
            }
        }
    }

    fn handle_item(
        &mut self,
        now: Instant,
        connection: ConnectionId,
        item: Item<P::Reply, P::Push>,
    ) {
        let Some(open) = self.connections.get_mut(connection) else {
            return;
        };
        match item {
            Item::HandshakeDone(limits) if !open.ready => {
                open.ready = true;
                self.cluster
                    .handle_input(now, Input::HandshakeDone { connection, limits });
            }
            Item::HandshakeFailed(error) if !open.ready => {
                self.close(connection);
                self.cluster
                    .handle_input(now, Input::HandshakeFailed { connection, error });
            }
            Item::Reply {
                to,
                verdict,
                throttle,
                reply,
            } if open.ready => {
                if !open.can_be_answered(to) {
                    let error = Malformed("a reply to a request that was not sent");
                    return self.malformed(now, connection, error);
                }
                // Before the reply frees a slot.
                if let Some(wait) = throttle {
                    self.throttle(now, connection, wait);
                    self.translate_waiting();
                }
                let input = Input::Reply {
                    connection,
                    to,
                    verdict,
                };
                self.cluster.handle_input(now, input);
                // The reply goes out with the completion that it causes. It is dropped if it causes
                // none: if it is late, or if its request is tried again.
                return self.translate_with(&mut Some(reply));
            }
            Item::Push(push) => {
                let node = open.node;
                self.cluster.handle_input(now, Input::Push { connection });
                self.outputs.push_back(ClientOutput::Push {
                    node,
                    connection,
                    push,
                });
            }
            Item::Servers { version, servers } => match open.discoveries.pop_front() {
                Some(refresh) => self.cluster.refreshed(now, refresh, version, &servers),
                None => return self.malformed(now, connection, UNASKED),
            },
            Item::NoServers => match open.discoveries.pop_front() {
                Some(refresh) => {
                    let failed = Input::RefreshFailed { refresh };
                    self.cluster.handle_input(now, failed);
                }
                None => return self.malformed(now, connection, UNASKED),
            },
            Item::Throttle(wait) => self.throttle(now, connection, wait),
            Item::Goodbye => self
                .cluster
                .handle_input(now, Input::PeerDraining { connection }),
            Item::HandshakeDone(_) | Item::HandshakeFailed(_) => {
                self.malformed(now, connection, Malformed("a second end of the handshake"));
            }
            Item::Reply { .. } => {
                self.malformed(now, connection, Malformed("a reply during the handshake"));
            }
        }
        self.translate_waiting();
    }

    fn throttle(&mut self, now: Instant, connection: ConnectionId, wait: Duration) {
        let until = now + wait;
        self.cluster
            .handle_input(now, Input::Throttled { connection, until });
    }

    /// Encodes the Writes that may start now.
    pub(super) fn encode(&mut self, now: Instant, connection: ConnectionId) {
        let Some(open) = self.connections.get_mut(connection) else {
            return;
        };
        open.announcement_heard();
        let mut told = open.frames();
        while let Some(PendingWrite { request, serial }) = open.next_write() {
            if !self.cluster.may_write(now, connection, serial) {
                continue;
            }
            let Some(Request {
                payload,
                expects_reply,
            }) = self.requests.get(request)
            else {
                continue;
            };
            let outgoing = Outgoing {
                serial,
                request: payload,
                expects_reply: *expects_reply,
            };
            let start = open.output.len();
            match self
                .protocol
                .encode(&mut open.state, outgoing, &mut open.output)
            {
                Ok(()) if open.output.len() > start => open.frame_ends(serial, *expects_reply),
                Ok(()) | Err(Rejected) => {
                    open.output.truncate(start);
                    // What is encoded must be known to be handed over before anything changes.
                    self.cluster
                        .writes_started(now, connection, open.frames_from(told));
                    told = open.frames();
                    self.cluster
                        .handle_input(now, Input::WriteRejected { connection, serial });
                }
            }
        }
        if open.frames() > told {
            self.cluster
                .writes_started(now, connection, open.frames_from(told));
        }
    }

    /// The transport has ended.
    pub(super) fn end(&mut self, now: Instant, connection: ConnectionId, error: CloseError) {
        let known = self.cluster.connection(connection).is_some();
        let open = self.connections.get(connection).filter(|_| known);
        if error == CloseError::Peer && open.is_some_and(|open| !open.input.is_empty()) {
            self.report(now, connection, Malformed("the last frame is torn"));
            self.connections.remove(connection);
        } else {
            self.connections.remove(connection);
            self.cluster
                .handle_input(now, Input::Closed { connection, error });
        }
    }

    /// The bytes on an open transport are not the protocol's.
    fn malformed(&mut self, now: Instant, connection: ConnectionId, error: Malformed) {
        self.report(now, connection, error);
        self.close(connection);
    }

    fn report(&mut self, now: Instant, connection: ConnectionId, error: Malformed) {
        let Some(open) = self.connections.get(connection) else {
            return;
        };
        let (node, ready) = (open.node, open.ready);
        self.translate_waiting();
        self.outputs.push_back(ClientOutput::Malformed {
            node,
            connection,
            error,
        });
        let input = match ready {
            true => Input::Closed {
                connection,
                error: CloseError::Protocol,
            },
            false => Input::HandshakeFailed {
                connection,
                error: HandshakeError::Malformed,
            },
        };
        self.cluster.handle_input(now, input);
    }

    /// Closes a transport whose end the cluster is told as a fact: it gives no Close for it.
    fn close(&mut self, connection: ConnectionId) {
        if self.connections.remove(connection).is_some() {
            let close = ClientAction::Close { connection };
            self.outputs.push_back(ClientOutput::Action(close));
        }
    }
}
