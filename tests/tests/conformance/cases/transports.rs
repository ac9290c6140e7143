//! What a runtime's connections and tasks may be like, and what they cost.

use redial::{Config, Warm, driver::Runtime};

use super::ms;
use crate::{
    client::{Client, assert_echoed},
    site::{Site, Way, config, specs},
    transports::{ByteByByte, Counting},
    wait::begin,
};

pub(crate) async fn a_transport_that_takes_one_byte_a_call_serves(site: impl Site) {
    let node = site.node(Way::Echo);
    let runtime = site.runtime().with_transport(ByteByByte(site.runtime()));
    let client = Client::on(runtime, Config::default(), specs([&node]));
    let payloads = [&[7; 2_000][..], b"", b"x", &[8; 3_000], b"y"];
    let requests = payloads.map(|payload| begin(client.request(payload.into())));
    for (payload, request) in payloads.into_iter().zip(requests) {
        assert_echoed(site.soon(request).await, payload);
    }
    let received = node.received();
    assert_eq!(received, payloads);
    site.soon(client.shutdown(ms(500)))
        .await
        .expect("a drain that ends");
    site.until(|| node.open() == 0).await;
}

pub(crate) async fn a_client_with_nothing_to_do_is_not_woken(site: impl Site) {
    let node = site.node(Way::Echo);
    let runtime = Counting::new(site.runtime());
    let client = Client::on(
        runtime.clone(),
        config(|c| c.warm(Warm::All)),
        specs([&node]),
    );
    client.assert_echoes("hello").await;
    // A deadline that has moved away leaves the timer alone, so it may wake us once more.
    site.sleep(ms(300)).await;
    let before = runtime.polls();
    site.sleep(ms(700)).await;
    let polls = runtime.polls() - before;
    assert!(before >= 1 && polls <= 2, "{polls} after {before}");
}

pub(crate) async fn a_client_that_waits_for_a_reply_is_not_woken(site: impl Site) {
    let node = site.node(Way::Silent);
    let runtime = Counting::new(site.runtime());
    let client = Client::on(runtime.clone(), Config::default(), specs([&node]));
    let _waiting = begin(client.request("hello".into()));
    site.until(|| node.received().len() == 1).await;
    site.sleep(ms(300)).await;
    let before = runtime.polls();
    site.sleep(ms(700)).await;
    let polls = runtime.polls() - before;
    assert!(before >= 1 && polls <= 2, "{polls} after {before}");
}

pub(crate) async fn a_client_whose_node_does_not_answer_dials_is_not_busy(site: impl Site) {
    let node = site.node(Way::BlackHole);
    let runtime = Counting::new(site.runtime());
    let client = Client::on(runtime.clone(), Config::default(), specs([&node]));
    let _waiting = begin(client.request("hello".into()));
    site.sleep(ms(500)).await;
    let before = runtime.polls();
    site.sleep(ms(500)).await;
    let polls = runtime.polls() - before;
    assert!(before >= 1 && polls <= 5, "{polls} after {before}");
}
