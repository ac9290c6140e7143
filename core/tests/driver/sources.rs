//! Sources of server lists: asked, answered, given up.

use std::{
    future::{pending, poll_fn},
    sync::{Mutex, MutexGuard},
};

use redial::{
    ConfigBuilder, Event, RefreshResult, Source, SourceId,
    driver::{
        BuildError, Changed, ClientEvent, Retrieval, ServerList, ServerSource, ServersError,
        SourceError, from_fn,
    },
};

use super::*;

pub(crate) const A: &str = "10.0.0.1:1";
pub(crate) const B: &str = "10.0.0.2:1";
const INTERVAL: Duration = Duration::from_secs(60);

/// A source that answers when the test says so.
#[derive(Clone, Default)]
pub(crate) struct Desk(Arc<Mutex<Papers>>);

#[derive(Default)]
pub(crate) struct Papers {
    pub(crate) begun: u32,
    /// Retrievals that were begun and not dropped.
    pub(crate) under_way: i32,
    pub(crate) answer: Option<Result<ServerList, SourceError>>,
    pub(crate) changed: bool,
    /// How often it was asked to tell of a change.
    pub(crate) watches: u32,
    wakers: Vec<Waker>,
}

struct Visit(Desk);

impl Drop for Visit {
    fn drop(&mut self) {
        self.0.papers().under_way -= 1;
    }
}

