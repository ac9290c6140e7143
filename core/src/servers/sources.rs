//! Where server lists come from, and which lists name a node (SEMANTICS 7.2).
//!
//! The list in force is the union of the primary lists. It is not kept list by list: each node has a
//! bit for each list that names it, and leaves with the last one.

use alloc::{collections::BTreeMap, vec, vec::Vec};
use core::time::Duration;

use crate::{
    Cluster, Config, ConnectionId, Instant, LastFailure, NodeSpec,
    cluster::Digest,
    rng::{Purpose, Rng},
    timers::TimerSlot,
};

/// At most this many sources: their lists and the application's two have a bit each.
pub(crate) const MAX_SOURCES: usize = 32;

/// A source of server lists, for [`Config::sources`](crate::Config::sources). The embedder asks it
/// when [`Action::Refresh`](crate::Action::Refresh) or
/// [`Action::Discover`](crate::Action::Discover) says so: a file, a URL, DNS, a callback, the
/// cluster.
///
/// ```
/// use redial::{Action, Cluster, Config, Instant, Output, Source};
///
/// let config = Config::builder().source(Source::primary()).build()?;
/// let now = Instant::ORIGIN;
/// let mut cluster = Cluster::new(config, 7, now);
/// while let Some(output) = cluster.poll_output() {
///     if let Output::Action(Action::Refresh { refresh, .. }) = output {
///         let list = ["10.0.0.1:9092".parse()?]; // or later, when it is there
///         cluster.refreshed(now, refresh, None, &list);
///     }
/// }
/// assert_eq!(cluster.nodes().count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct Source(Kind);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
enum Kind {
    Primary,
    Discovery,
    Fallback,
}

impl Source {
    /// One whose list is in force, together with those of the other primary sources and of
    /// [`Cluster::set_nodes`].
    #[must_use]
    pub const fn primary() -> Self {
        Self(Kind::Primary)
    }

    /// A primary source that the cluster itself answers, on a connection of its own nodes. It is
    /// asked when one is Ready; a node is dialled for it only while a request waits or `warm` keeps
    /// connections.
    #[must_use]
    pub const fn discovery() -> Self {
        Self(Kind::Discovery)
    }

    /// One whose list is kept until the primary lists are of no use (SEMANTICS 7.9).
    #[must_use]
    pub const fn fallback() -> Self {
        Self(Kind::Fallback)
    }

    /// Whether it is a primary source, discovery included.
    #[must_use]
    pub const fn is_primary(self) -> bool {
        !matches!(self.0, Kind::Fallback)
    }

    /// Whether the cluster itself answers it.
    #[must_use]
    pub const fn is_discovery(self) -> bool {
        matches!(self.0, Kind::Discovery)
    }
}

/// A list, by its place among all of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct ListId(u32);

impl ListId {
    /// The list of `set_nodes`.
    pub(crate) const APPLICATION: Self = Self(0);
    /// The list of `set_fallback`.
    pub(crate) const CONFIGURED: Self = Self(1);

    pub(crate) const fn of_source(source: u32) -> Self {
        Self(source + 2)
    }

    pub(crate) const fn bit(self) -> u64 {
        1 << self.0
    }
}

/// All sources, and what is counted of the nodes that lists name.
#[derive(Clone, Debug)]
pub(crate) struct Sources {
    pub(crate) all: Vec<SourceState>,
    /// The lists that are in force only while fallback nodes have joined.
    fallback_lists: u64,
    /// How many nodes each list names.
    named: Vec<u32>,
    /// Nodes that primary lists name.
    pub(crate) primary_nodes: u32,
    /// Of these, those whose last attempt or connection ended in a failure.
    pub(crate) failed_nodes: u32,
    /// What the fallback lists say, whether it is in force or not.
    pub(crate) fallback: BTreeMap<ListId, Vec<NodeSpec>>,
    pub(crate) fallback_joined: bool,
    pub(crate) joined_at: Option<Instant>,
    pub(crate) rebootstrap_timer: TimerSlot,
    /// Successive failed attempts (7.4).
    pub(crate) failures: u32,
    /// All primary sources are to be asked.
    pub(crate) asked: bool,
    /// There is something to look at before the call ends.
    pub(crate) changed: bool,
    /// Discoveries that are due and were not emitted.
    pub(crate) waiting: u32,
    /// One of them waits as a request for any node does.
    pub(crate) wants_a_node: bool,
}

/// One source and its schedule.
#[derive(Clone, Debug)]
pub(crate) struct SourceState {
    pub(crate) source: Source,
    /// Of the refresh under way, or of the next one.
    pub(crate) generation: u32,
    pub(crate) under_way: bool,
    pub(crate) started: Option<Instant>,
    /// When it is asked next, as a rule.
    pub(crate) regular: Instant,
    /// When it is asked after a failure, while no node is Ready.
    pub(crate) retry: Option<Instant>,
    /// It is asked as soon as the shortest interval allows.
    pub(crate) asked: bool,
    /// It has changed since the refresh under way began: it is asked once more after it.
    pub(crate) outdated: bool,
    pub(crate) failures: u32,
    pub(crate) last_backoff: u64,
    /// Of the last good answer.
    pub(crate) version: Option<u64>,
    pub(crate) rng: Rng,
    /// The next start, or the end of the refresh under way.
    pub(crate) timer: TimerSlot,
    /// A discovery that is due and waits for a node that can take it.
    pub(crate) waits: bool,
    /// On which connection a discovery is under way.
    pub(crate) connection: Option<ConnectionId>,
    pub(crate) due: DueClock,
}

/// How long a discovery has been due without success (7.9). It stands still while nobody needs one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DueClock {
    passed: Duration,
    since: Option<Instant>,
}

