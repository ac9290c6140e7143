//! SEMANTICS 7.5 and 7.6: the server list is replaced.

use redial::{Event, Limit, NodeSpec, NodeState, Warm};
use redial_tests::script::{Script, any, build, exact, ms, specs, t};

const A: &str = "10.0.0.1:1";
const B: &str = "10.0.0.2:1";
const C: &str = "10.0.0.3:1";

fn ready(list: &[&str]) -> Script {
    let mut s = Script::new(build(exact()), list);
    for node in 0..list.len() {
        s.establish(node);
    }
    s
}

fn list_changes(s: &mut Script) -> Vec<(u32, u32, u32)> {
    let change = |event| match event {
        Event::ListChanged {
            added,
            removed,
            kept,
        } => Some((added, removed, kept)),
        _ => None,
    };
    s.events().into_iter().filter_map(change).collect()
}

/// 7.5, 12: an empty list is an error and changes nothing.
#[test]
fn an_empty_list_is_refused() {
    let mut s = ready(&[A]);
    s.set_nodes(&[]).gives(&["error Empty"]);
    assert_eq!(
        (s.state(0), s.cluster().stats().nodes),
        (NodeState::Ready, 1)
    );
}

/// 12, 7.1: too many are refused, all of them.
#[test]
fn a_list_that_is_too_long_is_refused() {
    let mut s = Script::new(build(exact().max_nodes(2u32)), &[A]);
    s.set_nodes(&[A, B, C])
        .gives(&["error TooMany { nodes: 3, max: 2 }"]);
    assert_eq!(s.cluster().stats().nodes, 1);
    s.set_nodes(&[A, B]).gives(&[]);
}

/// 7.6: one key cannot be two endpoints.
#[test]
fn a_key_with_two_endpoints_is_refused() {
    let mut s = ready(&[A]);
    s.set_nodes(&["a=10.0.0.8:1", "b=10.0.0.9:1", "a=10.0.0.9:1"]);
    s.gives(&["error DuplicateKey { first: 0, second: 2 }"]);
    assert_eq!(
        (s.state(0), s.cluster().stats().nodes),
        (NodeState::Ready, 1)
    );
}

/// 7.6: wherever it stands, and whichever nodes are there already.
#[test]
fn a_key_with_two_endpoints_is_refused_also_beside_a_known_node() {
    for list in [
        ["a=10.0.0.1:1", "a=10.0.0.3:1"],
        ["a=10.0.0.3:1", "a=10.0.0.1:1"],
    ] {
        let mut s = ready(&[A]);
        s.set_nodes(&list)
            .gives(&["error DuplicateKey { first: 0, second: 1 }"]);
        assert_eq!(
            (s.state(0), s.cluster().stats().nodes),
            (NodeState::Ready, 1)
        );
    }
}

/// 7.1: entries that are equal are one; a host's case does not matter.
#[test]
fn equal_entries_are_one() {
    let mut s = Script::new(build(exact()), &[A, "db.example:1", A, "DB.Example:1"]);
    assert_eq!(s.cluster().stats().nodes, 2);
    assert_eq!(list_changes(&mut s), [(2, 0, 0)]);
}

/// 7.6, Z05: kept nodes keep everything; an equal list is no change.
#[test]
fn an_equal_list_changes_nothing() {
    let mut s = ready(&[A, B]);
    s.submit_on(0, any()).written(0).whatever();
    s.at(10).closed(1).gives(&[]);
    s.events();
    s.at(20).set_nodes(&[B, A]).gives(&[]);
    assert!(list_changes(&mut s).is_empty());
    assert_eq!((s.state(0), s.view(0).in_flight), (NodeState::Ready, 1));
    assert_eq!((s.view(1).failures, s.rests_until(1)), (1, Some(t(110))));
    s.reply(0).gives(&["r0 reply n0"]);
}

/// 7.6, 10.1: added, removed, kept.
#[test]
fn a_change_is_told_in_numbers() {
    let mut s = ready(&[A, B]);
    s.events();
    s.set_nodes(&[B, C, "10.0.0.4:1"]).gives(&["close n0"]);
    assert_eq!(list_changes(&mut s), [(2, 1, 1)]);
}

