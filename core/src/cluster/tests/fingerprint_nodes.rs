//! What is kept of nodes, connections and server lists is in the fingerprint, unless nobody acts on it.

use super::*;
use crate::{
    BackoffReset, Cause, LastFailure, collections::NONE, node::Phase, select::Standing,
    servers::ListId,
};

const ADDRESS: core::net::SocketAddr =
    core::net::SocketAddr::new(core::net::IpAddr::V4(core::net::Ipv4Addr::LOCALHOST), 1);

const fn standing(healthy: bool, load: u32) -> Option<Standing> {
    Some(Standing { healthy, load })
}

#[test]
fn what_is_kept_of_a_node_is_in_it() {
    assert_all_differ(
        &busy().cluster,
        &[
            ("its label", |c| {
                let spec = c.nodes[0].spec.clone();
                c.nodes[0].spec = spec.with_label("rack", "a");
            }),
            ("state", |c| {
                c.nodes[1].state = crate::NodeState::AuthenticationFailed;
            }),
            ("attempt", |c| c.nodes[1].attempt = 0),
            ("connection", |c| c.nodes[0].connection = NONE),
            ("what drains", |c| c.nodes[1].detached[0] = 0),
            ("what drains after it", |c| c.nodes[1].detached[1] = 0),
            ("failures", |c| c.nodes[1].failures += 1),
            ("failures in setup", |c| c.nodes[1].setup_failures += 1),
            ("rest", |c| {
                let rest = c.nodes[1].next_attempt.unwrap();
                c.nodes[1].next_attempt = Some(rest + NANOSECOND);
            }),
            ("no rest", |c| c.nodes[1].next_attempt = None),
            ("last attempt", |c| c.nodes[1].last_attempt = None),
            ("last failure", |c| c.nodes[1].last_failure = None),
            ("the cause of its last failure", |c| {
                let failure = c.nodes[1].last_failure.as_mut();
                failure.unwrap().cause = Cause::Unreachable;
            }),
            ("rejection", |c| c.nodes[1].last_ended_rejected = true),
            ("throttle", |c| {
                c.nodes[1].throttled_until = c.now + NANOSECOND;
            }),
            ("an answer", |c| {
                c.nodes[1].addresses().answered(c.now, &[ADDRESS]);
            }),
            ("an older answer", |c| {
                let before = Instant::ORIGIN;
                c.nodes[1].addresses().answered(before, &[ADDRESS]);
            }),
            ("an address lost", |c| c.nodes[1].addresses().lost(ADDRESS)),
            ("an address in use", |c| {
                c.nodes[1].addresses().answered(c.now, &[ADDRESS]);
                c.nodes[1].addresses().next();
            }),
            ("tie", |c| c.nodes[1].tie ^= 1),
            ("aborts", |c| c.nodes[1].aborts_in_a_row += 1),
            ("work", |c| c.nodes[1].to_serve = true),
            ("rejected rest", |c| c.nodes[1].rejected_resting = true),
            ("lists", |c| c.nodes[1].lists |= ListId::CONFIGURED.bit()),
            ("retries", |c| {
                c.nodes[1].delayed.push(&mut c.delayed_links, 0);
            }),
            ("who stays", |c| {
                c.nodes[1].staying.push(&mut c.delayed_links, 0);
            }),
        ],
    );
}

#[test]
fn of_a_node_what_nobody_acts_on_is_not_in_it() {
    assert_none_differs(
        &busy().cluster,
        &[
            ("the time of its last failure", |c| {
                let failure = c.nodes[1].last_failure.unwrap();
                let at = failure.at + NANOSECOND;
                c.nodes[1].last_failure = Some(LastFailure { at, ..failure });
            }),
            ("a throttle that is over", |c| {
                c.nodes[1].throttled_until = c.now;
            }),
            ("the last wait, where no wait depends on it", |c| {
                c.nodes[1].last_backoff += 1;
            }),
            ("the update that named it", |c| c.nodes[1].seen_in += 1),
        ],
    );
}

#[test]
fn waits_that_are_drawn_depend_on_the_draws_and_decorrelated_ones_on_the_last() {
    let with = |jitter| make_busy(Driven::new(config().jitter(jitter))).cluster;
    let last: Named = ("the last wait", |c| c.nodes[1].last_backoff += 1);
    assert_all_differ(&with(Jitter::Decorrelated), &[last]);
    assert_none_differs(&with(Jitter::Equal), &[last]);

    let failed_times = |times, jitter| {
        let mut driven = Driven::new(config().jitter(jitter));
        for _ in 0..times {
            driven.fail(0);
            driven.wait(Duration::from_secs(60));
        }
        driven.cluster.fingerprint()
    };
    assert_eq!(
        failed_times(10, Jitter::None),
        failed_times(11, Jitter::None)
    );
    assert_ne!(
        failed_times(10, Jitter::Equal),
        failed_times(11, Jitter::Equal)
    );
}

