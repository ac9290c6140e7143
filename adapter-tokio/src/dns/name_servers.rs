//! Name servers, asked without the system's resolver.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use hickory_resolver::{
    NameServerPool, PoolContext, TlsConfig,
    config::{ConnectionConfig, NameServerConfig, ResolverOpts},
    net::{
        DnsError, NetError, NoRecords,
        runtime::TokioRuntimeProvider,
        xfer::{DnsHandle, FirstAnswer},
    },
    proto::{
        op::{DnsRequestOptions, Query, ResponseCode},
        rr::{Name, RData, Record, RecordType},
    },
    system_conf::read_system_conf,
};
use redial::driver::{DnsFailure, Family, Resolver, SourceError};
use tokio::{task::spawn_blocking, time::timeout};

/// The name servers that [`DnsSource`](crate::DnsSource) and [`SrvSource`](crate::SrvSource) ask, and
/// for how long. Feature `dns`.
///
/// They are asked one after the other, until one has an answer; that there is no such name is one, and
/// that a server failed is none. They must be recursive ones, as those that a system is given are.
/// Questions go by UDP, and by TCP where the answer is too long for that.
///
/// Names are complete: no search list is applied, and `/etc/hosts` is not read. Of two families of
/// addresses both must be answered; that one of them has none is an answer.
///
/// Nothing is kept from one look-up to the next, neither answers nor connections: the client asks
/// once a minute, and wants to know what is true then. What the name servers keep they keep, as the
/// time to live of their records allows.
///
/// ```
/// use std::time::Duration;
///
/// use redial_tokio::{DnsSource, NameServers};
///
/// let name_servers = NameServers::new(["10.0.0.53:53".parse()?]).timeout(Duration::from_secs(2));
/// let source = DnsSource::new("orders.example", 9092).through(name_servers);
/// # let _ = source;
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Clone, Debug)]
pub struct NameServers {
    /// None: the system's.
    servers: Option<Arc<[SocketAddr]>>,
    timeout: Duration,
}

impl NameServers {
    /// Those that the system is set up for, in `/etc/resolv.conf` or Windows' registry, which is read
    /// again for each look-up. Its options and search list are not used.
    #[must_use]
    pub const fn system() -> Self {
        Self {
            servers: None,
            timeout: Duration::from_secs(5),
        }
    }

    /// These, in this order.
    #[must_use]
    pub fn new(servers: impl IntoIterator<Item = SocketAddr>) -> Self {
        Self {
            servers: Some(servers.into_iter().collect()),
            ..Self::system()
        }
    }

    /// How long a look-up may take in all; each name server has an equal share of it. Default: 5 s, so
    /// that it ends before the client's own timeout
    /// ([`refresh_timeout`](redial::Config::refresh_timeout), 10 s), which cannot say why.
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// All records of these types: all of them or none, for half a list is a list.
    pub(super) async fn records(
        &self,
        name: &str,
        types: &[RecordType],
    ) -> Result<Vec<RData>, SourceError> {
        let mut absolute = Name::from_ascii(name)
            .map_err(|error| SourceError::dns(name, DnsFailure::Other(error.to_string())))?;
        absolute.set_fqdn(true);
        let servers = match &self.servers {
            Some(servers) => Arc::clone(servers),
            None => system_servers().await?,
        };
        let share = self.timeout / u32::try_from(servers.len().max(1)).unwrap_or(u32::MAX);
        let none = DnsFailure::Other("no name server is known".into());
        let mut failed = SourceError::dns(name, none);
        for &server in &*servers {
            let asked = timeout(share, ask(server, &absolute, types, share)).await;
            let error = match asked.unwrap_or(Err(NetError::Timeout)) {
                Ok(records) => return Ok(records),
                Err(error) => error,
            };
            failed = match &error {
                NetError::Io(error) => {
                    SourceError::io(format_args!("{name}, asked of {server}"), error)
                }
                error => SourceError::dns(name, failure(error)),
            };
            if error.is_no_records_found() {
                break;
            }
        }
        Err(failed)
    }
}

impl Resolver for NameServers {
    async fn addresses(
        &self,
        name: &str,
        port: u16,
        family: Family,
    ) -> Result<Vec<SocketAddr>, SourceError> {
        let types: &[_] = match family {
            Family::Both => &[RecordType::A, RecordType::AAAA],
            Family::V4 => &[RecordType::A],
            Family::V6 => &[RecordType::AAAA],
        };
        let records = self.records(name, types).await?;
        let ips = records.into_iter().filter_map(|data| data.ip_addr());
        Ok(ips.map(|ip| SocketAddr::new(ip, port)).collect())
    }
}

/// The system's.
impl Default for NameServers {
    fn default() -> Self {
        Self::system()
    }
}

async fn system_servers() -> Result<Arc<[SocketAddr]>, SourceError> {
    let read = spawn_blocking(read_system_conf);
    let (config, _) = read.await.map_err(SourceError::other)?.map_err(|error| {
        SourceError::other(format_args!(
            "the system's name servers are not known: {error}"
        ))
    })?;
    let servers = config.name_servers().iter();
    let address = |server: &NameServerConfig| {
        let port = server.connections.first().map_or(53, |c| c.port);
        SocketAddr::new(server.ip, port)
    };
    Ok(servers.map(address).collect())
}

