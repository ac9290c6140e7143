//! redial is the connection brain of a client that talks to a group of servers: whom to call, how
//! long to wait for a connection, when to call again, which node to ask next, when to give up on a
//! request. It is a pure, deterministic core: no socket, no clock, no thread, no async. Time and I/O
//! events go in, commands come out.
//!
//! # Which layer to take
//!
//! | you have | take | feature |
//! |---|---|---|
//! | your own framing and loop | [`Cluster`]: ids only, no bytes; `no_std` | – |
//! | your own loop | `client::Client`: requests and replies as bytes, by a `client::Protocol` | `client` |
//! | a runtime | an adapter such as `redial-tokio`, on the generic `driver` | `driver` |
//!
//! Each layer is built on the one above it in this table and is usable alone. A feature only adds.
//! Clients of each layer live in the simulator too, where hours of outages pass in a second: `sim`,
//! feature `sim`; pictures of them are drawn with `sim-svg`, and `sim-proptest` has strategies.
//!
//! # The loop
//!
//! Whoever drives a layer tells it commands and facts, each with the time; then it drains the outputs
//! and waits for the next fact, at most until the deadline:
//!
//! ```
//! # use redial::{Cluster, Config, Instant, NodeSpec, Output, RequestOptions};
//! # let (mut cluster, now) = (Cluster::new(Config::default(), 1, Instant::ORIGIN), Instant::ORIGIN);
//! # cluster.set_nodes(now, &["10.0.0.1:9092".parse()?])?;
//! # let do_it = |_action| {}; let tell_the_caller = |_completion| {};
//! cluster.submit(now, RequestOptions::new())?;
//! let deadline = cluster.drive(now, |_, output| match output {
//!     Output::Action(action) => do_it(action), // its outcome comes back through handle_input
//!     Output::Completion(completion) => tell_the_caller(completion),
//!     Output::Event(_) | Output::Terminated => {}
//! }); // when to call drive again, unless a fact comes first
//! # assert!(deadline.is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Action`] has the table of actions and the facts that answer them. Outputs are `Copy` and hold
//! ids only; ids have generations, so a stale one is ignored and never reaches another object. Any
//! call is legal at any time.
//!
//! # The server list
//!
//! The application gives it, [`Cluster::set_nodes`], or [`Config::sources`] names who else knows it: a
//! file, a URL, DNS, the cluster itself. The core says when to ask, takes the answer, and goes on with
//! the old list when there is none:
//!
//! ```
//! use redial::{Action, Cluster, Config, ConnectString, Input, Instant, Output, Source};
//!
//! let config = Config::builder().source(Source::primary()).build()?;
//! let mut now = Instant::ORIGIN;
//! let mut cluster = Cluster::new(config, 1, now);
//! let mut answers = ["10.0.0.1:2181,10.0.0.2:2181", "no list at all"].into_iter();
//! for _ in 0..2 {
//!     let mut asked = None;
//!     let deadline = cluster.drive(now, |_, output| {
//!         if let Output::Action(Action::Refresh { refresh, .. }) = output {
//!             asked = Some(refresh);
//!         }
//!     });
//!     if let Some(refresh) = asked {
//!         let text = answers.next().unwrap_or_default();
//!         match text.parse::<ConnectString>() {
//!             Ok(list) => cluster.refreshed(now, refresh, None, &list.nodes()),
//!             Err(_) => cluster.handle_input(now, Input::RefreshFailed { refresh }),
//!         }
//!     }
//!     now = deadline.map_or(now, |deadline| deadline.at);
//! }
//! assert_eq!(cluster.stats().nodes, 2);
//! # Ok::<(), redial::ConfigError>(())
//! ```
//!
//! Nodes that a new list keeps keep everything, and what waits for one that left is told or goes
//! elsewhere. Under [`SelectionPolicy::Sticky`] a new list may move the client to another server, so
//! that the load of many clients stays even ([`plan`]); [`Config::zookeeper`] is the preset for that.
//!
//! # The rules
//!
//! [`semantics`] states the exact behaviour, rule by rule. Where a rule lives in the source:
//!
//! | rules | module |
//! |---|---|
//! | 1 time and deadlines | `time`, `timers`, `cluster::deadlines` |
//! | 2 node, attempt, connection | `node` |
//! | 3 setup timeout, backoff, who may dial | `backoff`, `node::attempt`, `node::dial` |
//! | 4 requests; 6 authentication; 8.3 write stall | `request` |
//! | 5 selection | `select`, `request::queue`, `node::dial` |
//! | 7 the server list | `servers` |
//! | 9 ending | `cluster::shutdown` |
//! | 10 what can be seen | `cluster::outputs`, `cluster::getters`, `cluster::snapshot` |
//! | 11 configuration | `config` |
//!
//! # Configuration
//!
//! Every setting with its value in the presets; its getter says unit, range and reason.
//!
#![doc = include_str!("config/table.md")]
//!
//! # Determinism
//!
//! Everything is a function of configuration, seed and the sequence of calls with their times, on
//! every platform and in every build mode. Backoff and jitter are integer arithmetic; the random
//! generator's output is fixed for ever; nothing iterates in hash order. So a run can be recorded and
//! replayed: `record::Recorder`, feature `record`. The feature `serde` reads and writes configuration,
//! facts, outputs and snapshots.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