#[test]
fn what_is_kept_of_a_connection_is_in_it() {
    assert_all_differ(
        &busy().cluster,
        &[
            ("node", |c| c.connections[0].node = c.node_id(1)),
            ("attempt", |c| c.connections[0].attempt = 0),
            ("address", |c| c.connections[0].address = None),
            ("phase", |c| {
                c.connections[0].phase = Phase::Draining(Cause::Idle);
            }),
            ("why it drains", |c| {
                c.connections[0].phase = Phase::Draining(Cause::MaxAge);
            }),
            ("its age", |c| c.connections[0].ready_at = c.now),
            ("the peer's limit", |c| c.connections[0].limit -= 1),
            ("how far back a reply is late", |c| {
                c.connections[0].issued += 1;
            }),
            ("slots", |c| c.connections[0].in_flight += 1),
            ("open requests", |c| c.connections[0].open += 1),
            ("frames begun", |c| c.connections[0].partial += 1),
            ("frames to write", |c| c.connections[0].unaccepted += 1),
            ("a full transport", |c| c.connections[0].blocked = true),
            ("flights", |c| {
                c.connections[0].flights.remove(&mut c.flight_links, 1);
            }),
            ("deadlines of its own", |c| {
                let own = c.attempt_deadlines.clone();
                c.connections[0].own_deadlines = Some(own.into());
            }),
            ("throttle", |c| {
                c.connections[0].throttled_until = c.now + NANOSECOND;
            }),
            ("health", |c| c.connections[0].unhealthy = true),
            ("timeouts in a row", |c| {
                c.connections[0].timeouts_in_a_row = 1;
            }),
            ("more timeouts in a row", |c| {
                c.connections[0].timeouts_in_a_row = 2;
            }),
            ("usefulness", |c| c.connections[0].replied = true),
            ("a reply makes good", |c| {
                c.connections[0].reply_resets_node = true;
            }),
            ("a limit reached", |c| {
                c.connections[0].upkeep.past_limit = true;
            }),
        ],
    );
}

#[test]
fn of_a_connection_what_nobody_acts_on_is_not_in_it() {
    assert_none_differs(
        &busy().cluster,
        &[
            ("a throttle that is over", |c| {
                c.connections[0].throttled_until = c.now;
            }),
            ("a serial number, all of them alike", |c| {
                let connection = &mut c.connections[0];
                connection.next_serial += 100;
                c.flights[0].serial += 100;
                c.flights[1].serial += 100;
            }),
        ],
    );
    let sick = |timeouts| {
        let mut cluster = busy().cluster;
        cluster.connections[0].timeouts_in_a_row = timeouts;
        cluster.fingerprint()
    };
    assert_ne!(sick(2), sick(3));
    assert_eq!(sick(3), sick(4));
}

#[test]
fn the_age_of_a_connection_counts_until_it_is_stable() {
    let print = |reset: BackoffReset, seconds: u64| {
        let mut driven = make_busy(Driven::new(config().backoff_reset(reset)));
        driven.wait(Duration::from_millis(1));
        driven.cluster.now = Instant::from_millis(100_000);
        driven.cluster.connections[0].ready_at = Instant::from_millis(100_000 - seconds * 1_000);
        driven.cluster.fingerprint()
    };
    // The longest reconnect backoff is 10 s.
    let by_reply = BackoffReset::OnFirstReply;
    assert_ne!(print(by_reply, 9), print(by_reply, 10));
    assert_eq!(print(by_reply, 10), print(by_reply, 11));
    let long = BackoffReset::StableFor(Duration::from_secs(60));
    assert_ne!(print(long, 59), print(long, 60));
    assert_eq!(print(long, 60), print(long, 61));
    let short = BackoffReset::StableFor(Duration::from_secs(1));
    assert_ne!(print(short, 9), print(short, 10));
}

#[test]
fn who_can_take_a_request_and_who_comes_next_is_in_it() {
    let common: &[Named] = &[
        ("one", |c| c.ready.set(0, standing(true, 0))),
        ("an unhealthy one", |c| c.ready.set(0, standing(false, 0))),
        ("a loaded one", |c| c.ready.set(0, standing(true, 1))),
        ("another", |c| c.ready.set(1, standing(true, 0))),
    ];
    let with = |policy| Driven::new(config().selection(policy)).cluster;
    for policy in [
        SelectionPolicy::LeastLoaded,
        SelectionPolicy::RoundRobin,
        SelectionPolicy::PowerOfTwoChoices,
        SelectionPolicy::custom(Nobody),
    ] {
        assert_all_differ(&with(policy.clone()), common);
        assert_none_differs(
            &with(policy),
            &[("one that was there", |c| {
                c.ready.set(5, standing(true, 0));
                c.ready.set(5, None);
            })],
        );
    }
    // Who was added first is drawn with another number.
    for policy in [
        SelectionPolicy::LeastLoaded,
        SelectionPolicy::PowerOfTwoChoices,
    ] {
        assert_all_differ(
            &with(policy),
            &[
                ("one and another", |c| {
                    c.ready.set(0, standing(true, 0));
                    c.ready.set(1, standing(true, 0));
                }),
                ("another and one", |c| {
                    c.ready.set(1, standing(true, 0));
                    c.ready.set(0, standing(true, 0));
                }),
            ],
        );
    }
    assert_all_differ(
        &with(SelectionPolicy::RoundRobin),
        &[
            ("a turn", |c| c.ready.chosen(0)),
            ("turns", |c| {
                c.ready.chosen(0);
                c.ready.chosen(1);
            }),
            ("turns in another order", |c| {
                c.ready.chosen(1);
                c.ready.chosen(0);
            }),
        ],
    );
}

