//! What is printed of the client's life.

use std::fmt::Display;

use redial::{
    Event, Instant,
    driver::{ClientEvent, EventRecord},
};
use redial_tokio::Client;
use tokio::task::JoinHandle;

use crate::jute::ZooKeeper;

/// Prints events until the client ends.
pub(crate) fn start(client: &Client<ZooKeeper>) -> JoinHandle<()> {
    let (mut events, client) = (client.events(), client.clone());
    tokio::spawn(async move {
        while let Some(record) = events.next().await {
            print_event(&client, record);
        }
    })
}

fn print_event(client: &Client<ZooKeeper>, EventRecord { at, event, .. }: EventRecord) {
    let (node, what) = match event {
        ClientEvent::Malformed { node, error, .. } => (Some(node), error.to_string()),
        ClientEvent::Cluster(event) => match event {
            Event::StateChanged {
                node,
                from,
                to,
                cause: Some(cause),
            } => (Some(node), format!("{from:?} -> {to:?}: {cause}")),
            Event::StateChanged { node, from, to, .. } => {
                (Some(node), format!("{from:?} -> {to:?}"))
            }
            Event::ListChanged {
                added,
                removed,
                kept,
            } => (
                None,
                format!("the list has {added} added, {removed} removed, {kept} kept"),
            ),
            Event::Rebalanced { moves: true } => (None, "moves to another server".to_owned()),
            Event::Rebalanced { moves: false } => (None, "stays with its server".to_owned()),
            Event::SessionExpired { node } => (node, "the session has expired".to_owned()),
            _ => return,
        },
        _ => return,
    };
    match node {
        None => print(at, "client", what),
        Some(id) => match client.node(id) {
            Some(node) => print(at, node.spec.endpoint, what),
            None => print(at, id, what),
        },
    }
}

/// What happened when, and to whom.
pub(crate) fn print(at: Instant, whom: impl Display, what: impl Display) {
    let seconds = (at - Instant::ORIGIN).as_secs_f64();
    println!("{seconds:8.3} s  {whom}  {what}");
}
