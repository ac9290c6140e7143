//! One refresher for many clients of a process (SEMANTICS 7.10).

use core::{
    fmt,
    future::{Future, poll_fn},
    mem,
    pin::Pin,
    task::{Context, Poll, Waker},
};
use std::{
    boxed::Box,
    collections::BTreeMap,
    sync::{Arc, Weak},
    task::Wake,
    vec::Vec,
};

use super::{
    source::{Changed, Retrieval, ServerList, ServerSource, SourceError},
    sync::{Mutex, lock},
};

/// A source that many clients of a process share: one retrieval for all, and each is told the same
/// version of the same list (SEMANTICS 7.10).
///
/// Give each client a clone of its own. Who is the first to be due asks the source behind; who asks
/// meanwhile joins; then all others are told that there is news and take it without asking again,
/// also if the news is that the source has failed. So there is one retrieval a period, and the period
/// is the clients' own ([`refresh_interval`](crate::Config::refresh_interval) and its jitter). What one
/// client learns early, all learn.
///
/// A list's version is the number of its retrieval, from 1. A version that the source behind gives is
/// only used here: of a list that is not newer than the last one, the last one is told again.
///
/// A retrieval is dropped when all clients that wait for it have given up. If the client that began it
/// has given up, the others go on waiting, but whoever asks then begins anew, for all.
///
/// ```
/// use redial::driver::{ServerList, SharedSource, from_fn};
///
/// let shared = SharedSource::new(from_fn(|| async {
///     Ok(ServerList::new(["10.0.0.1:9092".parse().unwrap()]))
/// }));
/// let for_one_client = shared.clone(); // for Builder::source
/// let for_another = shared.clone();
/// # let _ = (for_one_client, for_another);
/// ```
pub struct SharedSource {
    seat: Arc<Seat>,
}

/// A client's place.
struct Seat {
    table: Arc<Table>,
    id: u64,
}

struct Table {
    source: Box<dyn ServerSource>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// How many retrievals have ended, and what the last one gave.
    number: u64,
    answer: Option<Result<ServerList, SourceError>>,
    /// The last list, and the version that the source behind gave it.
    list: Option<(ServerList, Option<u64>)>,
    retrieval: Slot<Result<ServerList, SourceError>>,
    /// Which retrieval is under way, while the client that began it waits.
    owned: Option<u64>,
    /// Tells of a change of the source behind.
    changed: Slot<()>,
    /// How often it has, and how often when the last retrieval began.
    changes: u64,
    changes_asked: u64,
    members: BTreeMap<u64, Member>,
    /// The last of the numbers that members and futures are told apart by.
    last_id: u64,
}

/// What a client knows and waits for.
#[derive(Default)]
struct Member {
    /// The number of the last retrieval that it was told of.
    seen: u64,
    /// How many of its futures wait for a retrieval: one, or for a moment two.
    waits: u32,
    wakers: Vec<Waker>,
}

/// A future that many poll. While one does, without the lock, it is away.
#[derive(Default)]
enum Slot<T> {
    #[default]
    Empty,
    Here(u64, Shared<T>),
    Away(u64),
}

type Shared<T> = Pin<Box<dyn Future<Output = T> + Send>>;

impl SharedSource {
    /// Shares this source.
    #[must_use]
    pub fn new(source: impl ServerSource) -> Self {
        let table = Table {
            source: Box::new(source),
            state: Mutex::default(),
        };
        Self::at(&Arc::new(table))
    }

    fn at(table: &Arc<Table>) -> Self {
        let mut state = lock(&table.state);
        let id = state.new_id();
        state.members.insert(id, Member::default());
        drop(state);
        let table = Arc::clone(table);
        Self {
            seat: Arc::new(Seat { table, id }),
        }
    }
}

/// For another client.
impl Clone for SharedSource {
    fn clone(&self) -> Self {
        Self::at(&self.seat.table)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let _member = lock(&self.table.state).members.remove(&self.id);
    }
}

impl ServerSource for SharedSource {
    fn retrieve(&self) -> Retrieval {
        let mut visit = Visit::new(Arc::clone(&self.seat));
        Box::pin(poll_fn(move |cx| visit.poll(cx)))
    }

    fn changed(&self) -> Changed {
        let mut watch = Watch {
            since: lock(&self.seat.table.state).changes,
            seat: Arc::clone(&self.seat),
            over: false,
        };
        Box::pin(poll_fn(move |cx| watch.poll(cx)))
    }
}

/// A client's retrieval.
struct Visit {
    seat: Arc<Seat>,
    /// From the first poll on: how many retrievals had ended then. It waits for the next one.
    joined: Option<u64>,
    /// The retrieval that it began.
    began: Option<u64>,
    over: bool,
}

impl Visit {
    fn new(seat: Arc<Seat>) -> Self {
        lock(&seat.table.state).member(seat.id).waits += 1;
        Self {
            seat,
            joined: None,
            began: None,
            over: false,
        }
    }

