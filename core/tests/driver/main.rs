//! The driver's rules, on a runtime without sockets and clocks, polled by hand.

#[cfg(feature = "record")]
mod record;
mod shared_source;
mod sim;
mod sources;
mod transport;

use std::{
    future::IntoFuture,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use redial::{
    Certainty, Config, Endpoint, Limit, NodeSpec, NodeState, Reason, Stage, SubmitError, Why,
    client::{
        Decoded, Outgoing, Peer, Protocol, Rejected,
        length_prefixed::{Frame, LengthPrefixed},
    },
    driver::{Builder, Error, Handle, Request, ResponseFuture},
};
use sim::{Sim, Wakes};

type Pending = ResponseFuture<LengthPrefixed, Sim>;

/// A client with its driver, which runs when the test says so.
struct Fixture {
    sim: Sim,
    client: Handle<LengthPrefixed, Sim>,
    wakes: Arc<Wakes>,
}

impl Fixture {
    fn new(servers: &str) -> Self {
        Self::build(|builder| builder.servers(servers))
    }

    fn build(
        say: impl FnOnce(Builder<LengthPrefixed, Sim>) -> Builder<LengthPrefixed, Sim>,
    ) -> Self {
        let sim = Sim::default();
        let builder = Handle::builder(LengthPrefixed::new())
            .runtime(sim.clone())
            .seed(1);
        let client = say(builder).build().expect("what was said is correct");
        let fixture = Self {
            sim,
            client,
            wakes: Arc::default(),
        };
        fixture.sim.poll(&fixture.wakes);
        fixture
    }

    /// With one connection that is Ready and has written its hello.
    fn connected() -> Self {
        let fixture = Self::new("10.0.0.1:1");
        let mut ready = pin!(fixture.client.ready(Duration::from_secs(1)));
        assert!(poll(ready.as_mut()).is_pending());
        fixture.run();
        fixture.sim.welcome(0);
        fixture.run();
        assert!(matches!(poll(ready), Poll::Ready(Ok(_))));
        fixture.sim.world().pipes[0].writes.clear();
        fixture
    }

    /// A request that was submitted.
    fn submit(&self) -> Pending {
        self.submit_as(|request| request)
    }

    fn submit_as(
        &self,
        say: impl FnOnce(Request<LengthPrefixed, Sim>) -> Request<LengthPrefixed, Sim>,
    ) -> Pending {
        let mut pending = say(self.client.request("request".into())).into_future();
        assert!(poll(&mut pending).is_pending());
        pending
    }

    /// Polls the driver while it is woken. Returns how often.
    fn run(&self) -> u32 {
        (0..)
            .take_while(|_| self.wakes.take() > 0 && !self.sim.poll(&self.wakes))
            .count() as u32
    }

    fn writes(&self) -> usize {
        self.sim.world().pipes[0].writes.len()
    }
}

fn poll<F: Future + Unpin>(mut future: F) -> Poll<F::Output> {
    std::pin::Pin::new(&mut future).poll(&mut Context::from_waker(Waker::noop()))
}

/// How it failed.
fn failure<T: std::fmt::Debug>(poll: Poll<Result<T, Error>>) -> redial::RequestError {
    match poll {
        Poll::Ready(Err(Error::Request(error))) => error,
        other => panic!("it should have failed: {other:?}"),
    }
}

#[test]
fn requests_made_before_the_driver_runs_leave_in_one_write() {
    let f = Fixture::connected();
    let _pending: Vec<_> = (0..10).map(|_| f.submit()).collect();
    assert_eq!(f.wakes.take(), 1, "the driver is woken once");
    f.sim.poll(&f.wakes);
    f.run();
    assert_eq!((f.writes(), f.sim.requests(0).len()), (1, 10));
}

#[test]
fn a_single_request_is_written_at_once() {
    let f = Fixture::connected();
    let _pending = f.submit();
    f.sim.poll(&f.wakes);
    assert_eq!(f.writes(), 1);
}

#[test]
fn with_others_open_the_tasks_run_once_before_the_flush() {
    let f = Fixture::connected();
    let _first = f.submit();
    f.run();
    let _second = f.submit();
    assert!(f.wakes.take() > 0);
    f.sim.poll(&f.wakes);
    assert_eq!(f.writes(), 1, "somebody may add to it");
    let _third = f.submit();
    assert!(f.wakes.take() > 0, "it woke itself");
    f.sim.poll(&f.wakes);
    assert_eq!((f.writes(), f.sim.requests(0).len()), (2, 3));
}

#[test]
fn with_enough_to_send_the_flush_waits_for_nobody_and_the_peer_begins_with_a_part() {
    let f = Fixture::connected();
    let _pending: Vec<_> = (0..600).map(|_| f.submit()).collect();
    f.sim.poll(&f.wakes);
    assert_eq!((f.writes(), f.sim.requests(0).len()), (2, 600));
}

#[test]
fn an_idle_driver_is_not_woken_and_does_not_wake_itself() {
    let f = Fixture::connected();
    assert_eq!(f.run(), 0);
}

#[test]
fn a_write_in_pieces_arrives_whole() {
    let f = Fixture::connected();
    f.sim.pipe(0, |pipe| pipe.takes = Some(3));
    let mut pending = f.submit();
    f.run();
    assert!(f.writes() > 3);
    let id = f.sim.requests(0)[0];
    f.sim.send(0, &[Frame::reply(id, "reply")]);
    f.run();
    assert!(matches!(poll(&mut pending), Poll::Ready(Ok(_))));
}

#[test]
fn reading_goes_on_while_writing_is_blocked() {
    let f = Fixture::connected();
    let mut pushes = f.client.pushes();
    f.sim.pipe(0, |pipe| pipe.blocked = true);
    let _pending = f.submit();
    f.run();
    f.sim.send(0, &[Frame::push("news")]);
    f.run();
    assert!(matches!(poll(pin!(pushes.next())), Poll::Ready(Some(_))));
    assert_eq!(f.writes(), 0);
    f.sim.pipe(0, |pipe| pipe.blocked = false);
    f.run();
    assert_eq!(f.sim.requests(0).len(), 1);
}

#[test]
fn what_came_before_writing_failed_is_still_read() {
    let f = Fixture::connected();
    let mut answered = f.submit();
    f.run();
    let id = f.sim.requests(0)[0];
    let mut lost = f.submit_as(|request| request.on(f.client.nodes()[0].id));
    f.sim.pipe(0, |pipe| pipe.broken = true);
    f.sim.send(0, &[Frame::reply(id, "reply")]);
    f.run();
    assert!(matches!(poll(&mut answered), Poll::Ready(Ok(_))));
    assert_eq!(
        failure(poll(&mut lost)).certainty,
        Certainty::PossiblyWritten
    );
    assert!(f.sim.world().pipes[0].dropped);
}

#[test]
fn the_timer_is_not_set_for_each_request() {
    let f = Fixture::connected();
    let before = f.sim.world().timer_sets;
    for _ in 0..100 {
        let mut pending = f.submit();
        f.run();
        let id = *f.sim.requests(0).last().expect("it is written");
        f.sim.send(0, &[Frame::reply(id, "reply")]);
        f.run();
        assert!(matches!(poll(&mut pending), Poll::Ready(Ok(_))));
        f.sim.advance(Duration::from_millis(1));
    }
    // The request's timeout is 30 s, the next earlier deadline comes with none.
    assert!(f.sim.world().timer_sets - before <= 1);
}

#[test]
fn a_timeout_is_by_the_clock_to_the_nanosecond() {
    let f = Fixture::connected();
    let timeout = Duration::from_millis(70);
    let mut pending = f.submit_as(|request| request.timeout(timeout));
    f.run();
    f.sim.advance(timeout - Duration::from_nanos(1));
    f.run();
    assert!(poll(&mut pending).is_pending());
    f.sim.advance(Duration::from_nanos(1));
    f.run();
    let error = failure(poll(&mut pending));
    assert_eq!((error.reason, error.elapsed), (Reason::Timeout, timeout));
}

#[test]
fn a_flood_starves_neither_other_tasks_nor_timers() {
    let f = Fixture::connected();
    let mut flood = BytesMut::new();
    Frame::push("more").encode(&mut flood);
    f.sim.pipe(0, |pipe| pipe.flood = Some(flood.to_vec()));
    let mut pending = f.submit_as(|request| request.timeout(Duration::from_millis(5)));
    for _ in 0..10 {
        assert!(f.wakes.take() > 0, "it wakes itself");
        assert!(!f.sim.poll(&f.wakes), "a poll ends");
        f.sim.advance(Duration::from_millis(1));
    }
    assert_eq!(failure(poll(&mut pending)).reason, Reason::Timeout);
    assert_eq!(f.sim.requests(0).len(), 1, "it was written");
}

#[test]
fn a_dropped_future_gives_its_place_and_its_slot_back() {
    let f = Fixture::connected();
    for _ in 0..100 {
        drop(f.submit());
        f.run();
    }
    let stats = f.client.stats();
    assert_eq!((stats.open_requests, stats.in_flight), (0, 0));
    assert_eq!(
        f.sim.requests(0).len(),
        0,
        "each was dropped before its first byte left"
    );
}

/// R073.
#[test]
fn the_last_handle_or_future_dropped_ends_the_driver_in_its_next_step() {
    let Fixture { sim, client, wakes } = Fixture::connected();
    let mut pending = client.request("request".into()).into_future();
    assert!(poll(&mut pending).is_pending());
    drop(client);
    wakes.take();
    assert!(!sim.poll(&wakes), "somebody waits");
    drop(pending);
    assert!(wakes.take() > 0);
    assert!(sim.poll(&wakes));
    let pipe = &sim.world().pipes[0];
    assert!(pipe.closed && pipe.dropped);
}

#[test]
fn a_driver_that_is_dropped_completes_what_is_open() {
    let f = Fixture::connected();
    let mut written = f.submit();
    f.run();
    let mut waiting = f.submit();
    let mut events = f.client.events();
    f.sim.drop_driver();
    for (pending, certainty) in [
        (&mut written, Certainty::PossiblyWritten),
        (&mut waiting, Certainty::NeverWritten),
    ] {
        let error = failure(poll(pending));
        assert_eq!((error.reason, error.certainty), (Reason::Closed, certainty));
    }
    let mut late = f.client.request("late".into()).into_future();
    assert_eq!(
        poll(&mut late),
        Poll::Ready(Err(Error::Submit(SubmitError::Closed)))
    );
    while let Poll::Ready(Some(_)) = poll(pin!(events.next())) {}
    assert_eq!(poll(pin!(events.next())), Poll::Ready(None));
    assert_eq!(
        poll(pin!(f.client.shutdown(Duration::ZERO))),
        Poll::Ready(Ok(()))
    );
}

#[test]
fn a_shutdown_ends_when_the_driver_has_ended() {
    let f = Fixture::connected();
    let mut pending = f.submit();
    f.run();
    let mut shutdown = pin!(f.client.shutdown(Duration::from_secs(1)));
    f.run();
    assert!(poll(shutdown.as_mut()).is_pending(), "a request may finish");
    let id = f.sim.requests(0)[0];
    f.sim.send(0, &[Frame::reply(id, "reply")]);
    f.run();
    assert!(matches!(poll(&mut pending), Poll::Ready(Ok(_))));
    assert_eq!(poll(shutdown), Poll::Ready(Ok(())));
}

#[test]
fn opaque_endpoints_are_connected_without_address_and_names_after_a_look_up() {
    let opaque = NodeSpec::new(Endpoint::Opaque("/run/socket".into()));
    let named: NodeSpec = "known:7".parse().expect("valid");
    for (spec, address) in [
        (opaque, None),
        (named, Some("10.0.0.1:7".parse().expect("valid"))),
    ] {
        let f = Fixture::build(|builder| builder.nodes([spec]));
        let _pending = f.submit();
        f.run();
        assert_eq!(f.sim.world().pipes[0].address, address);
    }
}

#[test]
fn a_name_that_cannot_be_resolved_fails_its_node() {
    let f = Fixture::new("unknown:7");
    let mut pending = f.submit_as(|request| request.fail_fast());
    f.run();
    assert_eq!(failure(poll(&mut pending)).stage, Some(Stage::Resolve));
    assert_eq!(f.client.nodes()[0].state, NodeState::Disconnected);
}

#[test]
fn a_panic_in_the_protocol_completes_what_is_open() {
    let sim = Sim::default();
    let client: Handle<Panics, Sim> = Handle::builder(Panics)
        .servers("10.0.0.1:1")
        .runtime(sim.clone())
        .build()
        .expect("valid");
    let wakes = Arc::<Wakes>::default();
    let mut pending = client.request(()).into_future();
    assert!(poll(&mut pending).is_pending());
    assert!(!sim.poll(&wakes));
    sim.welcome(0);
    catch_unwind(AssertUnwindSafe(|| sim.poll(&wakes))).expect_err("the protocol panics");
    assert_eq!(failure(poll(&mut pending)).reason, Reason::Closed);
    let mut late = client.request(()).into_future();
    assert_eq!(
        poll(&mut late),
        Poll::Ready(Err(Error::Submit(SubmitError::Closed)))
    );
}

struct Panics;

impl Protocol for Panics {
    type Request = ();
    type Reply = ();
    type Push = ();
    type Connection = ();

    fn open(&mut self, _: Peer<'_>) {}

    fn encode(
        &mut self,
        (): &mut (),
        _: Outgoing<'_, ()>,
        _: &mut BytesMut,
    ) -> Result<(), Rejected> {
        Err(Rejected)
    }

    fn decode(&mut self, (): &mut (), _: &mut BytesMut, _: &mut BytesMut) -> Decoded<Self> {
        panic!("a defect in the protocol");
    }
}

#[test]
fn a_full_queue_is_worth_another_try() {
    let config = Config::builder()
        .queue_max_requests(0_u32)
        .build()
        .expect("valid");
    let f = Fixture::build(|builder| builder.config(config));
    let mut refused = f
        .client
        .request(Bytes::new())
        .timeout(Limit::Never)
        .into_future();
    let Poll::Ready(Err(error)) = poll(&mut refused) else {
        panic!("nothing may wait")
    };
    assert_eq!(error, Error::Submit(SubmitError::QueueFull));
    assert!(error.is_retryable());
}

#[test]
fn a_snapshot_shows_counters_and_nodes() {
    let f = Fixture::connected();
    let snapshot = f.client.snapshot();
    assert_eq!(snapshot.stats, f.client.stats());
    assert_eq!(snapshot.nodes, f.client.nodes());
    assert_eq!(snapshot.nodes[0].why, Why::Eligible);
}
