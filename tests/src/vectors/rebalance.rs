//! Kinds `rebalance` and `rebalance_chain`: where the clients of a service go when its list changes.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

use redial::{
    Action, Backoff, Cluster, Config, ConnectError, ConnectionId, Input, Instant, Limit, NodeSpec,
    NodeState, Output, SelectionPolicy, plan,
};
use serde::Deserialize;

use super::expect;

/// A client that an update of its list may move, and a service that accepts every connection.
struct Client {
    cluster: Cluster,
    now: Instant,
    /// The first server that was dialled since the list changed.
    dialled: Option<u32>,
}

impl Client {
    fn new(seed: u64) -> Result<Self, String> {
        let config = Config::builder()
            .selection(SelectionPolicy::Sticky)
            .handshake(false)
            .reconnect_backoff(Backoff::constant(Duration::from_millis(1)))
            .max_idle(Limit::Never)
            .build()
            .map_err(|error| error.to_string())?;
        Ok(Self {
            cluster: Cluster::new(config, seed, Instant::ORIGIN),
            now: Instant::ORIGIN,
            dialled: None,
        })
    }

    /// The list changes, and the client goes where it wants to.
    fn update(&mut self, list: &[u32]) -> Result<(), String> {
        self.take(list)?;
        self.connect(|_| true)
    }

    fn take(&mut self, list: &[u32]) -> Result<(), String> {
        let specs: Vec<NodeSpec> = list.iter().copied().map(server).collect();
        self.dialled = None;
        let set = self.cluster.set_nodes(self.now, &specs);
        set.map_err(|error| format!("set_nodes: {error}"))
    }

    /// Drives the client until it wants nothing any more. Servers that do not accept refuse.
    fn connect(&mut self, accepts: impl Fn(u32) -> bool) -> Result<(), String> {
        for _ in 0..10_000 {
            let mut dials: Vec<(ConnectionId, u32)> = Vec::new();
            let deadline = self.cluster.drive(self.now, |cluster, output| {
                if let Output::Action(Action::Connect {
                    connection, node, ..
                }) = output
                {
                    let spec = cluster
                        .spec(node)
                        .expect("a node that is dialled is listed");
                    dials.push((connection, number(spec)));
                }
            });
            for &(connection, server) in &dials {
                self.dialled.get_or_insert(server);
                let error = ConnectError::Refused;
                let fact = match accepts(server) {
                    true => Input::Connected { connection },
                    false => Input::ConnectFailed { connection, error },
                };
                self.cluster.handle_input(self.now, fact);
            }
            match deadline {
                _ if !dials.is_empty()
                    || self
                        .cluster
                        .poll_timeout()
                        .is_some_and(|next| next.at <= self.now) => {}
                Some(next) if self.connected().is_none() => self.now = next.at,
                _ => return Ok(()),
            }
        }
        Err("it does not come to rest".to_owned())
    }

    fn connected(&self) -> Option<u32> {
        let mut nodes = self.cluster.nodes();
        let ready = nodes.find(|node| node.state == NodeState::Ready);
        ready.map(|node| number(node.spec))
    }
}

fn server(number: u32) -> NodeSpec {
    let ip = Ipv4Addr::from_bits(0x0a00_0000 + number);
    NodeSpec::new(SocketAddr::from((ip, 2181)))
}

fn number(spec: &NodeSpec) -> u32 {
    let text = spec.endpoint.to_string();
    let address: SocketAddr = text.parse().expect("all are addresses");
    match address {
        SocketAddr::V4(address) => address.ip().to_bits() - 0x0a00_0000,
        SocketAddr::V6(_) => unreachable!("all are of the fourth version"),
    }
}

/// Whether a count of `trials` is what a probability gives: exactly for 0 and 1, else within five
/// standard deviations.
fn agrees(what: &str, count: u32, trials: u32, p: f64) -> Result<(), String> {
    let (expected, n) = (p * f64::from(trials), f64::from(trials));
    let deviation = (n * p * (1.0 - p)).max(0.0).sqrt();
    let near = (f64::from(count) - expected).abs() <= 5.0 * deviation + 1e-9;
    match near {
        true => Ok(()),
        false => Err(format!(
            "{what}: expected {expected:.0} of {trials} ± {:.0}, came {count}",
            5.0 * deviation
        )),
    }
}

#[derive(Deserialize)]
pub(super) struct Vector {
    old: Vec<u32>,
    current: u32,
    new: Vec<u32>,
    trials: u32,
    moved: u32,
    ends_on: BTreeMap<u32, u32>,
    p_old: Option<f64>,
    p_new: Option<f64>,
}

/// The rule of SEMANTICS 7.7, in numbers.
struct Rule {
    moves: f64,
    /// Where a client goes first.
    ends_on: BTreeMap<u32, f64>,
}

impl Rule {
    fn new(old: &BTreeSet<u32>, own: u32, new: &BTreeSet<u32>) -> Self {
        let kept: BTreeSet<u32> = old.intersection(new).copied().collect();
        let [n0, n1, k] = [old, new, &kept].map(|set| set.len() as f64);
        let moves = match new.contains(&own) {
            false => 1.0,
            true if old.contains(&own) && n1 > n0 => 1.0 - n0 / n1,
            true => 0.0,
        };
        let p_old = match (n1 > n0, k * (n0 - n1), n1 * (n0 - k)) {
            (true, ..) => 0.0,
            (_, _, 0.0) => 1.0,
            (_, numerator, denominator) => numerator / denominator,
        };
        let added: BTreeSet<u32> = new.difference(old).copied().filter(|&s| s != own).collect();
        let kept: BTreeSet<u32> = kept.into_iter().filter(|&s| s != own).collect();
        let p_old = match (kept.is_empty(), added.is_empty()) {
            (true, _) => 0.0,
            (_, true) => 1.0,
            _ => p_old,
        };
        let mut ends_on = BTreeMap::new();
        for (group, share) in [(&added, 1.0 - p_old), (&kept, p_old)] {
            for &server in group {
                ends_on.insert(server, moves * share / group.len() as f64);
            }
        }
        if new.contains(&own) {
            ends_on.insert(own, 1.0 - moves);
        }
        Self { moves, ends_on }
    }

