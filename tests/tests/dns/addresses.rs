//! Addresses that come, go and change their order.

use redial_tests::{dnsmasq::Dnsmasq, waiting::until};
use redial_tokio::{DnsSource, NameServers};

use super::support::{BadNameServer, Rig, SHORT, ask, hosts, ipv4, servers};

const NAME: &str = "orders.test";

#[tokio::test]
async fn addresses_that_come_and_go_are_followed() {
    let Some(dns) = Dnsmasq::start(&[]) else {
        return;
    };
    let servers = servers(3);
    let [a, b, c] = &servers[..] else {
        unreachable!()
    };
    dns.set_hosts(&hosts(NAME, &[a, b]));
    let rig = Rig::new(ipv4(&dns, NAME, &servers));
    rig.until_connected(&[a, b]).await;
    rig.assert_echoes().await;
    // Also well within the hour for which the answers may be kept.
    for list in [&[a, b, c][..], &[b, c], &[b], &[a, c]] {
        dns.set_hosts(&hosts(NAME, list));
        rig.until_connected(list).await;
        rig.assert_echoes().await;
    }
    until(|| b.open() == 0).await;
}

/// The name server rotates what it has, and the file itself is turned around.
#[tokio::test]
async fn another_order_of_the_same_addresses_changes_nothing() {
    let Some(dns) = Dnsmasq::start(&[]) else {
        return;
    };
    let servers = servers(3);
    let [a, b, c] = &servers[..] else {
        unreachable!()
    };
    dns.set_hosts(&hosts(NAME, &[a, b, c]));
    let mut rig = Rig::new(ipv4(&dns, NAME, &servers));
    rig.until_connected(&[a, b, c]).await;
    rig.skip_events();
    for list in [[c, b, a], [b, a, c], [a, c, b]] {
        dns.set_hosts(&hosts(NAME, &list));
        rig.refreshes(4).await;
    }
    assert_eq!(rig.list_changes(), 0);
    for server in &servers {
        assert_eq!((server.accepted(), server.open()), (1, 1));
    }
}

#[tokio::test]
async fn answers_that_change_back_and_forth_close_no_connection_of_a_kept_node() {
    let Some(dns) = Dnsmasq::start(&[]) else {
        return;
    };
    let servers = servers(3);
    let [a, b, c] = &servers[..] else {
        unreachable!()
    };
    dns.set_hosts(&hosts(NAME, &[a, b]));
    let rig = Rig::new(ipv4(&dns, NAME, &servers));
    rig.until_connected(&[a, b]).await;
    for _ in 0..5 {
        for list in [[c, a], [a, b]] {
            dns.set_hosts(&hosts(NAME, &list));
            rig.until_connected(&list).await;
        }
    }
    assert_eq!((a.accepted(), a.open()), (1, 1), "it was always there");
    until(|| c.open() == 0).await;
}

/// Sixty addresses do not fit into a datagram of 512 bytes.
#[tokio::test]
async fn an_answer_too_long_for_udp_comes_by_tcp() {
    let Some(dns) = Dnsmasq::start(&["--edns-packet-max=512"]) else {
        return;
    };
    let addresses: Vec<_> = (1..=60).map(|n| format!("127.0.1.{n}")).collect();
    let lines = addresses
        .iter()
        .map(|address| format!("{address} {NAME}\n"));
    dns.set_hosts(&lines.collect::<String>());
    let rig = Rig::new(DnsSource::new(NAME, 9).ipv4_only().through(ask(&dns)));
    let expected = addresses
        .iter()
        .map(|address| format!("{address}:9"))
        .collect();
    until(|| rig.nodes() == expected).await;
    rig.refreshes(2).await;
    let (asked, refreshes) = (dns.queries("A", NAME), rig.client.stats().refreshes);
    // By UDP, then by TCP; the last look-up may be under way.
    assert!(
        asked as u64 >= 2 * (refreshes - 1),
        "{asked} in {refreshes} look-ups"
    );
}

#[tokio::test]
async fn both_families_are_nodes_unless_one_is_not_wanted() {
    let Some(dns) = Dnsmasq::start(&[]) else {
        return;
    };
    dns.set_hosts(&format!("127.0.0.2 {NAME}\n::1 {NAME}\n"));
    let source = DnsSource::new(NAME, 9).through(ask(&dns));
    let rig = Rig::new(source.clone());
    until(|| rig.nodes().into_iter().eq(["127.0.0.2:9", "[::1]:9"])).await;
    drop(rig);
    let asked = dns.queries("A", NAME);
    let rig = Rig::new(source.clone().ipv6_only());
    until(|| rig.nodes().into_iter().eq(["[::1]:9"])).await;
    rig.refreshes(2).await;
    assert!(
        dns.queries("A", NAME) <= asked + 1,
        "one may have been under way"
    );
}

/// Without the name server: the system's resolver knows this name from its own files.
#[tokio::test]
async fn the_systems_resolver_is_asked_by_default() {
    let rig = Rig::new(DnsSource::new("localhost", 9).ipv4_only());
    until(|| rig.nodes().into_iter().eq(["127.0.0.1:9"])).await;
}

#[tokio::test]
async fn where_one_name_server_fails_the_next_is_asked() {
    let Some(dns) = Dnsmasq::start(&[]) else {
        return;
    };
    let servers = servers(1);
    dns.set_hosts(&hosts(NAME, &[&servers[0]]));
    let (failing, silent) = (BadNameServer::failing(2), BadNameServer::silent());
    let port = servers[0].address().port();
    let all = [failing.address, silent.address, dns.address()];
    let name_servers = NameServers::new(all).timeout(SHORT * 15);
    let rig = Rig::new(DnsSource::new(NAME, port).through(name_servers));
    rig.until_connected(&[&servers[0]]).await;
    assert!(failing.questions() > 0 && silent.questions() > 0);
}

#[tokio::test]
async fn the_addresses_of_an_alias_are_those_of_the_name_behind_it() {
    let Some(dns) = Dnsmasq::start(&["--cname=alias.test,orders.test"]) else {
        return;
    };
    dns.set_hosts("127.0.0.2 orders.test\n127.0.0.3 orders.test\n");
    let rig = Rig::new(DnsSource::new("alias.test", 9).through(ask(&dns)));
    let expected = ["127.0.0.2:9", "127.0.0.3:9"];
    until(|| rig.nodes().into_iter().eq(expected)).await;
}
