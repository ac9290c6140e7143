//! What the driver needs from a runtime.

use core::{
    future::Future,
    net::SocketAddr,
    task::{Context, Poll},
};
use std::{io, vec::Vec};

use super::{Over, Transport};
use crate::Instant;

/// A runtime and its transport: a clock, timers, tasks, name look-up, connections.
///
/// The driver and the handle are written once, over this trait. Two implementations share no logic.
/// To bring another transport (TLS, a proxy, a simulated network), implement [`Transport`] only and
/// give it to [`with_transport`](Self::with_transport).
pub trait Runtime: Transport {
    /// A timer for the driver's one deadline.
    type Timer: Timer;

    /// The runtime of the calling context, `None` if there is none or if it cannot be told. Used by
    /// [`Builder::build`](super::Builder::build) unless one is given.
    fn current() -> Option<Self>;

    /// This moment, by a monotonic clock. Clones of a runtime share its origin. It is called under
    /// the client's lock, so it must be quick and must not call the client.
    fn now(&self) -> Instant;

    /// A timer that is not set.
    fn timer(&self) -> Self::Timer;

    /// Looks up a name. The driver takes an error as "could not be resolved" and an empty list as
    /// "has no address". Dropping the future abandons it.
    fn resolve(
        &self,
        host: &str,
        port: u16,
    ) -> impl Future<Output = io::Result<Vec<SocketAddr>>> + Send + 'static;

    /// Runs the driver. The runtime must drop the future when it is done, and when the runtime ends
    /// before: then whoever waits for a request is told.
    fn spawn(&self, driver: impl Future<Output = ()> + Send + 'static);

    /// This runtime, with the connections of another transport.
    #[must_use]
    fn with_transport<T: Transport>(self, transport: T) -> Over<Self, T> {
        Over::new(self, transport)
    }
}

/// A timer that wakes the driver. The driver always asks the clock what is due, so a timer may be
/// late or early without harm to anything but punctuality.
pub trait Timer: Unpin + Send + 'static {
    /// Sets it to this point in time, which may have passed. Setting it again replaces that.
    fn set(&mut self, at: Instant);

    /// Ready once the point has been reached. Polled only after it was set, and not again after it
    /// was ready until it is set anew.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()>;
}