    fn check(&self, trials: u32, moved: u32, ends_on: &BTreeMap<u32, u32>) -> Result<(), String> {
        agrees("moved", moved, trials, self.moves)?;
        let servers: BTreeSet<&u32> = ends_on.keys().chain(self.ends_on.keys()).collect();
        for server in servers {
            let count = ends_on.get(server).copied().unwrap_or(0);
            let p = self.ends_on.get(server).copied().unwrap_or(0.0);
            agrees(&format!("ends on {server}"), count, trials, p)?;
        }
        Ok(())
    }
}

impl Vector {
    pub(super) fn replay(&self) -> Result<(), String> {
        if !self.old.contains(&self.current) || self.trials == 0 {
            return Err(
                "the current server is not in the old list, or there is no trial".to_owned(),
            );
        }
        let [old, new] = [&self.old, &self.new].map(|list| list.iter().copied().collect());
        let rule = Rule::new(&old, self.current, &new);
        let recorded = rule.check(self.trials, self.moved, &self.ends_on);
        recorded.map_err(|what| format!("as recorded, {what}"))?;
        self.check_plan()?;
        let (mut moved, mut ends_on) = (0, BTreeMap::new());
        for seed in 0..u64::from(self.trials) {
            let first = self.first_server(seed)?;
            moved += u32::from(first.is_some());
            *ends_on.entry(first.unwrap_or(self.current)).or_default() += 1;
        }
        rule.check(self.trials, moved, &ends_on)
    }

    /// Where a client with this seed goes first, if it moves.
    fn first_server(&self, seed: u64) -> Result<Option<u32>, String> {
        let mut client = Client::new(seed)?;
        client.take(&self.old)?;
        client.connect(|server| server == self.current)?;
        expect("connected", Some(self.current), client.connected())?;
        // What the way there has cost is over.
        client.now += Duration::from_secs(3_600);
        client.update(&self.new)?;
        let ends = client.dialled.unwrap_or(self.current);
        expect("connected after the update", Some(ends), client.connected())?;
        Ok(client.dialled)
    }

    fn check_plan(&self) -> Result<(), String> {
        let plan = plan(&self.old, Some(&self.current), &self.new);
        let near = |what: &str, expected: Option<f64>, numerator: u128, denominator: u128| {
            let came = numerator as f64 / denominator as f64;
            match expected {
                Some(expected) if (expected - came).abs() > 1e-6 => {
                    Err(format!("{what}: expected {expected}, came {came}"))
                }
                _ => Ok(()),
            }
        };
        let (p_old, p_new) = (plan.p_old, plan.p_new());
        near("p_old", self.p_old, p_old.numerator(), p_old.denominator())?;
        near("p_new", self.p_new, p_new.numerator(), p_new.denominator())
    }
}

#[derive(Deserialize)]
pub(super) struct ChainVector {
    clients: u32,
    #[serde(default)]
    seed0: u64,
    steps: Vec<ChainStep>,
}

#[derive(Deserialize)]
struct ChainStep {
    list: Vec<u32>,
}

impl ChainVector {
    pub(super) fn replay(&self) -> Result<(), String> {
        let seeds = self.seed0..self.seed0 + u64::from(self.clients);
        let mut clients = seeds.map(Client::new).collect::<Result<Vec<_>, _>>()?;
        let mut old: BTreeSet<u32> = BTreeSet::new();
        for (number, step) in self.steps.iter().enumerate() {
            let new: BTreeSet<u32> = step.list.iter().copied().collect();
            let (mut moved, mut load) = (0, BTreeMap::<u32, u32>::new());
            for client in &mut clients {
                let before = client.connected();
                client.update(&step.list)?;
                let after = client.connected().ok_or("a client is not connected")?;
                moved += u32::from(before.is_some_and(|before| before != after));
                *load.entry(after).or_default() += 1;
            }
            let at = |what: String| format!("step {number}, {what}");
            if let Some(gone) = load.keys().find(|server| !new.contains(server)) {
                return Err(at(format!("expected nobody on {gone}, which left")));
            }
            for &server in &new {
                let count = load.get(&server).copied().unwrap_or(0);
                let p = 1.0 / new.len() as f64;
                agrees(&format!("load of {server}"), count, self.clients, p).map_err(at)?;
            }
            let least = match old.is_empty() {
                true => 0.0,
                false => least_share_moved(&old, &new),
            };
            agrees("moved", moved, self.clients, least).map_err(at)?;
            old = new;
        }
        Ok(())
    }
}

/// From an even load on the old servers to an even one on the new, what has too much must go.
fn least_share_moved(old: &BTreeSet<u32>, new: &BTreeSet<u32>) -> f64 {
    let (before, after) = (1.0 / old.len() as f64, 1.0 / new.len() as f64);
    let excess = |server: &u32| match new.contains(server) {
        true => (before - after).max(0.0),
        false => before,
    };
    old.iter().map(excess).sum()
}
