//! Who gets a request that names no node (SEMANTICS 5): a pick costs the same with 3 nodes and with
//! 100,000.

mod buckets;
mod custom;
mod listed;
mod ring;

use alloc::vec::Vec;

use buckets::LoadBuckets;
pub use custom::{Candidate, CustomPolicy, Select};
use listed::Listed;
use ring::Ring;

use crate::{NodeId, SelectionPolicy, cluster::Digest, collections::Slab, node::Node, rng::Rng};

/// The nodes that can take a request now.
#[derive(Clone, Debug)]
pub(crate) struct ReadySet {
    healthy: Pool,
    unhealthy: Pool,
    standings: Vec<Option<Standing>>,
    version: u64,
}

/// What selection knows of a node that can take a request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Standing {
    pub(crate) healthy: bool,
    /// Slots taken.
    pub(crate) load: u32,
}

impl ReadySet {
    pub(crate) fn new(policy: &SelectionPolicy) -> Self {
        Self {
            healthy: Pool::new(policy),
            unhealthy: Pool::new(policy),
            standings: Vec::new(),
            version: 0,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.healthy.is_empty() && self.unhealthy.is_empty()
    }

    pub(crate) fn standing(&self, node: u32) -> Option<Standing> {
        *self.standings.get(node as usize)?
    }

    /// Adds, moves or (with `None`) takes out a node.
    pub(crate) fn set(&mut self, node: u32, standing: Option<Standing>) {
        let old = self.standing(node);
        if old == standing {
            return;
        }
        if self.standings.len() <= node as usize {
            self.standings.resize(node as usize + 1, None);
        }
        self.standings[node as usize] = standing;
        self.version += 1;
        if let Some(old) = old {
            self.pool(old.healthy).remove(node);
        }
        if let Some(new) = standing {
            self.pool(new.healthy).insert(node, new.load);
        }
    }

    /// A node that can take a request, and can take more, has taken or freed a slot.
    pub(crate) fn set_load(&mut self, node: u32, load: u32) {
        if let Some(Some(standing)) = self.standings.get_mut(node as usize) {
            standing.load = load;
            self.version += 1;
            let healthy = standing.healthy;
            self.pool(healthy).set_load(node, load);
        }
    }

    pub(crate) fn digest(&self, to: &mut Digest<'_>) {
        let Self {
            healthy,
            unhealthy,
            standings,
            // Whether the policy was asked at this one, the cluster says.
            version: _,
        } = self;
        healthy.digest(to);
        unhealthy.digest(to);
        let standings = (0_u32..).zip(standings);
        to.all(
            standings.filter(|(_, standing)| standing.is_some()),
            |to, s| {
                to.add(s);
            },
        );
    }

    /// The policy's choice: a healthy node if there is one, else an unhealthy one. `barred` are never
    /// chosen, `avoided` only if there is no other.
    pub(crate) fn pick(
        &mut self,
        rng: &mut Rng,
        nodes: &Slab<Node>,
        avoided: Option<u32>,
        barred: &[u32],
    ) -> Option<u32> {
        if avoided.is_none() && barred.is_empty() {
            return self.choose(rng, nodes);
        }
        // Nothing changes that anyone could see.
        let version = self.version;
        let barred = barred.iter().map(|&node| self.take_aside(Some(node)));
        let barred: Vec<_> = barred.collect();
        let avoided = self.take_aside(avoided);
        let others = self.choose(rng, nodes);
        self.put_back(avoided);
        let choice = match (others, avoided) {
            (None, Some(_)) => self.choose(rng, nodes),
            _ => others,
        };
        barred.into_iter().for_each(|node| self.put_back(node));
        self.version = version;
        choice
    }

    /// The policy's choice has been given a request: where nodes come in turn, it has had its own.
    pub(crate) fn chosen(&mut self, node: u32) {
        for pool in [&mut self.healthy, &mut self.unhealthy] {
            if let Pool::RoundRobin(ring) = pool {
                ring.chosen(node);
            }
        }
    }

    fn take_aside(&mut self, node: Option<u32>) -> Option<(u32, Standing)> {
        let node = node?;
        let standing = self.standing(node)?;
        self.set(node, None);
        Some((node, standing))
    }

    fn put_back(&mut self, aside: Option<(u32, Standing)>) {
        if let Some((node, standing)) = aside {
            self.set(node, Some(standing));
        }
    }

    /// A number that changes with every change of the set.
    pub(crate) const fn version(&self) -> u64 {
        self.version
    }

    fn choose(&mut self, rng: &mut Rng, nodes: &Slab<Node>) -> Option<u32> {
        let healthy = self.healthy.pick(rng, nodes);
        healthy.or_else(|| self.unhealthy.pick(rng, nodes))
    }

    fn pool(&mut self, healthy: bool) -> &mut Pool {
        if healthy {
            &mut self.healthy
        } else {
            &mut self.unhealthy
        }
    }
}

#[derive(Clone, Debug)]
enum Pool {
    LeastLoaded(LoadBuckets),
    RoundRobin(Ring),
    PowerOfTwoChoices(Listed),
    Custom(Listed, CustomPolicy),
}

impl Pool {
    fn new(policy: &SelectionPolicy) -> Self {
        match policy {
            // Under `Sticky` nothing is picked here: a request goes to the client's own node.
            SelectionPolicy::LeastLoaded | SelectionPolicy::Sticky => {
                Self::LeastLoaded(LoadBuckets::default())
            }
            SelectionPolicy::RoundRobin => Self::RoundRobin(Ring::new()),
            SelectionPolicy::PowerOfTwoChoices => Self::PowerOfTwoChoices(Listed::default()),
            SelectionPolicy::Custom(policy) => Self::Custom(Listed::default(), policy.clone()),
        }
    }

