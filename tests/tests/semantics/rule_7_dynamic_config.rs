//! SEMANTICS 7.1: ZooKeeper's dynamic configuration.

use redial::{DynamicConfig, Expected, NodeSpec};

/// The servers as `number=client address`.
fn servers(text: &str) -> String {
    let config = DynamicConfig::parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
    let servers = config.servers.iter();
    let servers: Vec<String> = servers
        .map(|server| format!("{}={}", server.number, server.client_address))
        .collect();
    servers.join(" ")
}

fn expected(text: &str) -> Option<Expected> {
    DynamicConfig::parse(text).err().map(|error| error.expected)
}

/// Each is refused as server 1's value, beside a server that can be read.
fn refuses_servers(values: &[&str], what: Expected) {
    for value in values {
        let text = format!("server.9=h:1:2;3\nserver.1={value}\n");
        assert_eq!(expected(&text), Some(what), "{value:?}");
    }
}

/// Each gives server 1 this client address.
fn accepts_servers(values: &[&str], address: &str) {
    for value in values {
        let text = format!("server.1={value}\n");
        assert_eq!(servers(&text), format!("1={address}"), "{value:?}");
    }
}

#[test]
fn client_addresses_come_in_the_order_of_the_text() {
    let text = "server.3=c:1:2;3\nserver.1=a:1:2;x:4\nversion=5\nserver.2=b:1:2:observer;[::1]:6";
    assert_eq!(servers(text), "3=c:3 1=x:4 2=[::1]:6");
}

#[test]
fn a_bare_client_port_is_at_the_servers_own_host() {
    accepts_servers(&["h:1:2;3", "H:1:2:participant;3"], "h:3");
    accepts_servers(&["[2001:db8::1]:1:2;3"], "[2001:db8::1]:3");
    accepts_servers(&["1.2.3.4:1:2;3"], "1.2.3.4:3");
}

/// Z15.
#[test]
fn an_unspecified_client_host_is_the_servers_own() {
    let unspecified = ["h:1:2;0.0.0.0:3", "h:1:2;[::]:3", "h:1:2;[0:0::0]:3"];
    accepts_servers(&unspecified, "h:3");
    accepts_servers(&["0.0.0.0:1:2;[::]:3"], "0.0.0.0:3");
}

#[test]
fn the_own_host_is_the_first_of_several_addresses() {
    accepts_servers(&["a:1:2|b:3:4;5", "a:1:2|b:1:2|c:1:2;0.0.0.0:5"], "a:5");
    accepts_servers(&["b:3:4|a:1:2;5"], "b:5");
    accepts_servers(&["a:1:2|b:3:4;c:5"], "c:5");
}

#[test]
fn a_server_without_client_part_is_left_out() {
    let text = "server.1=a:1:2\nserver.2=b:1:2;3\nserver.3=c:1:2:observer\nserver.4=d:1:2;\n";
    assert_eq!(servers(text), "2=b:3");
}

#[test]
fn no_client_address_at_all_is_an_error() {
    for text in [
        "",
        "# nothing\n",
        "version=7\n",
        "server.1=h:1:2\n",
        "server.1=h:1:2;\nversion=7",
        "group.1=1\nweight.1=1\n",
    ] {
        assert_eq!(expected(text), Some(Expected::Server), "{text:?}");
    }
}

#[test]
fn observers_alone_and_with_one_participant_are_accepted() {
    let (one, two) = ("server.1=a:1:2:observer;3\n", "server.2=b:1:2;3\n");
    assert_eq!(servers(one), "1=a:3");
    assert_eq!(servers(&[one, two].concat()), "1=a:3 2=b:3");
}

#[test]
fn servers_with_equal_client_addresses_are_one_the_first() {
    let text = "server.2=A:1:2;3\nserver.1=b:1:2;a:3\nserver.3=a:4:5;03\nserver.4=a:1:2;4\n";
    assert_eq!(servers(text), "2=a:3 4=a:4");
}

