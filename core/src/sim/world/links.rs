//! Connections between clients and servers.

use core::time::Duration;
use std::{collections::BTreeMap, vec::Vec};

use bytes::{Bytes, BytesMut};

use super::{Due, LinkId, Notice, Owner, World, pipe::Pipe};
use crate::{
    CloseError, Instant,
    sim::server::{Answers, Conduct},
};

/// How long pieces come one after the other (see [`Fault::Fragment`](crate::sim::Fault::Fragment)).
const PIECE: Duration = Duration::from_micros(20);

/// How long a system sends bytes again and again before it gives a connection up: Linux's
/// tcp_retries2 of 15.
const UNACKNOWLEDGED: Duration = Duration::from_secs(924);

/// A connection, or a dial.
pub(super) struct Link {
    pub(super) owner: Owner,
    pub(super) server: u32,
    /// For the client.
    pub(super) is_up: bool,
    /// Nothing passes any more, and nobody is told.
    is_dead: bool,
    to_server: Pipe,
    to_client: Pipe,
    side: Side,
    /// The client has closed it.
    is_closed: bool,
    /// The client was told that it can read, and has not read all.
    told_readable: bool,
    /// When the client is told next that another piece may follow.
    next_piece_at: Instant,
    /// When the first of the bytes was sent that have not reached the server.
    unacknowledged: Option<Instant>,
    /// It will be looked at whether that is too long ago.
    is_timed: bool,
}

/// What the server knows of it.
enum Side {
    /// Nothing yet.
    Unknown,
    Open(Open),
    /// It has closed it, or lost it.
    Gone,
}

#[derive(Default)]
struct Open {
    /// What it has read and not understood yet.
    input: BytesMut,
    /// What it is about to send: by time, then in the order in which it was decided.
    answers: BTreeMap<(Instant, u64), Bytes>,
    decided: u64,
    /// Nothing in order goes before this.
    last_in_order: Instant,
    /// It closes when the answers are sent.
    closes: bool,
}

impl Link {
    pub(super) fn new(owner: Owner, server: u32) -> Self {
        Self {
            owner,
            server,
            is_up: false,
            is_dead: false,
            to_server: Pipe::default(),
            to_client: Pipe::default(),
            side: Side::Unknown,
            is_closed: false,
            told_readable: false,
            next_piece_at: Instant::ORIGIN,
            unacknowledged: None,
            is_timed: false,
        }
    }

    pub(super) fn accepted(&mut self) {
        self.side = Side::Open(Open::default());
    }
}

/// What clients do.
impl World {
    /// Sends bytes, as many as there is room for. When there is room again the owner is told.
    pub(in crate::sim) fn write(&mut self, id: LinkId, bytes: &[u8]) -> usize {
        let Some(link) = self.links.get_mut(&id) else {
            return 0;
        };
        let condition = &self.servers[link.server as usize].condition;
        let passage = condition.passage(&mut self.rng);
        let (count, arrives) = link.to_server.write(self.now, bytes, passage);
        if let Some(at) = arrives {
            link.unacknowledged.get_or_insert(self.now);
            if !core::mem::replace(&mut link.is_timed, true) {
                let due = Due::Unacknowledged(id);
                self.events.add(self.now + UNACKNOWLEDGED, due);
            }
            self.events.add(at, Due::ToServer(id));
        }
        // A full window is told of when the server has read.
        let waits = count < bytes.len() && passage.piece.is_some() && link.to_server.has_room();
        // Once a piece, or each try would be followed by another, and all by theirs.
        if waits && link.next_piece_at <= self.now {
            link.next_piece_at = self.now + PIECE;
            self.events.add(link.next_piece_at, Due::Room(id));
        }
        count
    }

    /// The bytes that have come.
    pub(in crate::sim) fn arrived(&self, id: LinkId) -> &[u8] {
        let link = self.links.get(&id);
        link.map_or(&[], |link| link.to_client.arrived())
    }

    /// Takes so many of the bytes that have come.
    pub(in crate::sim) fn take(&mut self, id: LinkId, count: usize) {
        if let Some(link) = self.links.get_mut(&id) {
            link.to_client.take(count);
            link.told_readable &= !link.to_client.arrived().is_empty();
        }
    }

    /// How it has ended, once all bytes were taken.
    pub(in crate::sim) fn ended(&self, id: LinkId) -> Option<CloseError> {
        self.links.get(&id)?.to_client.ended()
    }

    /// Closes a connection, or gives up a dial.
    pub(in crate::sim) fn close(&mut self, id: LinkId) {
        let Some(link) = self.links.get_mut(&id) else {
            return;
        };
        if core::mem::replace(&mut link.is_closed, true) {
            return;
        }
        if link.is_dead || !matches!(link.side, Side::Open(_)) {
            self.links.remove(&id);
            return;
        }
        let condition = &self.servers[link.server as usize].condition;
        let passage = condition.passage(&mut self.rng);
        let at = link.to_server.end(self.now, CloseError::Peer, passage);
        self.events.add(at, Due::ToServer(id));
    }
}