/// 7.5, Z11: an address is compared with all of its bits.
#[test]
fn a_list_that_differs_in_one_bit_of_an_address_is_another() {
    let mut s = ready(&["[2001:db8::1]:1", B]);
    s.events();
    s.set_nodes(&["[2001:db8::3]:1", B]).gives(&["close n0"]);
    assert_eq!(list_changes(&mut s), [(1, 1, 1)]);
}

/// 7.6: the same by key, wherever both have one.
#[test]
fn a_node_is_the_same_by_its_key() {
    let mut s = Script::new(build(exact()), &["a=10.0.0.1:1", "b=10.0.0.2:1"]);
    let (a, b) = (s.id(0), s.id(1));
    s.set_nodes(&["b=10.0.0.2:1", "a=10.0.0.1:1"]).gives(&[]);
    assert_eq!(s.cluster().find_key("a"), Some(a));
    assert_eq!(s.cluster().find_key("b"), Some(b));
    assert_eq!(s.cluster().find_key("c"), None);
}

/// 7.6: else by host and port: a key that one of them lacks does not count.
#[test]
fn a_node_without_a_key_is_the_same_by_its_endpoint() {
    let mut s = ready(&[A]);
    let id = s.id(0);
    s.set_nodes(&["a=10.0.0.1:1"]).gives(&[]);
    assert_eq!(s.cluster().find_key("a"), Some(id));
    s.set_nodes(&[A]).gives(&[]);
    assert_eq!(s.cluster().find(&A.parse().expect("an endpoint")), Some(id));
    assert_eq!(s.state(0), NodeState::Ready);
}

/// 7.6: two keys are two nodes, even at one endpoint.
#[test]
fn an_endpoint_with_another_key_is_another_node() {
    let mut s = ready(&["a=10.0.0.1:1"]);
    s.events();
    s.set_nodes(&["z=10.0.0.1:1"]).gives(&["close n0"]);
    assert_eq!(list_changes(&mut s), [(1, 1, 0)]);
}

/// 7.6, Z05: an IP literal that equals an established peer's address is that node; it keeps its
/// endpoint.
#[test]
fn a_literal_is_the_named_node_that_is_connected_there() {
    let mut s = Script::new(build(exact()), &["db.example:1"]);
    s.at(0).begin(0).resolved(0, &[A]).whatever().establish(0);
    s.events();
    s.set_nodes(&[A]).gives(&[]);
    assert_eq!(s.state(0), NodeState::Ready);
    assert_eq!(s.view(0).spec.endpoint.to_string(), "db.example:1");
    assert!(list_changes(&mut s).is_empty());
}

/// 7.6: only an established one, only with the same port.
#[test]
fn a_literal_is_another_node_unless_the_peer_is_established_there() {
    for (list, up) in [([A], false), (["10.0.0.1:2"], true), ([B], true)] {
        let mut s = Script::new(build(exact()), &["db.example:1"]);
        s.at(0).begin(0).resolved(0, &[A]).whatever();
        if up {
            s.establish(0);
        }
        s.set_nodes(&list)
            .gives(&[if up { "close n0" } else { "abort n0" }]);
        assert!(s.cluster().node(s.id(0)).is_none());
    }
}

/// 7.6: and so is a name whose address is given with the list.
#[test]
fn a_name_with_a_known_address_is_the_node_that_is_connected_there() {
    let mut s = ready(&[A]);
    let mut spec: NodeSpec = "db.example:1".parse().expect("an endpoint");
    spec.address = Some(A.parse().expect("an address"));
    s.set_specs(vec![spec]).gives(&[]);
    assert_eq!(s.state(0), NodeState::Ready);
    assert_eq!(s.view(0).spec.endpoint.to_string(), A);
}

/// 7.6, K13, R101: a kept key with a new endpoint: the old connection drains, the new endpoint
/// starts fresh.
#[test]
fn a_key_that_moves_drains_its_old_connection() {
    let mut s = ready(&["a=10.0.0.1:1"]);
    s.submit_on(0, any())
        .submit_on(0, any())
        .written(0)
        .whatever();
    let id = s.id(0);
    s.set_nodes(&["a=10.0.0.2:1"])
        .gives(&["withdraw n0 r1", "connect n0"]);
    assert_eq!(s.cluster().find_key("a"), Some(id));
    let view = s
        .cluster()
        .connection(s.connection(0))
        .expect("it is being set up");
    assert_eq!(
        view.address,
        Some("10.0.0.2:1".parse().expect("an address"))
    );
    s.connected(0)
        .ready(0)
        .gives(&["handshake n0", "write n0 r1"]);
    s.reply(0).gives(&["r0 reply n0", "close n0-1"]);
    assert_eq!(s.cluster().stats().failures_established, 0);
}

