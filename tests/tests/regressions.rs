//! Faults that were found and mended, each as a literal sequence with its right outcome.

use std::time::Duration;

use redial::{
    Action, Cluster, Config, ConnectError, ConnectionId, HandshakeError, Input, Instant, Jitter,
    Limit, Limits, NodeId, NodeSpec, NodeState, Output, Reason, ReplyTo, RequestOptions, Stage,
    Verdict,
};

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn cluster() -> Cluster {
    let config = Config::builder()
        .jitter(Jitter::None)
        .hedge_delay(Limit::Never)
        .address_attempt_delay(Limit::Never);
    Cluster::new(config.build().unwrap(), 1, at(0))
}

/// Entries as `key@endpoint` or `endpoint`.
fn list(entries: &[&str]) -> Vec<NodeSpec> {
    let parse = |entry: &&str| match entry.split_once('@') {
        Some((key, endpoint)) => endpoint.parse::<NodeSpec>().unwrap().with_key(key),
        None => entry.parse().unwrap(),
    };
    entries.iter().map(parse).collect()
}

fn endpoints(cluster: &Cluster) -> Vec<String> {
    let mut all: Vec<_> = cluster
        .nodes()
        .map(|node| node.spec.endpoint.to_string())
        .collect();
    all.sort();
    all
}

fn drain(cluster: &mut Cluster) -> Vec<Output> {
    std::iter::from_fn(|| cluster.poll_output()).collect()
}

/// The connections dialled since the last drain, with their nodes.
fn dialled(cluster: &mut Cluster) -> Vec<(ConnectionId, NodeId)> {
    let outputs = drain(cluster).into_iter();
    let connects = outputs.filter_map(|output| match output {
        Output::Action(Action::Connect {
            connection, node, ..
        }) => Some((connection, node)),
        _ => None,
    });
    connects.collect()
}

fn make_ready(cluster: &mut Cluster, now: Instant, connection: ConnectionId) {
    cluster.handle_input(now, Input::Connected { connection });
    let limits = Limits::NONE;
    cluster.handle_input(now, Input::HandshakeDone { connection, limits });
}

/// Submits a request for this node, which dials it, and lets it succeed.
fn connect(cluster: &mut Cluster, now: Instant, node: NodeId) -> ConnectionId {
    let request = cluster.submit(now, RequestOptions::new().on(node)).unwrap();
    let (connection, _) = dialled(cluster)[0];
    cluster.cancel(now, request);
    make_ready(cluster, now, connection);
    drain(cluster);
    connection
}

#[test]
fn a_list_means_the_same_whatever_the_list_before_it() {
    let cases: &[(&[&str], &[&str])] = &[
        (
            &["a@1.1.1.1:1", "b@2.2.2.2:1"],
            &["1.1.1.1:1", "a@2.2.2.2:1"],
        ),
        (
            &["a@1.1.1.1:1", "b@2.2.2.2:1"],
            &["a@2.2.2.2:1", "1.1.1.1:1"],
        ),
        (&["c@1.1.1.1:1"], &["1.1.1.1:1", "c@2.2.2.2:1"]),
        (&["c@1.1.1.1:1"], &["c@2.2.2.2:1", "1.1.1.1:1"]),
        (&["1.1.1.1:1"], &["a@1.1.1.1:1", "b@1.1.1.1:1"]),
        (&["a@1.1.1.1:1"], &["1.1.1.1:1", "b@1.1.1.1:1"]),
        (
            &["a@1.1.1.1:1", "b@2.2.2.2:1"],
            &["b@1.1.1.1:1", "a@2.2.2.2:1"],
        ),
    ];
    for (before, after) in cases {
        let (mut fresh, mut grown) = (cluster(), cluster());
        fresh.set_nodes(at(0), &list(after)).unwrap();
        grown.set_nodes(at(0), &list(before)).unwrap();
        grown.set_nodes(at(0), &list(after)).unwrap();
        assert_eq!(
            endpoints(&grown),
            endpoints(&fresh),
            "{before:?} to {after:?}"
        );
    }
}

