//! One refresher for many clients.

use std::{
    collections::BTreeSet,
    sync::{Mutex, atomic::AtomicU32, atomic::Ordering},
};

use redial::driver::{Changed, Retrieval, ServerSource, SharedSource, SourceError};

use super::{
    sources::{A, B, Desk, events, list, servers},
    *,
};

const STEP: Duration = Duration::from_millis(100);

/// A client's share, and the version and time of each list that it was told.
struct Told {
    share: SharedSource,
    versions: Arc<Mutex<Vec<u64>>>,
}

impl ServerSource for Told {
    fn retrieve(&self) -> Retrieval {
        let (retrieval, versions) = (self.share.retrieve(), Arc::clone(&self.versions));
        Box::pin(async move {
            let list = retrieval.await?;
            let version = list.version.expect("a shared list has a version");
            versions.lock().unwrap().push(version);
            Ok(list)
        })
    }

    fn changed(&self) -> Changed {
        self.share.changed()
    }
}

/// Clients of one source, each with its own seed and clock.
struct Fleet {
    clients: Vec<Fixture>,
    told: Vec<Arc<Mutex<Vec<u64>>>>,
}

impl Fleet {
    fn new(count: u64, shared: &SharedSource) -> Self {
        let (mut clients, mut told) = (Vec::new(), Vec::new());
        for seed in 0..count {
            let versions = Arc::default();
            let source = Told {
                share: shared.clone(),
                versions: Arc::clone(&versions),
            };
            clients.push(Fixture::build(|builder| builder.seed(seed).source(source)));
            told.push(versions);
        }
        let fleet = Self { clients, told };
        fleet.run();
        fleet
    }

    /// Polls the drivers while any is woken.
    fn run(&self) {
        while self.clients.iter().map(Fixture::run).sum::<u32>() > 0 {}
    }

    fn advance(&self, by: Duration) {
        self.clients.iter().for_each(|f| f.sim.advance(by));
        self.run();
    }

    fn told(&self) -> BTreeSet<Vec<u64>> {
        let versions = self.told.iter().map(|told| told.lock().unwrap().clone());
        versions.collect()
    }

    fn servers(&self) -> BTreeSet<Vec<String>> {
        self.clients.iter().map(servers).collect()
    }
}

/// 7.10.
#[test]
fn a_hundred_clients_ask_once_a_period_and_each_is_told_the_same_version() {
    let desk = Desk::default();
    let fleet = Fleet::new(100, &SharedSource::new(desk.clone()));
    assert_eq!(desk.begun(), 1);
    desk.answer(A);
    fleet.run();
    let (mut waited, mut retrievals) = (Duration::ZERO, 1);
    for _ in 0..6_000 {
        fleet.advance(STEP);
        waited += STEP;
        if desk.begun() == retrievals {
            assert!(waited < Duration::from_secs(70), "one within a period");
            continue;
        }
        assert_eq!(desk.begun(), retrievals + 1, "one for all");
        assert!(waited >= Duration::from_secs(60), "one a period");
        (waited, retrievals) = (Duration::ZERO, retrievals + 1);
        desk.answer(if retrievals % 2 == 0 { B } else { A });
        fleet.run();
        // Who was asked within the last second takes the news at its end.
        let versions = (1..=u64::from(retrievals)).collect::<Vec<_>>();
        assert_eq!(fleet.told(), BTreeSet::from([versions]));
        assert_eq!(fleet.servers().len(), 1);
    }
    assert!(retrievals >= 9, "{retrievals} in ten minutes");
}

#[test]
fn a_change_of_the_source_is_one_retrieval_for_all() {
    let desk = Desk::default();
    let fleet = Fleet::new(10, &SharedSource::new(desk.clone()));
    desk.answer(A);
    fleet.run();
    fleet.advance(Duration::from_secs(5));
    desk.change(|papers| papers.changed = true);
    fleet.run();
    assert_eq!(desk.begun(), 2);
    desk.answer(B);
    fleet.run();
    fleet.advance(Duration::from_secs(5));
    assert_eq!((desk.begun(), desk.papers().watches), (2, 2));
    assert_eq!(fleet.servers(), BTreeSet::from([vec![B.to_string()]]));
    assert_eq!(fleet.told(), BTreeSet::from([vec![1, 2]]));
}

#[test]
fn a_failure_is_told_to_all_by_one_retrieval() {
    let desk = Desk::default();
    let fleet = Fleet::new(10, &SharedSource::new(desk.clone()));
    desk.answer(A);
    fleet.run();
    let mut told: Vec<_> = fleet.clients.iter().map(|f| f.client.events()).collect();
    while desk.begun() == 1 {
        fleet.advance(STEP);
    }
    let error = SourceError::other("away");
    desk.change(|papers| papers.answer = Some(Err(error.clone())));
    fleet.run();
    assert_eq!(desk.begun(), 2);
    for told in &mut told {
        assert!(events(told).iter().any(|event| matches!(
            event,
            redial::driver::ClientEvent::SourceFailed { error: e, .. } if *e == error
        )));
    }
    assert_eq!(fleet.servers(), BTreeSet::from([vec![A.to_string()]]));
}

