//! Recording a run and replaying it: what happened in production becomes a test.
//!
//! All that a [`Cluster`](crate::Cluster) does follows from its configuration, its seed and the
//! calls with their times. A [`Recorder`] writes these to a file; [`replay`] makes the calls anew and
//! compares what comes of each. With the features `client` and `driver` a whole client is recorded
//! by `Client::record` and by `record` of the handle's builder. Payloads and bytes are not in the
//! file. The example `replay` replays a file and prints what came out.
//!
//! ```
//! use redial::{
//!     Config, Instant, RequestOptions,
//!     record::{Recorder, replay},
//! };
//!
//! let path = std::env::temp_dir().join("redial-recording-example.jsonl");
//! let file = std::fs::File::create(&path)?;
//! let mut recorder = Recorder::start(Config::default(), 7, Instant::ORIGIN, file)?;
//! recorder.set_nodes(Instant::ORIGIN, &["10.0.0.1:9092".parse()?])?;
//! recorder.submit(Instant::ORIGIN, RequestOptions::new())?;
//! recorder.drive(Instant::from_millis(20), |_, _output| { /* carry it out */ });
//! let hash = recorder.finish()?;
//!
//! let run = replay(std::io::BufReader::new(std::fs::File::open(&path)?))?;
//! assert_eq!(run.hash, hash);
//! assert_eq!(run.cluster.stats().requests, 1);
//! # std::fs::remove_file(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! An [`Observer`] sees the same calls, and what came of each, while they are made: see
//! [`Recorder::observe`].
//!
//! # The file
//!
//! Lines of JSON: the first has version, seed, time and configuration, the second what came of the
//! construction; then come, for each call, a line with the call and its time and one with what came of
//! it; the last says that this is the end.
//! What came of a call is the number of outputs that were drained after it and a hash, FNV-1a of 64
//! bits, of all that went in and came out so far: calls, answers, outputs and the next deadline, each
//! as JSON. So one changed input, or one output that differs, shows at the very call.
//!
//! A recording is for the version that made it: another may behave differently, and refuses it.

pub(crate) mod hash;
mod line;
mod log;
mod recorder;
mod replay;
mod step;

pub use {
    recorder::{RecordError, Recorder},
    replay::{ReplayError, Replayed, replay, replay_with},
    step::{Answer, Call, Observer, Step},
};
