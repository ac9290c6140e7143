//! Server lists from DNS.

#[cfg(feature = "dns")]
mod name_servers;
#[cfg(feature = "dns")]
mod srv;
#[cfg(feature = "dns")]
mod srv_selection;

use std::{collections::BTreeSet, net::SocketAddr};

use redial::{
    NodeSpec,
    driver::{DnsFailure, Retrieval, ServerList, ServerSource, SourceError},
};
use tokio::net::lookup_host;

#[cfg(feature = "dns")]
pub use {name_servers::NameServers, srv::SrvSource, srv_selection::SrvSelection};

/// The addresses of one name, each of them a node, for
/// [`Builder::source`](redial::driver::Builder::source): a headless service of Kubernetes, a name with
/// a record for each server.
///
/// This is another thing than a name in a server list (`.servers("orders:9092")`). That is *one* node
/// with one connection, however many addresses it has: they are ways to the same server, and redial
/// looks them up again by itself as attempts need them. Use that where any address will do, and this
/// where each address is a server of its own.
///
/// The name is looked up at the client's times
/// ([`refresh_interval`](redial::Config::refresh_interval), 60 s) and early where nodes fail. The order
/// of the addresses does not count. A look-up that fails, and one without addresses, changes nothing:
/// a name that is gone for a while, as Kubernetes has it while no pod is ready, leaves the list as it
/// is. [Events](redial::driver::ClientEvent::SourceFailed) say why.
///
/// By default the system's resolver is asked: it knows `/etc/hosts`, search lists and whatever else the
/// system is set up for. It does not say why a look-up failed, may leave out addresses of one family
/// if only those could not be found, and blocks one of tokio's threads for each look-up that hangs.
/// With the feature `dns`, `through` asks name servers without it, which has none of these flaws.
///
/// ```
/// use redial_tokio::DnsSource;
///
/// let source = DnsSource::new("orders.prod.svc.cluster.local", 9092);
/// # let _ = source;
/// ```
#[derive(Clone, Debug)]
pub struct DnsSource {
    name: String,
    port: u16,
    family: Family,
    #[cfg(feature = "dns")]
    name_servers: Option<NameServers>,
}

/// Which addresses count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Family {
    Both,
    V4,
    V6,
}

impl DnsSource {
    /// The addresses of this name, each with this port.
    pub fn new(name: impl Into<String>, port: u16) -> Self {
        Self {
            name: name.into(),
            port,
            family: Family::Both,
            #[cfg(feature = "dns")]
            name_servers: None,
        }
    }

    /// Only IPv4 addresses count. Default: those of both families, so that a server which has one of
    /// each is two nodes.
    #[must_use]
    pub const fn ipv4_only(mut self) -> Self {
        self.family = Family::V4;
        self
    }

    /// Only IPv6 addresses count.
    #[must_use]
    pub const fn ipv6_only(mut self) -> Self {
        self.family = Family::V6;
        self
    }

    /// Asks these name servers and not the system's resolver. The name is then complete: no search list
    /// is applied, and `/etc/hosts` is not read. Of two families both must be answered, or the list
    /// stays as it is; that one of them has no addresses is an answer. Feature `dns`.
    #[cfg(feature = "dns")]
    #[must_use]
    pub fn through(mut self, name_servers: NameServers) -> Self {
        self.name_servers = Some(name_servers);
        self
    }

    async fn addresses(&self) -> Result<Vec<SocketAddr>, SourceError> {
        #[cfg(feature = "dns")]
        if let Some(name_servers) = &self.name_servers {
            let ips = name_servers.addresses(&self.name, self.family).await?;
            return Ok(ips.map(|ip| SocketAddr::new(ip, self.port)).collect());
        }
        let found = lookup_host((&*self.name, self.port)).await;
        let found = found.map_err(|error| SourceError::io(&self.name, &error))?;
        let counts = |address: &SocketAddr| match self.family {
            Family::Both => true,
            Family::V4 => address.is_ipv4(),
            Family::V6 => address.is_ipv6(),
        };
        Ok(found.filter(counts).collect())
    }
}

impl ServerSource for DnsSource {
    fn retrieve(&self) -> Retrieval {
        let source = self.clone();
        Box::pin(async move {
            let found = source.addresses().await?.into_iter();
            // A resolver that blocks a name says 0.0.0.0, which on some systems is this machine.
            let addresses: BTreeSet<_> = found
                .filter(|address| !address.ip().is_unspecified())
                .collect();
            if addresses.is_empty() {
                return Err(SourceError::dns(&source.name, DnsFailure::NoRecords));
            }
            let nodes: Vec<NodeSpec> = addresses.into_iter().map(Into::into).collect();
            Ok(ServerList::new(nodes))
        })
    }
}
