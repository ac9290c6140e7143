//! What a digest adds for each kind of value.

use alloc::collections::BTreeSet;
use core::{
    fmt::Write,
    hash::{Hash, Hasher},
};

use super::*;
use crate::cluster::Digest;

/// The digest after what `add` adds.
fn of(cluster: &Cluster, add: impl FnOnce(&mut Digest<'_>)) -> u64 {
    let mut digest = Digest::new(cluster);
    add(&mut digest);
    digest.finish()
}

fn distinct(prints: impl IntoIterator<Item = u64>) -> usize {
    prints.into_iter().collect::<BTreeSet<_>>().len()
}

/// A cluster at one second past the origin, with requests and nodes whose numbers and times are these.
fn with<const N: usize>(numbers: [u64; N], times: [u64; 2]) -> Cluster {
    let mut driven = fresh();
    for number in numbers {
        driven.submit_on(0);
        let r = driven.cluster.requests.len() as u32 - 1;
        driven.cluster.requests[r].seq = number;
    }
    driven.cluster.setups.remove(0);
    for (n, time) in (0..).zip(times) {
        let node = &mut driven.cluster.nodes[n];
        node.last_attempt = Some(Instant::from_millis(time));
        node.next_attempt = Some(Instant::from_millis(time));
    }
    driven.cluster.now = Instant::from_millis(1_000);
    driven.cluster
}

#[test]
fn every_bit_of_a_word_counts() {
    let cluster = fresh().cluster;
    let words = (0..64).map(|bit| 1 << bit).chain([0_u64]);
    let prints = words.map(|word| of(&cluster, |to| to.add(word)));
    assert_eq!(distinct(prints), 65);
}

#[test]
fn numbers_of_every_width_are_taken_and_so_is_text() {
    fn distinguishes(one: impl Hash, other: impl Hash) -> bool {
        let cluster = fresh().cluster;
        of(&cluster, |to| to.add(one)) != of(&cluster, |to| to.add(other))
    }
    assert!(distinguishes(0_u8, 1_u8));
    assert!(distinguishes(0_u16, 1_u16));
    assert!(distinguishes(0_u32, 1_u32));
    assert!(distinguishes(0_u64, 1_u64));
    assert!(distinguishes(0_usize, 1_usize));
    assert!(distinguishes(0_u128, 1_u128));
    assert!(distinguishes(0_u128, 1_u128 << 64));
    assert!(distinguishes(*b"abcdefgh1", *b"abcdefgh2"));
    assert!(distinguishes(*b"a", *b"a\0"));
    let written = |text| of(&fresh().cluster, |to| write!(to, "{text}").unwrap());
    assert_ne!(written("a"), written("b"));
}

#[test]
fn the_order_of_words_counts() {
    let cluster = fresh().cluster;
    assert_ne!(
        of(&cluster, |to| to.add((1_u64, 2_u64))),
        of(&cluster, |to| to.add((2_u64, 1_u64)))
    );
}

#[test]
fn items_are_told_from_those_that_follow_and_counted_even_if_they_add_nothing() {
    let cluster = fresh().cluster;
    let nothings = (0..4).map(|count| of(&cluster, |to| to.all(0..count, |_, _| {})));
    assert_eq!(distinct(nothings), 4);
    let split = |at: u64| {
        of(&cluster, |to| {
            to.all(0..at, |to, i| to.add(i));
            to.all(at..4, |to, i| to.add(i));
        })
    };
    assert_eq!(distinct((0..=4).map(split)), 5);
}

#[test]
fn an_exact_time_is_how_far_it_is_before_or_after_now() {
    let mut cluster = fresh().cluster;
    let mut prints = |now: u64| {
        cluster.now = Instant::from_millis(now);
        let now = cluster.now.as_nanos();
        let times = [now - 2, now - 1, now, now + 1, now + 2, u64::MAX];
        times.map(|at| of(&cluster, |to| to.exact(Instant::from_nanos(at))))
    };
    let early = prints(1);
    assert_eq!(distinct(early), 6);
    assert_eq!(early, prints(2));
}

#[test]
fn a_deadline_counts_until_it_is_reached() {
    let cluster = with([], [0, 0]);
    let print = |millis| of(&cluster, |to| to.deadline(Instant::from_millis(millis)));
    assert_eq!(distinct([0, 999, 1_000].map(print)), 1);
    assert_eq!(distinct([1_000, 1_001, 1_002].map(print)), 3);
}

#[test]
fn an_age_counts_up_to_its_limit() {
    let cluster = with([], [0, 0]);
    let limit = Duration::from_millis(100);
    let print = |millis| of(&cluster, |to| to.age(Instant::from_millis(millis), limit));
    assert_eq!(distinct([1_000, 999, 901, 900].map(print)), 4);
    assert_eq!(distinct([900, 899, 0].map(print)), 1);
}

#[test]
fn of_numbers_of_the_common_sequence_the_order_counts() {
    let prints = |numbers: [u64; 8]| {
        let cluster = with(numbers, [0, 0]);
        numbers.map(|number| of(&cluster, |to| to.number(number)))
    };
    let sorted = prints([10, 20, 30, 40, 50, 60, 70, 80]);
    assert_eq!(distinct(sorted), 8);
    assert_eq!(sorted, prints([1, 2, 3, 4, 5, 6, 7, 90]));
    let mut backwards = prints([80, 70, 60, 50, 40, 30, 20, 10]);
    backwards.reverse();
    assert_eq!(sorted, backwards);
}

#[test]
fn failures_and_attempts_have_numbers_of_the_common_sequence() {
    let mut driven = busy();
    driven.fail(0);
    let cluster = driven.cluster;
    let numbers = cluster.failed_last.iter().map(|((number, _), _)| number);
    let prints = numbers.map(|number| of(&cluster, |to| to.number(number)));
    assert_eq!(distinct(prints), 2);
}

#[test]
fn of_last_attempts_the_order_counts_and_whether_it_is_now() {
    let prints = |times: [u64; 2]| {
        let cluster = with([], times);
        let times = times.map(|time| Some(Instant::from_millis(time)));
        let print = |at| of(&cluster, |to| to.last_attempt(at));
        [times[0], times[1], None].map(print)
    };
    let sorted = prints([100, 200]);
    assert_eq!(distinct(sorted), 3);
    assert_eq!(sorted, prints([500, 900]));
    let now = prints([100, 1_000]);
    assert_eq!(now[0], sorted[0]);
    assert_ne!(now[1], sorted[1]);
}

#[test]
fn of_next_attempts_that_are_reached_the_order_counts_and_of_others_the_time() {
    let prints = |times: [u64; 2]| {
        let cluster = with([], times);
        let times = times.map(|time| Some(Instant::from_millis(time)));
        let print = |at| of(&cluster, |to| to.next_attempt(at));
        [times[0], times[1], None].map(print)
    };
    let reached = prints([100, 200]);
    assert_eq!(distinct(reached), 3);
    assert_eq!(reached, prints([500, 1_000]));
    let ahead = prints([100, 1_001]);
    assert_eq!(ahead[0], reached[0]);
    assert_eq!(distinct([reached[1], ahead[1], prints([0, 1_002])[1]]), 3);
}

#[test]
fn live_ids_are_told_apart_and_stale_ones_are_not() {
    let mut driven = busy();
    driven.submit_on(1);
    driven.wait(Duration::from_millis(100));
    let cluster = driven.cluster;
    let stale = |index, generation| NodeId { index, generation };
    let nodes = [
        cluster.node_id(0),
        cluster.node_id(1),
        stale(0, 7),
        stale(1, 7),
        stale(9, 0),
    ];
    let nodes = nodes.map(|id| of(&cluster, |to| to.node(id)));
    assert_eq!((distinct(nodes), distinct(nodes[2..].to_vec())), (3, 1));

    let stale = |index, generation| ConnectionId { index, generation };
    let connections = [
        cluster.connection_id(0),
        cluster.connection_id(1),
        stale(0, 7),
        stale(1, 7),
        stale(9, 0),
    ];
    let mut live = Vec::new();
    let connections = connections.map(|id| of(&cluster, |to| live.push(to.connection(id))));
    let stale = connections[2..].to_vec();
    assert_eq!((distinct(connections), distinct(stale)), (3, 1));
    assert_eq!(live, [true, true, false, false, false]);
}

#[test]
fn a_serial_counts_back_from_the_next_one() {
    let mut cluster = busy().cluster;
    let mut prints = |next: u32| {
        cluster.connections[0].next_serial = next;
        let back = [1, 2, 3].map(|back| next.wrapping_sub(back));
        back.map(|serial| of(&cluster, |to| to.serial(0, serial)))
    };
    let late = prints(100);
    assert_eq!(distinct(late), 3);
    assert_eq!(late, prints(2));
}
