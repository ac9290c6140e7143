//! SRV records: priorities, weights, and names that say that there is nothing.

use redial::{
    ConnectString, NodeState, SelectionPolicy, Warm, client::length_prefixed::LengthPrefixed,
    driver::DnsFailure,
};
use redial_tests::{
    dnsmasq::Dnsmasq,
    servers::{Server, ways},
    waiting::{soon, until},
};
use redial_tokio::{Client, SrvSelection, SrvSource};

use super::support::{Rig, ask, config};

const NAME: &str = "_orders._tcp.test";

/// A record for a server, with priority and weight. Its target is a name that the system's resolver
/// knows.
fn record(server: &Server, priority: u16, weight: u16) -> String {
    let port = server.address().port();
    format!("--srv-host={NAME},localhost,{port},{priority},{weight}")
}

fn start(records: &[String]) -> Option<Dnsmasq> {
    Dnsmasq::start(&records.iter().map(String::as_str).collect::<Vec<_>>())
}

fn source(dns: &Dnsmasq) -> SrvSource {
    SrvSource::new(NAME).through(ask(dns))
}

fn names(servers: &[&Server]) -> Vec<String> {
    let name = |server: &&Server| format!("localhost:{}", server.address().port());
    let mut names: Vec<_> = servers.iter().map(name).collect();
    names.sort();
    names
}

async fn until_listed(rig: &Rig, servers: &[&Server]) {
    let expected = names(servers);
    until(|| rig.nodes().into_iter().eq(expected.iter().cloned())).await;
}

#[tokio::test]
async fn the_servers_of_the_lowest_priority_are_the_list() {
    let [a, b, c] = [(); 3].map(|()| Server::start(ways::echo));
    let Some(mut dns) = start(&[record(&a, 10, 1), record(&b, 20, 9), record(&c, 10, 0)]) else {
        return;
    };
    let rig = Rig::new(source(&dns));
    until_listed(&rig, &[&a, &c]).await;
    rig.assert_echoes().await;
    until(|| a.open() == 1 && c.open() == 1).await;
    dns.restart(&[&record(&a, 10, 1), &record(&b, 5, 9)]);
    until_listed(&rig, &[&b]).await;
    rig.assert_echoes().await;
}

/// A client of all priorities, with a connection to each of these servers.
async fn by_rank(dns: &Dnsmasq, servers: &[&Server]) -> Rig {
    let policy = SelectionPolicy::custom(SrvSelection);
    let config = config().selection(policy).build().expect("it makes sense");
    let builder = Client::builder(LengthPrefixed::new())
        .config(config)
        .seed(1);
    let builder = builder.source(source(dns).all_priorities());
    let rig = Rig::of(builder.build().expect("it makes sense"));
    until_ready(&rig, servers.len()).await;
    rig
}

async fn until_ready(rig: &Rig, count: usize) {
    until(|| {
        let nodes = rig.client.nodes();
        let ready = nodes.iter().filter(|node| node.state == NodeState::Ready);
        ready.count() == count
    })
    .await;
}

#[tokio::test]
async fn servers_in_reserve_are_used_while_those_of_the_first_priority_are_down() {
    let [a, b] = [(); 2].map(|()| Server::start(ways::echo));
    let Some(dns) = start(&[record(&a, 1, 1), record(&b, 2, 1)]) else {
        return;
    };
    let rig = by_rank(&dns, &[&a, &b]).await;
    for _ in 0..10 {
        rig.assert_echoes().await;
    }
    assert_eq!((a.received().len(), b.received().len()), (10, 0));
    let address = a.address();
    drop(a);
    for _ in 0..10 {
        rig.assert_echoes().await;
    }
    let used = b.received().len();
    assert_eq!(used, 10);
    let a = Server::start_at(address, ways::echo);
    until_ready(&rig, 2).await;
    rig.assert_echoes().await;
    assert_eq!((a.received().len(), b.received().len()), (1, used));
}

#[tokio::test]
async fn a_connect_string_takes_all_priorities() {
    let [a, b] = [(); 2].map(|()| Server::start(ways::echo));
    let Some(dns) = start(&[record(&a, 1, 1), record(&b, 2, 1)]) else {
        return;
    };
    let text = format!("dns-srv://{NAME}/app");
    let connect_string: ConnectString = text.parse().expect("it is well-formed");
    let source = SrvSource::of(&connect_string).expect("a name");
    let rig = Rig::new(source.through(ask(&dns)));
    until_listed(&rig, &[&a, &b]).await;
}

#[tokio::test]
async fn requests_are_divided_by_weight() {
    let [a, b] = [(); 2].map(|()| Server::start(ways::echo));
    let Some(dns) = start(&[record(&a, 1, 10), record(&b, 1, 30)]) else {
        return;
    };
    let rig = by_rank(&dns, &[&a, &b]).await;
    for _ in 0..400 {
        soon(rig.client.request("x".into()))
            .await
            .expect("an answer");
    }
    let (few, many) = (a.received().len(), b.received().len());
    assert_eq!(few + many, 400);
    assert!((70..=130).contains(&few), "{few} of 400, not about 100");
}

#[tokio::test]
async fn a_service_that_is_not_available_changes_nothing_and_is_told() {
    let a = Server::start(ways::echo);
    let Some(mut dns) = start(&[record(&a, 1, 1)]) else {
        return;
    };
    let mut rig = Rig::new(source(&dns));
    until_listed(&rig, &[&a]).await;
    let zero = format!("--srv-host={NAME},localhost,0,1,1");
    let invalid = DnsFailure::Other("localhost:0: invalid port".into());
    let alone = format!("--srv-host={NAME}");
    let other = "--srv-host=_other._tcp.test";
    let text = format!("--txt-record={NAME},x");
    for (arguments, failure) in [
        (&[&*alone][..], DnsFailure::NoService),
        (&[&*zero], invalid),
        (&[&*text], DnsFailure::NoRecords),
        (&[other], DnsFailure::NoSuchName),
    ] {
        dns.restart(arguments);
        rig.until_fails(failure).await;
        assert_eq!(rig.nodes().into_iter().collect::<Vec<_>>(), names(&[&a]));
        rig.assert_echoes().await;
    }
    assert_eq!(a.accepted(), 1);
}

/// Sixty records do not fit into a datagram of the usual size.
#[tokio::test]
async fn records_too_many_for_udp_come_by_tcp() {
    let record = |n| format!("--srv-host={NAME},server-{n}.of.the.orders.service.test,9,1,1");
    let records: Vec<_> = (0..60).map(record).collect();
    let Some(dns) = start(&records) else { return };
    // Without connections, as the system's resolver need not know the targets.
    let config = config().warm(Warm::None).build().expect("it makes sense");
    let builder = Client::builder(LengthPrefixed::new()).config(config);
    let rig = Rig::of(
        builder
            .source(source(&dns))
            .build()
            .expect("it makes sense"),
    );
    until(|| rig.nodes().len() == 60).await;
    assert!(
        rig.nodes()
            .iter()
            .all(|node| node.ends_with(".service.test:9"))
    );
    rig.refreshes(2).await;
    let (asked, refreshes) = (dns.queries("SRV", NAME), rig.client.stats().refreshes);
    // By UDP, then by TCP; the last look-up may be under way.
    assert!(
        asked as u64 >= 2 * (refreshes - 1),
        "{asked} in {refreshes} look-ups"
    );
}
