//! Requests that go well, and those that are refused (SEMANTICS 4.1 to 4.3).

use redial::{NodeState, Reason, SubmitError, driver::Error};

use super::{SECOND, ms};
use crate::{
    client::{assert_echoed, failure},
    site::{Site, Way},
    wait::begin,
};

pub(crate) async fn a_request_is_answered(site: impl Site) {
    let node = site.node(Way::Echo);
    let client = site.client([&node]);
    let response = assert_echoed(site.soon(client.request("ping".into())).await, "ping");
    assert_eq!((response.node, response.attempts), (client.id(&node), 1));
}

pub(crate) async fn a_thousand_requests_at_once_get_their_own_replies(site: impl Site) {
    let node = site.node(Way::Echo);
    let client = site.client([&node]);
    let tasks: Vec<_> = (0..1_000)
        .map(|number| {
            let client = client.handle();
            site.task(async move { (number, client.request(format!("{number}").into()).await) })
        })
        .collect();
    for task in tasks {
        let (number, result) = site.soon(task).await;
        assert_echoed(result, number.to_string());
    }
    assert_eq!((client.stats().succeeded, node.accepted()), (1_000, 1));
}

pub(crate) async fn a_payload_larger_than_any_buffer_comes_back_whole(site: impl Site) {
    let node = site.node(Way::Echo);
    let client = site.client([&node]);
    let payload: Vec<u8> = (0..900_000_u32).map(|n| (n % 251) as u8).collect();
    assert_echoed(
        site.soon(client.request(payload.clone().into())).await,
        payload,
    );
}

pub(crate) async fn an_empty_payload_comes_back(site: impl Site) {
    let node = site.node(Way::Echo);
    let client = site.client([&node]);
    assert_echoed(site.soon(client.request("".into())).await, "");
}

pub(crate) async fn a_request_without_reply_is_complete_when_it_is_sent(site: impl Site) {
    let node = site.node(Way::Silent);
    let client = site.client([&node]);
    let response = site
        .soon(client.request("note".into()).without_reply())
        .await;
    assert_eq!(response.expect("sent").reply, None);
    site.until(|| node.received() == [b"note"]).await;
}

pub(crate) async fn requests_are_written_in_the_order_of_their_submission(site: impl Site) {
    let node = site.node(Way::Echo);
    let client = site.client([&node]);
    let payloads: Vec<_> = (0..100).map(|number| number.to_string()).collect();
    let requests = payloads
        .iter()
        .map(|p| begin(client.request(p.clone().into())));
    for request in requests.collect::<Vec<_>>() {
        site.soon(request).await.expect("an answer");
    }
    let payloads: Vec<_> = payloads.into_iter().map(String::into_bytes).collect();
    assert_eq!(node.received(), payloads);
}

pub(crate) async fn a_request_can_be_for_one_node(site: impl Site) {
    let nodes = [site.node(Way::Echo), site.node(Way::Echo)];
    let client = site.client(&nodes);
    for node in &nodes {
        let response = site
            .soon(client.request("x".into()).on(client.id(node)))
            .await;
        assert_eq!(response.expect("an answer").node, client.id(node));
        assert_eq!(node.received().len(), 1);
    }
}

pub(crate) async fn requests_for_any_node_are_spread_over_those_that_are_ready(site: impl Site) {
    let nodes = [site.node(Way::Silent), site.node(Way::Silent)];
    let client = site.client_with(|c| c.warm(redial::Warm::All), &nodes);
    site.until(|| client.stats().nodes_ready == 2).await;
    let _requests: Vec<_> = (0..10).map(|_| begin(client.request("x".into()))).collect();
    site.until(|| nodes.iter().all(|node| node.received().len() == 5))
        .await;
}

pub(crate) async fn no_more_requests_than_allowed_are_in_flight(site: impl Site) {
    let node = site.node(Way::Silent);
    let client = site.client_with(|c| c.max_in_flight(2_u32), [&node]);
    let _requests: Vec<_> = (0..5).map(|_| begin(client.request("x".into()))).collect();
    site.until(|| node.received().len() == 2).await;
    site.sleep(ms(100)).await;
    let stats = client.stats();
    assert_eq!((stats.in_flight, stats.waiting_requests), (2, 3));
    assert_eq!(node.received().len(), 2);
}

