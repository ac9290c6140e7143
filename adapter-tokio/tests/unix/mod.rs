//! Unix sockets.

use std::{path::PathBuf, process, time::Duration};

use redial::{Cause, Event, client::length_prefixed::LengthPrefixed, driver::ClientEvent};
use redial_tokio::Client;
use tokio::net::UnixListener;

use crate::support::{echo, serve, server};

/// A path where nothing is.
fn path(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("redial-tokio-{}-{name}", process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

fn client(servers: String) -> Client<LengthPrefixed> {
    let builder = Client::builder(LengthPrefixed::new()).servers(servers);
    builder.build().expect("it is well-formed")
}

#[tokio::test]
async fn a_server_can_be_a_unix_socket() {
    let path = path("live");
    let listener = UnixListener::bind(&path).expect("the folder is writable");
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.expect("it listens");
        serve(stream, echo).await;
    });
    let client = client(format!("unix:{}", path.display()));
    let response = client.request("ping".into()).await.expect("answered");
    assert_eq!(response.reply.as_deref(), Some(&b"ping"[..]));
    let _ = std::fs::remove_file(path);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_server_can_have_an_abstract_name() {
    let name = format!("redial-tokio-{}", process::id());
    let listener = UnixListener::bind(format!("\0{name}")).expect("the name is free");
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.expect("it listens");
        serve(stream, echo).await;
    });
    let client = client(format!("unix:@{name}"));
    client.request("ping".into()).await.expect("answered");
}

#[tokio::test]
async fn a_unix_socket_that_is_not_there_refuses_and_another_node_answers() {
    let (server, path) = (server(echo).await, path("missing"));
    let client = client(format!("unix:{},{}", path.display(), server.address));
    let missing = client.nodes()[0].id;
    let mut events = client.events();
    let bound = client.request("ping".into()).on(missing);
    let _ = bound.timeout(Duration::from_millis(100)).await;
    let response = client.request("ping".into()).await.expect("answered");
    assert_ne!(response.node, missing);
    client.shutdown(Duration::ZERO).await.expect("it ends");
    while let Some(record) = events.next().await {
        if let ClientEvent::Cluster(Event::AttemptEnded { node, cause, .. }) = record.event
            && node == missing
        {
            assert_eq!(cause, Some(Cause::Refused));
            return;
        }
    }
    panic!("it was never dialled");
}
