//! What is in a fingerprint and what is not.

use super::*;
use crate::{
    Cause, Hint,
    cluster::Run,
    node::Ending,
    timers::{Timer, TimerSlot},
};

fn arm(cluster: &mut Cluster, after: u64, timer: Timer) {
    let at = cluster.now + Duration::from_nanos(after);
    let mut slot = TimerSlot::UNARMED;
    cluster.timers.set(&mut slot, at, timer);
}

fn print(driven: &Driven) -> u64 {
    driven.cluster.fingerprint()
}

#[test]
fn a_clone_has_the_same_and_so_has_what_becomes_of_it() {
    let (mut driven, mut clone) = (busy(), busy().clone());
    for _ in 0..20 {
        assert_eq!(print(&driven), print(&clone));
        for either in [&mut driven, &mut clone] {
            let deadline = either.cluster.poll_timeout();
            either.now = deadline.map_or(either.now, |deadline| deadline.at);
            either.wait(Duration::ZERO);
        }
    }
}

#[test]
fn the_same_history_at_another_time_has_the_same() {
    assert_eq!(print(&busy()), print(&busy_from(86_400_000)));
}

#[test]
fn ids_with_other_generations_have_the_same() {
    let (mut new, mut used) = (fresh(), fresh());
    for (driven, times) in [(&mut new, 10), (&mut used, 12)] {
        for _ in 0..times {
            driven.fail(0);
            driven.wait(Duration::from_secs(60));
        }
        driven.submit(RequestOptions::new().on(driven.node(0)));
    }
    let generation = |driven: &Driven| driven.cluster.requests.generation(0);
    assert_ne!(generation(&new), generation(&used));
    assert_eq!(print(&new), print(&used));
}

#[test]
fn failures_count_until_the_backoff_is_the_longest() {
    let long = Duration::from_secs(60);
    let mut driven = fresh();
    let mut prints = Vec::new();
    for _ in 0..20 {
        driven.fail(0);
        driven.wait(long);
        prints.push(print(&driven));
    }
    // 100 ms doubled seven times is more than 10 s; the setup timeout is the longest long before.
    let distinct = prints.iter().collect::<alloc::collections::BTreeSet<_>>();
    assert_eq!(distinct.len(), 8);
    assert!(prints[7..].iter().all(|print| *print == prints[7]));
}

#[test]
fn a_deadline_a_nanosecond_later_is_another_state() {
    let with = |nanos: u64| {
        let mut driven = fresh();
        let timeout = Duration::from_nanos(1_000_000 + nanos);
        driven.submit(RequestOptions::new().timeout(timeout));
        print(&driven)
    };
    assert_eq!(with(0), with(0));
    assert_ne!(with(0), with(1));
}

#[test]
fn whatever_matters_later_is_another_state() {
    type Change = fn(&mut Driven, ConnectionId, u32);
    let changes: &[(&str, Change)] = &[
        ("nothing", |_, _, _| {}),
        ("time", |d, _, _| d.wait(Duration::from_nanos(1))),
        ("a request for any node", |d, _, _| {
            d.submit(RequestOptions::new());
        }),
        ("an idempotent one", |d, _, _| {
            d.submit(RequestOptions::new().idempotent());
        }),
        ("one that waits", |d, _, _| {
            d.submit(RequestOptions::new().on(d.node(1)));
        }),
        ("one that fails fast", |d, _, _| {
            let bound = RequestOptions::new().on(d.node(1));
            d.submit(bound.fail_fast());
        }),
        ("an accepted frame", |d, connection, serial| {
            d.input(Input::WriteDone { connection, serial });
        }),
        ("a frame that has begun", |d, connection, serial| {
            let serial = serial + 1;
            d.input(Input::WriteStarted { connection, serial });
        }),
        ("blocked writing", |d, connection, _| {
            d.input(Input::WriteBlocked { connection });
        }),
        ("a reply", |d, connection, serial| {
            let (to, verdict) = (ReplyTo::Serial(serial), Verdict::DONE);
            d.input(Input::Reply {
                connection,
                to,
                verdict,
            });
        }),
        ("a throttle", |d, connection, _| {
            let until = d.now + Duration::from_millis(5);
            d.input(Input::Throttled { connection, until });
        }),
        ("a longer throttle", |d, connection, _| {
            let until = d.now + Duration::from_millis(6);
            d.input(Input::Throttled { connection, until });
        }),
        ("a lost connection", |d, connection, _| {
            let error = crate::CloseError::Peer;
            d.input(Input::Closed { connection, error });
        }),
        ("a draining peer", |d, connection, _| {
            d.input(Input::PeerDraining { connection });
        }),
        ("nonsense", |d, connection, _| {
            let (to, verdict) = (ReplyTo::Serial(77), Verdict::DONE);
            d.input(Input::Reply {
                connection,
                to,
                verdict,
            });
        }),
        ("a hint", |d, _, _| {
            let up = Hint::NodeUp(d.node(1));
            d.cluster.hint(d.now, up);
            d.drain();
        }),
        ("a node that has left", |d, _, _| {
            let list = vec![d.cluster.nodes().next().unwrap().spec.clone()];
            d.cluster.set_nodes(d.now, &list).unwrap();
            d.drain();
        }),
        ("the end", |d, _, _| {
            d.cluster.shutdown(d.now, Duration::from_secs(1)).unwrap();
            d.drain();
        }),
        ("a later end", |d, _, _| {
            d.cluster.shutdown(d.now, Duration::from_secs(2)).unwrap();
            d.drain();
        }),
        ("outputs that wait", |d, _, _| {
            d.cluster.submit(d.now, RequestOptions::new()).unwrap();
        }),
    ];
    let mut seen = Vec::new();
    for (name, change) in changes {
        let mut driven = busy();
        let (connection, serial) = driven.written[0];
        change(&mut driven, connection, serial);
        let print = print(&driven);
        let same = seen.iter().find(|(_, other)| *other == print);
        assert_eq!(same, None, "{name} is as");
        seen.push((*name, print));
    }
}