#[test]
fn a_fail_fast_request_bound_to_a_node_fails_with_that_nodes_failure() {
    let mut c = cluster();
    c.set_nodes(at(0), &list(&["1.1.1.1:1", "2.2.2.2:1"]))
        .unwrap();
    let [a, b] = [0, 1].map(|i| c.nodes().nth(i).unwrap().id);
    let connection = connect(&mut c, at(0), a);
    let options = RequestOptions::new().on(a).idempotent().fail_fast();
    let request = c.submit(at(0), options).unwrap();
    c.handle_input(
        at(0),
        Input::WriteStarted {
            connection,
            serial: 0,
        },
    );
    // A says that it will close, and is refused when it is dialled again.
    c.handle_input(at(0), Input::PeerDraining { connection });
    c.submit(at(100), RequestOptions::new().on(a)).unwrap();
    let (redial, _) = dialled(&mut c)[0];
    let error = ConnectError::Refused;
    c.handle_input(
        at(100),
        Input::ConnectFailed {
            connection: redial,
            error,
        },
    );
    // B rejects our credentials; then the request comes back from A's old connection.
    c.submit(at(100), RequestOptions::new().on(b)).unwrap();
    let (other, _) = dialled(&mut c)[0];
    c.handle_input(at(100), Input::Connected { connection: other });
    let error = HandshakeError::Rejected;
    c.handle_input(
        at(100),
        Input::HandshakeFailed {
            connection: other,
            error,
        },
    );
    drain(&mut c);
    let error = redial::CloseError::Io;
    c.handle_input(at(101), Input::Closed { connection, error });
    let failure = drain(&mut c).into_iter().find_map(|output| match output {
        Output::Completion(done) if done.request == request => done.result.err(),
        _ => None,
    });
    let failure = failure.expect("it fails");
    assert_eq!(failure.reason, Reason::Disconnected(redial::Cause::Refused));
    assert_eq!(
        (failure.stage, failure.node),
        (Some(Stage::Connect), Some(a))
    );
}

#[test]
fn a_reply_from_the_old_endpoint_says_nothing_of_the_new_one() {
    let mut c = cluster();
    c.set_nodes(at(0), &list(&["a@1.1.1.1:1"])).unwrap();
    let a = c.find_key("a").unwrap();
    let connection = connect(&mut c, at(0), a);
    c.submit(at(0), RequestOptions::new().on(a)).unwrap();
    c.handle_input(
        at(0),
        Input::WriteStarted {
            connection,
            serial: 0,
        },
    );
    c.handle_input(at(0), Input::PeerDraining { connection });
    c.set_nodes(at(1), &list(&["a@2.2.2.2:2"])).unwrap();
    c.submit(at(1), RequestOptions::new().on(a)).unwrap();
    let (fresh, _) = dialled(&mut c)[0];
    let error = ConnectError::Refused;
    c.handle_input(
        at(1),
        Input::ConnectFailed {
            connection: fresh,
            error,
        },
    );
    let (to, verdict) = (ReplyTo::Serial(0), Verdict::DONE);
    c.handle_input(
        at(2),
        Input::Reply {
            connection,
            to,
            verdict,
        },
    );
    assert_eq!(c.node(a).unwrap().failures, 1);
}

#[test]
fn of_two_nodes_with_one_endpoint_that_left_the_longer_rest_counts() {
    let mut c = cluster();
    c.set_nodes(at(0), &list(&["a@1.1.1.1:1", "b@1.1.1.1:1", "c@3.3.3.3:1"]))
        .unwrap();
    let [a, b] = ["a", "b"].map(|key| c.find_key(key).unwrap());
    for (node, failures) in [(a, 3), (b, 1)] {
        for _ in 0..failures {
            let now = c
                .node(node)
                .unwrap()
                .next_attempt
                .unwrap_or(at(0))
                .max(c.now());
            let request = c.submit(now, RequestOptions::new().on(node)).unwrap();
            let (connection, _) = dialled(&mut c)[0];
            c.cancel(now, request);
            let error = ConnectError::Refused;
            c.handle_input(now, Input::ConnectFailed { connection, error });
        }
    }
    let now = c.now();
    let rest = c.node(a).unwrap().next_attempt;
    assert!(rest > c.node(b).unwrap().next_attempt);
    c.set_nodes(now, &list(&["c@3.3.3.3:1"])).unwrap();
    c.set_nodes(now, &list(&["b@1.1.1.1:1", "a@1.1.1.1:1", "c@3.3.3.3:1"]))
        .unwrap();
    for key in ["a", "b"] {
        let node = c.node(c.find_key(key).unwrap()).unwrap();
        assert_eq!((node.next_attempt, node.failures), (rest, 3), "{key}");
    }
}

#[test]
fn a_transport_that_is_blocked_during_its_handshake_is_full_when_it_is_ready() {
    let mut c = cluster();
    c.set_nodes(at(0), &list(&["1.1.1.1:1"])).unwrap();
    c.submit(at(0), RequestOptions::new()).unwrap();
    let (connection, _) = dialled(&mut c)[0];
    c.handle_input(at(0), Input::Connected { connection });
    c.handle_input(at(0), Input::WriteBlocked { connection });
    let limits = Limits::NONE;
    c.handle_input(at(0), Input::HandshakeDone { connection, limits });
    let writes = |output: &Output| matches!(output, Output::Action(Action::Write { .. }));
    assert!(!drain(&mut c).iter().any(writes));
    c.handle_input(at(5), Input::WriteProgress { connection });
    assert!(drain(&mut c).iter().any(writes));
}

