//! A runtime with the connections of another transport.

use core::{future::Future, net::SocketAddr};
use std::{io, vec::Vec};

use super::{Runtime, Transport};
use crate::{ConnectError, Instant, NodeSpec};

/// A runtime whose connections another transport makes. Made by
/// [`Runtime::with_transport`]; give it to [`Builder::runtime`](super::Builder::runtime).
#[derive(Clone, Copy, Debug)]
pub struct Over<R, T> {
    runtime: R,
    transport: T,
}

impl<R, T> Over<R, T> {
    pub(super) const fn new(runtime: R, transport: T) -> Self {
        Self { runtime, transport }
    }

    /// The runtime below.
    #[must_use]
    pub const fn runtime(&self) -> &R {
        &self.runtime
    }

    /// The transport.
    #[must_use]
    pub const fn transport(&self) -> &T {
        &self.transport
    }
}

impl<R: Runtime, T: Transport> Transport for Over<R, T> {
    type Stream = T::Stream;

    fn connect(
        &self,
        node: &NodeSpec,
        address: Option<SocketAddr>,
    ) -> impl Future<Output = Result<T::Stream, ConnectError>> + Send + 'static {
        self.transport.connect(node, address)
    }
}

impl<R: Runtime, T: Transport> Runtime for Over<R, T> {
    type Timer = R::Timer;

    /// None: the transport must be named.
    fn current() -> Option<Self> {
        None
    }

    fn now(&self) -> Instant {
        self.runtime.now()
    }

    fn timer(&self) -> R::Timer {
        self.runtime.timer()
    }

    fn resolve(
        &self,
        host: &str,
        port: u16,
    ) -> impl Future<Output = io::Result<Vec<SocketAddr>>> + Send + 'static {
        self.runtime.resolve(host, port)
    }

    fn spawn(&self, driver: impl Future<Output = ()> + Send + 'static) {
        self.runtime.spawn(driver);
    }
}
