//! What the client tells unasked: what became of the nodes, and what they push.

use redial::{
    Event, Instant, NodeId,
    driver::{ClientEvent, EventRecord},
};
use redial_tokio::Client;
use tokio::task::JoinHandle;

use crate::resp::{Redis, Value};

/// Prints events and pushes.
pub(crate) struct Watch {
    events: JoinHandle<()>,
    pushes: JoinHandle<()>,
}

impl Watch {
    pub(crate) fn start(client: &Client<Redis>) -> Self {
        let (mut events, mut pushes) = (client.events(), client.pushes());
        let (for_events, for_pushes) = (client.clone(), client.clone());
        Self {
            events: tokio::spawn(async move {
                while let Some(record) = events.next().await {
                    tell(&for_events, record);
                }
            }),
            pushes: tokio::spawn(async move {
                while let Some(record) = pushes.next().await {
                    let push = Value::Array(record.push);
                    say(
                        &for_pushes,
                        record.at,
                        record.node,
                        &format!("pushes {push}"),
                    );
                }
            }),
        }
    }

    /// Both end with the client, when all that it told is printed.
    pub(crate) async fn finish(self) {
        for task in [self.events, self.pushes] {
            task.await.expect("printing does not panic");
        }
    }
}

fn tell(client: &Client<Redis>, EventRecord { at, event, .. }: EventRecord) {
    let (node, what) = match event {
        ClientEvent::Malformed { node, error, .. } => (node, error.to_string()),
        ClientEvent::Cluster(event) => match event {
            Event::StateChanged {
                node,
                from,
                to,
                cause: Some(cause),
            } => (node, format!("{from:?} -> {to:?}: {cause}")),
            Event::StateChanged { node, from, to, .. } => (node, format!("{from:?} -> {to:?}")),
            Event::AttemptStarted {
                node, hedge: true, ..
            } => (node, "is dialled beside others, which are slow".to_owned()),
            Event::Unhealthy { node } => (node, "is unhealthy".to_owned()),
            Event::Healed { node } => (node, "is well again".to_owned()),
            // Of connections and attempts the states tell enough, and retries are too many.
            _ => return,
        },
        _ => return,
    };
    say(client, at, node, &what);
}

fn say(client: &Client<Redis>, at: Instant, node: NodeId, what: &str) {
    let seconds = (at - Instant::ORIGIN).as_secs_f64();
    let name = client
        .node(node)
        .map_or_else(|| node.to_string(), |node| node.spec.endpoint.to_string());
    println!("{seconds:8.3} s  {name}  {what}");
}