/// What happens on them.
impl World {
    pub(super) fn reaches_server(&mut self, id: LinkId) {
        let Some(link) = self.links.get_mut(&id) else {
            return;
        };
        let condition = &self.servers[link.server as usize].condition;
        if link.is_dead || condition.blocks_to_server() {
            return;
        }
        if let Some(at) = link.to_server.arrive(self.now, condition.piece) {
            let at = at.max(self.now + PIECE);
            self.events.add(at, Due::ToServer(id));
        }
        // Of what is still on its way the time begins anew, as with each acknowledgement.
        link.unacknowledged = link.to_server.has_transit().then_some(self.now);
        match link.side {
            Side::Open(_) => self.serve(id),
            // Nobody is there who knows this connection.
            Side::Gone if !link.to_server.arrived().is_empty() => {
                let count = link.to_server.arrived().len();
                link.to_server.take(count);
                self.reset(id);
            }
            Side::Gone if link.to_server.ended().is_some() => _ = self.links.remove(&id),
            Side::Gone | Side::Unknown => {}
        }
    }

    /// The server reads what has come, and answers.
    fn serve(&mut self, id: LinkId) {
        let Some(link) = self.links.get_mut(&id) else {
            return;
        };
        let host = &mut self.servers[link.server as usize];
        let condition = &host.condition;
        let Side::Open(open) = &mut link.side else {
            return;
        };
        if condition.is_paused {
            return;
        }
        let arrived = link.to_server.arrived();
        let count = arrived.len();
        open.input.extend_from_slice(arrived);
        link.to_server.take(count);
        if count > 0 && link.to_server.is_full {
            link.to_server.is_full = false;
            let at = self.now + condition.latency(&mut self.rng);
            self.events.add(at, Due::Room(id));
        }
        if condition.is_mute {
            return;
        }
        if !open.input.is_empty() && !open.closes {
            let conduct = Conduct {
                throttle: condition.throttle,
                rejects_credentials: condition.rejects,
            };
            let mut answers = Answers::new(self.now, conduct);
            host.server.read(id.0, &mut open.input, &mut answers);
            open.closes |= answers.closes;
            let garbles = condition.garbles && !answers.sent.is_empty();
            for sent in answers.sent {
                let mut at = self.now + sent.after + condition.slow;
                if sent.in_order {
                    at = at.max(open.last_in_order);
                    open.last_in_order = at;
                }
                let bytes = match garbles {
                    true => Bytes::from_static(b"\xff\xfe\xfd\xfc\x00garbage\r\n"),
                    false => sent.bytes,
                };
                open.answers.insert((at, open.decided), bytes);
                open.decided += 1;
                if at > self.now {
                    self.events.add(at, Due::Answer(id));
                }
            }
        }
        if link.to_server.ended().is_some() {
            host.server.closed(id.0);
            self.links.remove(&id);
            return;
        }
        self.answer(id);
    }

    /// Sends the answers that are ready.
    pub(super) fn answer(&mut self, id: LinkId) {
        let Some(link) = self.links.get_mut(&id) else {
            return;
        };
        let condition = &self.servers[link.server as usize].condition;
        let Side::Open(open) = &mut link.side else {
            return;
        };
        if condition.is_paused || condition.is_mute {
            return;
        }
        let mut arrives = None;
        while let Some(entry) = open.answers.first_entry() {
            if entry.key().0 > self.now {
                break;
            }
            let passage = condition.passage(&mut self.rng);
            arrives = Some(link.to_client.put(self.now, &entry.remove(), passage));
        }
        let closes = open.closes && open.answers.is_empty();
        if let Some(at) = arrives {
            self.events.add(at, Due::ToClient(id));
        }
        if closes {
            self.server_closes(id, CloseError::Peer);
        }
    }

    fn server_closes(&mut self, id: LinkId, error: CloseError) {
        let Some(link) = self.links.get_mut(&id) else {
            return;
        };
        let host = &mut self.servers[link.server as usize];
        host.server.closed(id.0);
        link.side = Side::Gone;
        let passage = host.condition.passage(&mut self.rng);
        let at = link.to_client.end(self.now, error, passage);
        self.events.add(at, Due::ToClient(id));
    }

    pub(super) fn reaches_client(&mut self, id: LinkId) {
        let Some(link) = self.links.get_mut(&id) else {
            return;
        };
        let condition = &self.servers[link.server as usize].condition;
        if link.is_dead || link.is_closed || !link.is_up || condition.blocks_to_client() {
            return;
        }
        if let Some(at) = link.to_client.arrive(self.now, condition.piece) {
            let at = at.max(self.now + PIECE);
            self.events.add(at, Due::ToClient(id));
        }
        self.tell_readable(id);
    }

