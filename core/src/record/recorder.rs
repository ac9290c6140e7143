//! [`Recorder`]: a cluster whose calls are written down.

use alloc::{boxed::Box, collections::VecDeque, vec::Vec};
use core::{fmt, net::SocketAddr, ops::Deref, time::Duration};
use std::io::{self, Write};

use thiserror::Error;

use super::{
    hash::Hash,
    log::Log,
    step::{Answer, Call, Observer, Step},
};
use crate::{
    AttemptId, Cluster, Config, ConfigError, ConnectionId, Deadline, DeadlineReason, Hint, Input,
    Instant, NodeSpec, Output, RefreshId, RequestId, RequestOptions, SetNodesError, ShutdownError,
    SubmitError,
};

/// A [`Cluster`] that writes down every call, or shows it to an [`Observer`]. It has the methods of a
/// cluster, and its getters through `Deref`. Neither changes anything of what it does.
///
/// A call is written before it is made, what came of it before the next one, each line by one write to
/// the sink, and the end by [`finish`](Self::finish) or when the recorder is dropped. Put a buffer
/// around a file where speed matters; what it holds is lost if the process is killed. If the sink
/// fails the cluster goes on, and the recording is cut short.
pub struct Recorder {
    cluster: Cluster,
    log: Option<Log>,
    watch: Option<Watch>,
}

/// An observer, and the step that is under way.
struct Watch {
    observer: Box<dyn Observer>,
    step: Option<Step>,
    /// What was shown before it was asked for.
    early: VecDeque<Output>,
}

/// Why a recording cannot be begun.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum RecordError {
    /// A selection policy of the user's own is code, which a file cannot hold.
    #[error("a selection policy of the user's own cannot be recorded")]
    CustomPolicy,
    /// The sink does not take the first line.
    #[error("the recording cannot be written: {0}")]
    Io(io::ErrorKind),
    /// The configuration does not suit the protocol.
    #[error("configuration: {0}")]
    Config(#[from] ConfigError),
}

impl Recorder {
    /// A cluster as [`Cluster::new`] makes it, recorded to `sink` from here on.
    ///
    /// # Errors
    ///
    /// [`RecordError`] if the configuration cannot be written.
    pub fn start(
        config: Config,
        seed: u64,
        now: Instant,
        sink: impl Write + Send + Sync + 'static,
    ) -> Result<Self, RecordError> {
        let log = Log::start(&config, seed, now, Box::new(sink))?;
        let mut recorder = Self::new(config, seed, now);
        recorder.log = Some(log);
        Ok(recorder)
    }

    /// A cluster as [`Cluster::new`] makes it, whose every step the observer sees. The first is
    /// [`Call::Start`], with what the construction itself gives.
    #[must_use]
    pub fn observe(config: Config, seed: u64, now: Instant, observer: Box<dyn Observer>) -> Self {
        let mut recorder = Self::new(config, seed, now);
        let step = Some(Step::begin(Call::Start));
        recorder.watch = Some(Watch {
            observer,
            step,
            early: VecDeque::new(),
        });
        recorder
    }

    /// One that records nothing.
    pub(crate) fn new(config: Config, seed: u64, now: Instant) -> Self {
        Self {
            cluster: Cluster::new(config, seed, now),
            log: None,
            watch: None,
        }
    }