#[test]
fn the_last_of_equal_keys_counts_and_stands_where_it_stands() {
    let text = "server.1=nonsense\nserver.2=b:1:2;3\nserver.1=a:1:2;3\nversion=x\nversion=2\n";
    assert_eq!(servers(text), "2=b:3 1=a:3");
    assert_eq!(DynamicConfig::parse(text).unwrap().version, Some(2));
    let without_client = "server.1=a:1:2;3\nserver.2=b:1:2;3\nserver.1=a:1:2\n";
    assert_eq!(servers(without_client), "2=b:3");
}

#[test]
fn two_spellings_of_one_number_are_one_server() {
    let text = "server.1=a:1:2;3\nserver.2=b:1:2;3\nserver.+01=c:1:2;3\n";
    assert_eq!(servers(text), "2=b:3 1=c:3");
    assert_eq!(
        servers("server.1=a:1:2;3\nserver.2=b:1:2;3\nserver.01=c:1:2"),
        "2=b:3"
    );
}

#[test]
fn a_number_is_a_decimal_of_64_bits() {
    for (number, read) in [
        ("0", "0"),
        ("-5", "-5"),
        ("+003", "3"),
        ("9223372036854775807", "9223372036854775807"),
        ("-9223372036854775808", "-9223372036854775808"),
    ] {
        let text = format!("server.{number}=h:1:2;3");
        assert_eq!(servers(&text), format!("{read}=h:3"));
    }
    for number in ["", "x", "1x", "0x1", "1.5", "9223372036854775808", "-", "١"] {
        let text = format!("server.{number}=h:1:2;3");
        assert_eq!(expected(&text), Some(Expected::Number), "{number:?}");
    }
}

#[test]
fn a_version_is_a_hexadecimal_of_64_bits() {
    let version = |text: &str| {
        let config = DynamicConfig::parse(&format!("server.1=h:1:2;3\n{text}"));
        config.map(|config| config.version)
    };
    for (text, read) in [
        ("", None),
        ("version=0", Some(0)),
        ("version=100000000", Some(1 << 32)),
        ("version=aBcDeF", Some(0xab_cdef)),
        ("version=7fffffffffffffff", Some(i64::MAX)),
        ("version=00000000000000001", Some(1)),
        ("version=-5", Some(-5)),
    ] {
        assert_eq!(version(text), Ok(read), "{text:?}");
    }
    for text in [
        "version=",
        "version",
        "version=0x1",
        "version=g",
        "version=1 2",
        "version=8000000000000000",
        "version=ffffffffffffffff",
        "version=10000000000000000",
        "version=１",
    ] {
        let error = version(text).unwrap_err();
        assert_eq!(error.expected, Expected::Version, "{text:?}");
    }
}

#[test]
fn an_unknown_key_is_an_error() {
    for key in [
        "clientPort",
        "Version",
        "server",
        "server1",
        "Server.1",
        "group",
        "weight1",
        "versions",
        "\u{feff}version",
        "",
    ] {
        let text = format!("server.1=h:1:2;3\n{key}=1\n");
        assert_eq!(expected(&text), Some(Expected::Key), "{key:?}");
    }
}

#[test]
fn groups_and_weights_are_read_but_not_checked_against_the_servers() {
    let rest = "group.1=1:7:-3\ngroup.2=1\nweight.9=2\nweight.1=0\n";
    assert_eq!(servers(&format!("server.1=h:1:2;3\n{rest}")), "1=h:3");
    for bad in [
        "group.=1",
        "group.x=1",
        "group.1=",
        "group.1=1:x",
        "weight.1=x",
        "weight.1=",
        "weight.=1",
    ] {
        let text = format!("server.1=h:1:2;3\n{bad}\n");
        assert_eq!(expected(&text), Some(Expected::Number), "{bad:?}");
    }
}

#[test]
fn a_third_field_is_an_error() {
    let bad = [
        "h:1:2;3;4",
        "h:1:2;;3",
        "h:1:2;h:3;h:4",
        "h:1:2;3;",
        "h:1:2;;",
    ];
    refuses_servers(&bad, Expected::ServerEnd);
}

