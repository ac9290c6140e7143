//! The servers' side.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::BytesMut;
use redial::{
    HandshakeError, Instant, Matching, NodeSpec, Verdict,
    sim::{Answers, Server},
};

use super::{
    Chance, Dialect, Request,
    wire::{ToClient, ToServer, hear, say},
};

/// For how long a server is silent that has to answer in order.
const LONG: Duration = Duration::from_secs(24 * 3600);

/// A server that speaks a [`Dialect`].
#[derive(Debug)]
pub(super) struct Listener {
    dialect: Dialect,
    number: u32,
    /// What it answers a discovery.
    list: Vec<NodeSpec>,
    chance: Chance,
    sessions: Sessions,
    /// The sessions of its connections, which have all been greeted.
    greeted: BTreeMap<u64, Option<u64>>,
}

/// All servers know all sessions.
#[derive(Clone, Debug, Default)]
pub(super) struct Sessions(Arc<Mutex<BTreeMap<u64, Session>>>);

#[derive(Debug)]
struct Session {
    /// By which server and on which connection.
    holder: (u32, u64),
    heard: Instant,
}

impl Listener {
    /// The server with this number, of those that share these sessions.
    #[must_use]
    pub(super) const fn new(
        dialect: Dialect,
        number: u32,
        list: Vec<NodeSpec>,
        chance: Chance,
        sessions: Sessions,
    ) -> Self {
        Self {
            dialect,
            number,
            list,
            chance,
            sessions,
            greeted: BTreeMap::new(),
        }
    }

    fn hello(&mut self, connection: u64, session: Option<u64>, answers: &mut Answers) {
        use HandshakeError::{Malformed, Rejected, Tls, Version};
        if answers.conduct().rejects_credentials {
            return refuse(answers, Rejected);
        }
        if self.chance.per_mille(self.dialect.odd / 4) {
            return refuse(answers, self.chance.pick(&[Version, Tls, Malformed]));
        }
        let holder = (self.number, connection);
        let opened = self.dialect.session.map(|timeout| {
            let opened = self.sessions.open(session, holder, answers.now(), timeout);
            opened.map(|id| (id, timeout))
        });
        let session = match opened {
            Some(None) => return refuse(answers, HandshakeError::Fatal),
            Some(session) => session,
            None => None,
        };
        self.greeted.insert(connection, session.map(|(id, _)| id));
        let limit = self.dialect.limit;
        self.answer(
            answers,
            Duration::ZERO,
            &ToClient::Welcome { limit, session },
        );
    }

    fn request(&mut self, serial: u32, request: Request, answers: &mut Answers) {
        if let Some(time) = answers.conduct().throttle {
            self.answer(answers, Duration::ZERO, &ToClient::Throttle(time));
        }
        let reply = |verdict, throttle| ToClient::Reply {
            serial,
            number: request.number,
            verdict,
            throttle,
        };
        let done = reply(Verdict::DONE, None);
        if request.plain || !self.chance.per_mille(self.dialect.odd) {
            let work = match request.plain || self.chance.below(20) > 0 {
                true => 20,
                false => 5_000,
            };
            let after = self.chance.millis(work);
            return self.answer(answers, after, &done);
        }
        let (soon, wait) = (self.chance.millis(20), self.chance.millis(2_000));
        let (here, elsewhere) = (Verdict::RETRY_HERE, Verdict::RETRY_ELSEWHERE);
        match self.chance.below(11) {
            0 => self.answer(answers, soon, &reply(here.after(wait), None)),
            1 => self.answer(answers, soon, &reply(elsewhere, None)),
            2 => self.answer(answers, soon, &reply(elsewhere.after(wait).refresh(), None)),
            3 => self.answer(answers, soon, &reply(Verdict::DONE, Some(wait))),
            4 => {
                self.answer(answers, soon, &ToClient::Throttle(wait));
                self.answer(answers, soon, &done);
            }
            5 => {
                self.answer(answers, soon, &ToClient::Push(request.number));
                self.answer(answers, soon, &done);
            }
            6 => {
                self.answer(answers, soon, &ToClient::Goodbye);
                self.answer(answers, soon, &done);
                answers.close();
            }
            7 => answers.send(soon, &b"\0\0\0\x01?"[..]),
            8 => answers.close(),
            // To a client that goes by order it would be the reply to the next request.
            9 if self.dialect.matching == Matching::Serial => {
                self.answer(answers, soon, &done);
                self.answer(answers, wait, &done);
            }
            _ if self.dialect.matching == Matching::Serial => {}
            _ => self.answer(answers, LONG, &done),
        }
    }