/// What one name server answers. An error if it has no record of any of these types.
async fn ask(
    server: SocketAddr,
    name: &Name,
    types: &[RecordType],
    share: Duration,
) -> Result<Vec<RData>, NetError> {
    let pool = pool(server, share)?;
    let (mut records, mut nothing) = (Vec::new(), None);
    for &record_type in types {
        match ask_for(&pool, name, record_type).await {
            Ok(found) => records.extend(found),
            Err(error) if error.is_no_records_found() => nothing = Some(error),
            Err(error) => return Err(error),
        }
    }
    match nothing {
        Some(nothing) if records.is_empty() => Err(nothing),
        _ => Ok(records),
    }
}

/// The records of one type, of which there is at least one.
async fn ask_for(
    pool: &NameServerPool<TokioRuntimeProvider>,
    name: &Name,
    record_type: RecordType,
) -> Result<Vec<RData>, NetError> {
    let query = Query::query(name.clone(), record_type);
    let response = pool.lookup(query.clone(), DnsRequestOptions::default());
    let response = response.first_answer().await?;
    let code = response.response_code;
    // An alias that leads nowhere is an answer by itself, with the code of a name that does not exist.
    let records = records_of(name, record_type, response.into_message().answers);
    match code {
        ResponseCode::NoError if !records.is_empty() => Ok(records),
        ResponseCode::NoError | ResponseCode::NXDomain => Err(NoRecords::new(query, code).into()),
        code => Err(DnsError::ResponseCode(code).into()),
    }
}

/// The records of this type that are this name's, or those of the name that it is an alias of.
fn records_of(name: &Name, record_type: RecordType, answers: Vec<Record>) -> Vec<RData> {
    let mut owner = name;
    // Aliases may lead round and round.
    for _ in 0..answers.len() {
        let alias = answers.iter().find_map(|record| match &record.data {
            RData::CNAME(alias) if record.name == *owner => Some(&alias.0),
            _ => None,
        });
        owner = alias.unwrap_or(owner);
    }
    let owner = owner.clone();
    let is_it = |record: &Record| record.record_type() == record_type && record.name == owner;
    let records = answers.into_iter().filter(is_it);
    records.map(|record| record.data).collect()
}

/// Hickory's client of one name server.
fn pool(
    server: SocketAddr,
    share: Duration,
) -> Result<NameServerPool<TokioRuntimeProvider>, NetError> {
    let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()].map(|mut connection| {
        connection.port = server.port();
        connection
    });
    let config = NameServerConfig::new(server.ip(), true, connections.into());
    let mut options = ResolverOpts::default();
    options.timeout = share;
    let context = PoolContext::new(options, TlsConfig::new()?);
    let runtime = TokioRuntimeProvider::default();
    Ok(NameServerPool::from_config(
        [config],
        Arc::new(context),
        runtime,
    ))
}

fn failure(error: &NetError) -> DnsFailure {
    match error {
        NetError::Timeout => DnsFailure::TimedOut,
        error if error.is_nx_domain() => DnsFailure::NoSuchName,
        error if error.is_no_records_found() => DnsFailure::NoRecords,
        NetError::Dns(DnsError::ResponseCode(ResponseCode::ServFail)) => DnsFailure::ServerFailed,
        NetError::Dns(DnsError::ResponseCode(ResponseCode::Refused)) => DnsFailure::Refused,
        error => DnsFailure::Other(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use hickory_resolver::proto::rr::rdata::{A, CNAME};

    use super::*;

    fn name(text: &str) -> Name {
        Name::from_ascii(text).expect("a name")
    }

    /// What a name server adds of other names is not what it was asked for.
    #[test]
    fn only_records_of_the_name_and_of_its_aliases_count() {
        let address = |owner: &str, last| {
            let data = RData::A(A(Ipv4Addr::new(10, 0, 0, last)));
            Record::from_rdata(name(owner), 1, data)
        };
        let alias = |owner: &str, to: &str| {
            Record::from_rdata(name(owner), 1, RData::CNAME(CNAME(name(to))))
        };
        for (answers, expected) in [
            (vec![], &[][..]),
            (vec![address("a.", 1), address("A.", 2)], &[1, 2]),
            (vec![address("b.", 1), address("a.", 2)], &[2]),
            (vec![address("b.", 1), alias("a.", "B.")], &[1]),
            (
                vec![alias("b.", "c."), address("c.", 1), alias("a.", "b.")],
                &[1],
            ),
            (vec![alias("a.", "b."), address("c.", 1)], &[]),
            (vec![alias("a.", "a."), alias("b.", "a.")], &[]),
            (vec![alias("a.", "b."), alias("b.", "a.")], &[]),
        ] {
            let records = records_of(&name("a."), RecordType::A, answers);
            let last = |data: &RData| match data.ip_addr() {
                Some(IpAddr::V4(address)) => address.octets()[3],
                other => panic!("{other:?}"),
            };
            assert_eq!(records.iter().map(last).collect::<Vec<_>>(), expected);
        }
    }
}