/// 7.6: an attempt to the old endpoint is given up.
#[test]
fn a_key_that_moves_gives_up_its_attempt() {
    let mut s = Script::new(build(exact()), &["a=10.0.0.1:1"]);
    s.submit_on(0, any()).gives(&["connect n0"]);
    s.at(50)
        .set_nodes(&["a=10.0.0.2:1"])
        .gives(&["abort n0", "connect n0"]);
    assert_eq!(
        (s.view(0).failures, s.cluster().stats().failures_connect),
        (0, 0)
    );
}

/// 2.1, 7.6: a removed node's connection drains and is closed with its last request.
#[test]
fn a_removed_nodes_requests_in_flight_may_finish() {
    let mut s = ready(&[A, B]);
    s.submit_on(0, any())
        .submit_on(0, any())
        .written(0)
        .written(1)
        .whatever();
    s.set_nodes(&[B]).gives(&[]);
    s.reply(0).gives(&["r0 reply n0"]);
    s.reply(1).gives(&["r1 reply n0", "close n0"]);
}

/// 7.6: bound requests that wait fail at once; Any-requests are picked again.
#[test]
fn a_removed_nodes_queue_is_settled_at_once() {
    let mut s = Script::new(build(exact()), &[A, B]);
    s.establish(0)
        .submit(any())
        .submit_on(0, any())
        .gives(&["write n0 r0", "write n0 r1"]);
    s.set_nodes(&[B]).gives(&[
        "withdraw n0 r0",
        "withdraw n0 r1",
        "r1 NodeRemoved NeverWritten",
        "close n0",
        "connect n1",
    ]);
    assert_eq!(s.error(1).node, Some(s.id(0)));
}

/// 7.6: also those in retry backoff, which may have been carried out.
#[test]
fn a_bound_request_in_retry_backoff_fails_with_its_removed_node() {
    let mut s = ready(&[A, B]);
    s.submit_on(0, any().idempotent())
        .written(0)
        .closed(0)
        .gives(&["write n0 r0"]);
    s.submit_on(0, any()).gives(&[]);
    s.set_nodes(&[B]).gives(&[
        "r0 NodeRemoved PossiblyWritten",
        "r1 NodeRemoved NeverWritten",
    ]);
}

/// 7.6: at the drain deadline bound ones fail, Any ones follow 4.7.
#[test]
fn what_is_still_in_flight_at_the_drain_deadline_is_settled() {
    let config = exact()
        .delivery_timeout(Limit::Never)
        .request_timeout(Limit::Never);
    let mut s = Script::new(build(config), &[A, B]);
    s.establish(0);
    s.at(0)
        .submit(any())
        .submit(any().idempotent())
        .submit_on(0, any())
        .whatever();
    s.written(0)
        .written(1)
        .written(2)
        .set_nodes(&[B])
        .gives(&[])
        .deadline(30_000);
    s.at(30_000).tick().gives(&[
        "close n0",
        "r0 Disconnected(Removed) PossiblyWritten",
        "r2 NodeRemoved PossiblyWritten",
    ]);
    s.run_to(30_100).gives(&["connect n1"]);
}

/// 2.1, 12, R075: a removed node is never chosen again.
#[test]
fn a_removed_node_is_never_chosen_again() {
    let mut s = ready(&[A, B]);
    s.set_nodes(&[B]).gives(&["close n0"]);
    for _ in 0..20 {
        s.submit(any());
        assert!(s.take()[0].starts_with("write n1"));
    }
}

/// R119, 2.3: an id of a removed node never reaches the one that takes its place.
#[test]
fn a_stale_node_id_reaches_nobody() {
    let mut s = ready(&[A]);
    let stale = s.id(0);
    s.set_nodes(&[B]).gives(&["close n0"]);
    assert!(s.cluster().node(stale).is_none());
    assert_ne!(s.id(1), stale);
    s.submit(any().on(stale));
    assert!(s.take()[0].starts_with("error UnknownNode"));
}