impl Desk {
    pub(crate) fn papers(&self) -> MutexGuard<'_, Papers> {
        self.0.lock().expect("nothing panics under this lock")
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut Papers)) {
        let wakers = {
            let mut papers = self.papers();
            change(&mut papers);
            std::mem::take(&mut papers.wakers)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    pub(crate) fn answer(&self, servers: &str) {
        let list = list(servers);
        self.change(|papers| papers.answer = Some(Ok(list)));
    }

    pub(crate) fn begun(&self) -> u32 {
        self.papers().begun
    }
}

impl ServerSource for Desk {
    fn retrieve(&self) -> Retrieval {
        let mut papers = self.papers();
        papers.begun += 1;
        papers.under_way += 1;
        let visit = Visit(self.clone());
        Box::pin(poll_fn(move |cx| {
            let mut papers = visit.0.papers();
            match papers.answer.take() {
                Some(answer) => Poll::Ready(answer),
                None => {
                    papers.wakers.push(cx.waker().clone());
                    Poll::Pending
                }
            }
        }))
    }

    fn changed(&self) -> Changed {
        self.papers().watches += 1;
        let desk = self.clone();
        Box::pin(poll_fn(move |cx| {
            let mut papers = desk.papers();
            match std::mem::take(&mut papers.changed) {
                true => Poll::Ready(()),
                false => {
                    papers.wakers.push(cx.waker().clone());
                    Poll::Pending
                }
            }
        }))
    }
}

pub(crate) fn list(servers: &str) -> ServerList {
    let nodes: Vec<_> = servers.split(',').map(|s| s.parse().unwrap()).collect();
    ServerList::new(nodes)
}

/// Every 60 s to the nanosecond.
fn punctual() -> ConfigBuilder {
    Config::builder().refresh_jitter(Duration::ZERO)
}

fn with_desk() -> (Fixture, Desk) {
    let desk = Desk::default();
    let source = desk.clone();
    let config = punctual().build().unwrap();
    let f = Fixture::build(|builder| builder.config(config).source(source));
    (f, desk)
}

pub(crate) fn servers(f: &Fixture) -> Vec<String> {
    let nodes = f.client.nodes();
    nodes.iter().map(|n| n.spec.endpoint.to_string()).collect()
}

pub(crate) fn events(events: &mut redial::driver::Events) -> Vec<ClientEvent> {
    let next = || match poll(pin!(events.next())) {
        Poll::Ready(Some(record)) => Some(record.event),
        _ => None,
    };
    std::iter::from_fn(next).collect()
}

#[test]
fn a_source_is_asked_at_once_and_an_interval_after_each_answer() {
    let (f, desk) = with_desk();
    assert_eq!(desk.begun(), 1);
    desk.answer(A);
    f.run();
    assert_eq!(servers(&f), [A]);
    f.sim.advance(INTERVAL - Duration::from_nanos(1));
    f.run();
    assert_eq!(desk.begun(), 1);
    f.sim.advance(Duration::from_nanos(1));
    f.run();
    assert_eq!(desk.begun(), 2);
    desk.answer(B);
    f.run();
    assert_eq!(servers(&f), [B]);
}

#[test]
fn a_request_waits_for_the_first_list_and_goes_to_its_server() {
    let (f, desk) = with_desk();
    let mut pending = f.submit();
    f.run();
    desk.answer(A);
    f.run();
    f.sim.welcome(0);
    f.run();
    let id = f.sim.requests(0)[0];
    f.sim.send(0, &[Frame::reply(id, "reply")]);
    f.run();
    assert!(matches!(poll(&mut pending), Poll::Ready(Ok(_))));
}

#[test]
fn a_failure_keeps_the_list_and_an_event_says_why() {
    let (f, desk) = with_desk();
    desk.answer(A);
    f.run();
    let mut told = f.client.events();
    f.sim.advance(INTERVAL);
    f.run();
    let error = SourceError::other("the database is away");
    desk.change(|papers| papers.answer = Some(Err(error.clone())));
    f.run();
    let source = SourceId::new(0);
    let result = RefreshResult::Failed;
    assert_eq!(
        events(&mut told),
        [
            ClientEvent::SourceFailed { source, error },
            ClientEvent::Cluster(Event::Refreshed { source, result }),
        ]
    );
    assert_eq!(servers(&f), [A]);
}

#[test]
fn a_retrieval_is_dropped_at_its_timeout_and_the_next_one_counts() {
    let (f, desk) = with_desk();
    f.sim.advance(Duration::from_secs(10));
    f.run();
    assert_eq!((desk.begun(), desk.papers().under_way), (1, 0));
    f.sim.advance(INTERVAL);
    f.run();
    assert_eq!((desk.begun(), desk.papers().under_way), (2, 1));
    desk.answer(A);
    f.run();
    assert_eq!((servers(&f), desk.papers().under_way), (vec![A.into()], 0));
}

#[test]
fn a_retrieval_is_dropped_when_a_shutdown_begins_and_with_the_last_handle() {
    let (f, desk) = with_desk();
    let shutdown = f.client.shutdown(Duration::from_secs(1));
    f.run();
    assert_eq!(desk.papers().under_way, 0);
    assert_eq!(poll(pin!(shutdown)), Poll::Ready(Ok(())));
    let (Fixture { sim, client, wakes }, desk) = with_desk();
    drop(client);
    sim.poll(&wakes);
    assert_eq!(desk.papers().under_way, 0);
}

#[test]
fn a_change_is_asked_for_soon_and_watched_for_again() {
    let (f, desk) = with_desk();
    desk.answer(A);
    f.run();
    f.sim.advance(Duration::from_secs(5));
    desk.change(|papers| papers.changed = true);
    f.run();
    assert_eq!((desk.begun(), desk.papers().watches), (2, 2));
    desk.answer(B);
    f.run();
    assert_eq!(servers(&f), [B]);
    // Within a second of the last start: at its end.
    desk.change(|papers| papers.changed = true);
    f.run();
    assert_eq!(desk.begun(), 2);
    f.sim.advance(Duration::from_secs(1));
    f.run();
    assert_eq!((desk.begun(), desk.papers().watches), (3, 3));
}

#[test]
fn a_change_during_a_retrieval_asks_once_more() {
    let (f, desk) = with_desk();
    f.sim.advance(Duration::from_secs(2));
    desk.change(|papers| papers.changed = true);
    f.run();
    assert_eq!(desk.begun(), 1);
    desk.answer(A);
    f.run();
    assert_eq!(desk.begun(), 2);
}

#[test]
fn a_source_that_is_always_changed_starves_nobody() {
    let (f, desk) = with_desk();
    for second in 1..=10 {
        desk.change(|papers| papers.changed = true);
        desk.answer(A);
        f.run();
        f.sim.advance(Duration::from_secs(1));
        f.run();
        assert!(desk.begun() <= second + 1);
    }
}

#[test]
fn an_older_version_is_ignored() {
    let (f, desk) = with_desk();
    for (servers_told, version, expected) in [(A, 7, A), (B, 6, A), (B, 7, A), (B, 8, B)] {
        let answer = list(servers_told).version(version);
        desk.change(|papers| papers.answer = Some(Ok(answer)));
        f.run();
        assert_eq!(servers(&f), [expected]);
        f.sim.advance(INTERVAL);
        f.run();
    }
}

#[test]
fn an_empty_list_changes_nothing() {
    let (f, desk) = with_desk();
    desk.answer(A);
    f.run();
    f.sim.advance(INTERVAL);
    f.run();
    desk.change(|papers| papers.answer = Some(Ok(ServerList::new([]))));
    f.run();
    assert_eq!(servers(&f), [A]);
}

#[test]
fn sources_add_to_each_other_and_to_the_applications_list() {
    let f = Fixture::build(|builder| {
        builder
            .servers(A)
            .source(from_fn(|| async { Ok(list(B)) }))
            .source(from_fn(|| async { Ok(list("10.0.0.3:1")) }))
    });
    f.run();
    assert_eq!(servers(&f), [A, B, "10.0.0.3:1"]);
}

#[test]
fn fallback_servers_join_when_there_are_no_others() {
    let f = Fixture::build(|builder| builder.fallback(A));
    f.run();
    assert_eq!(servers(&f), [A]);
    let f = Fixture::build(|builder| builder.fallback_source(from_fn(|| async { Ok(list(B)) })));
    f.run();
    assert_eq!(servers(&f), [B]);
    let f = Fixture::new(A);
    f.client.set_fallback(&[B.parse().unwrap()]).unwrap();
    f.run();
    assert_eq!(servers(&f), [A], "it has not failed");
}

/// The source's own code calls the client.
#[test]
fn a_source_may_use_the_clients_handle() {
    let slot = Arc::new(Mutex::new(None::<Handle<LengthPrefixed, Sim>>));
    let seen = Arc::clone(&slot);
    let f = Fixture::build(|builder| {
        builder.source(from_fn(move || {
            let client = seen.lock().unwrap().clone();
            async move {
                let Some(client) = client else {
                    return pending().await;
                };
                assert_eq!(client.nodes().len(), 0);
                client.set_servers(B).unwrap();
                Ok(list(A))
            }
        }))
    });
    *slot.lock().unwrap() = Some(f.client.clone());
    f.sim.advance(Duration::from_secs(200));
    f.run();
    f.sim.advance(Duration::from_secs(200));
    f.run();
    assert_eq!(servers(&f), [B, A]);
}

#[test]
fn what_nobody_answers_is_refused() {
    let build = |say: fn(Builder<LengthPrefixed, Sim>) -> Builder<LengthPrefixed, Sim>| {
        let builder = Handle::builder(LengthPrefixed::new()).runtime(Sim::default());
        say(builder).build().err()
    };
    let source_id = SourceId::new(0);
    assert_eq!(
        build(|builder| builder.config(punctual().source(Source::primary()).build().unwrap())),
        Some(BuildError::UnansweredSource { source_id })
    );
    assert_eq!(
        build(|builder| builder.discovery()),
        Some(BuildError::Config(redial::ConfigError::NoDiscovery))
    );
    assert!(matches!(
        build(|builder| builder.fallback("a")),
        Some(BuildError::Fallback(ServersError::Entry { .. }))
    ));
    let many = |builder| {
        (0..33).fold(builder, |builder: Builder<_, _>, _| {
            builder.source(Desk::default())
        })
    };
    assert!(matches!(build(many), Some(BuildError::Config(_))));
}
