//! SEMANTICS 7.1: connect strings.

use redial::{ConnectString, Endpoint, Expected, NodeSpec, ParseError, Servers};

fn parse(text: &str) -> Result<ConnectString, ParseError> {
    ConnectString::parse(text, 7)
}

/// The servers as they are printed.
fn servers(text: &str) -> String {
    let Servers::Listed(servers) = parse(text).unwrap().servers else {
        panic!("{text:?} has a name of SRV records");
    };
    let servers: Vec<String> = servers.iter().map(Endpoint::to_string).collect();
    servers.join(",")
}

fn chroot(text: &str) -> Option<String> {
    parse(text).unwrap().chroot.map(String::from)
}

fn refuses(texts: &[&str], expected: Expected) {
    for text in texts {
        let came = parse(text).map_err(|error| error.expected);
        assert_eq!(came, Err(expected), "{text:?}");
    }
}

#[test]
fn entries_are_read_in_order() {
    for (text, list) in [
        ("a", "a:7"),
        ("a:1,b,c:3", "a:1,b:7,c:3"),
        ("c:1,b:1,a:1", "c:1,b:1,a:1"),
        ("1.2.3.4:5,[::1]:6,a:7", "1.2.3.4:5,[::1]:6,a:7"),
    ] {
        assert_eq!(servers(text), list, "{text:?}");
    }
}

#[test]
fn blanks_around_entries_and_empty_entries_are_dropped() {
    for text in [
        " a:1 , b:2 ",
        "\ta:1\t,\r\nb:2\r\n",
        ",a:1,,b:2,",
        " , a:1, ,\n,b:2,\t",
    ] {
        assert_eq!(servers(text), "a:1,b:2", "{text:?}");
    }
}

#[test]
fn blanks_within_an_entry_are_refused() {
    refuses(
        &["a :1", "a b", "a\u{a0}", "\u{a0}a", "\0a"],
        Expected::Host,
    );
    refuses(&["a: 1", "a:1 2", "a:\t1"], Expected::Port);
    refuses(&["[::1] :1"], Expected::Colon);
    refuses(&["[ ::1]:1", "[::1 ]:1"], Expected::Ipv6);
}

#[test]
fn a_name_has_1_to_253_letters_digits_dots_underscores_and_hyphens() {
    let longest = "a".repeat(253);
    for host in ["h", "h_1", "-", "a.b-c_D.", "256.1.1.1", "1.2.3", &longest] {
        let host = host.to_ascii_lowercase();
        assert_eq!(servers(&format!("{host}:1")), format!("{host}:1"));
    }
    let too_long = "a".repeat(254);
    let bad = [
        &too_long, ":1", ":", "h|i:1", "user@h", "h?x=y", "h;i", "%", "hé", "ﬀ", "*",
    ];
    refuses(&bad, Expected::Host);
}

#[test]
fn a_port_is_1_to_5_digits_from_1_to_65535() {
    for (text, port) in [
        ("a:1", 1),
        ("a:65535", 65535),
        ("a:00001", 1),
        ("a:02181", 2181),
    ] {
        assert_eq!(servers(text), format!("a:{port}"));
    }
    let bad = [
        "a:0",
        "a:00000",
        "a:65536",
        "a:99999",
        "a:000001",
        "a:-1",
        "a:+1",
        "a:x",
        "a:1x",
        "a:0x1",
        "a:١",
        "a:1:2",
        "a::1",
        "[::1]:1:2",
        "[::1]:x",
    ];
    refuses(&bad, Expected::Port);
}

#[test]
fn a_missing_or_empty_port_takes_the_default_but_not_after_brackets_with_a_colon() {
    assert_eq!(servers("a,b:,1.2.3.4:,[::1]"), "a:7,b:7,1.2.3.4:7,[::1]:7");
    refuses(&["[::1]:"], Expected::Port);
}