pub(crate) async fn a_server_may_allow_fewer_requests_in_flight(site: impl Site) {
    let node = site.node(Way::Limited(1));
    let client = site.client([&node]);
    site.soon(client.ready(20 * SECOND))
        .await
        .expect("it is up");
    let requests: Vec<_> = (0..3).map(|_| begin(client.request("x".into()))).collect();
    site.until(|| {
        assert!(client.stats().in_flight <= 1);
        client.stats().open_requests == 0
    })
    .await;
    for request in requests {
        site.soon(request).await.expect("an answer");
    }
}

pub(crate) async fn a_request_for_a_node_that_has_left_is_refused(site: impl Site) {
    let (left, stays) = (site.node(Way::Echo), site.node(Way::Echo));
    let client = site.client([&left, &stays]);
    let id = client.id(&left);
    client.list([&stays]);
    let result = site.soon(client.request("x".into()).on(id)).await;
    assert_eq!(result, Err(Error::Submit(SubmitError::UnknownNode(id))));
}

pub(crate) async fn a_full_queue_refuses_and_is_worth_another_try(site: impl Site) {
    let node = site.node(Way::Refuses);
    let client = site.client_with(|c| c.queue_max_requests(2_u32), [&node]);
    let _waiting = [(); 2].map(|()| begin(client.request("x".into())));
    let result = site.soon(client.request("x".into())).await;
    assert_eq!(result, Err(Error::Submit(SubmitError::QueueFull)));
    assert!(result.unwrap_err().is_retryable());
}

pub(crate) async fn a_queue_is_full_of_bytes_too(site: impl Site) {
    let node = site.node(Way::Refuses);
    let client = site.client_with(|c| c.queue_max_bytes(1_000_u64), [&node]);
    let _waiting = begin(client.request(vec![0; 900].into()));
    let result = site.soon(client.request(vec![0; 101].into())).await;
    assert_eq!(result, Err(Error::Submit(SubmitError::QueueFull)));
    let _waits_as_well = begin(client.request(vec![0; 100].into()));
}

pub(crate) async fn a_request_that_cannot_be_encoded_fails_alone(site: impl Site) {
    let node = site.node(Way::Echo);
    let client = site.client([&node]);
    let over_the_frame_limit = vec![0; 17 << 20];
    let error = failure(site.soon(client.request(over_the_frame_limit.into())).await);
    assert_eq!(error.reason, Reason::Rejected);
    client.assert_echoes("next").await;
    assert_eq!(node.accepted(), 1);
}

pub(crate) async fn a_request_that_is_never_polled_is_never_sent(site: impl Site) {
    let node = site.node(Way::Echo);
    let client = site.client([&node]);
    drop(client.request("never".into()).into_future());
    assert_eq!(client.stats().requests, 0);
    client.assert_echoes("next").await;
    assert_eq!(node.received(), [b"next"]);
}

pub(crate) async fn nothing_is_dialled_before_it_is_wanted(site: impl Site) {
    let node = site.node(Way::Echo);
    let client = site.client([&node]);
    site.sleep(ms(100)).await;
    assert_eq!((client.stats().attempts, node.accepted()), (0, 0));
    client.assert_echoes("wanted").await;
    assert_eq!(node.accepted(), 1);
}

pub(crate) async fn ready_waits_for_the_first_usable_node(site: impl Site) {
    let node = site.node(Way::Echo);
    let client = site.client([&node]);
    let id = site
        .soon(client.ready(20 * SECOND))
        .await
        .expect("it is up");
    let snapshot = client.node(id).expect("it is in the list");
    assert_eq!(
        (snapshot.state, &snapshot.spec),
        (NodeState::Ready, &node.spec)
    );
    assert_eq!((snapshot.in_flight, client.stats().open_requests), (0, 0));
    assert!(node.received().is_empty());
}

/// R147: a wait for a change has a deadline.
pub(crate) async fn ready_gives_up_at_its_timeout(site: impl Site) {
    let node = site.node(Way::Mute);
    let client = site.client([&node]);
    let start = client.now();
    let error = failure(site.soon(client.ready(ms(200))).await);
    assert_eq!(error.reason, Reason::Timeout);
    assert!(client.now() - start >= ms(200));
}