/// 10.1: a removed node's entry can be read until the next drain.
#[test]
fn a_removed_nodes_entry_can_be_read_until_the_next_drain() {
    let mut cluster = redial::Cluster::new(build(exact().warm(Warm::All)), 0, t(0));
    cluster.set_nodes(t(0), &specs(&[A])).expect("a list");
    while cluster.poll_output().is_some() {}
    let id = cluster.nodes().next().expect("one node").id;
    cluster.set_nodes(t(0), &specs(&[B])).expect("a list");
    let mut outputs = 0;
    while cluster.poll_output().is_some() {
        let spec = cluster.spec(id).expect("it has just left");
        assert_eq!(spec.endpoint.to_string(), A);
        outputs += 1;
    }
    assert!(outputs > 1, "between outputs too");
    cluster.set_nodes(t(0), &specs(&[C])).expect("a list");
    assert_eq!(cluster.spec(id), None);
}

/// Z35: an attempt to a server that left is abandoned, and the next goes to the newest list.
#[test]
fn after_an_update_every_attempt_is_to_a_node_of_the_newest_list() {
    let mut s = Script::new(build(exact()), &[A]);
    s.submit(any()).gives(&["connect n0"]);
    s.set_nodes(&[B]).gives(&["abort n0", "connect n1"]);
    s.refused(1).gives(&[]);
    s.at(100).tick().gives(&["connect n1"]);
}

/// 3.5, 7.6, Z17: kept nodes keep their rest whatever else changes.
#[test]
fn an_update_does_not_shorten_a_rest() {
    let mut s = Script::new(build(exact().warm(Warm::All)), &[A]);
    s.whatever().at(0).refused(0).gives(&[]);
    s.at(10).set_nodes(&[A, B]).gives(&["connect n1"]);
    assert_eq!(s.rests_until(0), Some(t(100)));
    s.at(100).tick().gives(&["connect n0"]);
}

/// 2.1: at most two connections of one node drain, also when its key moves again and again.
#[test]
fn a_key_that_moves_often_has_at_most_two_draining_connections() {
    let mut s = Script::new(
        build(exact().request_timeout(ms(90_000))),
        &["a=10.0.0.1:1"],
    );
    for host in 2..=4 {
        s.establish(0);
        s.submit_on(0, any()).written(host - 2).whatever();
        let next = format!("a=10.0.0.{host}:1");
        s.set_nodes(&[next.as_str()]);
        let lines = s.take();
        let oldest = [
            "close n0-2",
            "r0 Disconnected(EndpointChanged) PossiblyWritten",
        ];
        if host == 4 {
            assert_eq!(lines.len(), 2, "{lines:?}");
            assert!(
                oldest
                    .iter()
                    .all(|line| lines.contains(&(*line).to_owned())),
                "{lines:?}"
            );
        } else {
            assert_eq!(lines, [""; 0]);
        }
    }
    s.reply(2).gives(&["r2 reply n0", "close n0"]);
}

/// 9.1: after shutdown the list is closed, too.
#[test]
fn a_list_after_shutdown_is_refused() {
    let mut s = Script::new(build(exact()), &[A]);
    s.shutdown(0).tick().gives(&["terminated"]);
    s.set_nodes(&[B]).gives(&["error Closed"]);
}

/// 4.1, 7.6: a request that fails fast is judged by the new list, not by what is left of the old one in between.
#[test]
fn a_request_that_fails_fast_waits_for_the_nodes_that_come_when_its_own_leaves() {
    let mut s = Script::new(build(exact().warm(Warm::All)), &[A, B]);
    s.submit(any().fail_fast()).refused(1).whatever();
    s.at(100).tick().connected(1).ready(1).whatever();
    assert_eq!(s.written_on(0), s.connection(1));
    s.set_nodes(&[C]);
    s.gives(&["abort n0", "withdraw n1 r0", "close n1", "connect n2"]);
    s.connected(2).ready(2);
    s.gives(&["handshake n2", "write n2 r0"]);
}
