//! What looks at all that is kept of the client's node: the audit and the fingerprint.

use super::*;
use crate::{
    Limits,
    cluster::tests::{Driven, assert_all_differ, assert_none_differs, config},
};

type Change = fn(&mut Sticky);

/// The client has its node, one of two.
fn settled() -> Cluster {
    let mut driven = Driven::new(config().selection(SelectionPolicy::Sticky));
    driven.submit(crate::RequestOptions::new());
    driven.ready(Limits::NONE);
    driven.cluster
}

fn changed(change: Change) -> Cluster {
    let mut cluster = settled();
    change(cluster.sticky.as_mut().unwrap());
    cluster
}

const GONE: NodeId = NodeId {
    index: 0,
    generation: 7,
};

#[test]
fn what_is_wrong_with_the_clients_node_is_noticed() {
    assert_eq!(settled().audit(), Ok(()));
    let cases: &[(Change, &str)] = &[
        (
            |s| s.connected = Some(GONE),
            "the client's node is not Ready",
        ),
        (
            |s| (s.connected, s.leaves) = (None, true),
            "no node, and it is kept for a move",
        ),
        (
            |s| {
                s.ring.pop();
            },
            "the ring is not that of the list",
        ),
        (|s| s.ring[0].0 ^= 1, "the ring is not that of the list"),
        (|s| s.ring[0].1 = 9, "the ring is not that of the list"),
        (|s| s.connected = None, "no node, and one that is Ready"),
    ];
    for &(change, expected) in cases {
        assert_eq!(changed(change).audit(), Err(expected.into()));
    }
}

#[test]
fn the_client_may_be_without_a_node_while_it_tries_one() {
    let without = changed(|s| {
        s.connected = None;
        s.first.push(GONE);
    });
    assert_eq!(without.audit(), Ok(()));
}

fn sticky(cluster: &mut Cluster) -> &mut Sticky {
    cluster.sticky.as_mut().unwrap()
}

#[test]
fn what_is_kept_of_the_clients_node_is_in_the_fingerprint() {
    assert_all_differ(
        &settled(),
        &[
            ("none", |c| c.sticky = None),
            ("no node", |c| sticky(c).connected = None),
            ("none tried", |c| sticky(c).trying = None),
            ("one tried", |c| sticky(c).trying = Some(GONE)),
            ("no last", |c| sticky(c).last = None),
            ("another last", |c| sticky(c).last = Some(GONE)),
            ("whose entry", |c| {
                sticky(c).last_left = Some(c.nodes[0].spec.clone());
            }),
            ("first", |c| sticky(c).first.push(GONE)),
            ("ring", |c| sticky(c).ring[0].0 ^= 1),
            ("place", |c| sticky(c).place ^= 1),
            ("leaves", |c| sticky(c).leaves = true),
            ("tried", |c| sticky(c).tried += 1),
            ("not before", |c| {
                sticky(c).not_before = c.now + core::time::Duration::from_nanos(1);
            }),
            ("was up", |c| sticky(c).was_up ^= true),
            ("delays", |c| {
                sticky(c).delays.next_u64();
            }),
            ("decisions", |c| {
                sticky(c).decisions.next_u64();
            }),
        ],
    );
    let mut later = settled();
    later.now += core::time::Duration::from_nanos(1);
    assert_none_differs(
        &later,
        &[("a delay that is over", |c| {
            sticky(c).not_before = c.now;
        })],
    );
}
