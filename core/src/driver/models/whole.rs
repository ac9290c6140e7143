//! The whole driver and its handles, on a runtime in memory.

use core::{
    future::{Future, IntoFuture, poll_fn},
    pin::Pin,
    task::{Context, Waker},
    time::Duration,
};

use super::{
    super::{Error, sync::lock},
    block_on, explore,
    loopback::{Server, client},
    poll, spawn,
};
use crate::{Reason, mutant::Mutant};

/// Submit against drain, and read against sleep.
#[test]
fn a_request_is_sent_and_its_reply_read_however_sleepy_the_driver_is() {
    let faults = [
        Mutant::RegistersLate,
        Mutant::WakesBeforeCall,
        Mutant::ForgetsWakeUp,
    ];
    explore(Some(3), &faults, || {
        let (client, driver, loopback) = client(Server::Model);
        let driver = spawn(move || block_on(driver));
        let mut request = client.request(7).into_future();
        let mut answered = false;
        let response = block_on(poll_fn(|cx| {
            answered = answered || loopback.poll_answer(cx).is_ready();
            Pin::new(&mut request).poll(cx)
        }));
        assert_eq!(response.expect("there is a reply").reply, Some(7));
        // With the last handle the driver ends.
        drop((client, request));
        driver.join().expect("no panic");
    });
}

/// Drop against complete.
#[test]
fn a_future_that_is_dropped_while_its_request_completes_leaves_nothing_behind() {
    explore(Some(3), &[Mutant::KeepsWaker], || {
        let (client, driver, _) = client(Server::Echo);
        let driver = spawn(move || block_on(driver));
        let mut dropped = client.request(1).into_future();
        assert!(poll(&mut dropped).is_pending());
        drop(dropped);
        let response = block_on(client.request(2).into_future());
        assert_eq!(response.expect("there is a reply").reply, Some(2));
        assert_eq!(lock(&client.inner.shared.state).waiters.waiting(), 0);
        drop(client);
        driver.join().expect("no panic");
    });
}

/// Poll against complete.
#[test]
fn a_future_that_moves_to_another_task_while_its_request_completes_is_woken_there() {
    explore(Some(4), &[Mutant::KeepsFirstWaker], || {
        let (client, driver, _) = client(Server::Echo);
        let driver = spawn(move || block_on(driver));
        let mut request = client.request(1).into_future();
        assert!(poll(&mut request).is_pending());
        let response = block_on(request);
        assert_eq!(response.expect("there is a reply").reply, Some(1));
        drop(client);
        driver.join().expect("no panic");
    });
}

/// Shutdown against submit.
#[test]
fn a_request_that_meets_a_shutdown_ends_and_so_does_the_shutdown() {
    explore(Some(2), &[Mutant::AwaitsPastEnd], || {
        let (client, driver, _) = client(Server::Echo);
        let driver = spawn(move || block_on(driver));
        let another = client.clone();
        let shutdown = spawn(move || block_on(another.shutdown(Duration::ZERO)));
        match block_on(client.request(1).into_future()) {
            Ok(response) => assert_eq!(response.reply, Some(1)),
            Err(Error::Request(error)) => assert_eq!(error.reason, Reason::Closed),
            Err(error) => assert!(matches!(error, Error::Submit(_)), "{error}"),
        }
        let ended = shutdown.join().expect("no panic");
        ended.expect("zero is never too long");
        driver.join().expect("no panic");
    });
}

/// End against everything.
#[test]
fn nobody_waits_for_a_driver_that_its_runtime_has_dropped() {
    explore(None, &[Mutant::FeedsPastEnd], || {
        let (client, mut driver, _) = client(Server::Model);
        let runtime = spawn(move || {
            let mut cx = Context::from_waker(Waker::noop());
            let _ = driver.as_mut().poll(&mut cx);
        });
        let response = block_on(client.request(1).into_future());
        assert!(response.is_err(), "nobody answers");
        let mut events = client.events();
        while block_on(events.next()).is_some() {}
        let ended = block_on(client.shutdown(Duration::ZERO));
        ended.expect("zero is never too long");
        runtime.join().expect("no panic");
    });
}