    /// In which order it has the nodes whose standings are known.
    fn digest(&self, to: &mut Digest<'_>) {
        match self {
            Self::LeastLoaded(buckets) => buckets.digest(to),
            Self::RoundRobin(ring) => ring.digest(to),
            Self::PowerOfTwoChoices(listed) | Self::Custom(listed, _) => listed.digest(to),
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::LeastLoaded(buckets) => buckets.is_empty(),
            Self::RoundRobin(ring) => ring.is_empty(),
            Self::PowerOfTwoChoices(listed) | Self::Custom(listed, _) => listed.is_empty(),
        }
    }

    fn insert(&mut self, node: u32, load: u32) {
        match self {
            Self::LeastLoaded(buckets) => buckets.insert(node, load),
            Self::RoundRobin(ring) => ring.insert(node),
            Self::PowerOfTwoChoices(listed) | Self::Custom(listed, _) => listed.insert(node, load),
        }
    }

    fn set_load(&mut self, node: u32, load: u32) {
        match self {
            Self::LeastLoaded(buckets) => buckets.set_load(node, load),
            Self::RoundRobin(_) => {}
            Self::PowerOfTwoChoices(listed) | Self::Custom(listed, _) => {
                listed.set_load(node, load);
            }
        }
    }

    fn remove(&mut self, node: u32) {
        match self {
            Self::LeastLoaded(buckets) => buckets.remove(node),
            Self::RoundRobin(ring) => ring.remove(node),
            Self::PowerOfTwoChoices(listed) | Self::Custom(listed, _) => listed.remove(node),
        }
    }

    fn pick(&mut self, rng: &mut Rng, nodes: &Slab<Node>) -> Option<u32> {
        match self {
            Self::LeastLoaded(buckets) => buckets.pick(rng),
            Self::RoundRobin(ring) => ring.pick(),
            Self::PowerOfTwoChoices(listed) => listed.two_choices(rng),
            Self::Custom(listed, policy) => ask(policy, listed, rng.next_u64(), nodes),
        }
    }
}

fn ask(policy: &CustomPolicy, listed: &Listed, random: u64, nodes: &Slab<Node>) -> Option<u32> {
    let sorted = listed.sorted();
    let candidate = |&(index, in_flight): &(u32, u32)| Candidate {
        node: NodeId {
            index,
            generation: nodes.generation(index),
        },
        spec: &nodes[index].spec,
        in_flight,
    };
    let candidates: Vec<_> = sorted.iter().map(candidate).collect();
    if candidates.is_empty() {
        return None;
    }
    let choice = policy.0.select(&candidates, random)?;
    sorted.get(choice).map(|&(node, _)| node)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Purpose;

    fn set(policy: &SelectionPolicy, standings: &[(u32, bool, u32)]) -> ReadySet {
        let mut set = ReadySet::new(policy);
        for &(node, healthy, load) in standings {
            set.set(node, Some(Standing { healthy, load }));
        }
        set
    }

    #[test]
    fn healthy_before_unhealthy_avoided_last_barred_never() {
        type Case<'a> = (
            &'a [(u32, bool, u32)],
            Option<u32>,
            Option<u32>,
            Option<u32>,
        );
        let cases: &[Case<'_>] = &[
            (&[], None, None, None),
            (&[(0, true, 5), (1, false, 0)], None, None, Some(0)),
            (&[(1, false, 0)], None, None, Some(1)),
            (&[(0, true, 5), (1, false, 0)], Some(0), None, Some(1)),
            (&[(0, true, 5)], Some(0), None, Some(0)),
            (&[(0, true, 5)], None, Some(0), None),
            (&[(0, true, 5)], Some(0), Some(0), None),
            (&[(0, true, 5), (1, true, 9)], Some(1), Some(0), Some(1)),
        ];
        for policy in [
            SelectionPolicy::LeastLoaded,
            SelectionPolicy::RoundRobin,
            SelectionPolicy::PowerOfTwoChoices,
        ] {
            for &(standings, avoided, barred, expected) in cases {
                let mut set = set(&policy, standings);
                let mut rng = Rng::new(1, Purpose::Selection, 0);
                let choice = set.pick(&mut rng, &Slab::new(), avoided, barred.as_slice());
                assert_eq!(choice, expected, "{standings:?} {avoided:?} {barred:?}");
            }
        }
    }
}
