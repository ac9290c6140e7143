//! [`Tap`]: what is seen of a client's core.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    vec::Vec,
};

use super::{
    trace::{Line, Trace, What},
    watch::Watch,
    world::server_of,
};
use crate::{
    Cluster, Instant, NodeId,
    record::{Observer, Step},
};

/// What all clients of a run have in common.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Kept if the run is traced.
    pub(super) trace: Option<Trace>,
    /// Inputs and outputs of all cores.
    pub(super) events: u64,
}

/// The eyes of the run on one client.
pub(super) struct Tap {
    client: u32,
    seen: Arc<Mutex<Seen>>,
    watch: Option<Watch>,
    /// The nodes whose names are in the trace.
    known: Vec<NodeId>,
}

pub(super) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Tap {
    pub(super) const fn new(client: u32, seen: Arc<Mutex<Seen>>, watch: Option<Watch>) -> Self {
        Self {
            client,
            seen,
            watch,
            known: Vec::new(),
        }
    }

    fn trace(&mut self, trace: &mut Trace, step: &Step, cluster: &Cluster) {
        let client = self.client;
        let mut add = |what| trace.lines.push(Line { at: step.now, what });
        add(What::Call {
            client,
            call: step.call.clone(),
            answer: step.answer,
        });
        for view in cluster.nodes() {
            if !self.known.contains(&view.id) {
                self.known.push(view.id);
                add(What::Node {
                    client,
                    node: view.id,
                    server: server_of(&view.spec.endpoint),
                    endpoint: view.spec.endpoint.clone(),
                });
            }
        }
        for output in &step.outputs {
            add(What::Output {
                client,
                output: *output,
            });
        }
    }
}

impl Observer for Tap {
    fn observe(&mut self, step: &Step, cluster: &Cluster) {
        if let Some(watch) = &mut self.watch {
            watch.observe(step, cluster);
        }
        let seen = Arc::clone(&self.seen);
        let mut seen = lock(&seen);
        seen.events += 1 + step.outputs.len() as u64;
        if let Some(trace) = &mut seen.trace {
            self.trace(trace, step, cluster);
        }
    }
}

impl Seen {
    pub(super) fn add(&mut self, at: Instant, what: What) {
        if let Some(trace) = &mut self.trace {
            trace.lines.push(Line { at, what });
        }
    }
}