/// Whether the core has this fault, or what the fault does if it has; never, and nothing, but in builds
/// with `--cfg redial_mutant`.
#[cfg(not(redial_mutant))]
macro_rules! mutant {
    ($mutant:ident) => {
        false
    };
    ($mutant:ident => $fault:stmt) => {};
}
#[cfg(redial_mutant)]
macro_rules! mutant {
    ($mutant:ident) => {
        crate::mutant::is(crate::mutant::Mutant::$mutant)
    };
    ($mutant:ident => $fault:stmt) => {
        if mutant!($mutant) {
            $fault
        }
    };
}

mod backoff;
#[cfg(feature = "std")]
mod clock;
mod cluster;
mod collections;
mod config;
mod error;
mod event_mask;
mod id;
mod input;
#[cfg(redial_mutant)]
pub mod mutant;
mod node;
mod options;
mod output;
mod request;
mod rng;
mod select;
mod servers;
mod stats;
mod time;
mod timers;
mod token_bucket;
mod view;

#[doc = include_str!("semantics.md")]
pub mod semantics {}

#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "driver")]
pub mod driver;
#[cfg(feature = "record")]
pub mod record;
#[cfg(feature = "sim")]
pub mod sim;

#[cfg(feature = "std")]
pub use clock::Clock;
pub use {
    backoff::{Backoff, Jitter},
    cluster::{Cluster, Explanation, NodeSnapshot, Snapshot, Why},
    config::{
        BackoffReset, Config, ConfigBuilder, ConfigError, HedgeDelay, KeepaliveOn, Matching,
        OnRequestTimeout, Properties, PropertiesError, RefreshAfterFailures, RetryBudget,
        SelectionPolicy, SetupTimeout, Strictness, Warm,
    },
    error::{
        Cause, Certainty, Reason, RequestError, SetNodesError, ShutdownError, Stage, SubmitError,
    },
    event_mask::EventMask,
    id::{AttemptId, ConnectionId, NodeId, RefreshId, RequestId, SourceId},
    input::{
        CloseError, ConnectError, HandshakeError, Hint, Input, Limits, Next, ReplyTo, Verdict,
    },
    node::NodeState,
    options::{RequestOptions, Target},
    output::{
        Action, Completion, Deadline, DeadlineReason, Event, Output, RefreshResult, Success,
        SuccessKind,
    },
    select::{Candidate, CustomPolicy, Select},
    servers::{
        ConnectString, Decision, DynamicConfig, DynamicServer, Endpoint, EndpointError, Expected,
        Moving, NodeSpec, ParseError, Plan, Ratio, Servers, Source, plan,
    },
    stats::Stats,
    time::{Instant, Limit},
    view::{ConnectionView, LastFailure, NodeView},
};
