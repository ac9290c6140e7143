//! Look-ups that fail: the list stays, an event says why, and the client does not hurry.

use std::{io, time::Instant};

use redial::driver::{DnsFailure, SourceError};
use redial_tests::{dnsmasq::Dnsmasq, servers::Server, waiting::until};
use redial_tokio::{DnsSource, NameServers};
use tokio::runtime::Handle;

use super::support::{BadNameServer, PERIOD, Rig, SHORT, TIMEOUT, ask, hosts, ipv4, servers};

const NAME: &str = "orders.test";

/// A client of two servers, which a name server has told it of.
async fn connected(dns: &Dnsmasq, servers: &[Server]) -> Rig {
    let [a, b] = servers else { unreachable!() };
    dns.set_hosts(&hosts(NAME, &[a, b]));
    let rig = Rig::new(ipv4(dns, NAME, servers));
    rig.until_connected(&[a, b]).await;
    rig
}

/// Look-ups go on failing, and nothing else happens.
async fn assert_nothing_changes(rig: &mut Rig, servers: &[Server]) {
    let before = rig.nodes();
    rig.skip_events();
    rig.refreshes(3).await;
    rig.assert_echoes().await;
    assert_eq!(rig.list_changes(), 0);
    assert_eq!(rig.nodes(), before);
    for server in servers {
        assert_eq!((server.accepted(), server.open()), (1, 1));
    }
}

/// As a headless service of Kubernetes while no pod is ready.
#[tokio::test]
async fn a_name_that_is_gone_changes_nothing_until_it_is_back() {
    let Some(dns) = Dnsmasq::start(&[]) else {
        return;
    };
    let servers = servers(2);
    let mut rig = connected(&dns, &servers).await;
    dns.set_hosts("");
    rig.until_fails(DnsFailure::NoSuchName).await;
    assert_nothing_changes(&mut rig, &servers).await;
    dns.set_hosts(&hosts(NAME, &[&servers[1]]));
    rig.until_connected(&[&servers[1]]).await;
}

#[tokio::test]
async fn a_name_without_addresses_changes_nothing() {
    let Some(dns) = Dnsmasq::start(&[]) else {
        return;
    };
    let servers = servers(2);
    let mut rig = connected(&dns, &servers).await;
    dns.set_hosts(&format!("::1 {NAME}\n"));
    rig.until_fails(DnsFailure::NoRecords).await;
    assert_nothing_changes(&mut rig, &servers).await;
}

/// So a resolver answers that blocks the name.
#[tokio::test]
async fn the_address_of_nobody_changes_nothing() {
    let Some(dns) = Dnsmasq::start(&[]) else {
        return;
    };
    let servers = servers(2);
    let mut rig = connected(&dns, &servers).await;
    dns.set_hosts(&format!("0.0.0.0 {NAME}\n"));
    rig.until_fails(DnsFailure::NoRecords).await;
    assert_nothing_changes(&mut rig, &servers).await;
}

/// dnsmasq passes on what those answer that it asks itself.
#[tokio::test]
async fn a_name_server_that_fails_or_refuses_changes_nothing() {
    let Some(mut dns) = Dnsmasq::start(&[]) else {
        return;
    };
    let servers = servers(2);
    let mut rig = connected(&dns, &servers).await;
    dns.set_hosts("");
    for (code, failure) in [(2, DnsFailure::ServerFailed), (5, DnsFailure::Refused)] {
        let behind = BadNameServer::failing(code);
        let port = behind.address.port();
        dns.restart(&[&format!("--server=/{NAME}/127.0.0.1#{port}")]);
        rig.until_fails(failure).await;
        assert_nothing_changes(&mut rig, &servers).await;
        assert!(behind.questions() > 0);
    }
}

/// Half a list is a list: it would take away the other half.
#[tokio::test]
async fn where_one_family_fails_the_other_alone_is_no_list() {
    let behind = BadNameServer::failing(2);
    let server = format!("--server=/half.test/127.0.0.1#{}", behind.address.port());
    let Some(dns) = Dnsmasq::start(&[&server]) else {
        return;
    };
    dns.set_hosts("127.0.0.2 half.test\n");
    let both = DnsSource::new("half.test", 9).through(ask(&dns));
    let one = both.clone().ipv4_only();
    let mut rig = Rig::new(both);
    rig.until_fails(DnsFailure::ServerFailed).await;
    assert!(rig.nodes().is_empty());
    let rig = Rig::new(one);
    until(|| rig.nodes().into_iter().eq(["127.0.0.2:9"])).await;
}

