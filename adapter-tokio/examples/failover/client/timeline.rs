//! What happens, as it happens: in the world and in the eyes of the client.

use std::{fmt, time::Duration};

use redial::{
    Cause, Endpoint, Event, Instant, NodeId, NodeSpec,
    client::length_prefixed::LengthPrefixed,
    driver::{ClientEvent, EventRecord, Handle, Runtime},
};

use super::tasks::{Task, spawn};

/// What the client did with one node.
#[derive(Clone, Debug)]
pub(crate) struct NodeRecord {
    pub(crate) id: NodeId,
    pub(crate) name: char,
    pub(crate) endpoint: Endpoint,
    pub(crate) attempts: u64,
    pub(crate) hedges: u64,
    /// Attempts that made it Ready.
    pub(crate) ready: u64,
}

/// Prints the timeline and counts attempts.
pub(crate) struct Timeline<R: Runtime> {
    runtime: R,
    nodes: Vec<NodeRecord>,
    print: bool,
    events: Task<Vec<NodeRecord>>,
}

impl<R: Runtime> Timeline<R> {
    pub(crate) fn start(
        client: &Handle<LengthPrefixed, R>,
        runtime: &R,
        servers: &[NodeSpec],
        print: bool,
    ) -> Self {
        let nodes: Vec<_> = ('A'..='Z')
            .zip(servers)
            .map(|(name, server)| NodeRecord {
                id: client.find(&server.endpoint).expect("it is in the list"),
                name,
                endpoint: server.endpoint.clone(),
                attempts: 0,
                hedges: 0,
                ready: 0,
            })
            .collect();
        let mut receiver = client.events();
        let mut eyes = Eyes {
            nodes: nodes.clone(),
            print,
            retries: None,
        };
        let events = spawn(runtime, async move {
            while let Some(record) = receiver.next().await {
                eyes.see(record);
            }
            eyes.print_retries();
            eyes.nodes
        });
        Self {
            runtime: runtime.clone(),
            nodes,
            print,
            events,
        }
    }

    /// Something happened to a server.
    pub(crate) fn world(&self, node: usize, what: &str) {
        if self.print {
            let NodeRecord { name, endpoint, .. } = &self.nodes[node];
            println!("{} ### {name} ({endpoint}) {what}", At(self.runtime.now()));
        }
    }

    /// After the client has ended.
    pub(crate) async fn finish(self) -> Vec<NodeRecord> {
        self.events.join().await
    }
}

/// What the client saw.
struct Eyes {
    nodes: Vec<NodeRecord>,
    print: bool,
    /// Retries in a row: since when, where they failed, how many.
    retries: Option<(Instant, NodeId, u64)>,
}

impl Eyes {
    fn see(&mut self, EventRecord { at, event, .. }: EventRecord) {
        let ClientEvent::Cluster(event) = event else {
            return;
        };
        if let Event::RetryScheduled { node, .. } = event {
            match &mut self.retries {
                Some((_, same, count)) if *same == node => *count += 1,
                _ => {
                    self.print_retries();
                    self.retries = Some((at, node, 1));
                }
            }
            return;
        }
        self.print_retries();
        match event {
            Event::AttemptStarted { node, hedge, .. } => {
                let record = self.record(node);
                record.attempts += 1;
                record.hedges += u64::from(hedge);
                let why = match hedge {
                    true => "a request waits and the others are slow: a hedge",
                    false => "a request waits",
                };
                self.say(at, node, format_args!("dialled; {why}"));
            }
            Event::AttemptEnded {
                node,
                duration,
                cause: None,
                ..
            } => {
                self.record(node).ready += 1;
                self.say(at, node, format_args!("Ready after {}", Millis(duration)));
            }
            Event::AttemptEnded {
                node,
                duration,
                stage,
                cause: Some(cause),
                ..
            } => {
                let planned = Planned(cause);
                self.say(
                    at,
                    node,
                    format_args!(
                        "attempt ended at {stage:?} after {}: {cause}{planned}",
                        Millis(duration)
                    ),
                );
            }
            Event::Connected { node, .. } => self.say(at, node, format_args!("transport is up")),
            Event::Disconnected { node, cause, .. } => {
                let planned = Planned(cause);
                self.say(at, node, format_args!("connection lost: {cause}{planned}"));
            }
            Event::Unhealthy { node } => self.say(at, node, format_args!("unhealthy")),
            Event::Healed { node } => self.say(at, node, format_args!("healed")),
            // State changes are told by the above.
            _ => {}
        }
    }

    fn print_retries(&mut self) {
        if let Some((at, node, count)) = self.retries.take() {
            let requests = match count {
                1 => "request",
                _ => "requests",
            };
            let what = format_args!("{count} {requests} failed there, to be tried again");
            self.say(at, node, what);
        }
    }

    fn say(&self, at: Instant, node: NodeId, what: fmt::Arguments<'_>) {
        if self.print {
            let name = self
                .nodes
                .iter()
                .find(|record| record.id == node)
                .map_or('?', |r| r.name);
            println!("{}     {name} {what}", At(at));
        }
    }

    fn record(&mut self, node: NodeId) -> &mut NodeRecord {
        self.nodes
            .iter_mut()
            .find(|record| record.id == node)
            .expect("the list does not change")
    }
}

struct At(Instant);

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:8.3} s", (self.0 - Instant::ORIGIN).as_secs_f64())
    }
}

struct Millis(Duration);

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} ms", self.0.as_secs_f64() * 1000.0)
    }
}

struct Planned(Cause);

impl fmt::Display for Planned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0.is_planned() {
            true => " (planned)",
            false => "",
        })
    }
}