    fn poll(&mut self, cx: &Context<'_>) -> Poll<Result<ServerList, SourceError>> {
        let Seat { table, id } = &*self.seat;
        loop {
            let mut state = lock(&table.state);
            let (number, answer) = (state.number, state.answer.clone());
            // News that is older than a change is none; but whoever has waited takes what comes.
            let is_current = state.changes == state.changes_asked;
            let member = state.member(*id);
            let is_news = match self.joined {
                Some(joined) => number > joined,
                None => number > member.seen && is_current,
            };
            if is_news && let Some(answer) = answer {
                member.seen = number;
                member.waits -= 1;
                self.over = true;
                return Poll::Ready(answer);
            }
            member.register(cx);
            let under_way = !matches!(state.retrieval, Slot::Empty);
            let joins = under_way && (self.joined.is_some() || state.owned.is_some());
            self.joined.get_or_insert(number);
            if !joins {
                let began = state.new_id();
                self.began = Some(began);
                state.owned = Some(began);
                let watch = matches!(state.changed, Slot::Empty).then(|| state.new_id());
                if let Some(watch) = watch {
                    state.changed = Slot::Away(watch);
                }
                let earlier = mem::replace(&mut state.retrieval, Slot::Away(began));
                state.changes_asked = state.changes;
                drop(state);
                drop(earlier);
                if let Some(watch) = watch {
                    table.put(|state| &mut state.changed, watch, table.source.changed());
                }
                table.put(|state| &mut state.retrieval, began, table.source.retrieve());
            } else {
                drop(state);
            }
            match table.poll(|state| &mut state.retrieval) {
                Some((retrieval, answer)) => table.end_retrieval(retrieval, answer),
                None => return Poll::Pending,
            }
        }
    }
}

/// It was given up, unless it is over.
impl Drop for Visit {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        let Seat { table, id } = &*self.seat;
        let mut state = lock(&table.state);
        state.member(*id).waits -= 1;
        if self.began.is_some() && state.owned == self.began {
            state.owned = None;
        }
        let mut unwanted = Slot::Empty;
        if state.members.values().all(|member| member.waits == 0) {
            state.owned = None;
            unwanted = mem::take(&mut state.retrieval);
        }
        drop(state);
        drop(unwanted);
        mutant!(GivesUpSilently => return);
        // It may have been the one that was to poll.
        table.wake_all();
    }
}

/// Waits for news, or for a change of the source behind.
struct Watch {
    seat: Arc<Seat>,
    since: u64,
    over: bool,
}

impl Watch {
    fn poll(&mut self, cx: &Context<'_>) -> Poll<()> {
        let Seat { table, id } = &*self.seat;
        lock(&table.state).member(*id).register(cx);
        if let Some((watch, ())) = table.poll(|state| &mut state.changed) {
            table.end_watch(watch);
        }
        let mut state = lock(&table.state);
        let (number, changes) = (state.number, state.changes);
        let member = state.member(*id);
        self.over = changes > self.since || (member.waits == 0 && number > member.seen);
        match self.over {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if !self.over {
            // It may have been the one that was to poll.
            self.seat.table.wake_all();
        }
    }
}

impl Table {
    /// Polls what is there, without the lock. None if it is not ready, or if another polls it, who
    /// will be woken with everybody else.
    fn poll<T>(self: &Arc<Self>, slot: fn(&mut State) -> &mut Slot<T>) -> Option<(u64, T)> {
        let (id, mut future) = {
            let mut state = lock(&self.state);
            let slot = slot(&mut state);
            match mem::take(slot) {
                Slot::Here(id, future) => {
                    *slot = Slot::Away(id);
                    (id, future)
                }
                other => {
                    *slot = other;
                    return None;
                }
            }
        };
        let waker = Waker::from(Arc::new(WakeAll(Arc::downgrade(self))));
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => Some((id, value)),
            Poll::Pending => {
                self.put(slot, id, future);
                None
            }
        }
    }

    /// Puts a future where its place is kept; drops it if it is not wanted any more.
    fn put<T>(&self, slot: fn(&mut State) -> &mut Slot<T>, id: u64, future: Shared<T>) {
        let mut state = lock(&self.state);
        let slot = slot(&mut state);
        let _unwanted = match *slot {
            Slot::Away(away) if away == id => {
                *slot = Slot::Here(id, future);
                None
            }
            _ => Some(future),
        };
        drop(state);
    }

    fn end_retrieval(&self, id: u64, answer: Result<ServerList, SourceError>) {
        let mut state = lock(&self.state);
        if !matches!(state.retrieval, Slot::Away(away) if away == id) {
            return; // Another has taken its place.
        }
        state.retrieval = Slot::Empty;
        state.owned = None;
        state.number += 1;
        state.answer = Some(answer.map(|list| state.number_list(list)));
        drop(state);
        self.wake_all();
    }

    fn end_watch(&self, id: u64) {
        let mut state = lock(&self.state);
        if matches!(state.changed, Slot::Away(away) if away == id) {
            state.changed = Slot::Empty;
            state.changes += 1;
        }
        drop(state);
        self.wake_all();
    }

    fn wake_all(&self) {
        let mut state = lock(&self.state);
        let members = state.members.values_mut();
        let wakers: Vec<_> = members.flat_map(|m| mem::take(&mut m.wakers)).collect();
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }
}

/// Weak, for the futures that hold it are in the table.
struct WakeAll(Weak<Table>);

impl Wake for WakeAll {
    fn wake(self: Arc<Self>) {
        if let Some(table) = self.0.upgrade() {
            table.wake_all();
        }
    }
}

impl State {
    fn new_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// A member is there as long as its seat is.
    fn member(&mut self, id: u64) -> &mut Member {
        self.members.entry(id).or_default()
    }

    /// The list with the number of its retrieval; the last list if this one is not newer.
    fn number_list(&mut self, list: ServerList) -> ServerList {
        let version = list.version;
        let told = match &self.list {
            Some((last, Some(known))) if version.is_some_and(|v| v <= *known) => last.clone(),
            _ => {
                if !list.nodes.is_empty() {
                    self.list = Some((list.clone(), version));
                }
                list
            }
        };
        told.version(self.number)
    }
}

impl Member {
    fn register(&mut self, cx: &Context<'_>) {
        if !self.wakers.iter().any(|known| known.will_wake(cx.waker())) {
            self.wakers.push(cx.waker().clone());
        }
    }
}

impl fmt::Debug for SharedSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedSource").finish_non_exhaustive()
    }
}
