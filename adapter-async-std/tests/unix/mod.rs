//! Unix sockets.

use std::{
    future::IntoFuture, os::unix::net::UnixListener, path::PathBuf, process, thread, time::Duration,
};

use async_io::block_on;
use redial::{Cause, Event, driver::ClientEvent};
use redial_async_std::Executor;

use crate::{
    client,
    support::{echo, serve, server},
};

on_each_executor! {
    a_server_can_be_a_unix_socket
    a_unix_socket_that_is_not_there_refuses_and_another_node_answers
}

/// A path where nothing is.
fn path<E: Executor>() -> PathBuf {
    let executor = std::any::type_name::<E>().replace(':', "-");
    let path = std::env::temp_dir().join(format!("{executor}-{}", process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

fn a_server_can_be_a_unix_socket<E: Executor>() {
    let path = path::<E>();
    let listener = UnixListener::bind(&path).expect("the folder is writable");
    thread::spawn(move || serve(listener.accept().expect("it listens").0, echo));
    let client = client::<E>(format!("unix:{}", path.display()));
    let response = block_on(client.request("ping".into()).into_future()).expect("answered");
    assert_eq!(response.reply.as_deref(), Some(&b"ping"[..]));
    let _ = std::fs::remove_file(path);
}

fn a_unix_socket_that_is_not_there_refuses_and_another_node_answers<E: Executor>() {
    let client = client::<E>(format!(
        "unix:/nobody/made/this.sock,{}",
        server(echo).address
    ));
    let missing = client.nodes()[0].id;
    let mut events = client.events();
    let bound = client.request("ping".into()).on(missing);
    let _ = block_on(bound.timeout(Duration::from_millis(100)).into_future());
    let response = block_on(client.request("ping".into()).into_future()).expect("answered");
    assert_ne!(response.node, missing);
    block_on(client.shutdown(Duration::ZERO)).expect("it ends");
    let mut causes = std::iter::from_fn(|| block_on(events.next())).filter_map(|record| {
        let ClientEvent::Cluster(Event::AttemptEnded { node, cause, .. }) = record.event else {
            return None;
        };
        cause.filter(|_| node == missing)
    });
    assert_eq!(causes.next(), Some(Cause::Refused));
}
