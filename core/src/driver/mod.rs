//! The generic async driver.

mod builder;
mod connection;
mod error;
mod feed;
mod handle;
mod request;
mod runtime;
mod shared;
mod snapshot;
mod sync;
mod task;
mod waiters;
mod wakeups;

pub use {
    builder::Builder,
    error::{BuildError, Error, ServersError},
    feed::{ClientEvent, EventRecord, Events, PushRecord, Pushes, Receiver},
    handle::Handle,
    request::{Request, ResponseFuture},
    runtime::{Runtime, Stream, Timer},
    snapshot::NodeSnapshot,
};
