//! Making the calls of a recording anew.

use alloc::{
    string::{String, ToString},
    vec::Vec,
};
use std::io::{self, BufRead};

use serde::de::DeserializeOwned;
use thiserror::Error;

use super::{
    Recorder,
    line::{Line, Start, VERSION, Version},
};
use crate::{Cluster, Instant, Output};

/// What came of a replay that went as recorded.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Replayed {
    /// The cluster after the last call.
    pub cluster: Cluster,
    /// How many calls were made.
    pub calls: u64,
    /// How many outputs were drained.
    pub outputs: u64,
    /// The hash of all that went in and came out.
    pub hash: u64,
}

/// Why a replay failed. Lines count from 1.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The recording cannot be read.
    #[error("the recording cannot be read: {0}")]
    Io(io::ErrorKind),
    /// Another version made it.
    #[error("recorded by redial {recorded}, this is {VERSION}")]
    Version {
        /// Which.
        recorded: String,
    },
    /// A line is not that of a recording.
    #[error("line {line}: {what}")]
    Malformed {
        /// Which line.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
    /// What came of a call is not what was recorded: the call or the configuration is another, or
    /// the code behaves differently.
    #[error("line {line}: what came of this call is not what was recorded")]
    Diverged {
        /// The line of the call; 1 for the start.
        line: usize,
    },
    /// The recording has no end: its process was killed, or its disk was full. Up to here all went
    /// as recorded, and [`replay_with`] has shown it.
    #[error("line {line}: the recording is cut short")]
    Truncated {
        /// The line that is missing, or is not whole.
        line: usize,
    },
}

/// Makes the calls of a recording, and sees that the same comes of each.
///
/// # Errors
///
/// [`ReplayError`] says the first line where it does not, or where the recording is no good.
pub fn replay(recording: impl BufRead) -> Result<Replayed, ReplayError> {
    replay_with(recording, |_, _, _| {})
}

/// [`replay`], and each output to `on_output`, with the time of the call that it came from.
///
/// # Errors
///
/// As [`replay`]. What came before the error was shown.
pub fn replay_with(
    recording: impl BufRead,
    on_output: impl FnMut(Instant, &Cluster, Output),
) -> Result<Replayed, ReplayError> {
    let mut lines = Lines::of(recording);
    let mut replay = Replay {
        recorder: lines.start()?,
        drained: 0,
        on_output,
    };
    let mut calls = 0;
    // What the construction gives, which is no call.
    let start = replay.recorder.now();
    replay.compare(&mut lines, start)?;
    loop {
        let (at, what) = match lines.next()? {
            Line::Call { at, what } => (at, what),
            Line::Gave { .. } => return Err(lines.malformed("the call is missing")),
            Line::End { calls: recorded } if recorded == calls => break,
            Line::End { .. } => return Err(lines.malformed("calls are missing")),
        };
        calls += 1;
        replay.recorder.repeat(at, &what);
        replay.compare(&mut lines, at)?;
    }
    if lines.read()? {
        return Err(lines.malformed("nothing comes after the end"));
    }
    Ok(Replayed {
        cluster: Cluster::clone(&replay.recorder),
        calls,
        outputs: replay.drained,
        hash: replay.recorder.settle().0,
    })
}

/// A replay under way.
struct Replay<F> {
    recorder: Recorder,
    drained: u64,
    on_output: F,
}

impl<F: FnMut(Instant, &Cluster, Output)> Replay<F> {
    /// Sees that what the next line says came of the line just read, at that time.
    fn compare(&mut self, lines: &mut Lines<impl BufRead>, at: Instant) -> Result<(), ReplayError> {
        let call = lines.number;
        let Line::Gave { outputs, hash } = lines.next()? else {
            return Err(lines.malformed("what came of the call is missing"));
        };
        let before = self.drained;
        while self.drained - before < outputs
            && let Some(output) = self.recorder.poll_output()
        {
            self.drained += 1;
            (self.on_output)(at, &self.recorder, output);
        }
        if self.drained - before != outputs || self.recorder.settle() != hash {
            return Err(ReplayError::Diverged { line: call });
        }
        Ok(())
    }
}

/// A recording, line by line.
struct Lines<R> {
    recording: R,
    /// Of the line that was read last, from 1.
    number: usize,
    text: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    const fn of(recording: R) -> Self {
        Self {
            recording,
            number: 0,
            text: Vec::new(),
        }
    }

    /// The first line.
    fn start(&mut self) -> Result<Recorder, ReplayError> {
        self.read_whole()?;
        let Version { redial } = self.parse()?;
        if redial != VERSION {
            return Err(ReplayError::Version { recorded: redial });
        }
        let start: Start<'_> = self.parse()?;
        let config = start.config.into_owned();
        let recorder = Recorder::start(config, start.seed, start.now, io::sink());
        recorder.map_err(|error| self.malformed(error))
    }

    fn next(&mut self) -> Result<Line<'static>, ReplayError> {
        self.read_whole()?;
        self.parse()
    }

    fn read_whole(&mut self) -> Result<(), ReplayError> {
        match self.read()? && self.text.ends_with(b"\n") {
            true => Ok(()),
            false => Err(ReplayError::Truncated { line: self.number }),
        }
    }

    /// Reads a line; false if there is none.
    fn read(&mut self) -> Result<bool, ReplayError> {
        self.number += 1;
        self.text.clear();
        match self.recording.read_until(b'\n', &mut self.text) {
            Ok(bytes) => Ok(bytes > 0),
            Err(error) => Err(ReplayError::Io(error.kind())),
        }
    }

    fn parse<T: DeserializeOwned>(&self) -> Result<T, ReplayError> {
        serde_json::from_slice(&self.text).map_err(|error| self.malformed(error))
    }

    fn malformed(&self, what: impl ToString) -> ReplayError {
        ReplayError::Malformed {
            line: self.number,
            what: what.to_string(),
        }
    }
}
