//! Lists that name the same servers as before.

use std::time::Duration;

use redial::{ConnectionId, Endpoint, Event, NodeId, NodeSpec, NodeState};
use redial_tests::zookeeper::{Ensemble, jute::Request};

use crate::support::Session;

const TIMEOUT: Duration = Duration::from_secs(10);
const CLIENTS: u64 = 60;

#[tokio::test]
async fn an_equal_list_moves_nobody_also_where_names_take_the_place_of_addresses() {
    let Some(ensemble) = Ensemble::start(3) else {
        return;
    };
    let addresses = ensemble.nodes();
    let names: Vec<_> = addresses.iter().map(named).collect();
    let (mut sessions, mut servers) = (Vec::new(), Vec::new());
    for seed in 0..CLIENTS {
        let first = if seed % 2 == 0 { &addresses } else { &names };
        let mut session = Session::start(TIMEOUT, seed, first.clone());
        session.established().await;
        session.passed();
        let node = own(&session).0;
        let endpoint = session.client.node(node).expect("a node").spec.endpoint;
        servers.push(first.iter().position(|spec| spec.endpoint == endpoint));
        sessions.push(session);
    }
    let before: Vec<_> = sessions.iter().map(own).collect();

    let mixed = [&names[..1], &addresses[1..]].concat();
    let lists = [
        turned(&addresses),
        names.clone(),
        turned(&names),
        mixed,
        addresses.clone(),
        keyed(&addresses),
        keyed(&names),
        turned(&keyed(&addresses)),
        turned(&addresses),
    ];
    for list in &lists {
        for session in &sessions {
            session.client.set_nodes(list).expect("a valid list");
        }
        for session in &sessions {
            assert!(session.ask(Request::get("/")).await.is_ok());
        }
    }

    let after: Vec<_> = sessions.iter().map(own).collect();
    assert_eq!(before, after);
    let events: Vec<_> = sessions.iter_mut().flat_map(Session::passed).collect();
    let count = |is_it: fn(&Event) -> bool| events.iter().filter(|event| is_it(event)).count();
    let changed = count(|event| matches!(event, Event::ListChanged { .. }));
    let moves = count(|event| matches!(event, Event::Rebalanced { moves: true }));
    let attempts = count(|event| matches!(event, Event::AttemptStarted { .. }));
    let closed = count(|event| matches!(event, Event::Disconnected { .. }));
    println!(
        "{CLIENTS} clients, {} equal lists, which changed {changed} of theirs: {moves} moves, \
         {attempts} attempts, {closed} connections closed",
        lists.len()
    );
    assert!(changed > 0, "a name that takes an address's place is news");
    assert_eq!((moves, attempts, closed), (0, 0, 0));
    for (session, server) in sessions.into_iter().zip(servers) {
        let server = ensemble.address(server.expect("a listed server"));
        assert_eq!(session.replay().await, Some(server));
    }
}

/// The server by a name, with the address that it stands for.
fn named(node: &NodeSpec) -> NodeSpec {
    let Endpoint::Address(address) = node.endpoint else {
        panic!("an address was given: {}", node.endpoint);
    };
    let name = Endpoint::name("localhost", address.port()).expect("a name");
    NodeSpec {
        address: Some(address),
        ..NodeSpec::new(name)
    }
}

/// The same with the servers' numbers, as `/zookeeper/config` gives them.
fn keyed(nodes: &[NodeSpec]) -> Vec<NodeSpec> {
    let numbered = (1..).zip(nodes);
    numbered
        .map(|(number, node)| node.clone().with_key(format!("{number}")))
        .collect()
}

/// Another order, and one server twice.
fn turned(nodes: &[NodeSpec]) -> Vec<NodeSpec> {
    let mut turned: Vec<_> = nodes.iter().rev().cloned().collect();
    turned.extend(nodes.first().cloned());
    turned
}

/// The server that has the session, and the connection to it.
fn own(session: &Session) -> (NodeId, ConnectionId) {
    let nodes = session.client.nodes();
    let mut ready = nodes.iter().filter(|node| node.state == NodeState::Ready);
    let own = ready.next().expect("a server");
    (own.id, own.connection.expect("a connection"))
}