#[test]
fn a_client_that_comes_later_is_told_without_a_retrieval() {
    let desk = Desk::default();
    let shared = SharedSource::new(desk.clone());
    let fleet = Fleet::new(2, &shared);
    desk.answer(A);
    fleet.run();
    let later = Fixture::build(|builder| builder.source(shared.clone()));
    later.run();
    assert_eq!(servers(&later), [A]);
    later.sim.advance(Duration::from_secs(5));
    later.run();
    assert_eq!(desk.begun(), 1);
}

#[test]
fn the_others_go_on_with_the_retrieval_of_a_client_that_ends() {
    let desk = Desk::default();
    let mut fleet = Fleet::new(3, &SharedSource::new(desk.clone()));
    fleet.clients.remove(0).sim.drop_driver();
    assert_eq!((desk.begun(), desk.papers().under_way), (1, 1));
    fleet.run();
    desk.answer(A);
    fleet.run();
    assert_eq!(desk.begun(), 1);
    assert_eq!(fleet.servers(), BTreeSet::from([vec![A.to_string()]]));
}

#[test]
fn a_retrieval_that_hangs_ends_with_the_last_who_waits_and_is_begun_anew() {
    let desk = Desk::default();
    let fleet = Fleet::new(3, &SharedSource::new(desk.clone()));
    fleet.advance(Duration::from_secs(10));
    let begun = desk.begun();
    assert_eq!(desk.papers().under_way, i32::from(begun > 1));
    fleet.advance(Duration::from_secs(2));
    desk.answer(A);
    fleet.run();
    fleet.advance(Duration::from_secs(2));
    assert_eq!(fleet.servers(), BTreeSet::from([vec![A.to_string()]]));
    assert_eq!(desk.papers().under_way, 0);
}

/// The one that began it is gone: it may be stuck.
#[test]
fn whoever_asks_after_the_first_has_given_up_begins_anew() {
    let desk = Desk::default();
    let shared = SharedSource::new(desk.clone());
    let mut visits: Vec<_> = (0..3).map(|_| shared.clone().retrieve()).collect();
    assert!(visits.iter_mut().all(|visit| poll(visit).is_pending()));
    drop(visits.remove(0));
    assert_eq!((desk.begun(), desk.papers().under_way), (1, 1));
    let mut late = shared.clone().retrieve();
    assert!(poll(&mut late).is_pending());
    assert_eq!((desk.begun(), desk.papers().under_way), (2, 1));
    desk.answer(A);
    visits.push(late);
    for mut visit in visits {
        let Poll::Ready(Ok(list)) = poll(&mut visit) else {
            panic!("the new one is for all");
        };
        assert_eq!(list.version, Some(1));
    }
}

/// What was retrieved before a change is no answer to who asks after it.
#[test]
fn news_that_is_older_than_a_change_is_passed_over() {
    let desk = Desk::default();
    let shared = SharedSource::new(desk.clone());
    let (first, second) = (shared.clone(), shared.clone());
    let mut watch = first.changed();
    desk.answer(A);
    assert!(poll(first.retrieve()).is_ready());
    desk.change(|papers| papers.changed = true);
    assert!(poll(&mut watch).is_ready());
    let mut visit = second.retrieve();
    assert!(poll(&mut visit).is_pending());
    assert!(poll(&mut visit).is_pending(), "not even if it asks again");
    desk.answer(B);
    let Poll::Ready(Ok(told)) = poll(&mut visit) else {
        panic!("it is there");
    };
    assert_eq!((told.nodes, told.version), (list(B).nodes, Some(2)));
}

#[test]
fn of_a_list_that_is_not_newer_the_last_one_is_told_again() {
    let desk = Desk::default();
    let shared = SharedSource::new(desk.clone());
    for (servers, version, expected) in [(A, 7, A), (B, 6, A), (B, 7, A), (B, 8, B)] {
        let answer = list(servers).version(version);
        desk.change(|papers| papers.answer = Some(Ok(answer)));
        let Poll::Ready(Ok(told)) = poll(shared.retrieve()) else {
            panic!("it is there");
        };
        assert_eq!(told.nodes, list(expected).nodes);
    }
}

#[test]
fn a_share_that_is_dropped_leaves_nothing_behind() {
    struct Counted(Arc<AtomicU32>, Desk);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    impl ServerSource for Counted {
        fn retrieve(&self) -> Retrieval {
            self.1.retrieve()
        }
        fn changed(&self) -> Changed {
            self.1.changed()
        }
    }
    let (drops, desk) = (Arc::new(AtomicU32::new(0)), Desk::default());
    let fleet = Fleet::new(
        2,
        &SharedSource::new(Counted(Arc::clone(&drops), desk.clone())),
    );
    fleet.clients.iter().for_each(|f| f.sim.drop_driver());
    drop(fleet);
    assert_eq!(
        (drops.load(Ordering::SeqCst), desk.papers().under_way),
        (1, 0)
    );
}
