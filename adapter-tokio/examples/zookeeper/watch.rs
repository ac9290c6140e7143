//! What the client tells of its servers.

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
            tell(&client, record);
        }
    })
}

fn tell(client: &Client<ZooKeeper>, EventRecord { at, event, .. }: EventRecord) {
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
    let seconds = (at - Instant::ORIGIN).as_secs_f64();
    let name = node.map_or_else(
        || "client".to_owned(),
        |node| {
            let known = client.node(node);
            known.map_or_else(|| node.to_string(), |node| node.spec.endpoint.to_string())
        },
    );
    println!("{seconds:8.3} s  {name}  {what}");
}
