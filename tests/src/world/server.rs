//! Servers, and what can be wrong with them.

use std::time::Duration;

use redial::{CloseError, ConnectError, HandshakeError, Verdict};

use super::{Answer, Due, Tells, World, Wrong, network::Happens};

/// A server: what it does when it is dialled, greeted and asked.
#[derive(Clone, Debug)]
pub(super) struct Server {
    pub(super) accept: Accept,
    pub(super) greet: Greet,
    pub(super) serve: Serve,
    /// One way.
    pub(super) latency: Duration,
    /// From a request to its reply.
    pub(super) work: Duration,
    /// Whether it reads what is sent to it.
    pub(super) reads: bool,
}

/// What a server does with a connection attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Accept {
    /// It lets it in.
    Yes,
    /// It does not.
    No(ConnectError),
    /// It lets it in, and ends the connection soon after.
    Briefly(CloseError),
    /// It never answers.
    BlackHole,
}

/// What a server does with a handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Greet {
    /// It answers it.
    Yes,
    /// It answers it, and allows so many requests in flight.
    WithLimit(u32),
    /// It answers it, and gives a session that lasts so long unheard.
    WithSession(Duration),
    /// It refuses it.
    No(HandshakeError),
    /// It never answers.
    Mute,
    /// It ends the connection.
    Close(CloseError),
}

/// What a server does with a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Serve {
    /// It answers with this verdict.
    Reply(Verdict),
    /// It never answers.
    Mute,
    /// It ends the connection.
    Close(CloseError),
}

/// A change of the world.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// What this server does with new connections, from now on.
    Accept(usize, Accept),
    /// What it does with handshakes.
    Greet(usize, Greet),
    /// What it does with requests.
    Serve(usize, Serve),
    /// How far away it is.
    Latency(usize, Duration),
    /// How long it works on a request.
    Work(usize, Duration),
    /// Whether it reads.
    Reads(usize, bool),
    /// All of its connections end.
    Cut(usize, CloseError),
    /// It is gone: all its connections end, new ones are refused.
    Crash(usize),
    /// It serves as at the beginning.
    Revive(usize),
    /// It asks for no requests for so long, on each of its connections.
    Throttle(usize, Duration),
    /// It says on each of its connections that it will close it.
    Goodbye(usize),
    /// The resolver's answer for this name, from now on.
    Name(String, Answer),
    /// What this source of server lists does when it is asked (modulo their number).
    Source(usize, Tells),
    /// The process sleeps: nothing is handled for so long, and then all at once.
    Sleep(Duration),
}

impl Default for Server {
    fn default() -> Self {
        Self {
            accept: Accept::Yes,
            greet: Greet::Yes,
            serve: Serve::Reply(Verdict::DONE),
            latency: Duration::from_millis(5),
            work: Duration::from_millis(1),
            reads: true,
        }
    }
}

impl World {
    pub(super) fn fault(&mut self, fault: Fault) -> Result<(), Wrong> {
        self.trace.fault(self.now, &fault);
        match fault {
            Fault::Accept(server, accept) => self.server(server).accept = accept,
            Fault::Greet(server, greet) => self.server(server).greet = greet,
            Fault::Serve(server, serve) => self.server(server).serve = serve,
            Fault::Latency(server, latency) => self.server(server).latency = latency,
            Fault::Work(server, work) => self.server(server).work = work,
            Fault::Reads(server, reads) => {
                self.server(server).reads = reads;
                return self.pump_all(server);
            }
            Fault::Cut(server, error) => self.tell_all(server, Happens::Closed(error)),
            Fault::Crash(server) => {
                self.server(server).accept = Accept::No(ConnectError::Refused);
                self.tell_all(server, Happens::Closed(CloseError::Io));
            }
            Fault::Revive(server) => {
                *self.server(server) = Server::default();
                return self.pump_all(server);
            }
            Fault::Throttle(server, time) => self.tell_all(server, Happens::Throttled(time)),
            Fault::Goodbye(server) => self.tell_all(server, Happens::Goodbye),
            Fault::Name(name, answer) => self.resolver.change(&name, answer),
            Fault::Source(source, tells) => self.source_changes(source, tells),
            Fault::Sleep(time) => self.now += time,
        }
        Ok(())
    }

    fn server(&mut self, server: usize) -> &mut Server {
        let count = self.servers.len();
        &mut self.servers[server % count]
    }

    /// Something happens on each connection to this server, as soon as the news has travelled.
    fn tell_all(&mut self, server: usize, happens: Happens) {
        let server = server % self.servers.len();
        let at = self.now + self.servers[server].latency;
        for connection in self.network.to_server(server) {
            self.events.add(at, Due::Network(connection, happens));
        }
    }

    fn pump_all(&mut self, server: usize) -> Result<(), Wrong> {
        let server = server % self.servers.len();
        let connections = self.network.to_server(server);
        connections
            .into_iter()
            .try_for_each(|connection| self.reading_changed(connection))
    }
}
