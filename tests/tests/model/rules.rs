//! The settings that the model knows, as plain numbers, and the formulas of SEMANTICS 3.1, 3.2 and 4.7.
//!
//! All times are microseconds. Each kind of time has a remainder of its own, so that two deadlines fall
//! together only if they are of one kind: in which order such are handled is said nowhere.

use proptest::{prelude::*, sample::select};

pub(crate) type Micros = u64;

/// So many seeds are used.
pub(crate) const SEEDS: u64 = 16;

/// 3.4 without jitter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Growth {
    pub(crate) base: Micros,
    pub(crate) max: Micros,
}

impl Growth {
    /// `min(max, base × 2^k)`.
    pub(crate) fn after(self, k: u32) -> Micros {
        (0..k).fold(self.base.min(self.max), |wait, _| (wait * 2).min(self.max))
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Policy {
    /// The fewest in flight, of equals the first by name: `LeastLoaded` without its draw.
    Fewest,
    /// The one chosen longest ago.
    RoundRobin,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reset {
    OnFirstReply,
    OnReady,
    StableFor(Micros),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Warm {
    None,
    All,
    AtLeast(usize),
}

/// A token bucket of the size `max`; in it, a token is a million parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    pub(crate) per_submit_milli: u64,
    pub(crate) per_second: u64,
    pub(crate) max: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) seed: u64,
    /// For the n-th node that ever comes, when it is dialled among those that were never tried.
    /// The core draws it, so it is an input.
    pub(crate) lots: Vec<usize>,
    pub(crate) policy: Policy,
    pub(crate) handshake: bool,
    /// Replies are matched by order, and not by correlation id.
    pub(crate) by_order: bool,
    /// What `on_request_timeout` comes to.
    pub(crate) timeout_disconnects: bool,
    pub(crate) setup: Growth,
    pub(crate) handshake_timeout: Option<Micros>,
    pub(crate) reconnect: Growth,
    pub(crate) reset: Reset,
    pub(crate) hedge_delay: Option<Micros>,
    pub(crate) max_hedges: usize,
    pub(crate) warm: Warm,
    pub(crate) request_timeout: Option<Micros>,
    pub(crate) retry: Growth,
    pub(crate) max_attempts: Option<u32>,
    pub(crate) budget: Option<Budget>,
    pub(crate) max_in_flight: usize,
    pub(crate) queue_max: usize,
    pub(crate) unhealthy_after: Option<u32>,
    pub(crate) write_timeout: Option<Micros>,
    pub(crate) drain_timeout: Micros,
}

/// Any settings: each is drawn by itself.
pub(crate) fn rules(lots: fn(u64) -> Vec<usize>) -> impl Strategy<Value = Rules> {
    let requests = (
        select(vec![None, Some(50_013), Some(50_013)]),
        select(vec![(6_023, 20_029), (0, 0), (6_023, 6_023)]),
        select(vec![None, None, Some(1), Some(2)]),
        select(vec![None, None, Some((500, 0, 1)), Some((200, 10, 2))]),
        select(vec![1_usize, 2, 3]),
        select(vec![100_usize, 100, 3, 0]),
        select(vec![None, Some(1), Some(2)]),
        select(vec![None, None, Some(33_031)]),
    );
    let nodes = (
        select(vec![(40_001, 90_002), (40_001, 40_001), (200_003, 20_005)]),
        select(vec![None, Some(30_007)]),
        select(vec![(5_009, 40_011), (0, 0), (5_009, 1_010)]),
        select(vec![
            Reset::OnFirstReply,
            Reset::OnReady,
            Reset::StableFor(15_017),
        ]),
        select(vec![None, Some(7_019), Some(7_019)]),
        select(vec![0_usize, 1, 8]),
        select(vec![Warm::None, Warm::None, Warm::AtLeast(2), Warm::All]),
    );
    let protocol = (
        0..SEEDS,
        select(vec![Policy::Fewest, Policy::RoundRobin]),
        select(vec![true, true, false]),
        select(vec![false, false, true]),
        any::<bool>(),
    );
    (protocol, nodes, requests).prop_map(move |(protocol, nodes, requests)| {
        let (seed, policy, handshake, by_order, disconnect) = protocol;
        let growth = |(base, max)| Growth { base, max };
        Rules {
            seed,
            lots: lots(seed),
            policy,
            handshake,
            by_order,
            timeout_disconnects: by_order || disconnect,
            setup: growth(nodes.0),
            handshake_timeout: nodes.1,
            reconnect: growth(nodes.2),
            reset: nodes.3,
            hedge_delay: nodes.4,
            max_hedges: nodes.5,
            warm: nodes.6,
            request_timeout: requests.0,
            retry: growth(requests.1),
            max_attempts: requests.2,
            budget: requests
                .3
                .map(|(per_submit_milli, per_second, max)| Budget {
                    per_submit_milli,
                    per_second,
                    max,
                }),
            max_in_flight: requests.4,
            queue_max: requests.5,
            unhealthy_after: requests.6,
            write_timeout: requests.7,
            drain_timeout: 60_037,
        }
    })
}