#[test]
fn blanks_at_the_end_of_a_value_are_dropped() {
    let text =
        "server.1=h:1:2;3 \t\nserver.2=i:1:2;j:3 \r\nversion=7 \x0c\ngroup.1=1 \nweight.1=2 ";
    assert_eq!(servers(text), "1=h:3 2=j:3");
    assert_eq!(DynamicConfig::parse(text).unwrap().version, Some(7));
}

#[test]
fn other_blanks_are_refused_but_around_a_role() {
    accepts_servers(
        &[
            "  h:1:2;3",
            "h:1:2: observer ;3",
            "h:1:2: ;3",
            "h:1:2:\t|i:1:2;3",
        ],
        "h:3",
    );
    refuses_servers(
        &["h: 1:2;3", "h:1: 2;3", "h:1:2 ;3", "h:1:2; 3", "h:1:2;i: 3"],
        Expected::Port,
    );
    refuses_servers(
        &["h :1:2;3", "h:1:2; i:3", "h:1:2| i:1:2;3"],
        Expected::Host,
    );
}

#[test]
fn a_role_is_participant_or_observer_in_any_case() {
    let good = ["h:1:2:PARTICIPANT;3", "h:1:2:Observer;3", "h:1:2:;3"];
    accepts_servers(&good, "h:3");
    let bad = [
        "h:1:2:leader;3",
        "h:1:2:participants;3",
        "h:1:2::;3",
        "h:1:2:observer:;3",
    ];
    refuses_servers(&bad, Expected::Role);
}

#[test]
fn the_roles_of_several_addresses_agree_where_they_are_said() {
    let good = [
        "h:1:2:observer|i:1:2;3",
        "h:1:2|i:1:2:observer;3",
        "h:1:2:|i:1:2:observer|j:1:2;3",
        "h:1:2:participant|i:1:2:PARTICIPANT;3",
    ];
    accepts_servers(&good, "h:3");
    let bad = [
        "h:1:2:observer|i:1:2:participant;3",
        "h:1:2:participant|i:1:2|j:1:2:observer;3",
    ];
    refuses_servers(&bad, Expected::SameRole);
}

#[test]
fn a_bar_may_end_the_addresses_but_not_begin_or_double() {
    accepts_servers(&["h:1:2|;3", "h:1:2|i:3:4|;3"], "h:3");
    let bad = ["|h:1:2;3", "h:1:2||i:3:4;3", "h:1:2||;3", "|;3"];
    refuses_servers(&bad, Expected::Host);
}

#[test]
fn an_address_is_a_host_and_two_ports_that_differ() {
    let shape = ["h;3", "h:1;3", "[::1];3", "[::1]:1;3", "h:1:2|i;3"];
    refuses_servers(&shape, Expected::ServerAddress);
    refuses_servers(
        &["h:1:1;3", "h:1:01;3", "h:1:2|i:3:3;3"],
        Expected::OtherPort,
    );
    let ports = [
        "h:0:2;3",
        "h:1:0;3",
        "h:1:70000;3",
        "h::2;3",
        "h:1:;3",
        "h:x:2;3",
        "h:-1:2;3",
        "h:+1:2;3",
        "h:000001:2;3",
    ];
    refuses_servers(&ports, Expected::Port);
}

#[test]
fn hosts_are_those_of_connect_strings() {
    refuses_servers(
        &[
            "",
            ";3",
            ":1:2;3",
            "h!:1:2;3",
            "::1:2:3;4",
            "h:1:2;:3",
            "h:1:2;é:3",
        ],
        Expected::Host,
    );
    let brackets = [
        "[]:1:2;3",
        "[h]:1:2;3",
        "[::1;3",
        "[::1%1]:1:2;3",
        "h:1:2;[x]:3",
    ];
    refuses_servers(&brackets, Expected::Ipv6);
    refuses_servers(&["[::1]x1:2;3", "h:1:2;[::1]3"], Expected::Colon);
    accepts_servers(&["nx.invalid:1:2;nx.invalid:3"], "nx.invalid:3");
}