#[test]
fn without_a_default_every_entry_needs_a_port() {
    assert!(ConnectString::parse("a:1,[::1]:2", 0).is_ok());
    for (text, column) in [("a", 2), ("a:1,b:", 7), ("a:1, [::1] ", 11)] {
        let error = ConnectString::parse(text, 0).unwrap_err();
        assert_eq!((error.expected, error.column), (Expected::Port, column));
    }
}

#[test]
fn the_default_of_from_str_is_zookeepers() {
    let parsed: ConnectString = "a".parse().unwrap();
    assert_eq!(parsed.to_string(), "a:2181");
}

#[test]
fn brackets_hold_an_ipv6_address_without_zone() {
    for (text, list) in [
        ("[2001:DB8::1]:1", "[2001:db8::1]:1"),
        ("[::ffff:1.2.3.4]:1", "[::ffff:1.2.3.4]:1"),
        ("[::]:1", "[::]:1"),
    ] {
        assert_eq!(servers(text), list);
    }
    let bad = [
        "[::1",
        "[]",
        "[]:1",
        "[h]:1",
        "[1.2.3.4]:1",
        "[fe80::1%eth0]:1",
        "[fe80::1%1]",
        "[[::1]]:1",
        "[:::1]",
        "[",
    ];
    refuses(&bad, Expected::Ipv6);
    refuses(&["[::1]1", "[::1]x:1", "[::1]]"], Expected::Colon);
}

#[test]
fn an_ipv6_address_without_brackets_is_refused() {
    refuses(&["::1", "::1:2181", "::"], Expected::Host);
    refuses(&["2001:db8::1", "fe80::1:2181"], Expected::Port);
}

#[test]
fn equal_entries_are_one_where_the_first_stands() {
    for (text, list) in [
        ("a:1,b:1,a:1", "a:1,b:1"),
        ("B.Example:1,a:1,b.eXAMPLE:1", "b.example:1,a:1"),
        ("a,a:7,a:", "a:7"),
        ("a:1,a:01", "a:1"),
        ("[::1]:1,[0:0::0001]:1", "[::1]:1"),
        ("[2001:DB8::]:1,[2001:db8::]:1", "[2001:db8::]:1"),
        ("a:1,a:2", "a:1,a:2"),
        ("a:1,a.:1", "a:1,a.:1"),
        (
            "1.2.3.4:1,[::ffff:1.2.3.4]:1",
            "1.2.3.4:1,[::ffff:1.2.3.4]:1",
        ),
    ] {
        assert_eq!(servers(text), list, "{text:?}");
    }
}

#[test]
fn no_entry_at_all_is_an_error() {
    let empty = ["", " ", ",", " , ,", "/", "/a", " /a", ",/a"];
    refuses(&empty, Expected::Server);
}

#[test]
fn the_chroot_is_everything_from_the_first_slash() {
    for (text, expected) in [
        ("a:1", None),
        ("a:1/", None),
        ("a:1/b", Some("/b")),
        ("a:1,b:2/c/d", Some("/c/d")),
        ("a/b:1,c:2/d", Some("/b:1,c:2/d")),
        ("a / b ", Some("/ b ")),
        ("[::1]/é ", Some("/é ")),
    ] {
        assert_eq!(chroot(text).as_deref(), expected, "{text:?}");
    }
    assert_eq!(servers("a/b:1,c:2/d"), "a:7");
}

#[test]
fn no_element_of_the_chroot_is_empty_or_a_dot_or_two() {
    for path in ["/...", "/.b", "/..b", "/b.", "/b..", "/a.b/. /.. "] {
        assert_eq!(chroot(&format!("a{path}")).as_deref(), Some(path));
    }
    let bad = [
        "a/b/", "a//", "a//b", "a/b//c", "a/.", "a/..", "a/b/.", "a/./b", "a/b/../c", "zk://a:1",
    ];
    refuses(&bad, Expected::PathElement);
}