    fn discover(&mut self, answers: &mut Answers) {
        let mut list = self.list.clone();
        let odd = self.chance.per_mille(self.dialect.odd);
        let (after, said) = match self.chance.below(if odd { 5 } else { 1 }) {
            0 => {
                let version = self.chance.pick(&[None, None, Some(1), Some(2)]);
                (0, ToClient::Servers(version, list))
            }
            1 => (0, ToClient::Servers(None, Vec::new())),
            2 => (0, ToClient::NoServers),
            3 => (15, ToClient::NoServers),
            _ => {
                // One key, two endpoints.
                list.iter_mut()
                    .for_each(|spec| spec.key = Some("key".into()));
                (0, ToClient::Servers(None, list))
            }
        };
        // Always in the order of the questions.
        let mut bytes = BytesMut::new();
        say(&mut bytes, &said);
        answers.send(Duration::from_secs(after), bytes);
    }

    fn answer(&self, answers: &mut Answers, after: Duration, what: &ToClient) {
        let mut bytes = BytesMut::new();
        say(&mut bytes, what);
        match self.dialect.matching {
            Matching::Serial => answers.send_unordered(after, bytes),
            Matching::Order => answers.send(after, bytes),
        }
    }

    /// Whether somebody may speak on this connection.
    fn knows(&self, connection: u64, now: Instant) -> bool {
        match self.greeted.get(&connection) {
            None => !self.dialect.handshake,
            Some(None) => true,
            Some(Some(session)) => self.sessions.hear(*session, (self.number, connection), now),
        }
    }
}

fn refuse(answers: &mut Answers, error: HandshakeError) {
    let mut bytes = BytesMut::new();
    say(&mut bytes, &ToClient::Refused(error));
    answers.send(Duration::ZERO, bytes);
    answers.close();
}

impl Server for Listener {
    fn read(&mut self, connection: u64, input: &mut BytesMut, answers: &mut Answers) {
        loop {
            let said = match hear(input) {
                Ok(None) => return,
                Ok(Some(said)) => said,
                Err(_) => return answers.close(),
            };
            match said {
                ToServer::Hello(session) => self.hello(connection, session, answers),
                _ if !self.knows(connection, answers.now()) => return answers.close(),
                ToServer::Request { serial, request } => self.request(serial, request, answers),
                ToServer::OneWay(_) => {}
                ToServer::Ping => self.answer(answers, Duration::ZERO, &ToClient::Pong),
                ToServer::Discover => self.discover(answers),
            }
        }
    }

    fn closed(&mut self, connection: u64) {
        self.greeted.remove(&connection);
    }

    fn goodbye(&mut self, _: u64, out: &mut BytesMut) {
        say(out, &ToClient::Goodbye);
    }
}

impl Sessions {
    fn all(&self) -> MutexGuard<'_, BTreeMap<u64, Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a session, or moves it to another connection; none if it is over.
    fn open(
        &self,
        session: Option<u64>,
        holder: (u32, u64),
        now: Instant,
        timeout: Duration,
    ) -> Option<u64> {
        let mut all = self.all();
        if let Some(id) = session {
            let session = all.get_mut(&id)?;
            if now - session.heard > timeout {
                return None;
            }
            *session = Session { holder, heard: now };
            return Some(id);
        }
        let id = all.len() as u64 + 1;
        all.insert(id, Session { holder, heard: now });
        Some(id)
    }

    /// Hears of it, and says whether it is this connection that has it.
    fn hear(&self, session: u64, holder: (u32, u64), now: Instant) -> bool {
        let mut all = self.all();
        let session = all.get_mut(&session);
        let held = session.filter(|session| session.holder == holder);
        held.map(|session| session.heard = now).is_some()
    }
}
