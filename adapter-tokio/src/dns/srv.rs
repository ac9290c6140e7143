//! Server lists from SRV records.

use std::collections::BTreeSet;

use hickory_resolver::proto::rr::{RData, RecordType, rdata::SRV};
use redial::{
    ConnectString, Endpoint, NodeSpec, Servers,
    driver::{DnsFailure, Retrieval, ServerList, ServerSource, SourceError},
};

use super::NameServers;

/// The servers that the SRV records of a name give, for
/// [`Builder::source`](redial::driver::Builder::source). Feature `dns`.
///
/// Each record is a node: its target and port. What is behind a target's name redial looks up by
/// itself, as of any node with a name; the records' own addresses are not used.
///
/// **Priority and weight** (RFC 2782): by default the list has only the records of the lowest priority
/// number, which are those to be used. [`all_priorities`](Self::all_priorities) has all of them; with
/// [`SrvSelection`](super::SrvSelection) those of other priorities are then a reserve, and weights count.
/// To that end nodes have the labels [`PRIORITY`](Self::PRIORITY) and [`WEIGHT`](Self::WEIGHT); no
/// other policy looks at them.
///
/// The name is complete: no search list is applied. The final dot of targets is dropped. A failed
/// look-up changes nothing, as does an answer without records, with a port 0, or with the one target
/// `.`, which says that the service is not available.
///
/// ```no_run
/// use redial::{Config, SelectionPolicy, client::length_prefixed::LengthPrefixed};
/// use redial_tokio::{Client, SrvSelection, SrvSource};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let policy = SelectionPolicy::custom(SrvSelection);
/// let client = Client::builder(LengthPrefixed::new())
///     .source(SrvSource::new("_orders._tcp.example.com").all_priorities())
///     .config(Config::builder().selection(policy).build()?)
///     .build()?;
/// # let _ = client;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct SrvSource {
    name: String,
    all_priorities: bool,
    name_servers: NameServers,
}

impl SrvSource {
    /// The label with a record's priority, a number up to 65535; the lowest is preferred.
    pub const PRIORITY: &str = "srv-priority";
    /// The label with a record's weight, a number up to 65535.
    pub const WEIGHT: &str = "srv-weight";

    /// The servers of this name, `_service._proto.domain`, by the system's name servers.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            all_priorities: false,
            name_servers: NameServers::system(),
        }
    }

    /// The servers of a connect string `dns-srv://name`, of all priorities, as ZooKeeper's own client
    /// takes them. `None` if it names the servers themselves.
    #[must_use]
    pub fn of(connect_string: &ConnectString) -> Option<Self> {
        match &connect_string.servers {
            Servers::Srv(name) => Some(Self::new(&**name).all_priorities()),
            Servers::Listed(_) => None,
        }
    }

    /// Asks these name servers. Default: the [system's](NameServers::system).
    #[must_use]
    pub fn through(mut self, name_servers: NameServers) -> Self {
        self.name_servers = name_servers;
        self
    }

    /// The list has the records of all priorities. Default: only those of the lowest number.
    #[must_use]
    pub const fn all_priorities(mut self) -> Self {
        self.all_priorities = true;
        self
    }
}

impl ServerSource for SrvSource {
    fn retrieve(&self) -> Retrieval {
        let source = self.clone();
        Box::pin(async move {
            let types = &[RecordType::SRV];
            let records = source.name_servers.records(&source.name, types).await?;
            let records = records.into_iter().filter_map(|data| match data {
                RData::SRV(record) => Some(record),
                _ => None,
            });
            let nodes = nodes(records.collect(), source.all_priorities);
            nodes
                .map(ServerList::new)
                .map_err(|failure| SourceError::dns(&source.name, failure))
        })
    }
}

/// The nodes of these records, each once; the most preferred first.
fn nodes(mut records: Vec<SRV>, all_priorities: bool) -> Result<Vec<NodeSpec>, DnsFailure> {
    if records.is_empty() {
        return Err(DnsFailure::NoRecords);
    }
    records.retain(|record| !record.target.is_root());
    // Name servers turn the order around from one answer to the next.
    records.sort_by_cached_key(|r| (r.priority, r.target.clone(), r.port, r.weight));
    let Some(first) = records.first().map(|record| record.priority) else {
        return Err(DnsFailure::NoService);
    };
    records.retain(|record| all_priorities || record.priority == first);
    let (mut nodes, mut known) = (Vec::new(), BTreeSet::new());
    for record in &records {
        let endpoint = endpoint(record)?;
        if known.insert(endpoint.clone()) {
            let node = NodeSpec::new(endpoint)
                .with_label(SrvSource::PRIORITY, record.priority.to_string())
                .with_label(SrvSource::WEIGHT, record.weight.to_string());
            nodes.push(node);
        }
    }
    Ok(nodes)
}

fn endpoint(record: &SRV) -> Result<Endpoint, DnsFailure> {
    let target = record.target.to_ascii();
    let server = format!("{}:{}", target.trim_end_matches('.'), record.port);
    let endpoint = server.parse();
    endpoint.map_err(|error| DnsFailure::Other(format!("{server}: {error}")))
}

#[cfg(test)]
mod tests {
    use hickory_resolver::proto::rr::Name;

    use super::*;

    fn list(records: &[(&str, u16, u16)], all_priorities: bool) -> Result<Vec<String>, DnsFailure> {
        let record = |&(target, port, priority): &(&str, u16, u16)| {
            let target = Name::from_ascii(target).expect("a name");
            SRV::new(priority, 0, port, target)
        };
        let nodes = nodes(records.iter().map(record).collect(), all_priorities)?;
        Ok(nodes.iter().map(|node| node.endpoint.to_string()).collect())
    }

    #[test]
    fn priorities_say_which_records_are_the_list() {
        let records = [
            ("b.", 1, 20),
            ("A.", 1, 10),
            ("a.", 2, 10),
            (".", 0, 0),
            ("a.", 1, 30),
        ];
        for (all_priorities, expected) in
            [(false, &["a:1", "a:2"][..]), (true, &["a:1", "a:2", "b:1"])]
        {
            let expected = expected.iter().map(ToString::to_string).collect();
            assert_eq!(list(&records, all_priorities), Ok(expected));
        }
    }

    #[test]
    fn records_without_servers_are_told_apart() {
        let other = |text: &str| DnsFailure::Other(text.into());
        for (records, expected) in [
            (&[][..], DnsFailure::NoRecords),
            (&[(".", 0, 0)], DnsFailure::NoService),
            (&[("a.", 0, 1)], other("a:0: invalid port")),
            (&[("a.", 1, 1), ("b.", 0, 1)], other("b:0: invalid port")),
            (&[("*.b.", 1, 1)], other("*.b:1: invalid host")),
        ] {
            assert_eq!(list(records, false), Err(expected), "{records:?}");
        }
    }

    #[test]
    fn a_connect_string_gives_the_name() {
        let source = |text: &str| SrvSource::of(&text.parse().expect("a connect string"));
        let srv = source("dns-srv://_zk._tcp.Example.com/app").expect("a name");
        assert_eq!(
            (&*srv.name, srv.all_priorities),
            ("_zk._tcp.example.com", true)
        );
        assert!(source("a:1").is_none());
    }
}