#[test]
fn the_chroot_has_only_characters_that_zookeeper_allows() {
    for c in [
        ' ', '~', '\u{a0}', '\u{d7ff}', '\u{f900}', '\u{feff}', '\u{ffef}',
    ] {
        let path = format!("/x{c}");
        assert_eq!(chroot(&format!("a{path}")), Some(path));
    }
    for c in [
        '\0',
        '\x01',
        '\t',
        '\n',
        '\x1f',
        '\x7f',
        '\u{80}',
        '\u{9f}',
        '\u{e000}',
        '\u{f8ff}',
        '\u{fff0}',
        '\u{ffff}',
        '\u{10000}',
        '😀',
    ] {
        refuses(&[&format!("a/x{c}")], Expected::PathCharacter);
    }
}

#[test]
fn a_name_of_srv_records_stands_alone() {
    for (text, name, path) in [
        ("dns-srv://_zk._tcp.A.example", "_zk._tcp.a.example", None),
        (" dns-srv://a\n", "a", None),
        ("dns-srv://a/", "a", None),
        ("dns-srv://a/b/c", "a", Some("/b/c")),
    ] {
        let parsed = parse(text).unwrap();
        assert_eq!(parsed.servers, Servers::Srv(name.into()), "{text:?}");
        assert_eq!(parsed.chroot.as_deref(), path, "{text:?}");
        assert_eq!(parsed.nodes(), []);
    }
    let too_long = format!("dns-srv://{}", "a".repeat(254));
    let bad = [
        "dns-srv://",
        "dns-srv:///a",
        "dns-srv://a:1",
        "dns-srv://a,b",
        "dns-srv:// a",
        "dns-srv://[::1]",
        &too_long,
    ];
    refuses(&bad, Expected::SrvName);
    refuses(
        &["dns-srv://a//b", "DNS-SRV://a", "b,dns-srv://a"],
        Expected::PathElement,
    );
}

#[test]
fn a_text_has_at_most_1_mib() {
    let mut text = format!("a/{}", "b".repeat((1 << 20) - 2));
    assert!(parse(&text).is_ok());
    text.push('b');
    let error = parse(&text).unwrap_err();
    assert_eq!(error.expected, Expected::FewerBytes);
    assert_eq!((error.line, error.column), (1, (1 << 20) + 1));
}

#[test]
fn a_text_has_at_most_10_000_distinct_entries() {
    let entries: Vec<String> = (0..10_000).map(|i| format!("host-{i}")).collect();
    let mut text = format!("{0},{0}", entries.join(","));
    assert_eq!(parse(&text).unwrap().nodes().len(), 10_000);
    text.push_str(",\nhost-10000");
    let error = parse(&text).unwrap_err();
    assert_eq!(error.expected, Expected::FewerEntries);
    assert_eq!((error.line, error.column), (2, 1));
}

#[test]
fn an_error_says_where() {
    for (text, line, column) in [
        ("a:1,b:x", 1, 7),
        ("a,é:1", 1, 3),
        ("a/é/\u{1}", 1, 5),
        ("a:1,\n  b_ :1", 2, 3),
        ("a:1,\r\n[::1]x", 2, 6),
        ("a,[x]", 1, 4),
        (" , ", 1, 4),
        ("a/b//c", 1, 5),
        (" dns-srv://é", 1, 12),
    ] {
        let error = parse(text).unwrap_err();
        assert_eq!((error.line, error.column), (line, column), "{text:?}");
    }
}

#[test]
fn the_nodes_are_the_list_without_keys() {
    let nodes: Vec<NodeSpec> = ["a:7", "[::1]:2"].map(|n| n.parse().unwrap()).into();
    assert_eq!(parse("A,[::1]:2/b").unwrap().nodes(), nodes);
}

#[test]
fn what_is_printed_reads_as_the_same() {
    for text in [
        "a",
        "A:1,b,[::1]:2,1.2.3.4",
        "a,b/c/d",
        "dns-srv://A.b",
        "dns-srv://a/b c",
    ] {
        let parsed = parse(text).unwrap();
        assert_eq!(ConnectString::parse(&parsed.to_string(), 0), Ok(parsed));
    }
}
