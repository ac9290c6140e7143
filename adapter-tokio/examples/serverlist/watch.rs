//! The changes of the list, as a client takes them.

use std::{
    collections::BTreeSet,
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use clap::Args;
use redial::{
    Config, Event, Instant, RefreshResult,
    client::length_prefixed::LengthPrefixed,
    driver::{ClientEvent, EventRecord, Retrieval, ServerSource},
};
use redial_tokio::{Client, HttpSource};
use tokio::time::timeout;

use crate::{Server, seconds};

#[derive(Args)]
pub(crate) struct Watch {
    #[command(flatten)]
    server: Server,
    /// How many seconds from one look to the next.
    #[arg(long, default_value_t = 60.0, value_parser = seconds)]
    interval: f64,
    /// Stop after so many seconds. Default: never.
    #[arg(long, value_parser = seconds)]
    seconds: Option<f64>,
}

/// A source whose last version is told: events only say what came of it.
struct Noted {
    source: HttpSource,
    /// `NONE` is none.
    version: Arc<AtomicU64>,
}

/// No list has it: versions are 63 bits long.
const NONE: u64 = u64::MAX;

impl Watch {
    pub(crate) async fn run(self) -> Result<(), Box<dyn Error>> {
        let interval = Duration::from_secs_f64(self.interval);
        let patience = Duration::from_secs_f64(self.server.timeout) + Duration::from_secs(1);
        let config = Config::builder()
            .refresh_interval(interval)
            .refresh_jitter(Duration::ZERO)
            .refresh_min_interval(interval)
            .refresh_timeout(patience)
            .build()?;
        let version = Arc::new(AtomicU64::new(NONE));
        let source = Noted {
            source: self.server.source()?,
            version: Arc::clone(&version),
        };
        // No node is dialled, because nothing is asked of any: the protocol does not matter.
        let client = Client::builder(LengthPrefixed::new())
            .config(config)
            .source(source)
            .build()?;
        let follow = follow(&client, &version);
        match self.seconds {
            None => follow.await,
            Some(seconds) => {
                let _ = timeout(Duration::from_secs_f64(seconds), follow).await;
            }
        }
        Ok(())
    }
}

impl ServerSource for Noted {
    fn retrieve(&self) -> Retrieval {
        let (retrieval, version) = (self.source.retrieve(), Arc::clone(&self.version));
        Box::pin(async move {
            let list = retrieval.await?;
            version.store(list.version.unwrap_or(NONE), Ordering::Relaxed);
            Ok(list)
        })
    }
}

async fn follow(client: &Client<LengthPrefixed>, version: &AtomicU64) {
    let mut events = client.events();
    let (mut known, mut in_force) = (BTreeSet::new(), NONE);
    while let Some(EventRecord { at, event, .. }) = events.next().await {
        let now = version.load(Ordering::Relaxed);
        match event {
            ClientEvent::SourceFailed { error, .. } => say(at, &format!("failed: {error}")),
            ClientEvent::Cluster(Event::ListChanged {
                added,
                removed,
                kept,
                ..
            }) => {
                let name = |version| match version {
                    NONE => "none".to_owned(),
                    version => format!("{version:x}"),
                };
                let version = name(now);
                say(
                    at,
                    &format!("added {added}, removed {removed}, kept {kept}, version {version}"),
                );
                let nodes = client.nodes();
                let new = nodes.iter().map(|node| node.spec.endpoint.to_string());
                let new: BTreeSet<_> = new.collect();
                new.difference(&known)
                    .for_each(|name| say(at, &format!("+ {name}")));
                known
                    .difference(&new)
                    .for_each(|name| say(at, &format!("- {name}")));
                (known, in_force) = (new, now);
            }
            ClientEvent::Cluster(Event::Refreshed { result, .. }) => match result {
                RefreshResult::Older if now != in_force => {
                    say(at, &format!("ignored: its version {now:x} is not newer"));
                }
                RefreshResult::TimedOut => say(at, "failed: no answer in time"),
                RefreshResult::Malformed(error) => say(at, &format!("failed: {error}")),
                _ => {}
            },
            _ => {}
        }
    }
}

fn say(at: Instant, what: &str) {
    println!("{:8.3} s  {what}", (at - Instant::ORIGIN).as_secs_f64());
}