#[test]
fn a_client_address_is_a_port_or_a_host_and_a_port() {
    let bad = [
        "h:1:2;x",
        "h:1:2;0",
        "h:1:2;65536",
        "h:1:2;-3",
        "h:1:2;i",
        "h:1:2;i:",
        "h:1:2;i:0",
        "h:1:2;i:3:4",
        "h:1:2;[::1]",
        "h:1:2;[::1]:",
        "h:1:2;0.0.0.0",
        "h:1:2;2001:db8::1",
    ];
    refuses_servers(&bad, Expected::Port);
}

#[test]
fn the_text_is_written_as_java_properties() {
    let plain = "server.1=a:1:2;b:3\nserver.2=c:1:2;3\nversion=7";
    let plain = DynamicConfig::parse(plain);
    assert!(plain.is_ok());
    for text in [
        "server.1=a:1:2;b:3\r\nserver.2=c:1:2;3\r\nversion=7\r\n",
        "server.1=a:1:2;b:3\rserver.2=c:1:2;3\rversion=7\r",
        "# c\n! d\n\n  server.1 = a:1:2;b:3\n\tserver.2\tc:1:2;3\n#version=5\nversion: 7\n",
        "server.1=a:1:2;\\\n   b:3\nserver.2=c:\\\r\n\t1:2;3\nver\\\nsion=7",
        "server.1=a\\:1\\:2;b\\:3\nserver.2=\\u0063:1:2;3\n\\u0076ersion=7",
    ] {
        assert_eq!(DynamicConfig::parse(text), plain, "{text:?}");
    }
    assert_eq!(expected("server.1=\\u00"), Some(Expected::Escape));
    assert_eq!(
        expected("server.1=h:1:2;3 # no comment"),
        Some(Expected::Port)
    );
}

#[test]
fn a_text_has_at_most_1_mib() {
    let mut text = "server.1=h:1:2;3\n#".to_owned();
    text.extend(std::iter::repeat_n('x', (1 << 20) - text.len()));
    assert_eq!(servers(&text), "1=h:3");
    text.push('x');
    let error = DynamicConfig::parse(&text).unwrap_err();
    assert_eq!((error.expected, error.line), (Expected::FewerBytes, 2));
}

#[test]
fn a_text_has_at_most_10_000_distinct_client_addresses() {
    let server = |i: usize| format!("server.{i}=host-{i}:1:2;3\n");
    let mut text: String = (0..10_000).map(server).collect();
    text.push_str("server.10000=host-1:1:2;3\nserver.10001=other:1:2\n");
    assert_eq!(DynamicConfig::parse(&text).unwrap().servers.len(), 10_000);
    text.push_str(&server(10_002));
    let error = DynamicConfig::parse(&text).unwrap_err();
    assert_eq!(
        (error.expected, error.line),
        (Expected::FewerEntries, 10_003)
    );
}

#[test]
fn an_error_says_where() {
    for (text, line, column) in [
        ("server.1=h:1:2;3\nclientPort=3", 2, 1),
        ("server.x=h:1:2;3", 1, 8),
        ("# é\n\n server.1 = h:1:x;3", 3, 17),
        ("server.1=h:1:2;\\\n  i:x", 2, 5),
        ("server.1=h\\:1\\u003ax;3", 1, 20),
        ("server.1=h:1:2;3;4", 1, 17),
        ("server.1=h:1:2|é:3:4;3", 1, 16),
        ("server.1=h:1:2;3\nversion=\r\nserver.2=x", 2, 9),
        ("version=7\nserver.1=h:1:2\n", 3, 1),
        ("server.1=\\u00g0", 1, 12),
    ] {
        let error = DynamicConfig::parse(text).unwrap_err();
        assert_eq!((error.line, error.column), (line, column), "{text:?}");
    }
}

#[test]
fn the_number_of_a_server_is_the_key_of_its_node() {
    let config: DynamicConfig = "server.7=a:1:2;3\nserver.1=b:1:2;4".parse().unwrap();
    let node = |text: &str, key: &str| text.parse::<NodeSpec>().unwrap().with_key(key);
    assert_eq!(config.nodes(), [node("a:3", "7"), node("b:4", "1")]);
}
