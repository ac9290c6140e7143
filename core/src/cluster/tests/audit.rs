//! The audit notices each book that is wrong, and nothing in sound ones.

use super::*;
use crate::{
    Cause, Limit,
    cluster::Run,
    collections::NONE,
    node::{DialKey, Phase},
    request::{FlightState, Place},
    select::Standing,
    servers::ListId,
    timers::{Timer, TimerSlot},
};

type Situation = fn() -> Driven;
type Change = fn(&mut Cluster);

/// Situations, what is made wrong in each, and what the audit says of it.
type Case = (Situation, Change, &'static str);

fn assert_noticed(cases: &[Case]) {
    for (situation, change, expected) in cases {
        let mut cluster = situation().cluster;
        change(&mut cluster);
        let what = cluster.audit().expect_err(expected);
        assert!(what.contains(expected), "{what}, should be {expected}");
    }
}

/// A key of a node that was never dialled.
fn dial_key() -> DialKey {
    fresh().cluster.dialable.peek().unwrap().0
}

const fn standing(load: u32) -> Option<Standing> {
    let healthy = true;
    Some(Standing { healthy, load })
}

fn arm(cluster: &mut Cluster, timer: Timer) {
    let at = cluster.now + NANOSECOND;
    let mut slot = TimerSlot::UNARMED;
    cluster.timers.set(&mut slot, at, timer);
}

#[test]
fn sound_clusters_pass() {
    let situations: &[(&str, Situation)] = &[
        ("fresh", fresh),
        ("dialled", dialled),
        ("dialled for any", dialled_for_any),
        ("handshaking", handshaking),
        ("busy", busy),
        ("accepted", accepted),
        ("idle", idle),
        ("full", full),
        ("blocked", blocked),
        ("past its limit", past_limit),
        ("resting", resting),
        ("wanted", wanted),
        ("throttled", throttled),
        ("tombstones", tombstones),
        ("trailing", trailing),
        ("draining", draining),
        ("barred", barred),
        ("picky", picky),
        ("rejected", rejected),
        ("refreshing", refreshing),
        ("discovery waits", discovery_waits),
        ("discovering", discovering),
        ("fallback", fallback),
        ("fallback joined", fallback_joined),
        ("keyed", keyed),
        ("shutting down", shutting_down),
        ("terminated", terminated),
    ];
    for (name, situation) in situations {
        assert_eq!(situation().cluster.audit(), Ok(()), "{name}");
    }
}

#[test]
fn what_is_just_within_bounds_passes() {
    let cases: &[(&str, Situation, Change)] = &[
        ("a rest that ends now", fresh, |c| {
            c.nodes[0].next_attempt = Some(c.now);
        }),
        ("a throttle that ends next", fresh, |c| {
            let until = c.now + NANOSECOND;
            c.throttled.set(until, 0);
        }),
        ("a request that stays with a Ready node", busy, |c| {
            c.nodes[0].staying.push(&mut c.delayed_links, 0);
        }),
        ("a dial timer, and no request", fresh, |c| {
            arm(c, Timer::Dial)
        }),
        ("a request timer of a drain", shutting_down, |c| {
            arm(c, Timer::QueueAge);
        }),
        ("a limit timer for what will reach it", fresh, |c| {
            c.limits.set(c.now, 0);
            arm(c, Timer::Limit);
        }),
        ("a limit timer for what has reached it", idle, |c| {
            c.limits.remove(0);
            c.past_limit.push(c.connection_id(0));
        }),
        ("sources that nobody tends any more", shutting_down, |c| {
            (c.sources.changed, c.sources.asked) = (true, true);
        }),
        ("a stall that is never over", busy, |c| {
            c.config.write_timeout = Limit::Never;
            c.stalls.remove(&mut c.stall_links, &mut c.timers, 0);
        }),
    ];
    for (name, situation, change) in cases {
        let mut cluster = situation().cluster;
        change(&mut cluster);
        assert_eq!(cluster.audit(), Ok(()), "{name}");
    }
}

#[test]
fn a_wrong_book_of_a_node_is_noticed() {
    assert_noticed(&[
        (busy, |c| c.nodes[0].attempt = 0, "attempt in Ready"),
        (dialled, |c| c.nodes[0].attempt = NONE, "attempt in Conn"),
        (busy, |c| c.nodes[0].connection = NONE, "connection in Rea"),
        (dialled, |c| c.nodes[0].connection = 0, "connection in Con"),
        (
            handshaking,
            |c| c.nodes[0].connection = NONE,
            "connection in Handshaking",
        ),
        (
            fresh,
            |c| {
                c.dialable.remove(0);
            },
            "idle set in Disconnected",
        ),
        (busy, |c| c.resting.remove(1), "idle set in Disconnected"),
        (busy, |c| c.dialable.set(dial_key(), 0), "idle set in Ready"),
        (busy, |c| c.dialable.set(dial_key(), 1), "two idle sets"),
        (
            fresh,
            |c| c.nodes[0].next_attempt = Some(c.now + NANOSECOND),
            "dialable before its next-attempt time",
        ),
        (
            busy,
            |c| c.nodes[1].staying.push(&mut c.delayed_links, 0),
            "a request stays with it in Disconnected",
        ),
        (fresh, |c| c.throttled.set(c.now, 0), "an old throttle"),
        (busy, |c| c.ready.set(0, None), "standing in Ready"),
        (busy, |c| c.ready.set(1, standing(0)), "standing in Disc"),
        (full, |c| c.ready.set(0, standing(1)), "standing in Ready"),
        (
            blocked,
            |c| c.ready.set(0, standing(0)),
            "standing in Ready",
        ),
        (
            past_limit,
            |c| c.ready.set(0, standing(0)),
            "standing in Ready",
        ),
        (
            throttled,
            |c| c.ready.set(0, standing(2)),
            "standing in Ready",
        ),
        (busy, |c| c.ready.set_load(0, 5), "load 5 is 2"),
        (
            resting,
            |c| c.timers.clear(&mut c.nodes[1].next_attempt_timer),
            "wanted and no timer for Some(0.1s)",
        ),
        (
            wanted,
            |c| {
                c.wanted.remove(1);
            },
            "wanted, dialable and not dialled",
        ),
    ]);
}

#[test]
fn a_wrong_book_of_a_connection_is_noticed() {
    assert_noticed(&[
        (
            busy,
            |c| c.flights[0].connection = 1,
            "a flight of another connection",
        ),
        (busy, |c| c.flights[0].serial = 7, "serial 7"),
        (
            busy,
            |c| c.flights[0].state = FlightState::Tombstone,
            "request in Tombstone",
        ),
        (
            tombstones,
            |c| c.flights[0].state = FlightState::Open,
            "request in Open",
        ),
        (
            busy,
            |c| c.requests[0].set_place(Place::Overdue),
            "its request is elsewhere",
        ),
        (
            full,
            |c| c.connections[0].in_flight += 1,
            "counts are (2, 1, 0, 1), should be (1, 1, 0, 1)",
        ),
        (
            busy,
            |c| c.connections[0].open += 1,
            "counts are (2, 3, 1, 2), should be (2, 2, 1, 2)",
        ),
        (
            busy,
            |c| c.connections[0].partial += 1,
            "counts are (2, 2, 2, 2), should be (2, 2, 1, 2)",
        ),
        (
            accepted,
            |c| c.connections[0].unaccepted += 1,
            "counts are (2, 2, 0, 2), should be (2, 2, 0, 1)",
        ),
        (
            busy,
            |c| c.stalls.remove(&mut c.stall_links, &mut c.timers, 0),
            "stall timer with 2 unaccepted",
        ),
        (
            idle,
            |c| {
                let stall = (0, c.now, NANOSECOND);
                let (links, timers) = (&mut c.stall_links, &mut c.timers);
                c.stalls.push(links, timers, stall, |_| Timer::WriteStall);
            },
            "stall timer with 0 unaccepted",
        ),
        (
            idle,
            |c| c.connections[0].phase = Phase::Draining(Cause::Shutdown),
            "drained and not closed",
        ),
    ]);
}

#[test]
fn a_wrong_book_of_requests_is_noticed() {
    assert_noticed(&[
        (
            dialled_for_any,
            |c| c.requests[0].set_place(Place::Nowhere),
            "is nowhere",
        ),
        (
            dialled_for_any,
            |c| c.requests[0].set_place(Place::Delayed),
            ": Delayed",
        ),
        (
            dialled_for_any,
            |c| {
                c.any_queue.remove(&mut c.queue_positions, 0);
            },
            ": AnyQueue",
        ),
        (
            barred,
            |c| {
                let r = c.any_queue.peek().unwrap().1;
                let extra = c.extra(r).unwrap().clone();
                c.extras.insert(extra);
            },
            "extras without a request",
        ),
        (busy, |c| c.waiting += 1, "1 waiting, should be 0"),
        (
            dialled_for_any,
            |c| c.waiting_bytes += 1,
            "101 bytes, should be 100",
        ),
        (
            full,
            |c| {
                c.connections[0].limit += 1;
                c.ready.set(0, standing(1));
            },
            "a request for any node waits beside a node that can take it",
        ),
    ]);
}

#[test]
fn a_wrong_count_is_noticed() {
    assert_noticed(&[
        (
            busy,
            |c| c.ready_nodes += 1,
            "node counts are [2, 0, 0, 0], should be [1, 0, 0, 0]",
        ),
        (
            dialled,
            |c| c.setup_nodes += 1,
            "node counts are [0, 2, 0, 0], should be [0, 1, 0, 0]",
        ),
        (
            rejected,
            |c| c.rejected_nodes += 1,
            "node counts are [0, 0, 2, 1], should be [0, 0, 1, 1]",
        ),
        (
            rejected,
            |c| c.rejected_resting += 1,
            "node counts are [0, 0, 1, 2], should be [0, 0, 1, 1]",
        ),
        (busy, |c| c.in_flight += 1, "3 in flight, should be 2"),
        (
            busy,
            |c| {
                let flight = c.flights[0].clone();
                c.flights.insert(flight);
            },
            "3 flights",
        ),
        (tombstones, |c| c.tombstones += 1, "3 tombstones"),
        (
            dialled,
            |c| {
                let attempt = c.attempts[0].clone();
                c.attempts.insert(attempt);
            },
            "attempts without a node",
        ),
        (
            fresh,
            |c| {
                c.failed_last.remove(0);
            },
            "failures are not ranked",
        ),
        (fresh, |c| c.to_serve.push(0), "work left over"),
        (fresh, |c| c.set_aside.push(0), "work left over"),
        (
            wanted,
            |c| c.governor.ends(0),
            "the governor is open and wanted nodes are not dialled",
        ),
        (idle, |c| c.run = Run::Terminated, "not at an end"),
        (resting, |c| c.run = Run::Terminated, "not at an end"),
    ]);
}

#[test]
fn a_wrong_book_of_the_lists_and_their_sources_is_noticed() {
    assert_noticed(&[
        (
            fresh,
            |c| c.nodes[0].lists |= ListId::CONFIGURED.bit(),
            "ListId(1) names 1",
        ),
        (
            refreshing,
            |c| c.nodes[0].lists |= ListId::of_source(0).bit(),
            "ListId(2) names 1",
        ),
        (
            keyed,
            |c| c.nodes[1].spec.key = Some("a".into()),
            "two nodes have the key of n1",
        ),
        (fresh, |c| c.set_lists(0, 0), "is in no list in force"),
        (
            fallback_joined,
            |c| c.set_lists(1, 0),
            "is in no list in force",
        ),
        (
            fallback_joined,
            |c| c.sources.fallback_joined = false,
            "is in no list in force",
        ),
        (
            busy,
            |c| c.sources.primary_nodes += 1,
            "(3, 1) failed, should be (2, 1)",
        ),
        (
            fallback_joined,
            |c| c.sources.failed_nodes += 1,
            "(1, 2) failed, should be (1, 1)",
        ),
        (fresh, |c| c.sources.changed = true, "sources left to tend"),
        (fresh, |c| c.sources.asked = true, "sources left to tend"),
        (
            discovery_waits,
            |c| {
                let (at, timer) = (c.now + NANOSECOND, Timer::Refresh { source: 0 });
                c.timers.set(&mut c.sources.all[0].timer, at, timer);
            },
            "the timer of a source is armed for Some(0.000000001s)",
        ),
        (
            refreshing,
            |c| c.run = Run::Draining(c.now),
            "the timer of a source is armed for Some(10s)",
        ),
        (
            discovering,
            |c| c.sources.all[0].under_way = false,
            "a discovery that is over has a connection",
        ),
        (
            discovery_waits,
            |c| c.sources.waiting += 1,
            "1 discoveries wait, counted are 2",
        ),
        (
            discovering,
            |c| {
                let source = &mut c.sources.all[0];
                c.timers.clear(&mut source.timer);
                (source.waits, c.sources.waiting) = (true, 1);
            },
            "a discovery waits beside a node that can take it",
        ),
    ]);
}

#[test]
fn a_timer_without_an_owner_is_noticed() {
    let (attempt, node, connection) = (9, 9, 9);
    let (class, request) = (9, 9);
    let ownerless = [
        Timer::Setup { attempt },
        Timer::NextAddress { attempt },
        Timer::NextAttempt { node },
        Timer::ThrottleEnd { node },
        Timer::Attempt { class },
        Timer::GiveUp { class },
        Timer::OwnAttempt { connection, class },
        Timer::OwnGiveUp { connection, class },
        Timer::Retry { request },
        Timer::WriteStall,
        Timer::Limit,
        Timer::Keepalive { connection },
        Timer::Probe { connection },
        Timer::Session,
        Timer::MoveEnds,
        Timer::Refresh { source: 1 },
        Timer::Rebootstrap,
        Timer::Drain { connection },
        Timer::Shutdown,
    ];
    let of_requests = [Timer::Dial, Timer::Request { class }, Timer::QueueAge];
    let ownerless = ownerless.map(|timer| (refreshing as Situation, timer));
    let of_requests = of_requests.map(|timer| (terminated as Situation, timer));
    for (situation, timer) in ownerless.into_iter().chain(of_requests) {
        let mut cluster = situation().cluster;
        arm(&mut cluster, timer);
        let expected = alloc::format!("{timer:?} has no owner");
        assert_eq!(cluster.audit(), Err(expected));
    }
}

#[test]
fn a_second_setup_deadline_of_an_attempt_is_noticed() {
    assert_noticed(&[(
        dialled,
        |c| arm(c, Timer::Setup { attempt: 0 }),
        "more setup deadlines than attempts",
    )]);
}