    /// As [`Cluster::set_nodes`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn set_nodes(&mut self, now: Instant, list: &[NodeSpec]) -> Result<(), SetNodesError> {
        let call = || Call::SetNodes(list.into());
        self.call(now, call, |cluster| cluster.set_nodes(now, list))
    }

    /// As [`Cluster::set_fallback`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn set_fallback(&mut self, now: Instant, list: &[NodeSpec]) -> Result<(), SetNodesError> {
        let call = || Call::SetFallback(list.into());
        self.call(now, call, |cluster| cluster.set_fallback(now, list))
    }

    /// As [`Cluster::submit`].
    ///
    /// # Errors
    ///
    /// As there.
    #[inline]
    pub fn submit(
        &mut self,
        now: Instant,
        options: RequestOptions,
    ) -> Result<RequestId, SubmitError> {
        let call = || Call::Submit(options);
        self.call(now, call, |cluster| cluster.submit(now, options))
    }

    /// As [`Cluster::cancel`].
    pub fn cancel(&mut self, now: Instant, request: RequestId) -> bool {
        let call = || Call::Cancel(request);
        self.call(now, call, |cluster| cluster.cancel(now, request))
    }

    /// As [`Cluster::shutdown`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn shutdown(&mut self, now: Instant, drain: Duration) -> Result<(), ShutdownError> {
        let call = || Call::Shutdown(drain);
        self.call(now, call, |cluster| cluster.shutdown(now, drain))
    }

    /// As [`Cluster::hint`].
    pub fn hint(&mut self, now: Instant, hint: Hint) {
        let call = || Call::Hint(hint);
        self.call(now, call, |cluster| cluster.hint(now, hint));
    }

    /// As [`Cluster::handle_input`].
    #[inline]
    pub fn handle_input(&mut self, now: Instant, input: Input) {
        let call = || Call::Input(input);
        self.call(now, call, |cluster| cluster.handle_input(now, input));
    }

    /// As [`Cluster::resolved`].
    pub fn resolved(&mut self, now: Instant, attempt: AttemptId, addresses: &[SocketAddr]) {
        let call = || Call::Resolved(attempt, addresses.into());
        self.call(now, call, |cluster| {
            cluster.resolved(now, attempt, addresses)
        });
    }

    /// As [`Cluster::writes_started`].
    pub fn writes_started(
        &mut self,
        now: Instant,
        connection: ConnectionId,
        serials: impl IntoIterator<Item = u32>,
    ) {
        if !self.is_heard() {
            return self.cluster.writes_started(now, connection, serials);
        }
        let serials: Vec<u32> = serials.into_iter().collect();
        let call = || Call::WritesStarted(connection, serials.clone());
        self.call(now, call, |cluster| {
            cluster.writes_started(now, connection, serials.iter().copied());
        });
    }

    /// As [`Cluster::refreshed`].
    pub fn refreshed(
        &mut self,
        now: Instant,
        refresh: RefreshId,
        version: Option<u64>,
        list: &[NodeSpec],
    ) {
        let call = || Call::Refreshed(refresh, version, list.into());
        self.call(now, call, |cluster| {
            cluster.refreshed(now, refresh, version, list);
        });
    }

    /// As [`Cluster::writes_done`].
    pub fn writes_done(
        &mut self,
        now: Instant,
        connection: ConnectionId,
        serials: impl IntoIterator<Item = u32>,
    ) {
        if !self.is_heard() {
            return self.cluster.writes_done(now, connection, serials);
        }
        let serials: Vec<u32> = serials.into_iter().collect();
        let call = || Call::WritesDone(connection, serials.clone());
        self.call(now, call, |cluster| {
            cluster.writes_done(now, connection, serials.iter().copied());
        });
    }

    /// As [`Cluster::handle_timeout`].
    pub fn handle_timeout(&mut self, now: Instant) {
        self.call(now, || Call::Timeout, |cluster| cluster.handle_timeout(now));
    }

    /// As [`Cluster::poll_output`].
    #[inline]
    pub fn poll_output(&mut self) -> Option<Output> {
        if let Some(watch) = &mut self.watch
            && let Some(output) = watch.early.pop_front()
        {
            return Some(output);
        }
        let output = self.cluster.poll_output();
        if self.is_heard() {
            self.drained(output.as_ref());
        }
        output
    }

    /// As [`Cluster::poll_timeout`].
    #[inline]
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Deadline> {
        match &self.watch {
            Some(watch) if !watch.early.is_empty() => Some(Deadline {
                at: self.cluster.now(),
                reason: DeadlineReason::Outputs,
            }),
            _ => self.cluster.poll_timeout(),
        }
    }

    /// As [`Cluster::drive`].
    pub fn drive(
        &mut self,
        now: Instant,
        mut on_output: impl FnMut(&mut Self, Output),
    ) -> Option<Deadline> {
        self.handle_timeout(now);
        while let Some(output) = self.poll_output() {
            on_output(self, output);
        }
        self.poll_timeout()
    }

    /// Ends the recording and returns its hash, which a replay has too.
    ///
    /// # Errors
    ///
    /// The first error of the sink. What came after it was not recorded.
    pub fn finish(mut self) -> io::Result<u64> {
        let mut log = self.log.take().expect("only `finish` takes it");
        log.end(self.cluster.poll_timeout());
        match log.failure {
            Some(error) => Err(error),
            None => Ok(log.hash.0),
        }
    }

    /// For a replay: makes this call.
    pub(super) fn repeat(&mut self, at: Instant, call: &Call) {
        self.call(at, || call.clone(), |cluster| call.perform(cluster, at));
    }

    /// For a replay: the hash of all so far, the outcome of the last call included.
    pub(super) fn settle(&mut self) -> Hash {
        let log = self.log.as_mut().expect("a replay has one");
        log.settle(self.cluster.poll_timeout());
        log.hash
    }

    const fn is_heard(&self) -> bool {
        self.log.is_some() || self.watch.is_some()
    }

    #[inline]
    fn call<T: Copy + Into<Answer>>(
        &mut self,
        at: Instant,
        what: impl FnOnce() -> Call,
        make: impl FnOnce(&mut Cluster) -> T,
    ) -> T {
        if !self.is_heard() {
            return make(&mut self.cluster);
        }
        self.begin(at, what());
        let answer = make(&mut self.cluster);
        self.end(answer.into());
        answer
    }

    fn begin(&mut self, at: Instant, call: Call) {
        self.show();
        if let Some(log) = &mut self.log {
            log.begin(at, &call, self.cluster.poll_timeout());
        }
        if let Some(watch) = &mut self.watch {
            watch.step = Some(Step::begin(call));
        }
    }

    fn end(&mut self, answer: Answer) {
        if let Some(log) = &mut self.log {
            log.answer(answer);
        }
        if let Some(Watch { step, .. }) = &mut self.watch
            && let Some(step) = step
        {
            step.answer = answer;
        }
    }

    fn drained(&mut self, output: Option<&Output>) {
        let Some(output) = output else {
            return self.show();
        };
        if let Some(log) = &mut self.log {
            log.output(output);
        }
        if let Some(Watch { step, .. }) = &mut self.watch
            && let Some(step) = step
        {
            step.outputs.push(*output);
        }
    }

    /// Shows the last step, unless it was shown: with all that came of it, asked for or not.
    fn show(&mut self) {
        if let Some(watch) = &mut self.watch
            && let Some(mut step) = watch.step.take()
        {
            // Not by `poll_output`, at whose end the names of nodes that left are forgotten.
            let early = step.outputs.len();
            step.outputs
                .extend(core::iter::from_fn(|| self.cluster.outputs.pop()));
            watch.early.extend(&step.outputs[early..]);
            step.now = self.cluster.now();
            step.deadline = self.cluster.poll_timeout();
            watch.observer.observe(&step, &self.cluster);
        }
    }
}

