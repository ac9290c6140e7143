//! What is kept of requests is in the fingerprint, unless nobody acts on it.

use super::*;
use crate::{
    collections::NONE,
    request::{FlightState, Place},
};

#[test]
fn what_is_kept_of_a_flight_is_in_it() {
    assert_all_differ(
        &busy().cluster,
        &[
            ("its request", |c| c.flights[0].request = NONE),
            ("given up", |c| c.flights[0].state = FlightState::Tombstone),
            ("over", |c| c.flights[0].state = FlightState::Trailing),
            ("no reply", |c| c.flights[0].expects_reply = false),
            ("accepted", |c| c.flights[0].accepted = true),
            ("its place among the serials", |c| c.flights[0].serial = 7),
        ],
    );
}

#[test]
fn what_is_kept_of_a_request_is_in_it() {
    assert_all_differ(
        &resting().cluster,
        &[
            ("submit", |c| {
                let later = c.requests[0].submitted + NANOSECOND;
                c.requests[0].submitted = later;
            }),
            ("bytes", |c| c.requests[0].bytes += 1),
            ("attempts", |c| c.requests[0].attempts += 1),
            ("idempotence", |c| c.requests[0].idempotent = true),
            ("fail fast", |c| c.requests[0].fail_fast = true),
            ("no reply", |c| c.requests[0].expects_reply = false),
            ("nowhere", |c| c.requests[0].set_place(Place::Nowhere)),
            ("for any", |c| c.requests[0].set_place(Place::AnyQueue)),
            ("for 0", |c| c.requests[0].set_place(Place::NodeQueue(0))),
            ("overdue", |c| c.requests[0].set_place(Place::Overdue)),
            ("in backoff", |c| c.requests[0].set_place(Place::Delayed)),
            ("queued", |c| {
                c.nodes[1].queue.remove(&mut c.queue_positions, 0);
            }),
        ],
    );
    let submit = |options: fn(&Driven) -> RequestOptions| {
        let mut driven = blocked();
        driven.fail(1);
        driven.submit(options(&driven));
        driven.submit(options(&driven));
        driven.cluster
    };
    // Of both requests in one queue, which one is older.
    let order = submit(|d| RequestOptions::new().on(d.node(0)));
    assert_all_differ(
        &order,
        &[("order", |c| {
            let older = c.requests[0].seq;
            c.requests[0].seq = c.requests[1].seq;
            c.requests[1].seq = older;
        })],
    );
    let fail_fast = submit(|_| RequestOptions::new().fail_fast());
    assert_all_differ(
        &fail_fast,
        &[("among those that fail fast", |c| {
            c.fail_fast.remove(&mut c.fail_fast_positions, 0);
        })],
    );
}

#[test]
fn what_is_kept_beside_a_request_is_in_it() {
    assert_all_differ(
        &barred().cluster,
        &[
            ("timeout", |c| c.extra_mut(0).own_timeout = Some(NANOSECOND)),
            ("attempts that count", |c| c.extra_mut(0).charged += 1),
            ("a reply", |c| c.extra_mut(0).answered = true),
            ("elsewhere", |c| c.extra_mut(0).elsewhere = true),
            ("retry refused", |c| c.extra_mut(0).retry_refused = true),
            ("budget", |c| c.extra_mut(0).budget_exhausted = true),
            ("whom it avoids", |c| {
                c.extra_mut(0).avoid = Some(c.node_id(1));
            }),
            ("with whom it stays", |c| {
                c.extra_mut(0).stay = Some(c.connection_id(0));
            }),
            ("no frame before it", |c| c.extra_mut(0).barred.clear()),
            ("another frame before it", |c| {
                c.extra_mut(0).barred[0].1 -= 1;
            }),
            ("where it was", |c| {
                c.extra_mut(0).last_node = Some(c.node_id(1));
            }),
            ("that it was nowhere", |c| c.extra_mut(0).last_node = None),
            ("how it failed", |c| {
                c.extra_mut(0).last_ending = Some(ENDING);
            }),
        ],
    );
    assert_none_differs(
        &barred().cluster,
        &[("the last wait, where no wait depends on it", |c| {
            c.extra_mut(0).last_backoff += 1;
        })],
    );
}

#[test]
fn to_a_request_what_is_gone_is_all_alike() {
    let print = |avoid: Option<NodeId>, serial: u32| {
        let mut cluster = barred().cluster;
        let (index, generation) = (9, 0);
        let gone = ConnectionId { index, generation };
        let extra = cluster.extra_mut(0);
        extra.barred = vec![(gone, serial)];
        extra.avoid = avoid;
        cluster.fingerprint()
    };
    let (index, generation) = (9, 0);
    let gone = NodeId { index, generation };
    assert_eq!(print(None, 0), print(None, 1));
    assert_eq!(print(None, 0), print(Some(gone), 0));
}

#[test]
fn deadlines_behind_the_first_are_in_it() {
    let handed_over = || {
        let mut driven = Driven::new(config().queue_max_age(Duration::from_secs(9)));
        driven.submit_on(0);
        driven.ready(Limits::NONE);
        let own = Duration::from_secs(1);
        for _ in 0..2 {
            let options = RequestOptions::new().on(driven.node(0));
            driven.submit(options.request_timeout(own));
        }
        for (connection, serial) in driven.written.clone() {
            driven.input(Input::WriteStarted { connection, serial });
        }
        driven
    };
    let changes: &[Named] = &[
        ("of a request", |c| {
            c.request_deadlines
                .remove(&mut c.request_links, &mut c.timers, 1);
        }),
        ("of waiting", |c| {
            c.queue_ages.remove(&mut c.age_links, &mut c.timers, 1);
        }),
        ("of an attempt", |c| {
            let links = &mut c.attempt_links.attempts;
            c.attempt_deadlines.attempts.remove(links, &mut c.timers, 1);
        }),
        ("of a shorter attempt", |c| {
            let links = &mut c.attempt_links.give_ups;
            c.attempt_deadlines.give_ups.remove(links, &mut c.timers, 2);
        }),
    ];
    assert_all_differ(&handed_over().cluster, changes);

    let mut throttled = handed_over();
    let connection = throttled.dialled[0];
    let until = throttled.now + NANOSECOND;
    throttled.input(Input::Throttled { connection, until });
    let changes: &[Named] = &[
        ("of an attempt", |c| {
            let links = &mut c.attempt_links.attempts;
            let own = c.connections[0].own_deadlines.as_mut().unwrap();
            own.attempts.remove(links, &mut c.timers, 1);
        }),
        ("of a shorter attempt", |c| {
            let links = &mut c.attempt_links.give_ups;
            let own = c.connections[0].own_deadlines.as_mut().unwrap();
            own.give_ups.remove(links, &mut c.timers, 2);
        }),
    ];
    assert_all_differ(&throttled.cluster, changes);
}