    fn tell_readable(&mut self, id: LinkId) {
        let Some(link) = self.links.get_mut(&id) else {
            return;
        };
        let something = !link.to_client.arrived().is_empty() || link.to_client.ended().is_some();
        if something && !core::mem::replace(&mut link.told_readable, true) {
            let owner = link.owner;
            self.tell(Notice::Readable(owner, id));
        }
    }

    pub(super) fn room(&mut self, id: LinkId) {
        let Some(link) = self.links.get(&id) else {
            return;
        };
        let condition = &self.servers[link.server as usize].condition;
        if !link.is_dead && !link.is_closed && !condition.blocks_to_client() {
            self.tell(Notice::Writable(link.owner, id));
        }
    }

    /// The client's system gives it up if what it sent has not reached the server for too long.
    pub(super) fn unacknowledged(&mut self, id: LinkId) {
        let Some(link) = self.links.get_mut(&id) else {
            return;
        };
        match link.unacknowledged {
            None => link.is_timed = false,
            Some(since) if self.now < since + UNACKNOWLEDGED => {
                let due = Due::Unacknowledged(id);
                self.events.add(since + UNACKNOWLEDGED, due);
            }
            Some(_) if link.is_closed => _ = self.links.remove(&id),
            Some(_) => {
                if let Side::Open(_) = link.side {
                    self.servers[link.server as usize].server.closed(id.0);
                }
                link.is_dead = false;
                link.side = Side::Gone;
                link.to_client.reset(self.now);
                link.to_client.arrive(self.now, None);
                self.tell_readable(id);
            }
        }
    }

    /// The other side has lost it, and says so to whoever sends something.
    fn reset(&mut self, id: LinkId) {
        let Some(link) = self.links.get_mut(&id) else {
            return;
        };
        link.side = Side::Gone;
        let condition = &self.servers[link.server as usize].condition;
        if link.is_dead || condition.partition.to_client {
            return;
        }
        if link.is_closed {
            self.links.remove(&id);
            return;
        }
        let at = self.now + condition.latency(&mut self.rng);
        link.to_client.reset(at);
        self.events.add(at, Due::ToClient(id));
    }
}

/// What goes wrong with all of a server.
impl World {
    /// Its line is narrow no more.
    pub(super) fn hasten_all(&mut self, server: u32) {
        let at = self.now + self.latency(server);
        for link in self.links.values_mut().filter(|link| link.server == server) {
            link.to_server.hasten(self.now, at);
            link.to_client.hasten(self.now, at);
        }
        self.resume(server);
    }

    pub(super) fn links_to(&self, server: u32) -> Vec<LinkId> {
        let there = self.links.iter().filter(|(_, link)| link.server == server);
        there.map(|(id, _)| *id).collect()
    }

    /// The server's side of all connections is gone, and the clients are told if they can be.
    pub(super) fn reset_all(&mut self, server: u32) {
        for id in self.links_to(server) {
            if matches!(self.links[&id].side, Side::Open(_)) {
                self.servers[server as usize].server.closed(id.0);
                self.reset(id);
            }
        }
    }

    /// All connections die without a word.
    pub(super) fn forget_all(&mut self, server: u32) {
        for id in self.links_to(server) {
            if let Some(link) = self.links.get_mut(&id)
                && matches!(link.side, Side::Open(_))
            {
                link.is_dead = true;
                link.side = Side::Gone;
                let is_closed = link.is_closed;
                self.servers[server as usize].server.closed(id.0);
                if is_closed {
                    self.links.remove(&id);
                }
            }
        }
    }

    /// The server says on all connections that it will go.
    pub(super) fn goodbye(&mut self, server: u32) {
        for id in self.links_to(server) {
            let Some(link) = self.links.get_mut(&id) else {
                continue;
            };
            let Side::Open(open) = &mut link.side else {
                continue;
            };
            let mut out = BytesMut::new();
            self.servers[server as usize].server.goodbye(id.0, &mut out);
            if !out.is_empty() {
                let at = self.now.max(open.last_in_order);
                open.answers.insert((at, open.decided), out.freeze());
                open.decided += 1;
                self.events.add(at, Due::Answer(id));
            }
        }
    }

    /// The server closes all connections, if it drains since so long. A process that is stopped does
    /// it when it goes on.
    pub(super) fn hang_up(&mut self, server: u32) {
        let host = &self.servers[server as usize];
        let hangs_up = host.hangs_up_at.is_some_and(|at| at <= self.now);
        if !hangs_up || host.condition.is_paused {
            return;
        }
        for id in self.links_to(server) {
            if matches!(self.links[&id].side, Side::Open(_)) {
                self.server_closes(id, CloseError::Peer);
            }
        }
    }
}
