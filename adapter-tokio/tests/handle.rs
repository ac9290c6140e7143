//! The handle over real sockets: requests, their cancellation, the end.

mod support;
#[cfg(unix)]
mod unix;

use std::{
    future::IntoFuture,
    time::{Duration, Instant},
};

use redial::{
    Certainty, Event, NodeState, Reason, SubmitError,
    client::length_prefixed::{Frame, LengthPrefixed},
    driver::{BuildError, ClientEvent, Error, ServersError},
};
use redial_tokio::Client;
use support::{client, echo, server, silence};
use tokio::{
    runtime::Runtime,
    time::{sleep, timeout},
};

/// Far more than anything here needs.
const LONG: Duration = Duration::from_secs(10);

fn reason(error: Error) -> Reason {
    match error {
        Error::Request(error) => error.reason,
        Error::Submit(error) => panic!("refused: {error}"),
    }
}

#[tokio::test]
async fn a_request_is_answered() {
    let server = server(echo).await;
    let client = client(&server);
    let response = client.request("ping".into()).await.expect("answered");
    assert_eq!(response.reply.as_deref(), Some(&b"ping"[..]));
    assert_eq!(Some(response.node), client.find(&server.address.into()));
    assert_eq!(response.attempts, 1);
}

#[tokio::test]
async fn many_requests_get_their_own_replies() {
    let server = server(echo).await;
    let client = client(&server);
    let tasks: Vec<_> = (0..1_000_u32)
        .map(|number| {
            let client = client.clone();
            tokio::spawn(async move {
                let body = number.to_string();
                let response = client.request(body.clone().into()).await.expect("answered");
                assert_eq!(response.reply.as_deref(), Some(body.as_bytes()));
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("it does not panic");
    }
    assert_eq!(client.stats().succeeded, 1_000);
}

#[tokio::test]
async fn replies_larger_than_any_buffer_come_whole() {
    let server = server(|frame| vec![Frame::reply(frame.id, vec![7; 900_000])]).await;
    let client = client(&server);
    let response = client
        .request(vec![0; 900_000].into())
        .await
        .expect("answered");
    assert!(response.reply.is_some_and(|reply| reply.len() == 900_000));
}

#[tokio::test]
async fn a_request_without_reply_completes_when_it_is_sent() {
    let server = server(silence).await;
    let client = client(&server);
    let response = client
        .request("note".into())
        .without_reply()
        .await
        .expect("sent");
    assert_eq!(response.reply, None);
}

#[tokio::test]
async fn dropping_a_request_cancels_it_and_leaks_nothing() {
    // Answers "late" only when it gets "now".
    let server = server(|frame| match &frame.body[..] {
        b"now" => vec![
            Frame::reply(frame.id - 1, "late"),
            Frame::reply(frame.id, "now"),
        ],
        _ => vec![],
    })
    .await;
    let client = client(&server);
    client.ready(LONG).await.expect("it is up");
    timeout(
        Duration::from_millis(50),
        client.request("never".into()).into_future(),
    )
    .await
    .expect_err("there is no reply");
    let response = client.request("now".into()).await.expect("answered");
    assert_eq!(response.reply.as_deref(), Some(&b"now"[..]));
    let stats = client.stats();
    let left = (stats.open_requests, stats.in_flight, stats.tombstones);
    assert_eq!((left, stats.late_replies), ((0, 0, 0), 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn cancellation_from_many_threads_leaks_nothing() {
    let server = server(echo).await;
    let client = client(&server);
    let tasks: Vec<_> = (0..2_000_u64)
        .map(|number| {
            let client = client.clone();
            tokio::spawn(async move {
                let body = number.to_string();
                let patience = Duration::from_micros(number % 7 * 200);
                let request = client.request(body.clone().into()).into_future();
                if let Ok(response) = timeout(patience, request).await {
                    let reply = response.expect("answered").reply;
                    assert_eq!(reply.as_deref(), Some(body.as_bytes()));
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("it does not panic");
    }
    // What was cancelled in flight keeps its slot until its reply.
    client.request("last".into()).await.expect("answered");
    let stats = client.stats();
    let left = (stats.open_requests, stats.in_flight, stats.tombstones);
    assert_eq!(left, (0, 0, 0));
    assert_eq!(stats.requests, stats.succeeded + stats.failed);
}

#[tokio::test]
async fn a_request_that_was_never_polled_is_never_sent() {
    let server = server(echo).await;
    let client = client(&server);
    drop(client.request("never".into()).into_future());
    assert_eq!(client.stats().requests, 0);
}

#[tokio::test]
async fn a_timeout_is_the_requests_own() {
    let server = server(silence).await;
    let client = client(&server);
    let start = Instant::now();
    let result = client
        .request("x".into())
        .timeout(Duration::from_millis(100))
        .await;
    assert_eq!(
        reason(result.expect_err("there is no reply")),
        Reason::Timeout
    );
    assert!(start.elapsed() >= Duration::from_millis(100));
}

#[tokio::test]
async fn dropping_the_last_handle_closes_the_connections() {
    let mut server = server(echo).await;
    let first = client(&server);
    let second = first.clone();
    first.request("x".into()).await.expect("answered");
    drop(first);
    second.request("y".into()).await.expect("it is still open");
    drop(second);
    timeout(LONG, server.ended.recv())
        .await
        .expect("it was closed");
}

#[tokio::test]
async fn ready_waits_for_the_first_usable_node() {
    let server = server(echo).await;
    let client = client(&server);
    assert_eq!(
        client.stats().attempts,
        0,
        "nothing is dialled before it is wanted"
    );
    let node = client.ready(LONG).await.expect("it is up");
    let snapshot = client.node(node).expect("it is in the list");
    assert_eq!(snapshot.state, NodeState::Ready);
    assert_eq!(snapshot.spec.endpoint, server.address.into());
    assert_eq!((snapshot.in_flight, client.stats().open_requests), (0, 0));
}

/// R147: a wait for a change has a deadline.
#[tokio::test]
async fn ready_gives_up_at_its_timeout() {
    let client = Client::builder(LengthPrefixed::new())
        .build()
        .expect("no server is no error");
    let result = client.ready(Duration::from_millis(50)).await;
    assert_eq!(
        reason(result.expect_err("there is no server")),
        Reason::NoNodes
    );
}

#[tokio::test]
async fn a_shutdown_lets_requests_finish_and_refuses_new_ones() {
    let server = server(echo).await;
    let client = client(&server);
    client.ready(LONG).await.expect("it is up");
    let open = tokio::spawn(client.request("x".into()).into_future());
    tokio::task::yield_now().await;
    client.shutdown(LONG).await.expect("the drain ends");
    open.await.expect("it does not panic").expect("answered");
    let refused = client.request("y".into()).await.expect_err("it is closed");
    assert_eq!(refused, Error::Submit(SubmitError::Closed));
    assert_eq!(client.stats().connections, 0);
}

#[test]
fn a_runtime_dropped_in_the_middle_completes_open_requests() {
    let (servers, clients, other) = (runtime(), runtime(), runtime());
    let server = servers.block_on(server(silence));
    let client = clients.block_on(async { client(&server) });
    clients.block_on(client.ready(LONG)).expect("it is up");
    let open = other.spawn(client.request("x".into()).into_future());
    // The driver writes it.
    clients.block_on(async {
        while client.stats().in_flight == 0 {
            sleep(Duration::from_millis(1)).await;
        }
        sleep(Duration::from_millis(20)).await;
    });
    drop(clients);
    let result = other
        .block_on(async { timeout(LONG, open).await })
        .expect("it completes");
    let Err(Error::Request(error)) = result.expect("it does not panic") else {
        panic!("there is no reply")
    };
    assert_eq!(
        (error.reason, error.certainty),
        (Reason::Closed, Certainty::PossiblyWritten)
    );
    let refused = other.block_on(client.request("y".into()).into_future());
    assert_eq!(refused, Err(Error::Submit(SubmitError::Closed)));
    other.block_on(client.shutdown(LONG)).expect("it has ended");
    assert!(other.block_on(client.events().next()).is_none());
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("threads can be made")
}

#[tokio::test]
async fn events_tell_what_happened_in_order() {
    let server = server(echo).await;
    let client = client(&server);
    let mut events = client.events();
    client.request("x".into()).await.expect("answered");
    client.shutdown(LONG).await.expect("the drain ends");
    let mut story = Vec::new();
    let mut last = redial::Instant::ORIGIN;
    while let Some(record) = events.next().await {
        assert!(record.at >= last && record.at <= client.now());
        last = record.at;
        match record.event {
            ClientEvent::Cluster(Event::StateChanged { to, .. }) => story.push(to.to_string()),
            ClientEvent::Cluster(Event::Connected { .. }) => story.push("up".into()),
            ClientEvent::Cluster(Event::Disconnected { .. }) => story.push("down".into()),
            _ => {}
        }
    }
    story.retain(|word| word != "Disconnected");
    assert_eq!(story, ["Connecting", "up", "Handshaking", "Ready", "down"]);
    assert_eq!(events.dropped(), 0);
}

#[tokio::test]
async fn pushes_are_received_by_the_latest_receiver() {
    let server = server(|frame| vec![Frame::push("news"), Frame::reply(frame.id, "")]).await;
    let client = client(&server);
    let mut earlier = client.pushes();
    let mut pushes = client.pushes();
    assert_eq!(earlier.next().await, None);
    let response = client.request("x".into()).await.expect("answered");
    let record = pushes.next().await.expect("the client lives");
    assert_eq!(
        (&record.push[..], record.node),
        (&b"news"[..], response.node)
    );
}

#[tokio::test]
async fn a_request_can_be_for_one_node() {
    let first = server(|frame| vec![Frame::reply(frame.id, "first")]).await;
    let second = server(|frame| vec![Frame::reply(frame.id, "second")]).await;
    let client = client(&first);
    client
        .set_servers(&format!("{}, {}", first.address, second.address))
        .expect("well-formed");
    assert_eq!(client.nodes().len(), 2);
    for (server, expected) in [(&first, &b"first"[..]), (&second, &b"second"[..])] {
        let node = client
            .find(&server.address.into())
            .expect("it is in the list");
        let response = client.request("x".into()).on(node).await.expect("answered");
        assert_eq!(response.reply.as_deref(), Some(expected));
    }
}

#[tokio::test]
async fn names_are_resolved_by_the_system() {
    let server = server(echo).await;
    let servers = format!("localhost:{}", server.address.port());
    let client = Client::builder(LengthPrefixed::new())
        .servers(servers)
        .build()
        .expect("valid");
    client.request("x".into()).await.expect("answered");
}

#[test]
fn building_fails_for_what_was_said_wrongly_and_outside_of_a_runtime() {
    let builder = || Client::builder(LengthPrefixed::new());
    assert!(matches!(builder().build(), Err(BuildError::NoRuntime)));
    let wrong = runtime().block_on(async { builder().servers("a:1,b").build() });
    let Err(BuildError::Servers(ServersError::Entry { index, entry, .. })) = wrong else {
        panic!("the second entry has no port")
    };
    assert_eq!((index, entry.as_str()), (1, "b"));
}

#[tokio::test]
async fn reading_goes_on_while_writing_is_blocked() {
    // Reads nothing more from the first request on, but has said something before.
    let server = stuck_server().await;
    let client = Client::builder(LengthPrefixed::new())
        .servers(server.to_string())
        .build()
        .expect("valid");
    let mut pushes = client.pushes();
    client.ready(LONG).await.expect("it is up");
    let large = tokio::spawn(client.request(vec![0; 12 << 20].into()).into_future());
    for _ in 0..3 {
        timeout(LONG, pushes.next())
            .await
            .expect("it is read")
            .expect("the client lives");
    }
    assert!(!large.is_finished());
}

/// Greets, then pushes every 50 ms, and reads nothing.
async fn stuck_server() -> std::net::SocketAddr {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("loopback works");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("loopback works");
        let mut hello = [0; 10];
        stream
            .read_exact(&mut hello)
            .await
            .expect("a hello of 10 bytes");
        let mut output = bytes::BytesMut::new();
        Frame::hello_answer(redial::client::length_prefixed::Status::Ok, 0).encode(&mut output);
        loop {
            stream
                .write_all_buf(&mut output)
                .await
                .expect("the client reads");
            sleep(Duration::from_millis(50)).await;
            Frame::push("still here").encode(&mut output);
        }
    });
    address
}
