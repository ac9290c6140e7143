//! The addresses of a name as the server list.

use core::{fmt, future::Future, net::SocketAddr};
use std::{
    boxed::Box,
    collections::BTreeSet,
    string::{String, ToString},
    vec::Vec,
};

use super::{DnsFailure, Retrieval, Runtime, ServerList, ServerSource, SourceError};
use crate::NodeSpec;

/// The addresses of one name, each of them a node, for
/// [`Builder::source`](super::Builder::source): a headless service of Kubernetes, a name with a record
/// for each server. Adapters have it with their runtime filled in.
///
/// This is another thing than a name in a server list (`.servers("orders:9092")`). That is *one* node
/// with one connection, however many addresses it has: they are ways to the same server, and redial
/// looks them up again by itself as attempts need them. Use that where any address will do, and this
/// where each address is a server of its own.
///
/// The name is looked up at the client's times
/// ([`refresh_interval`](crate::Config::refresh_interval), 60 s) and early where nodes fail. The order
/// of the addresses does not count. A look-up that fails, and one without addresses, changes nothing:
/// a name that is gone for a while, as Kubernetes has it while no pod is ready, leaves the list as it
/// is. [Events](super::ClientEvent::SourceFailed) say why.
///
/// By default the system's resolver is asked: it knows `/etc/hosts`, search lists and whatever else the
/// system is set up for. It does not say why a look-up failed, may leave out addresses of one family
/// if only those could not be found, and blocks a thread for each look-up that hangs.
/// [`through`](Self::through) asks another.
#[derive(Clone, Debug)]
pub struct DnsSource<N> {
    name: String,
    port: u16,
    family: Family,
    resolver: N,
}

/// Which addresses count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// Those of IPv4 and IPv6.
    Both,
    /// IPv4 only.
    V4,
    /// IPv6 only.
    V6,
}

/// Who knows the addresses of a name, for [`DnsSource`].
pub trait Resolver: Clone + Send + Sync + 'static {
    /// The addresses of these families, each with this port. All of them or none: half a list is a
    /// list. Dropping the future abandons it.
    fn addresses(
        &self,
        name: &str,
        port: u16,
        family: Family,
    ) -> impl Future<Output = Result<Vec<SocketAddr>, SourceError>> + Send;
}

impl<R: Runtime> DnsSource<SystemResolver<R>> {
    /// The addresses of this name, each with this port.
    pub fn new(name: impl Into<String>, port: u16) -> Self {
        Self {
            name: name.into(),
            port,
            family: Family::Both,
            resolver: SystemResolver(None),
        }
    }
}

impl<N: Resolver> DnsSource<N> {
    /// Only IPv4 addresses count. Default: those of both families, so that a server which has one of
    /// each is two nodes.
    #[must_use]
    pub fn ipv4_only(self) -> Self {
        Self {
            family: Family::V4,
            ..self
        }
    }

    /// Only IPv6 addresses count.
    #[must_use]
    pub fn ipv6_only(self) -> Self {
        Self {
            family: Family::V6,
            ..self
        }
    }

    /// Asks this resolver and not the system's.
    #[must_use]
    pub fn through<O: Resolver>(self, resolver: O) -> DnsSource<O> {
        DnsSource {
            name: self.name,
            port: self.port,
            family: self.family,
            resolver,
        }
    }
}

impl<N: Resolver> ServerSource for DnsSource<N> {
    fn retrieve(&self) -> Retrieval {
        let Self {
            name,
            port,
            family,
            resolver,
        } = self.clone();
        Box::pin(async move {
            let found = resolver.addresses(&name, port, family).await?.into_iter();
            // A resolver that blocks a name says 0.0.0.0, which on some systems is this machine.
            let addresses: BTreeSet<_> = found
                .filter(|address| !address.ip().is_unspecified())
                .collect();
            if addresses.is_empty() {
                return Err(SourceError::dns(&name, DnsFailure::NoRecords));
            }
            let nodes: Vec<NodeSpec> = addresses.into_iter().map(Into::into).collect();
            Ok(ServerList::new(nodes))
        })
    }
}

/// The resolver of a runtime, [`Runtime::resolve`].
///
/// [`DnsSource::new`] asks that of [`Runtime::current`]. Where a runtime cannot be told by its context,
/// name it: `DnsSource::<AsyncIo<Mine>>::new(…).through(SystemResolver::of(runtime))`.
#[derive(Clone)]
pub struct SystemResolver<R>(Option<R>);

impl<R: Runtime> SystemResolver<R> {
    /// The resolver of this runtime.
    #[must_use]
    pub const fn of(runtime: R) -> Self {
        Self(Some(runtime))
    }
}

impl<R: Runtime> Resolver for SystemResolver<R> {
    async fn addresses(
        &self,
        name: &str,
        port: u16,
        family: Family,
    ) -> Result<Vec<SocketAddr>, SourceError> {
        let runtime = self.0.clone().or_else(R::current).ok_or_else(|| {
            SourceError::Other(
                "the runtime, whose resolver is to be asked, is not known: see SystemResolver::of"
                    .to_string(),
            )
        })?;
        let found = runtime.resolve(name, port).await;
        let mut found = found.map_err(|error| SourceError::io(name, &error))?;
        found.retain(|address| match family {
            Family::Both => true,
            Family::V4 => address.is_ipv4(),
            Family::V6 => address.is_ipv6(),
        });
        Ok(found)
    }
}

impl<R> fmt::Debug for SystemResolver<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SystemResolver")
    }
}
