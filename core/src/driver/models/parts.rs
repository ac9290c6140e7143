//! The parts that hand over by themselves.

use core::{
    future::poll_fn,
    mem,
    task::{Poll, Waker},
};
use std::{collections::VecDeque, sync::Arc};

use loom::sync::atomic::{AtomicBool, Ordering};

use super::{
    super::{
        ServerList, ServerSource, SharedSource,
        feed::Feed,
        from_fn,
        wakeups::{Source, SourceWaker, Wakeups},
    },
    block_on, explore, poll, spawn,
};
use crate::mutant::Mutant;

/// Wake against sleep.
#[test]
fn what_a_source_is_woken_for_is_seen_before_the_driver_sleeps_on() {
    explore(None, &[Mutant::ListsAfterWaking], || {
        let (wakeups, source, news) = woken_source();
        let (waker, told) = (Waker::from(Arc::clone(&source)), news.clone());
        let other = spawn(move || told.iter().for_each(|news| tell(news, &waker)));
        block_on(see_all(&wakeups, &source, &news));
        other.join().expect("no panic");
    });
}

/// Wake against wake against sleep: too much for all orders.
#[test]
fn what_two_wake_a_source_for_at_once_is_seen_before_the_driver_sleeps_on() {
    explore(Some(3), &[Mutant::ListsAfterWaking], || {
        let (wakeups, source, news) = woken_source();
        let others = news.clone().map(|news| {
            let waker = Waker::from(Arc::clone(&source));
            spawn(move || tell(&news, &waker))
        });
        block_on(see_all(&wakeups, &source, &news));
        others
            .into_iter()
            .for_each(|other| other.join().expect("no panic"));
    });
}

/// Push against sleep.
#[test]
fn a_receiver_gets_all_that_is_pushed_and_then_the_end() {
    explore(None, &[Mutant::SleepsUnlocked], || {
        let (feed, mut receiver) = Feed::new();
        let driver = spawn(move || {
            feed.push(1).into_iter().for_each(Waker::wake);
            feed.push(2).into_iter().for_each(Waker::wake);
            feed
        });
        let received = [(); 2].map(|()| block_on(receiver.next()));
        assert_eq!(received, [Some(1), Some(2)]);
        let feed = driver.join().expect("no panic");
        let driver = spawn(move || feed.end().into_iter().for_each(Waker::wake));
        assert_eq!(block_on(receiver.next()), None);
        driver.join().expect("no panic");
    });
}

/// Give up against join.
#[test]
fn a_client_gets_the_answer_that_is_shared_though_the_other_gives_up() {
    explore(Some(4), &[Mutant::GivesUpSilently], || {
        let patient = SharedSource::new(from_fn(|| async {
            wait_a_moment().await;
            Ok(ServerList::new([]))
        }));
        let hasty = patient.clone();
        let other = spawn(move || {
            let _ = poll(&mut hasty.retrieve());
        });
        assert!(block_on(patient.retrieve()).is_ok());
        other.join().expect("no panic");
    });
}

/// Something that a source can be woken for. All that makes it visible is the wake-up.
type News = Arc<AtomicBool>;

fn woken_source() -> (Arc<Wakeups>, Arc<SourceWaker>, [News; 2]) {
    let wakeups = Arc::new(Wakeups::default());
    let source = wakeups.source(Source::Connection(0));
    (wakeups, source, [News::default(), News::default()])
}

fn tell(news: &News, waker: &Waker) {
    news.store(true, Ordering::Relaxed);
    waker.wake_by_ref();
}

/// As the driver's own poll.
async fn see_all(wakeups: &Wakeups, source: &SourceWaker, news: &[News]) {
    let mut ready = VecDeque::new();
    poll_fn(|cx| {
        wakeups.register(cx.waker());
        loop {
            wakeups.take_ready(&mut ready);
            if ready.pop_front().is_none() {
                return Poll::Pending;
            }
            source.take_listed();
            if news.iter().all(|news| news.load(Ordering::Relaxed)) {
                return Poll::Ready(());
            }
        }
    })
    .await;
}

/// Pending once, and ready at once.
async fn wait_a_moment() {
    let mut waited = false;
    poll_fn(|cx| {
        if mem::replace(&mut waited, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