#[test]
fn a_request_sent_elsewhere_has_another_node_dialled_when_there_is_no_other() {
    let mut c = cluster();
    c.set_nodes(at(0), &list(&["1.1.1.1:1", "2.2.2.2:1"]))
        .unwrap();
    c.submit(at(0), RequestOptions::new()).unwrap();
    let (connection, node) = dialled(&mut c)[0];
    make_ready(&mut c, at(0), connection);
    let (to, verdict) = (ReplyTo::Serial(0), Verdict::RETRY_ELSEWHERE);
    c.handle_input(
        at(1),
        Input::Reply {
            connection,
            to,
            verdict,
        },
    );
    drain(&mut c);
    // Its backoff over it goes back, there being no other, and the other is dialled.
    c.handle_timeout(at(101));
    let dials = dialled(&mut c);
    assert!(matches!(dials[..], [(_, other)] if other != node));
    make_ready(&mut c, at(102), dials[0].0);
    let to = ReplyTo::Serial(1);
    c.handle_input(
        at(103),
        Input::Reply {
            connection,
            to,
            verdict,
        },
    );
    drain(&mut c);
    c.handle_timeout(at(303));
    let goes_elsewhere = |output: &Output| matches!(output, Output::Action(Action::Write { connection, .. }) if *connection == dials[0].0);
    assert!(drain(&mut c).iter().any(goes_elsewhere));
}

#[test]
fn a_retry_stays_with_the_connection_that_asked_for_it_and_not_with_the_next() {
    let mut c = cluster();
    c.set_nodes(at(0), &list(&["1.1.1.1:1", "2.2.2.2:1"]))
        .unwrap();
    let [a, b] = [0, 1].map(|i| c.nodes().nth(i).unwrap().id);
    let first = connect(&mut c, at(0), a);
    c.submit(at(0), RequestOptions::new()).unwrap();
    let verdict = Verdict::RETRY_HERE.after(Duration::from_secs(1));
    let to = ReplyTo::Serial(0);
    c.handle_input(
        at(0),
        Input::Reply {
            connection: first,
            to,
            verdict,
        },
    );
    connect(&mut c, at(0), b);
    let error = redial::CloseError::Peer;
    c.handle_input(
        at(1),
        Input::Closed {
            connection: first,
            error,
        },
    );
    let again = connect(&mut c, at(500), a);
    c.handle_input(at(500), Input::WriteBlocked { connection: again });
    c.handle_timeout(at(1000));
    let writes = |output: &Output| matches!(output, Output::Action(Action::Write { .. }));
    assert!(drain(&mut c).iter().any(writes), "the other node takes it");
}

#[test]
fn a_shutdown_without_a_drain_ends_also_at_the_end_of_time() {
    let mut c = cluster();
    c.shutdown(Instant::MAX, Duration::ZERO).unwrap();
    assert_eq!(drain(&mut c), [Output::Terminated]);
    assert!(c.nodes().all(|node| node.state == NodeState::Disconnected));
}

#[test]
fn a_connection_that_turns_idle_past_its_limit_is_closed_in_the_call_and_not_handed_out() {
    let config = Config::builder()
        .jitter(Jitter::None)
        .max_idle(Limit::After(Duration::from_millis(100)))
        .request_timeout(Limit::After(Duration::from_millis(500)));
    let mut c = Cluster::new(config.build().unwrap(), 1, at(0));
    c.set_nodes(at(0), &list(&["1.1.1.1:1"])).unwrap();
    let node = c.nodes().next().unwrap().id;
    let connection = connect(&mut c, at(0), node);
    // Its only request is given up, and the tombstone ends long after the last frame.
    let request = c.submit(at(0), RequestOptions::new()).unwrap();
    let serial = 0;
    c.handle_input(at(0), Input::WriteStarted { connection, serial });
    c.handle_input(at(0), Input::WriteDone { connection, serial });
    c.cancel(at(1), request);
    c.submit(at(499), RequestOptions::new().on(node)).unwrap();
    let serial = 1;
    c.handle_input(at(499), Input::WriteRejected { connection, serial });
    drain(&mut c);
    c.handle_timeout(at(500));
    let close = Output::Action(Action::Close { connection });
    assert!(drain(&mut c).contains(&close));
    assert_eq!(c.poll_timeout(), None);
}

#[test]
fn a_retry_that_is_not_handed_over_does_not_stay_with_a_connection_that_is_lost() {
    let mut c = cluster();
    c.set_nodes(at(0), &list(&["1.1.1.1:1", "2.2.2.2:1"]))
        .unwrap();
    let [a, b] = [0, 1].map(|i| c.nodes().nth(i).unwrap().id);
    let connection = connect(&mut c, at(0), a);
    c.submit(at(0), RequestOptions::new()).unwrap();
    let (to, verdict) = (ReplyTo::Serial(0), Verdict::RETRY_HERE);
    c.handle_input(
        at(0),
        Input::Reply {
            connection,
            to,
            verdict,
        },
    );
    let other = connect(&mut c, at(0), b);
    c.handle_timeout(at(100));
    drain(&mut c);
    let error = redial::CloseError::Io;
    c.handle_input(at(101), Input::Closed { connection, error });
    let goes_elsewhere = |output: &Output| matches!(output, Output::Action(Action::Write { connection, .. }) if *connection == other);
    assert!(drain(&mut c).iter().any(goes_elsewhere));
    c.audit().unwrap();
}
