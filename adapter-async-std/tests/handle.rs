//! What is this adapter's alone: executors, its resolver and timer, Unix sockets. All that a handle
//! promises on every runtime is in `tests/tests/conformance`.

#[macro_use]
mod support;
#[cfg(unix)]
mod unix;

use std::{
    future::{IntoFuture, poll_fn},
    pin::Pin,
    sync::{Arc, Mutex},
    task::Poll,
    time::Duration,
};

use async_io::block_on;
use redial::{
    Certainty, Endpoint, NodeSpec, Reason,
    client::length_prefixed::LengthPrefixed,
    driver::{
        BuildError, Error, Handle, Runtime, ServerSource, SourceError, SystemResolver, Timer,
    },
};
use redial_async_std::{AsyncIo, DnsSource, Executor};
use support::{Server, echo, server, silence};

/// Far more than anything here needs.
const LONG: Duration = Duration::from_secs(10);

/// A client of these servers, on the runtime that the executor always has.
fn client<E: Executor>(servers: String) -> Handle<LengthPrefixed, AsyncIo<E>> {
    let builder = Handle::builder(LengthPrefixed::new()).servers(servers);
    builder.build().expect("it is well-formed")
}

on_each_executor! {
    a_request_is_answered
    the_addresses_of_a_name_are_nodes
}

fn a_request_is_answered<E: Executor>() {
    let Server { address, .. } = server(echo);
    let client = client::<E>(address.to_string());
    let response = block_on(client.request("ping".into()).into_future()).expect("answered");
    assert_eq!(response.reply.as_deref(), Some(&b"ping"[..]));
    assert_eq!(Some(response.node), client.find(&address.into()));
}

fn the_addresses_of_a_name_are_nodes<E: Executor>() {
    let address = server(echo).address;
    let source = DnsSource::<AsyncIo<E>>::new("localhost", address.port()).ipv4_only();
    let builder = Handle::<_, AsyncIo<E>>::builder(LengthPrefixed::new()).source(source);
    let client = builder.build().expect("it is well-formed");
    let response = block_on(client.request("x".into()).into_future()).expect("answered");
    assert_eq!(
        Some(response.node),
        client.find(&Endpoint::Address(address))
    );
}

/// An executor of the user's own, which can end.
#[derive(Clone, Default)]
struct Own(Arc<Tasks>);

type Tasks = Mutex<Vec<Pin<Box<dyn Future<Output = ()> + Send>>>>;

impl Executor for Own {
    fn spawn(&self, driver: impl Future<Output = ()> + Send + 'static) {
        self.0.lock().expect("nobody panics").push(Box::pin(driver));
    }
}

#[test]
fn an_executor_that_drops_the_task_completes_open_requests() {
    let (server, own) = (server(silence), Own::default());
    let client = Handle::builder(LengthPrefixed::new())
        .servers(server.address.to_string())
        .runtime(AsyncIo::new(own.clone()))
        .build()
        .expect("it is well-formed");
    let driver = own.0.lock().expect("nobody panics").pop();
    let mut driver = driver.expect("it was spawned");
    let mut request = client.request("x".into()).into_future();
    block_on(poll_fn(|cx| {
        assert!(Pin::new(&mut request).poll(cx).is_pending());
        assert!(driver.as_mut().poll(cx).is_pending());
        match client.stats().in_flight {
            0 => Poll::Pending,
            _ => Poll::Ready(()),
        }
    }));
    drop(driver);
    let Err(Error::Request(error)) = block_on(request) else {
        panic!("there is no reply")
    };
    let expected = (Reason::Closed, Certainty::PossiblyWritten);
    assert_eq!((error.reason, error.certainty), expected);
    server.ended.recv_timeout(LONG).expect("it was closed");
}

#[test]
fn the_resolver_of_a_runtime_that_cannot_be_told_is_asked_when_it_is_named() {
    let runtime = AsyncIo::new(Own::default());
    let source = DnsSource::<AsyncIo<Own>>::new("localhost", 1).ipv4_only();
    let list = block_on(source.retrieve());
    assert!(matches!(list, Err(SourceError::Other(_))), "{list:?}");
    let list = block_on(source.through(SystemResolver::of(runtime)).retrieve());
    let nodes = list.expect("each system knows itself").nodes;
    let itself: NodeSpec = "127.0.0.1:1".parse().expect("an address");
    assert_eq!(*nodes, [itself]);
}

#[test]
fn without_an_executor_that_is_always_there_a_runtime_must_be_given() {
    let build = Handle::<_, AsyncIo<Own>>::builder(LengthPrefixed::new()).build();
    assert_eq!(build.err(), Some(BuildError::NoRuntime));
}

#[test]
fn a_timer_fires_at_its_time_again_and_again_and_never_before() {
    let runtime = AsyncIo::new(Own::default());
    let mut timer = runtime.timer();
    for milliseconds in [20, 0, 5] {
        let at = runtime.now() + Duration::from_millis(milliseconds);
        timer.set(redial::Instant::MAX);
        timer.set(at);
        block_on(poll_fn(|cx| timer.poll(cx)));
        assert!(runtime.now() >= at);
    }
}

#[test]
fn a_timer_that_is_set_to_the_end_of_time_does_not_fire() {
    let runtime = AsyncIo::new(Own::default());
    let mut timer = runtime.timer();
    timer.set(redial::Instant::MAX);
    let mut short = async_io::Timer::after(Duration::from_millis(50));
    block_on(poll_fn(|cx| {
        assert!(timer.poll(cx).is_pending());
        Pin::new(&mut short).poll(cx)
    }));
}
