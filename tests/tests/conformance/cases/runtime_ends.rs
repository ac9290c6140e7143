//! A runtime that is dropped in the middle, with the driver that it runs.

use std::thread;

use redial::{
    Certainty, Reason, SubmitError, Warm,
    driver::{Error, Runtime},
};

use super::{SECOND, ms};
use crate::{
    client::failure,
    host::Host,
    loopback::Loopback,
    site::{Site, Way},
    wait::{begin, block_on},
};

pub(crate) fn whoever_waits_is_told(host: impl Host) {
    let site = host.site();
    let node = site.node(Way::Silent);
    let (client, written, queued) = host.block_on(async {
        let client = site.client_with(|c| c.max_in_flight(1_u32), [&node]);
        let written = begin(client.request("written".into()));
        site.until(|| node.received().len() == 1).await;
        let queued = begin(client.request("queued".into()));
        (client, written, queued)
    });
    let (mut events, mut pushes) = (client.events(), client.pushes());
    drop(host);
    for (request, certainty) in [
        (written, Certainty::PossiblyWritten),
        (queued, Certainty::NeverWritten),
    ] {
        let error = failure(block_on(request));
        assert_eq!((error.reason, error.certainty), (Reason::Closed, certainty));
    }
    while block_on(events.next()).is_some() {}
    assert_eq!(block_on(pushes.next()), None);
}

pub(crate) fn who_waits_for_the_end_of_a_shutdown_is_told(host: impl Host) {
    let site = host.site();
    let node = site.node(Way::Silent);
    let (client, open) = host.block_on(async {
        let client = site.client([&node]);
        let open = begin(client.request("x".into()));
        site.until(|| node.received().len() == 1).await;
        (client, open)
    });
    let drained = client.shutdown(600 * SECOND);
    drop(host);
    block_on(drained).expect("it has ended");
    assert_eq!(failure(block_on(open)).reason, Reason::Closed);
}

pub(crate) fn requests_that_wait_for_a_dial_are_told(host: impl Host) {
    let site = host.site();
    let node = site.node(Way::BlackHole);
    let (client, waiting) = host.block_on(async {
        let client = site.client([&node]);
        let waiting = begin(client.request("x".into()));
        site.until(|| client.stats().attempts == 1).await;
        (client, waiting)
    });
    drop(host);
    let error = failure(block_on(waiting));
    let (reason, certainty) = (Reason::Closed, Certainty::NeverWritten);
    assert_eq!((error.reason, error.certainty), (reason, certainty));
    assert_eq!(client.stats().open_requests, 0);
}

pub(crate) fn new_requests_are_refused(host: impl Host) {
    let site = host.site();
    let node = site.node(Way::Echo);
    let client = host.block_on(async {
        let client = site.client([&node]);
        client.assert_echoes("before").await;
        client
    });
    drop(host);
    let refused = block_on(client.request("after".into()));
    assert_eq!(refused, Err(Error::Submit(SubmitError::Closed)));
    block_on(client.shutdown(SECOND)).expect("it has ended");
    assert_eq!(block_on(client.events().next()), None);
    // What was seen can still be read.
    assert_eq!(client.stats().succeeded, 1);
    assert_eq!(client.snapshot().nodes.len(), 1);
}

pub(crate) fn a_request_can_be_dropped_afterwards(host: impl Host) {
    let site = host.site();
    let node = site.node(Way::Silent);
    let (client, request) = host.block_on(async {
        let client = site.client([&node]);
        let request = begin(client.request("x".into()));
        site.until(|| node.received().len() == 1).await;
        (client, request)
    });
    drop(host);
    drop(request);
    drop(client.handle());
    assert_eq!(client.stats().open_requests, 0);
}

pub(crate) fn its_connections_are_closed<R: Runtime>(host: impl Host<Site = Loopback<R>>) {
    let site = host.site();
    let (ready, mute) = (site.node(Way::Echo), site.node(Way::Mute));
    let _client = host.block_on(async {
        let client = site.client_with(|c| c.warm(Warm::All), [&ready, &mute]);
        site.until(|| ready.open() == 1 && mute.open() == 1).await;
        client
    });
    drop(host);
    let is_closed = (0..2_000).any(|_| {
        thread::sleep(ms(10));
        ready.open() == 0 && mute.open() == 0
    });
    assert!(is_closed);
}
