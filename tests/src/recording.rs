//! Recordings of what was played in the world.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex, PoisonError},
};

use redial::{
    Instant, Output,
    record::{Answer, Call, Recorder},
};

use crate::world::{Line, Plan, Trace};

/// A file in memory, which can be read while somebody writes to it.
#[derive(Clone, Debug, Default)]
pub struct Sheet(Arc<Mutex<Vec<u8>>>);

impl Sheet {
    /// What was written so far.
    #[must_use]
    pub fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8(bytes.clone()).expect("JSON is UTF-8")
    }
}

impl Write for Sheet {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What came of a recording.
#[derive(Debug)]
pub struct Recording {
    /// The file.
    pub text: String,
    /// Its hash.
    pub hash: u64,
    /// What the recorded cluster gave out, and when.
    pub outputs: Vec<(Instant, Output)>,
}

/// Makes the calls of a run anew, and records them.
///
/// # Panics
///
/// If an answer is not that of the run, or the recording fails.
#[must_use]
pub fn record(plan: &Plan, run: &Trace) -> Recording {
    let sheet = Sheet::default();
    let start = Instant::ORIGIN;
    let recorder = Recorder::start(plan.config.clone(), plan.seed, start, sheet.clone());
    let mut recorder = recorder.expect("memory can be written");
    let mut outputs = Vec::new();
    for line in &run.lines {
        if let Line::Call(at, call, answer) = line {
            assert_eq!(&make(&mut recorder, *at, call), answer, "{line}");
            let drained = std::iter::from_fn(|| recorder.poll_output());
            outputs.extend(drained.map(|output| (*at, output)));
        }
    }
    let hash = recorder.finish().expect("memory can be written");
    Recording {
        text: sheet.text(),
        hash,
        outputs,
    }
}

fn make(recorder: &mut Recorder, at: Instant, call: &Call) -> Answer {
    match call {
        Call::Start => {}
        Call::SetNodes(list) => return recorder.set_nodes(at, list).into(),
        Call::SetFallback(list) => return recorder.set_fallback(at, list).into(),
        Call::Submit(options) => return recorder.submit(at, *options).into(),
        Call::Cancel(request) => return recorder.cancel(at, *request).into(),
        Call::Shutdown(drain) => return recorder.shutdown(at, *drain).into(),
        Call::Hint(hint) => recorder.hint(at, *hint),
        Call::Input(input) => recorder.handle_input(at, *input),
        Call::Resolved(attempt, addresses) => recorder.resolved(at, *attempt, addresses),
        Call::Refreshed(refresh, version, list) => {
            recorder.refreshed(at, *refresh, *version, list);
        }
        Call::WritesStarted(connection, serials) => {
            let serials = serials.iter().copied();
            recorder.writes_started(at, *connection, serials);
        }
        Call::WritesDone(connection, serials) => {
            let serials = serials.iter().copied();
            recorder.writes_done(at, *connection, serials);
        }
        Call::Timeout => recorder.handle_timeout(at),
    }
    Answer::None
}
