//! Peers that do not read: a window of zero (SEMANTICS 4.3, 8.3).

use redial::{Cause, driver::Runtime};
use redial_tests::servers::ways;

use super::{SECOND, more_than_the_kernel_buffers, ms};
use crate::{
    client::assert_echoed,
    loopback::{Loopback, serve},
    site::{Site, Way},
    wait::{begin, is_over},
};

pub(crate) async fn pushes_are_read_while_writing_is_blocked<R: Runtime>(site: Loopback<R>) {
    let node = serve(ways::stop_reading_but_push);
    let client = site.client([&node]);
    let mut pushes = client.pushes();
    let mut blocked = begin(client.request(more_than_the_kernel_buffers()));
    site.until(|| client.stats().in_flight == 1).await;
    site.sleep(ms(300)).await;
    // More than can have been on its way.
    for _ in 0..50 {
        site.soon(pushes.next()).await.expect("the client lives");
    }
    assert!(!is_over(&mut blocked));
}

pub(crate) async fn a_peer_that_never_reads_is_given_up_and_another_answers<R: Runtime>(
    site: Loopback<R>,
) {
    let (stuck, alive) = (serve(ways::stop_reading), site.node(Way::Echo));
    let mut client = site.client_with(|c| c.write_timeout(SECOND), [&stuck]);
    let payload = more_than_the_kernel_buffers();
    let request = begin(client.request(payload.clone()).idempotent());
    assert_eq!(client.disconnected(&stuck).await, Cause::WriteStall);
    client.list([&stuck, &alive]);
    let response = assert_echoed(site.soon(request).await, payload);
    assert!(response.attempts >= 2);
}

pub(crate) async fn a_blocked_connection_gets_no_more_requests<R: Runtime>(site: Loopback<R>) {
    let (stuck, alive) = (serve(ways::stop_reading), site.node(Way::Echo));
    let client = site.client_with(|c| c.warm(redial::Warm::All), [&stuck, &alive]);
    site.until(|| client.stats().nodes_ready == 2).await;
    let large = client.request(more_than_the_kernel_buffers());
    let _blocked = begin(large.on(client.id(&stuck)));
    site.until(|| client.node(client.id(&stuck)).unwrap().why == redial::Why::Blocked)
        .await;
    for _ in 0..20 {
        client.assert_echoes("passes by").await;
    }
    assert_eq!(alive.received().len(), 20);
}
