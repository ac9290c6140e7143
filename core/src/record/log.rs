//! [`Log`]: what is written of a run.

use alloc::{borrow::Cow, boxed::Box, vec::Vec};
use core::mem;
use std::io::{self, Write};

use serde::Serialize;

use super::{
    RecordError,
    hash::Hash,
    line::{Line, Start, VERSION},
    step::{Answer, Call},
};
use crate::{Config, Deadline, Instant, Output, SelectionPolicy};

/// What is written, and what is to be written about the last call.
pub(super) struct Log {
    sink: Box<dyn Write + Send + Sync>,
    /// The sink's first error.
    pub(super) failure: Option<io::Error>,
    /// Of all so far.
    pub(super) hash: Hash,
    calls: u64,
    /// Drained since the last call.
    outputs: u64,
    last: Last,
    /// Room for a line.
    text: Vec<u8>,
}

/// How far the last call has come.
#[derive(PartialEq)]
enum Last {
    /// It has not returned. If it never does it has panicked, and is the last one.
    Begun,
    /// Its outputs are being drained.
    Answered,
    /// What came of it is written.
    Settled,
}

impl Log {
    pub(super) fn start(
        config: &Config,
        seed: u64,
        now: Instant,
        sink: Box<dyn Write + Send + Sync>,
    ) -> Result<Self, RecordError> {
        let mut log = Self {
            sink,
            failure: None,
            hash: Hash::EMPTY,
            calls: 0,
            outputs: 0,
            last: Last::Answered,
            text: Vec::new(),
        };
        if matches!(config.selection, SelectionPolicy::Custom(_)) {
            return Err(RecordError::CustomPolicy);
        }
        let start = Start {
            redial: VERSION.into(),
            seed,
            now,
            config: Cow::Borrowed(config),
        };
        log.hash.add(&start);
        log.write(&start);
        match log.failure {
            Some(error) => Err(RecordError::Io(error.kind())),
            None => Ok(log),
        }
    }

    pub(super) fn begin(&mut self, at: Instant, call: &Call, deadline: Option<Deadline>) {
        self.settle(deadline);
        let what = Cow::Borrowed(call);
        let line = Line::Call { at, what };
        self.hash.add(&line);
        self.write(&line);
        self.calls += 1;
        self.last = Last::Begun;
    }

    pub(super) fn answer(&mut self, answer: Answer) {
        self.hash.add(&answer);
        self.last = Last::Answered;
    }

    pub(super) fn output(&mut self, output: &Output) {
        self.outputs += 1;
        self.hash.add(output);
    }

    /// Writes what came of the last call. `deadline` is the one that it left behind.
    pub(super) fn settle(&mut self, deadline: Option<Deadline>) {
        if self.last != Last::Answered {
            return;
        }
        self.hash.add(&deadline);
        let outputs = mem::take(&mut self.outputs);
        let hash = self.hash;
        self.write(&Line::Gave { outputs, hash });
        self.last = Last::Settled;
    }

    pub(super) fn end(&mut self, deadline: Option<Deadline>) {
        if self.last != Last::Begun {
            self.settle(deadline);
            self.write(&Line::End { calls: self.calls });
        }
        self.attempt(|sink| sink.flush());
    }

    /// A whole line at once, so that a sink without a buffer has whole lines.
    fn write(&mut self, line: &impl Serialize) {
        let mut text = mem::take(&mut self.text);
        text.clear();
        serde_json::to_writer(&mut text, line).expect("all that is recorded is JSON");
        text.push(b'\n');
        self.attempt(|sink| sink.write_all(&text));
        self.text = text;
    }

    /// After an error nothing more is written: the file would have a hole.
    fn attempt(&mut self, act: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
        if self.failure.is_none() {
            self.failure = act(&mut self.sink).err();
        }
    }
}
