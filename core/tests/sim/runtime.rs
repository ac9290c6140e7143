//! The handle on virtual time.

use std::{future::poll_fn, io, pin::Pin, task::Poll, time::Duration};

use bytes::BytesMut;
use redial::{
    Instant, Reason,
    client::length_prefixed::LengthPrefixed,
    driver::{Error, Runtime, Stream, Transport},
    sim::{
        Answers, Fault, Schedule, Server, Service, Stalled, Target, VirtualClient, VirtualStream,
        VirtualWorld, Way, listed_by_address,
    },
};

use super::{ms, s};

fn world(schedule: &Schedule) -> (VirtualWorld, VirtualClient<LengthPrefixed>) {
    let world = VirtualWorld::new(schedule, |_| Service::echo(ms(1)));
    let client = VirtualClient::builder(LengthPrefixed::new())
        .nodes(world.servers())
        .runtime(world.runtime())
        .observe(world.observer())
        .seed(schedule.seed)
        .build()
        .unwrap();
    (world, client)
}

#[test]
fn ten_hours_pass_at_once_and_every_request_is_answered() {
    let mut schedule = Schedule::new(1, 3, s(36_000));
    for hour in 0..10 {
        let at = s(hour * 3600 + 600);
        let server = Target::Server(hour as u32 % 3);
        schedule = schedule.fault(at, s(1200), server, Fault::Crash);
    }
    let (world, client) = world(&schedule);
    world
        .block_on(async {
            for minute in 0..600_u64 {
                let response = client
                    .request(format!("{minute}").into())
                    .idempotent()
                    .await;
                assert_eq!(response.unwrap().reply.unwrap(), minute.to_string());
                world.sleep(s(60)).await;
            }
        })
        .unwrap();
    assert!(world.runtime().now() > Instant::ORIGIN + s(36_000));
}

#[test]
fn the_same_world_gives_the_same_trace() {
    let trace = || {
        let stall = Fault::Stall(Way::ToClient);
        let schedule = Schedule::new(9, 2, s(60))
            .fault(s(1), s(30), Target::Server(0), stall)
            .fault(s(2), s(20), Target::Server(1), Fault::Fragment);
        let (world, client) = world(&schedule);
        let ended = world.block_on(async {
            let requests = (0..100).map(|n| client.request(format!("{n}").into()));
            for request in requests {
                let _ = request.idempotent().timeout(s(5)).await;
                world.sleep(ms(200)).await;
            }
            client.shutdown(s(1)).await
        });
        ended.unwrap().unwrap();
        world.trace()
    };
    let (first, second) = (trace(), trace());
    assert_eq!(first.diff(&second), None);
    assert!(first.lines.len() > 500);
}

#[test]
fn a_future_that_waits_for_nothing_is_told_from_one_that_is_busy() {
    let (world, _) = world(&Schedule::new(1, 1, s(1)));
    let never = world.block_on(std::future::pending::<()>());
    assert!(matches!(never, Err(Stalled::Forever { .. })));
    let busy = world.block_on(std::future::poll_fn(|cx| {
        cx.waker().wake_by_ref();
        std::task::Poll::<()>::Pending
    }));
    assert!(matches!(busy, Err(Stalled::Busy { .. })));
}

#[test]
fn when_the_world_is_dropped_requests_end_as_closed() {
    let (world, client) = world(&Schedule::new(1, 1, s(1)));
    let mut request = std::pin::pin!(client.request("x".into()).into_future());
    let pending = world.block_on(std::future::poll_fn(|cx| {
        std::task::Poll::Ready(request.as_mut().poll(cx).is_pending())
    }));
    assert_eq!(pending, Ok(true));
    drop(world);
    let Err(Error::Request(error)) = futures_now(request).unwrap() else {
        panic!("it was accepted and is not answered");
    };
    assert_eq!(error.reason, Reason::Closed);
}

/// What a future gives without waiting.
fn futures_now<F: Future>(future: F) -> Option<F::Output> {
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::pin!(future).poll(&mut cx) {
        std::task::Poll::Ready(output) => Some(output),
        std::task::Poll::Pending => None,
    }
}

#[test]
fn a_request_is_given_up_when_its_time_is_over_to_the_nanosecond() {
    let down = Schedule::new(1, 1, s(60)).fault(s(0), s(60), Target::All, Fault::BlackHole);
    let (world, client) = world(&down);
    let elapsed = world.block_on(async {
        let timeout = Duration::from_nanos(1_234_567_891);
        let Err(Error::Request(error)) = client.request("x".into()).timeout(timeout).await else {
            panic!("nobody answers");
        };
        (error.elapsed, world.runtime().now() - Instant::ORIGIN)
    });
    let exact = Duration::from_nanos(1_234_567_891);
    assert_eq!(elapsed, Ok((exact, exact)));
}

