//! The servers' side of one connection.

use std::{collections::VecDeque, time::Duration};

use bytes::BytesMut;
use redial::{Matching, NodeSpec, Verdict};

use super::{
    list,
    operation::{Said, Time},
};
use crate::lab::{
    Dialect,
    wire::{ToClient, ToServer, hear, say},
};

/// What no request has as its number.
pub(super) const WILD: u64 = u64::MAX;

#[derive(Debug, Default)]
pub(super) struct Server {
    /// What was sent to it.
    pub(super) input: BytesMut,
    /// What it said that has not come yet.
    pub(super) output: BytesMut,
    /// Serial and number of the requests that it heard and has not answered.
    unanswered: VecDeque<(u32, u64)>,
    /// What else it heard and has not answered.
    heard: Vec<ToServer>,
    /// Nobody knows any more what its replies answer.
    is_wild: bool,
}

impl Server {
    /// Hears all that has come.
    fn hear(&mut self) {
        while let Some(said) = hear(&mut self.input).expect("a client sends frames") {
            match said {
                ToServer::Request { serial, request } => {
                    self.unanswered.push_back((serial, request.number));
                }
                said => self.heard.push(said),
            }
        }
    }

    /// Answers all that it heard, as a good server does.
    pub(super) fn answer(&mut self, dialect: &Dialect, servers: Vec<NodeSpec>) {
        self.hear();
        for said in std::mem::take(&mut self.heard) {
            self.tell(&match said {
                ToServer::Hello(session) => ToClient::Welcome {
                    limit: dialect.limit,
                    session: dialect.session.map(|time| (session.unwrap_or(1), time)),
                },
                ToServer::Ping => ToClient::Pong,
                ToServer::Discover => ToClient::Servers(None, servers.clone()),
                ToServer::Request { .. } | ToServer::OneWay(_) => continue,
            });
        }
        while let Some((serial, number)) = self.unanswered.pop_front() {
            self.reply(serial, number, Verdict::DONE, None);
        }
    }

    /// Says something, asked or not.
    pub(super) fn say(&mut self, said: Said, dialect: &Dialect) {
        self.hear();
        match said {
            Said::Welcome(limit, session) => self.tell(&ToClient::Welcome {
                limit: limit.map(u32::from),
                session: session.map(|timeout| (1, timeout.length())),
            }),
            Said::Refused(error) => self.tell(&ToClient::Refused(error.into())),
            Said::Reply(which, meaning, throttle) => {
                let at = match dialect.matching {
                    Matching::Order => 0,
                    Matching::Serial => usize::from(which) % self.unanswered.len().max(1),
                };
                if let Some((serial, number)) = self.unanswered.remove(at) {
                    let throttle = throttle.map(Time::length);
                    self.reply(serial, number, meaning.into(), throttle);
                }
            }
            Said::WildReply(serial, meaning) => {
                // What it answers by order is not what comes next.
                self.is_wild |= dialect.matching == Matching::Order;
                self.reply(serial.into(), WILD, meaning.into(), None);
            }
            Said::Push => self.tell(&ToClient::Push(WILD)),
            Said::Throttle(time) => self.tell(&ToClient::Throttle(time.length())),
            Said::Goodbye => self.tell(&ToClient::Goodbye),
            Said::Pong => self.tell(&ToClient::Pong),
            Said::Servers(version, which) => {
                self.tell(&ToClient::Servers(version.map(u64::from), list(which)));
            }
            Said::NoServers => self.tell(&ToClient::NoServers),
        }
    }

    fn reply(&mut self, serial: u32, number: u64, verdict: Verdict, throttle: Option<Duration>) {
        let number = if self.is_wild { WILD } else { number };
        self.tell(&ToClient::Reply {
            serial,
            number,
            verdict,
            throttle,
        });
    }

    fn tell(&mut self, what: &ToClient) {
        say(&mut self.output, what);
    }
}