#[test]
fn which_timers_are_armed_and_in_which_order_is_in_it() {
    assert_all_differ(
        &fresh().cluster,
        &[
            ("one", |c| arm(c, 1, Timer::Dial)),
            ("a later one", |c| arm(c, 2, Timer::Dial)),
            ("another", |c| arm(c, 1, Timer::Shutdown)),
            ("both", |c| {
                arm(c, 1, Timer::Dial);
                arm(c, 1, Timer::Shutdown);
            }),
            ("both, in the other order", |c| {
                arm(c, 1, Timer::Shutdown);
                arm(c, 1, Timer::Dial);
            }),
            ("a frequent one", |c| {
                c.timers
                    .set(&mut c.limit_timer, Instant::from_nanos(1), Timer::Limit);
            }),
        ],
    );
    assert_none_differs(
        &fresh().cluster,
        &[("one that was armed before", |c| {
            let mut slot = TimerSlot::UNARMED;
            c.timers.set(&mut slot, Instant::from_nanos(1), Timer::Dial);
            c.timers.clear(&mut slot);
        })],
    );
}

#[test]
fn what_the_cluster_keeps_itself_is_in_it() {
    assert_all_differ(
        &busy().cluster,
        &[
            ("a drain", |c| c.run = Run::Draining(c.now)),
            ("a longer drain", |c| {
                c.run = Run::Draining(c.now + NANOSECOND);
            }),
            ("the end", |c| c.run = Run::Terminated),
            ("a refusal", |c| c.refused_at = Some(c.ready.version())),
            ("a throttle", |c| c.throttled.set(c.now, 0)),
            ("a later throttle", |c| {
                c.throttled.set(c.now + NANOSECOND, 0);
            }),
            ("a limit", |c| c.limits.set(c.now, 1)),
            ("a limit reached", |c| c.past_limit.push(c.connection_id(0))),
            ("a probe", |c| c.probe_by_request.set(c.now, 0)),
            ("failures", |c| c.failed_last.set((0, 1), 1)),
            ("order of failures", |c| c.failed_last.set((9, 0), 0)),
            ("no last failure", |c| c.last_failure = None),
            ("last failure", |c| {
                c.last_failure = Some((c.node_id(0), ENDING));
            }),
            ("cause of the last failure", |c| {
                let cause = Cause::Unreachable;
                let ending = Ending { cause, ..ENDING };
                c.last_failure = Some((c.node_id(1), ending));
            }),
            ("Ready nodes", |c| c.ready_nodes += 1),
            ("nodes in setup", |c| c.setup_nodes += 1),
            ("attempts for any", |c| c.any_attempts += 1),
            ("rejected nodes", |c| c.rejected_nodes += 1),
            ("of these, resting", |c| c.rejected_resting += 1),
            ("retries", |c| c.delayed.push(&mut c.delayed_links, 0)),
            ("stall", |c| {
                let stall = (5, c.now, Duration::from_secs(30));
                let (links, timers) = (&mut c.stall_links, &mut c.timers);
                c.stalls.push(links, timers, stall, |_| Timer::WriteStall);
            }),
            ("waiting", |c| c.waiting += 1),
            ("bytes", |c| c.waiting_bytes += 1),
            ("slots", |c| c.in_flight += 1),
            ("tombstones", |c| c.tombstones += 1),
            ("budget", |c| {
                c.retry_budget.as_mut().unwrap().take(c.now);
            }),
            ("selection draws", |c| {
                c.selection_rng.next_u64();
            }),
            ("dial draws", |c| {
                c.dial_order_rng.next_u64();
            }),
            ("retry draws", |c| {
                c.retry_rng.next_u64();
            }),
            ("age draws", |c| {
                c.age_rng.next_u64();
            }),
            ("hint draws", |c| {
                c.hint_rng.next_u64();
            }),
            ("who is to be served", |c| c.to_serve.push(0)),
            ("who was put aside", |c| c.set_aside.push(0)),
            ("failures now", |c| c.setup_failures_now += 1),
            ("another is wanted", |c| c.wants_another = true),
        ],
    );
}

#[test]
fn what_nobody_acts_on_is_not_in_it() {
    assert_none_differs(
        &busy().cluster,
        &[
            ("statistics", |c| c.stats.late_replies += 1),
            ("the sequence", |c| c.sequence += 1),
            ("updates of the list", |c| c.update += 1),
            ("a refusal of others", |c| c.refused_at = Some(0)),
        ],
    );
}