/// A connection to server 0.
async fn dial(world: &VirtualWorld) -> VirtualStream {
    let address = "10.0.0.1:9092".parse().unwrap();
    let dial = world
        .runtime()
        .connect(&listed_by_address(0), Some(address));
    dial.await.unwrap()
}

async fn write(stream: &mut VirtualStream, bytes: &[u8]) -> io::Result<usize> {
    poll_fn(|cx| Pin::new(&mut *stream).poll_write(cx, bytes)).await
}

async fn read(stream: &mut VirtualStream) -> io::Result<usize> {
    let mut buffer = [0; 1024];
    poll_fn(|cx| Pin::new(&mut *stream).poll_read(cx, &mut buffer)).await
}

/// The world of these faults, with a server that says goodbye.
fn struck(faults: &str) -> VirtualWorld {
    let schedule = format!("seed 1\nservers 1\nlasts 1h\n{faults}");
    VirtualWorld::new(&schedule.parse().unwrap(), |_| Service::echo(ms(1)))
}

#[test]
fn who_waits_for_room_learns_that_the_connection_is_reset() {
    let world = struck("at 1s for 9s all pause\nat 5s all reset");
    let result = world.block_on(async {
        let mut stream = dial(&world).await;
        world.sleep(s(2)).await;
        write(&mut stream, &[0; 64 * 1024]).await.unwrap();
        write(&mut stream, b"more")
            .await
            .map_err(|error| error.kind())
    });
    assert_eq!(result, Ok(Err(io::ErrorKind::ConnectionReset)));
}

#[test]
fn a_full_window_is_not_asked_for_room_piece_by_piece() {
    // An hour has 180,000,000 pieces.
    let world = struck("at 1s for 1h all pause\nat 3s for 1h all fragment");
    let written = world.block_on(async {
        let mut stream = dial(&world).await;
        world.sleep(s(2)).await;
        write(&mut stream, &[0; 64 * 1024]).await.unwrap();
        world.sleep(s(2)).await;
        write(&mut stream, b"more").await.unwrap();
        world.runtime().now()
    });
    let written = written.unwrap();
    assert!(written >= Instant::ORIGIN + s(3601), "{written}");
}

#[test]
fn a_server_that_is_stopped_hangs_up_when_it_goes_on() {
    let world = struck("at 1s for 20s all pause\nat 2s for 60s all drain");
    let ended = world.block_on(async {
        let mut stream = dial(&world).await;
        assert!(read(&mut stream).await.unwrap() > 0, "it says goodbye");
        let goodbye = world.runtime().now();
        assert_eq!(read(&mut stream).await.unwrap(), 0);
        (goodbye, world.runtime().now())
    });
    let (goodbye, ended) = ended.unwrap();
    let goes_on = Instant::ORIGIN + s(21);
    assert!(
        goodbye > goes_on && ended < goes_on + ms(10),
        "{goodbye}, {ended}"
    );
}

#[test]
fn a_server_that_drains_again_hangs_up_a_second_after_that() {
    let world = struck("at 1s for 500ms all drain\nat 1.6s for 5s all drain");
    let ended = world.block_on(async {
        let mut stream = dial(&world).await;
        while read(&mut stream).await.unwrap() > 0 {}
        world.runtime().now()
    });
    let ended = ended.unwrap();
    assert!(ended > Instant::ORIGIN + ms(2_600), "{ended}");
}

#[test]
fn a_machine_that_falls_asleep_again_at_once_hears_nothing_in_between() {
    for faults in [
        "at 1s for 2s sleep\nat 3s for 5s sleep",
        "at 3s for 5s sleep\nat 1s for 2s sleep",
    ] {
        let world = struck(faults);
        let woke = world.block_on(async {
            world.sleep(s(2)).await;
            world.runtime().now()
        });
        assert_eq!(woke, Ok(Instant::ORIGIN + s(8)), "{faults}");
    }
}

#[test]
fn what_passes_in_pieces_takes_no_more_events_than_pieces() {
    struct Reads;

    impl Server for Reads {
        fn read(&mut self, _: u64, input: &mut BytesMut, _: &mut Answers) {
            input.clear();
        }
    }

    let fragment = Schedule::new(1, 1, s(60)).fault(s(0), s(60), Target::All, Fault::Fragment);
    let world = VirtualWorld::new(&fragment, |_| Reads);
    let mut polls = 0;
    let result = world.block_on(async {
        let mut stream = dial(&world).await;
        let mut left = 3_000;
        poll_fn(|cx| {
            polls += 1;
            while let Poll::Ready(count) = Pin::new(&mut stream).poll_write(cx, &vec![0; left])? {
                left -= count;
                if left == 0 {
                    return Poll::Ready(io::Result::Ok(()));
                }
            }
            Poll::Pending
        })
        .await
    });
    result.unwrap().unwrap();
    assert!(polls <= 3_000, "{polls} for 1,000 pieces");
}
