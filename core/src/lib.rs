//! redial: the connection brain of a client that talks to a group of servers.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

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
mod view;

#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "driver")]
pub mod driver;

#[cfg(feature = "std")]
pub use clock::Clock;
pub use {
    backoff::{Backoff, Jitter},
    cluster::Cluster,
    config::{
        BackoffReset, Config, ConfigBuilder, ConfigError, Matching, OnRequestTimeout,
        SelectionPolicy, Warm,
    },
    error::{
        Cause, Certainty, Reason, RequestError, SetNodesError, ShutdownError, Stage, SubmitError,
    },
    event_mask::EventMask,
    id::{AttemptId, ConnectionId, NodeId, RequestId},
    input::{CloseError, ConnectError, HandshakeError, Input, Limits, Next, ReplyTo, Verdict},
    node::NodeState,
    options::{RequestOptions, Target},
    output::{Action, Completion, Deadline, DeadlineReason, Event, Output, Success, SuccessKind},
    servers::{Endpoint, EndpointError, NodeSpec},
    stats::Stats,
    time::{Instant, Limit},
    view::{ConnectionView, LastFailure, NodeView},
};
