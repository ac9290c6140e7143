//! A client and a few servers, as data.

use std::time::Duration;

use redial::{CloseError, Config, ConnectError, NodeSpec, RequestOptions};
use redial_tests::world::{Accept, Fault, Greet, Op, Plan, address};

pub(crate) const HOSTS: usize = 6;

/// How a server treats a client.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Manner {
    Works,
    Refuses,
    Hangs,
    DropsBeforeReady,
    HangsInHandshake,
    DropsWhenReady,
}

pub(crate) const MANNERS: [Manner; 6] = [
    Manner::Works,
    Manner::Refuses,
    Manner::Hangs,
    Manner::DropsBeforeReady,
    Manner::HangsInHandshake,
    Manner::DropsWhenReady,
];

#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// The hosts of this mask, rotated.
    List(u8, usize),
    /// The same list in another order, with one of them twice, so often.
    Equal(usize),
    Manner(usize, Manner),
    /// Loses its connections.
    Cut(usize),
    Throttle(usize, u64),
    Submit,
    SubmitOn(usize),
}

#[derive(Clone, Debug)]
pub(crate) struct Life {
    pub(crate) seed: u64,
    pub(crate) config: Config,
    /// Requests are bound to nodes too.
    pub(crate) bound: bool,
    /// Handshakes give a session, with the keepalive that is configured.
    pub(crate) session: bool,
    pub(crate) latency: u64,
    pub(crate) manners: Vec<Manner>,
    /// With the pauses before them.
    pub(crate) changes: Vec<(u64, Change)>,
}

pub(crate) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

impl Life {
    /// All the changes, from a list of all servers on, and when the last one comes.
    pub(crate) fn plan(&self) -> (Plan, u64) {
        let mut plan = Plan::new(self.config.clone(), HOSTS).seed(self.seed);
        for (host, manner) in self.manners.iter().enumerate() {
            plan = plan.fault(0, Fault::Latency(host, ms(self.latency)));
            plan = self.treat(plan, 0, host, *manner);
        }
        let (mut now, mut listed) = (0, plan.list.clone());
        for (pause, change) in &self.changes {
            now += pause;
            plan = match *change {
                Change::List(mask, turn) => {
                    let hosts = (0..HOSTS).filter(|host| mask >> host & 1 == 1);
                    listed = hosts.map(|host| NodeSpec::new(address(host))).collect();
                    let turn = turn % listed.len();
                    listed.rotate_left(turn);
                    plan.at(now, Op::SetNodes(listed.clone()))
                }
                Change::Equal(times) => (0..times).fold(plan, |plan, _| {
                    let mut equal = listed.clone();
                    equal.reverse();
                    equal.extend(listed.first().cloned());
                    plan.at(now, Op::SetNodes(equal))
                }),
                Change::Manner(host, manner) => self.treat(plan, now, host, manner),
                Change::Cut(host) => plan.fault(now, Fault::Cut(host, CloseError::Io)),
                Change::Throttle(host, time) => plan.fault(now, Fault::Throttle(host, ms(time))),
                Change::SubmitOn(place) if self.bound => {
                    plan.at(now, Op::SubmitOn(place, request().timeout(ms(3_000))))
                }
                Change::SubmitOn(_) => plan,
                Change::Submit => plan.at(now, Op::Submit(request().idempotent())),
            };
        }
        (plan, now)
    }

    /// From then on the host treats clients so.
    pub(crate) fn treat(&self, plan: Plan, at: u64, host: usize, manner: Manner) -> Plan {
        let accept = match manner {
            Manner::Works | Manner::HangsInHandshake => Accept::Yes,
            Manner::Refuses => Accept::No(ConnectError::Refused),
            Manner::Hangs => Accept::BlackHole,
            Manner::DropsBeforeReady | Manner::DropsWhenReady => Accept::Briefly(CloseError::Peer),
        };
        let greet = match manner {
            Manner::DropsBeforeReady | Manner::HangsInHandshake => Greet::Mute,
            _ if self.session => Greet::WithSession(ms(9_000)),
            _ => Greet::Yes,
        };
        plan.fault(at, Fault::Accept(host, accept))
            .fault(at, Fault::Greet(host, greet))
    }
}

pub(crate) fn request() -> RequestOptions {
    RequestOptions::new()
}
