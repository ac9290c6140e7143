//! Handles: clones of them, and what their end means.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use redial::{
    Warm,
    client::length_prefixed::LengthPrefixed,
    driver::{BuildError, Handle, Runtime, ServersError},
};

use super::ms;
use crate::{
    client::assert_echoed,
    host::Host,
    loopback::Loopback,
    site::{Site, Way},
    wait::{begin, block_on},
};

pub(crate) async fn a_client_that_was_said_wrongly_is_not_built<S: Site>(site: S) {
    let builder = Handle::<_, S::Runtime>::builder(LengthPrefixed::new());
    let wrong = builder.servers("a:1,b").runtime(site.runtime()).build();
    let Err(BuildError::Servers(ServersError::Entry { index, entry, .. })) = wrong else {
        panic!("the second entry has no port")
    };
    assert_eq!((index, entry.as_str()), (1, "b"));
}

pub(crate) async fn building_never_fails_for_a_reason_of_the_network(site: impl Site) {
    for way in [Way::Refuses, Way::BlackHole, Way::Closes] {
        let node = site.node(way);
        let client = site.client([&node]);
        assert_eq!(client.nodes().len(), 1);
    }
}

pub(crate) async fn the_last_handle_closes_every_connection(site: impl Site) {
    let (ready, mute) = (site.node(Way::Echo), site.node(Way::Mute));
    let client = site.client_with(|c| c.warm(Warm::All), [&ready, &mute]);
    site.until(|| ready.open() == 1 && mute.open() == 1).await;
    let last = client.handle();
    drop(client);
    assert_echoed(
        site.soon(last.request("still open".into())).await,
        "still open",
    );
    drop(last);
    site.until(|| ready.open() == 0 && mute.open() == 0).await;
}

pub(crate) async fn the_last_handle_ends_what_is_being_dialled(site: impl Site) {
    let node = site.node(Way::BlackHole);
    let client = site.client_with(|c| c.warm(Warm::All), [&node]);
    let mut events = client.events();
    site.until(|| client.stats().attempts == 1).await;
    drop(client);
    while site.soon(events.next()).await.is_some() {}
}

pub(crate) async fn a_request_that_is_waited_for_keeps_the_client_alive(site: impl Site) {
    let node = site.node(Way::Slow(ms(200)));
    let client = site.client([&node]);
    let request = begin(client.request("last words".into()));
    drop(client);
    assert_echoed(site.soon(request).await, "last words");
    site.until(|| node.open() == 0).await;
}

pub(crate) async fn handles_can_be_used_and_dropped_by_any_thread(site: impl Site) {
    let node = site.node(Way::Echo);
    let client = site.client([&node]);
    client.assert_echoes("here").await;
    let threads = (0..4).map(|_| {
        let client = client.handle();
        thread::spawn(move || {
            let _clones = [(); 10].map(|()| client.clone());
            client.stats().requests
        })
    });
    for thread in threads.collect::<Vec<_>>() {
        assert_eq!(thread.join().expect("no panic"), 1);
    }
    client.assert_echoes("here again").await;
}

pub(crate) fn requests_of_many_threads_get_their_own_replies<R: Runtime>(
    host: impl Host<Site = Loopback<R>>,
) {
    let site = host.site();
    let node = site.node(Way::Echo);
    let client = host.block_on(async { site.client([&node]) });
    let done = AtomicUsize::new(0);
    thread::scope(|scope| {
        for thread in 0..8 {
            let (handle, done) = (client.handle(), &done);
            scope.spawn(move || {
                for number in 0..100 {
                    let payload = format!("{thread}-{number}");
                    let request = handle.request(payload.clone().into());
                    assert_echoed(block_on(request), payload);
                }
                done.fetch_add(1, Ordering::SeqCst);
            });
        }
        host.block_on(site.until(|| done.load(Ordering::SeqCst) == 8));
    });
    assert_eq!((client.stats().succeeded, node.accepted()), (800, 1));
}