#[test]
fn who_may_be_dialled_next_is_in_it() {
    assert_all_differ(
        &fresh().cluster,
        &[
            ("who can be", |c| {
                c.dialable.remove(0);
            }),
            ("before whom", |c| {
                let key = c.dialable.key(1).unwrap();
                c.dialable.set(key, 0);
            }),
        ],
    );
    assert_all_differ(&busy().cluster, &[("who rests", |c| c.resting.remove(1))]);
    assert_all_differ(
        &wanted().cluster,
        &[
            ("who is wanted", |c| {
                c.wanted.remove(1);
            }),
            ("before whom", |c| {
                let key = wanted_of([1, 0]).cluster.wanted.key(0);
                c.wanted.set(key.unwrap(), 1);
            }),
            ("attempts that count", |c| c.governor.ends(0)),
            ("attempts", |c| c.attempts[0].for_any = true),
            ("attempts' deadlines", |c| {
                c.attempts[0].handshake_deadline = true;
            }),
            ("who could serve any", |c| {
                c.setups.remove(0);
            }),
        ],
    );
    let rated = Driven::new(config().attempts_per_second(5)).cluster;
    assert_all_differ(
        &rated,
        &[("attempts that may begin", |c| {
            c.governor.begins(0, c.now);
        })],
    );
}

#[test]
fn what_is_known_of_sources_is_in_it() {
    let base = Driven::new(
        config()
            .source(Source::discovery())
            .source(Source::fallback()),
    );
    assert_all_differ(
        &base.cluster,
        &[
            ("primary nodes", |c| c.sources.primary_nodes += 1),
            ("failed nodes", |c| c.sources.failed_nodes += 1),
            ("what it fell back to", |c| {
                c.sources.fallback.insert(ListId::CONFIGURED, Vec::new());
            }),
            ("joined", |c| c.sources.fallback_joined = true),
            ("since when", |c| c.sources.joined_at = Some(c.now)),
            ("failures", |c| c.sources.failures += 1),
            ("asked", |c| c.sources.asked = true),
            ("changed", |c| c.sources.changed = true),
            ("waiting", |c| c.sources.waiting += 1),
            ("wanting", |c| c.sources.wants_a_node = true),
            ("one under way", |c| c.sources.all[0].under_way = true),
            ("one started", |c| c.sources.all[0].started = Some(c.now)),
            ("one due", |c| c.sources.all[0].regular += NANOSECOND),
            ("one retried", |c| c.sources.all[0].retry = Some(c.now)),
            ("one asked", |c| c.sources.all[0].asked = true),
            ("one outdated", |c| c.sources.all[0].outdated = true),
            ("one failed", |c| c.sources.all[0].failures += 1),
            ("its last wait", |c| c.sources.all[0].last_backoff += 1),
            ("its version", |c| c.sources.all[0].version = Some(0)),
            ("its draws", |c| {
                c.sources.all[0].rng.next_u64();
            }),
            ("its waiting", |c| c.sources.all[0].waits = false),
            ("its connection", |c| {
                let (index, generation) = (0, 0);
                c.sources.all[0].connection = Some(ConnectionId { index, generation });
            }),
            ("its being due", |c| c.sources.all[0].due.run(c.now)),
        ],
    );
    assert_none_differs(
        &base.cluster,
        &[("generations", |c| c.sources.all[0].generation += 1)],
    );
}

#[test]
fn of_endpoints_that_left_those_that_still_rest_are_in_it() {
    let print = |rest: Option<Duration>, failures: u32| {
        let mut cluster = busy().cluster;
        if let Some(rest) = rest {
            let mut node = cluster.nodes[1].clone();
            node.next_attempt = Some(cluster.now + rest);
            node.failures = failures;
            cluster.departed.remember(&node, Instant::ORIGIN);
        }
        cluster.fingerprint()
    };
    let none = print(None, 0);
    assert_eq!(print(Some(Duration::ZERO), 1), none);
    let longer = print(Some(2 * NANOSECOND), 1);
    let distinct = [
        none,
        print(Some(NANOSECOND), 1),
        longer,
        print(Some(NANOSECOND), 2),
    ];
    for (i, one) in distinct.iter().enumerate() {
        assert!(!distinct[..i].contains(one), "{i}");
    }
}
