//! The generic async driver, and the handle that an application holds.
//!
//! [`Handle`] is the client as an application sees it: cheap to clone, the same on every runtime.
//! The driver behind it is written once over the [`Runtime`] trait: an adapter brings sockets,
//! timers and tasks, and no logic. What carries the bytes can be exchanged: [`Transport`]. The driver
//! brings no logic of the cluster's: it carries facts to [`client::Client`](crate::client::Client) and
//! its actions to the sockets.
//!
//! # How it works
//!
//! ```text
//!  request futures, handles                         the driver, one task
//!    submit · cancel · set_nodes       reads · writes · connects · resolves · lists · timer
//!            │                                              │
//!            ▼                                              ▼
//!   ┌─────────────────────────────── one lock ──────────────────────────────┐
//!   │ Client<P>            the core and its bytes                           │
//!   │ waiters              a place for each request future: waker or result │
//!   └────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! **A handle** takes the lock, makes its call and leaves the outputs where they are. The first call
//! since the driver looked last wakes it; the others find it awake.
//!
//! **The driver** is one task for all connections of a client. Each time it has changed the client,
//! and under the same lock, it asks the clock, handles what is due, drains every output and reads
//! the deadline anew. Actions are carried out, and wakers woken, after the lock is released. Then it
//! polls the sources that were woken: connections, attempts to connect, look-ups, retrievals of server
//! lists.
//!
//! **One task, not one a connection**, because the outputs of the core have one order and one
//! reader, because one read buffer then serves thousands of connections, because a runtime that
//! drops the task ends everything at one place, and because the core is behind one lock anyway. What
//! it costs: one client does its I/O on one thread at a time. A process that needs more makes
//! several clients.
//!
//! # Where the servers are
//!
//! From the application, by the builder and by [`Handle::set_nodes`], and from whoever else knows it:
//! [`Builder::source`] takes any [`ServerSource`], such as a callback ([`from_fn`]), the addresses of a
//! name ([`DnsSource`]), or a file or a URL of an adapter; [`Builder::discovery`] asks the cluster
//! itself. The list in force is the union of all of them. [`Builder::fallback_source`] and
//! [`Builder::fallback`] name servers to try when all others have failed.
//!
//! The core says when to ask ([`Config::refresh_interval`](crate::Config::refresh_interval), and early
//! where nodes fail or a source tells of a change), the driver polls the retrieval beside its
//! connections, and the core judges the answer. A source that fails, hangs or talks nonsense
//! changes nothing: the client goes on with the list it has, and [events](Handle::events) say why
//! ([`ClientEvent::SourceFailed`], [`Event::Refreshed`](crate::Event::Refreshed)). A retrieval is
//! dropped at its [timeout](crate::Config::refresh_timeout) and with a shutdown.
//!
//! Many clients of a process share a source by [`SharedSource`]: one retrieval a period for all.
//!
//! # Rules, each from a bug that someone shipped
//!
//! - The clock says what is due; the timer only wakes. It is set again only for an earlier deadline,
//!   or after it fired: a deadline that moves away costs an idle wake-up, not a call for each
//!   request.
//! - Each source has a waker of its own that lists it and wakes the task, so a wake-up costs what it
//!   concerns, not what is connected. The task has one waker, and is woken once.
//! - A turn is one write and one read of at most 64 KiB. Reading goes on while writing is blocked.
//!   A poll serves 32 turns at most, then wakes itself and lets others run. The clock is asked in
//!   each, so neither I/O nor timers can starve the other.
//! - No system call is made, and nothing foreign is woken or polled, under the lock: bytes are copied
//!   out under it and written after it.
//! - Requests are coalesced: the client appends frames, the driver writes up to 512 of them in one
//!   piece. Before it does it lets other tasks run once, but only if other requests are open, for
//!   then somebody may be about to add to it, and only if there are fewer: with more the peer had
//!   better begin, so that it and we are at work at the same time.
//! - A request costs no allocation in the driver: a future has a place in a table.
//! - Nobody waits for ever: when the driver's task ends, by shutdown, with its runtime or by a panic
//!   in the user's protocol, each request that is open completes as closed.

mod access;
mod builder;
mod connection;
mod dns;
mod error;
mod feed;
mod handle;
mod list_text;
#[cfg(all(test, redial_model))]
mod models;
mod over;
mod request;
mod retrieval;
mod runtime;
mod shared;
mod shared_source;
mod source;
mod sync;
mod task;
pub mod tcp;
mod transport;
mod waiters;
mod wakeups;

pub use {
    builder::Builder,
    dns::{DnsSource, Family, Resolver, SystemResolver},
    error::{BuildError, Error, ServersError},
    feed::{ClientEvent, EventRecord, Events, PushRecord, Pushes, Receiver},
    handle::Handle,
    over::Over,
    request::{Request, ResponseFuture},
    runtime::{Runtime, Timer},
    shared_source::SharedSource,
    source::{
        Changed, DnsFailure, FromFn, RedirectError, Retrieval, ServerList, ServerSource,
        SourceError, from_fn,
    },
    transport::{Either, Stream, Transport},
};