#[tokio::test]
async fn a_name_server_that_is_down_changes_nothing_until_it_is_up() {
    let Some(mut dns) = Dnsmasq::start(&[]) else {
        return;
    };
    let servers = servers(2);
    let [a, b] = &servers[..] else { unreachable!() };
    dns.set_hosts(&hosts(NAME, &[a, b]));
    let name_servers = NameServers::new([dns.address()]).timeout(SHORT);
    let source = DnsSource::new(NAME, a.address().port()).ipv4_only();
    let mut rig = Rig::new(source.through(name_servers));
    rig.until_connected(&[a, b]).await;
    dns.kill();
    rig.skip_events();
    // The system may tell that nobody listens, or nobody answers.
    let told = rig.error().await;
    let refused = matches!(&told, SourceError::Io { kind, .. }
        if *kind == io::ErrorKind::ConnectionRefused);
    assert!(
        refused || told == SourceError::dns(NAME, DnsFailure::TimedOut),
        "{told}"
    );
    assert_nothing_changes(&mut rig, &servers).await;
    dns.restart(&[]);
    dns.set_hosts(&hosts(NAME, &[a]));
    rig.until_connected(&[a]).await;
}

#[tokio::test]
async fn a_name_server_that_hangs_changes_nothing_until_it_goes_on() {
    let Some(dns) = Dnsmasq::start(&[]) else {
        return;
    };
    let servers = servers(2);
    let [a, b] = &servers[..] else { unreachable!() };
    dns.set_hosts(&hosts(NAME, &[a, b]));
    let name_servers = NameServers::new([dns.address()]).timeout(SHORT);
    let source = DnsSource::new(NAME, a.address().port()).ipv4_only();
    let mut rig = Rig::new(source.through(name_servers));
    rig.until_connected(&[a, b]).await;
    dns.freeze();
    rig.until_fails(DnsFailure::TimedOut).await;
    assert_nothing_changes(&mut rig, &servers).await;
    dns.thaw();
    dns.set_hosts(&hosts(NAME, &[b]));
    rig.until_connected(&[b]).await;
}

/// One question a look-up, and no more look-ups than the configuration allows, also where the client
/// has no server at all and would like one.
#[tokio::test]
async fn a_name_that_never_was_is_asked_for_at_the_allowed_pace() {
    let Some(dns) = Dnsmasq::start(&[]) else {
        return;
    };
    let start = Instant::now();
    let mut rig = Rig::new(DnsSource::new(NAME, 9).ipv4_only().through(ask(&dns)));
    rig.until_fails(DnsFailure::NoSuchName).await;
    rig.refreshes(4).await;
    let (asked, refreshes) = (dns.queries("A", NAME), rig.client.stats().refreshes);
    let allowed = start.elapsed().as_millis() / PERIOD.as_millis() + 2;
    assert!(
        asked as u64 <= refreshes + 1,
        "{asked} in {refreshes} look-ups"
    );
    assert!(asked as u128 <= allowed, "{asked}, not {allowed}");
    assert_eq!(dns.queries("AAAA", NAME), 0);
}

/// A question by UDP may be lost, so it is put again, but not often.
#[tokio::test]
async fn a_name_server_that_never_answers_is_not_pestered() {
    let silent = BadNameServer::silent();
    let name_servers = NameServers::new([silent.address]).timeout(SHORT * 10);
    let mut rig = Rig::new(DnsSource::new(NAME, 9).through(name_servers));
    rig.until_fails(DnsFailure::TimedOut).await;
    let (asked, refreshes) = (silent.questions(), rig.client.stats().refreshes);
    assert!(
        (1..=4 * refreshes as usize).contains(&asked),
        "{asked} in {refreshes} look-ups"
    );
}

/// Half a list is a list: it would take away the other half.
#[tokio::test]
async fn an_answer_whose_rest_does_not_come_by_tcp_is_no_list() {
    let truncating = BadNameServer::truncating();
    let name_servers = NameServers::new([truncating.address]).timeout(TIMEOUT);
    let source = DnsSource::new(NAME, 9).ipv4_only().through(name_servers);
    let mut rig = Rig::new(source);
    for _ in 0..3 {
        rig.error().await;
    }
    assert!(rig.nodes().is_empty());
    assert!(truncating.questions() >= 3);
}

/// Neither a look-up that was answered nor one that was not leaves a task behind, with its socket.
#[tokio::test]
async fn look_ups_leave_nothing_behind() {
    let Some(dns) = Dnsmasq::start(&[]) else {
        return;
    };
    let servers = [BadNameServer::silent().address, dns.address()];
    let name_servers = NameServers::new(servers).timeout(SHORT);
    let mut rig = Rig::new(DnsSource::new(NAME, 9).through(name_servers));
    let tasks = || Handle::current().metrics().num_alive_tasks();
    rig.until_fails(DnsFailure::NoSuchName).await;
    let before = tasks();
    for _ in 0..5 {
        rig.until_fails(DnsFailure::NoSuchName).await;
    }
    assert!(tasks() <= before, "{} tasks, not {before}", tasks());
}