impl DueClock {
    pub(crate) fn run(&mut self, now: Instant) {
        self.since.get_or_insert(now);
    }

    pub(crate) fn pause(&mut self, now: Instant) {
        if let Some(since) = self.since.take() {
            self.passed += now - since;
        }
    }

    /// Back to zero, and on if it runs.
    pub(crate) fn restart(&mut self, now: Instant) {
        *self = Self {
            passed: Duration::ZERO,
            since: self.since.map(|_| now),
        };
    }

    /// When it shows `time`, if it runs.
    pub(crate) fn reaches(&self, time: Duration) -> Option<Instant> {
        self.since
            .map(|since| since + time.saturating_sub(self.passed))
    }
}

impl Sources {
    pub(crate) fn new(config: &Config, seed: u64, now: Instant) -> Self {
        let all = (0..).zip(&config.sources);
        let fallback = all.clone().filter(|(_, source)| !source.is_primary());
        Self {
            fallback_lists: fallback.fold(ListId::CONFIGURED.bit(), |lists, (s, _)| {
                lists | ListId::of_source(s).bit()
            }),
            named: vec![0; config.sources.len() + 2],
            changed: !config.sources.is_empty(),
            all: all
                .map(|(s, source)| SourceState {
                    source: *source,
                    generation: 0,
                    under_way: false,
                    started: None,
                    regular: now,
                    retry: None,
                    asked: false,
                    outdated: false,
                    failures: 0,
                    last_backoff: 0,
                    version: None,
                    rng: Rng::new(seed, Purpose::Refresh, u64::from(s)),
                    timer: TimerSlot::UNARMED,
                    waits: false,
                    connection: None,
                    due: DueClock::default(),
                })
                .collect(),
            primary_nodes: 0,
            failed_nodes: 0,
            fallback: BTreeMap::new(),
            fallback_joined: false,
            joined_at: None,
            rebootstrap_timer: TimerSlot::UNARMED,
            failures: 0,
            asked: false,
            waiting: 0,
            wants_a_node: false,
        }
    }

    pub(crate) fn digest(&self, to: &mut Digest<'_>) {
        let Self {
            all,
            // Of the configuration.
            fallback_lists: _,
            named,
            primary_nodes,
            failed_nodes,
            fallback,
            fallback_joined,
            joined_at,
            rebootstrap_timer: _,
            failures,
            asked,
            changed,
            waiting,
            wants_a_node,
        } = self;
        to.all(all.iter(), |to, source| source.digest(to));
        to.add((named, primary_nodes, failed_nodes, fallback));
        to.add((fallback_joined, failures, asked, changed));
        to.add((waiting, wants_a_node, joined_at.is_some()));
        to.exact(joined_at.unwrap_or(Instant::MAX));
    }

    /// Whether there is something to do before the call ends.
    #[inline]
    pub(crate) const fn need_care(&self) -> bool {
        self.changed || self.waiting > 0
    }

    pub(crate) const fn fallback_lists(&self) -> u64 {
        self.fallback_lists
    }

    pub(crate) const fn is_fallback(&self, list: ListId) -> bool {
        self.fallback_lists & list.bit() != 0
    }

    /// How many nodes the list names.
    pub(crate) fn named(&self, list: ListId) -> u32 {
        self.named[list.0 as usize]
    }

    /// Whether a primary list is among these.
    pub(crate) const fn has_primary(&self, lists: u64) -> bool {
        lists & !self.fallback_lists != 0
    }
}

impl SourceState {
    fn digest(&self, to: &mut Digest<'_>) {
        let Self {
            source,
            generation: _,
            under_way,
            started,
            regular,
            retry,
            asked,
            outdated,
            failures,
            last_backoff,
            version,
            rng,
            timer: _,
            waits,
            connection,
            due: DueClock { passed, since },
        } = self;
        to.add((source, under_way, asked, outdated, failures));
        to.add((last_backoff, version, rng, waits, passed));
        to.exact(*regular);
        for at in [started, retry, since] {
            to.add(at.is_some());
            to.exact(at.unwrap_or(Instant::MAX));
        }
        to.add(connection.is_some());
        if let Some(connection) = connection {
            to.connection(*connection);
        }
    }
}

impl Cluster {
    /// Every change of the lists that name a node goes through here.
    pub(crate) fn set_lists(&mut self, n: u32, lists: u64) {
        let node = &mut self.nodes[n];
        let before = core::mem::replace(&mut node.lists, lists);
        let failed = u32::from(node.last_failure.is_some());
        let sources = &mut self.sources;
        for (list, named) in sources.named.iter_mut().enumerate() {
            *named += (lists >> list & 1) as u32;
            *named -= (before >> list & 1) as u32;
        }
        let (is, was) = (sources.has_primary(lists), sources.has_primary(before));
        sources.primary_nodes += u32::from(is);
        sources.primary_nodes -= u32::from(was);
        sources.failed_nodes += failed * u32::from(is);
        sources.failed_nodes -= failed * u32::from(was);
        sources.changed |= is != was && !sources.fallback.is_empty();
    }

    /// Every change of a node's last failure goes through here.
    pub(crate) fn set_last_failure(&mut self, n: u32, failure: Option<LastFailure>) {
        let node = &mut self.nodes[n];
        let (is, was) = (failure.is_some(), node.last_failure.is_some());
        node.last_failure = failure;
        let sources = &mut self.sources;
        if is != was && sources.has_primary(node.lists) {
            sources.failed_nodes += u32::from(is);
            sources.failed_nodes -= u32::from(was);
            sources.changed |= !sources.fallback.is_empty();
        }
    }
}