impl Deref for Recorder {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        &self.cluster
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder")
            .field("cluster", &self.cluster)
            .field("records", &self.log.is_some())
            .field("is_observed", &self.watch.is_some())
            .finish()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.show();
        if let Some(mut log) = self.log.take() {
            log.end(self.cluster.poll_timeout());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Steps(Arc<Mutex<Vec<Step>>>);

    impl Observer for Steps {
        fn observe(&mut self, step: &Step, cluster: &Cluster) {
            assert_eq!(step.deadline, cluster.poll_timeout());
            self.0.lock().unwrap().push(step.clone());
        }
    }

    #[test]
    fn a_step_is_whole_though_nobody_asked_for_its_outputs() {
        let (steps, now) = (Steps::default(), Instant::ORIGIN);
        let mut cluster = Recorder::observe(Config::default(), 7, now, Box::new(steps.clone()));
        cluster
            .set_nodes(now, &["10.0.0.1:1".parse().unwrap()])
            .unwrap();
        let request = cluster.submit(now, RequestOptions::new()).unwrap();
        cluster.cancel(now, request);
        let waits = cluster.poll_timeout().map(|deadline| deadline.reason);
        assert_eq!(waits, Some(DeadlineReason::Outputs));

        let mut drained = Vec::new();
        cluster.drive(now, |_, output| drained.push(output));

        let steps = steps.0.lock().unwrap();
        let calls: Vec<&Call> = steps.iter().map(|step| &step.call).collect();
        assert!(
            matches!(
                calls[..],
                [
                    Call::Start,
                    Call::SetNodes(_),
                    Call::Submit(_),
                    Call::Cancel(_),
                    Call::Timeout
                ]
            ),
            "{calls:?}"
        );
        assert!(!steps[2].outputs.is_empty() && !steps[3].outputs.is_empty());
        let shown: Vec<Output> = steps
            .iter()
            .flat_map(|step| &step.outputs)
            .copied()
            .collect();
        assert_eq!(shown, drained);
        let outputs = |step: &Step| step.deadline.map(|deadline| deadline.reason);
        assert!(steps.iter().all(|step| outputs(step) != waits));
        assert_ne!(
            cluster.poll_timeout().map(|deadline| deadline.reason),
            waits
        );
    }
}
