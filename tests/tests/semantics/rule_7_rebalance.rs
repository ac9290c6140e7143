//! SEMANTICS 7.7: a client under `Sticky` stays with its server or moves to another when the list
//! changes, so that load stays uniform.

use std::collections::BTreeMap;

use redial::{Backoff, Cause, NodeState, Stage};
use redial_tests::script::{
    Script, any, build, connected, dial_among, grown, moves, ms, sticky, t, without,
};

const HOSTS: [&str; 7] = ["h1:1", "h2:1", "h3:1", "h4:1", "h5:1", "h6:1", "h7:1"];
const ONE: &[&str] = &["10.0.0.1:1"];
const TWO: &[&str] = &["10.0.0.1:1", "10.0.0.2:1"];
const THREE: &[&str] = &["10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"];
const FIVE: &[&str] = &[
    "10.0.0.1:1",
    "10.0.0.2:1",
    "10.0.0.3:1",
    "10.0.0.4:1",
    "10.0.0.5:1",
];

/// 7.7: 1 − n0/n1 move, each to an added server.
#[test]
fn as_many_clients_move_to_added_servers_as_keep_the_load_uniform() {
    let mut load = BTreeMap::<usize, u32>::new();
    for seed in 0..2_000 {
        let (mut s, own) = connected(sticky(), THREE, seed);
        s.set_nodes(FIVE);
        let now = match moves(&mut s) {
            Some(true) => dial_among(&s.take()),
            Some(false) => own,
            None => panic!("it was decided"),
        };
        assert!(now == own || now >= 3, "to an added one");
        *load.entry(now).or_default() += 1;
    }
    // 400 ± 5 × 17.9.
    assert!(
        load.len() == 5 && load.values().all(|n| (310..490).contains(n)),
        "{load:?}"
    );
}

/// 7.7: each kept server gets its share of the clients of one that left, and each added one.
#[test]
fn the_clients_of_a_removed_server_spread() {
    let mut to = BTreeMap::<usize, u32>::new();
    let mut all = 0;
    for seed in 0..2_000 {
        let (mut s, own) = connected(sticky(), FIVE, seed);
        if own < 3 {
            continue;
        }
        let kept = [&FIVE[..3], &["10.0.0.9:1"]].concat();
        s.set_nodes(&kept);
        assert_eq!(moves(&mut s), Some(true));
        *to.entry(dial_among(&s.take())).or_default() += 1;
        all += 1;
    }
    // Two servers of five: 800. The added one gets 5/8, each kept one 1/8.
    assert!((690..910).contains(&all));
    let share = |node: usize| f64::from(to[&node]) / f64::from(all);
    assert!((share(5) - 0.625).abs() < 0.09, "{to:?}");
    assert!(
        (0..3).all(|node| (share(node) - 0.125).abs() < 0.06),
        "{to:?}"
    );
}

/// 7.7: in the same step; the old connection drains.
#[test]
fn a_move_closes_and_dials_in_the_same_step() {
    let (mut s, own) = grown(&sticky().start_delay(ms(1_000)), THREE, FIVE, true);
    let came = s.take();
    assert_eq!(came.len(), 2);
    assert!(came.contains(&format!("close n{own}")));
    assert!(dial_among(&came) >= 3);
}

/// 7.7, 2.1: what was handed over may finish; the rest follows the client.
#[test]
fn what_is_in_flight_finishes_on_the_old_connection() {
    let (mut s, own) = connected(sticky(), FIVE, 0);
    s.submit(any())
        .written(0)
        .whatever()
        .submit(any())
        .whatever();
    s.set_nodes(&without(FIVE, own));
    let came = s.take();
    assert!(came.contains(&format!("withdraw n{own} r1")));
    let next = dial_among(&came);
    s.connected(next)
        .whatever()
        .ready(next)
        .gives(&[&format!("write n{next} r1")]);
    let came = s.at(100).reply(0).take();
    assert!(
        came.iter().any(|line| line.starts_with("r0 reply")),
        "{came:?}"
    );
}

/// 7.7.
#[test]
fn a_client_that_stays_notices_nothing() {
    let (mut s, own) = grown(&sticky(), THREE, FIVE, false);
    s.gives(&[]).no_deadline();
    // Nor when the list shrinks to its own.
    s.set_nodes(&[FIVE[own]]).gives(&[]).no_deadline();
    assert_eq!(moves(&mut s), Some(false));
}

/// 7.7, 7.6, Z05: whatever the order and the case, and however often.
#[test]
fn an_equal_list_is_no_update() {
    let (mut s, _) = connected(sticky(), TWO, 0);
    for _ in 0..1_000 {
        s.set_nodes(&["10.0.0.2:1", "10.0.0.1:1", "10.0.0.2:1"])
            .gives(&[]);
    }
    assert_eq!(moves(&mut s), None);
    let mut s = Script::new(build(sticky()), &HOSTS[..3]);
    s.whatever().events();
    s.set_nodes(&["H3:1", "h1:1", "H2:1", "h2:1"]).gives(&[]);
    assert_eq!(moves(&mut s), None);
}

/// 7.7: also during a move.
#[test]
fn an_equal_list_during_a_move_changes_nothing() {
    let (mut s, own) = connected(sticky(), FIVE, 0);
    let mut left = without(FIVE, own);
    s.set_nodes(&left);
    let first = dial_among(&s.take());
    left.reverse();
    s.set_nodes(&left).gives(&[]);
    s.refused(first);
    let second = s.dialled();
    s.set_nodes(&left).gives(&[]).refused(second);
    assert!(
        ![own, first, second].contains(&s.dialled()),
        "the move goes on"
    );
}

const KEYED: [&str; 3] = ["a=10.0.0.1:1", "b=10.0.0.2:1", "c=10.0.0.3:1"];

/// The list in which this one has a new endpoint.
fn moved(node: usize) -> [&'static str; 3] {
    let mut list = KEYED;
    list[node] = ["a=10.0.0.4:1", "b=10.0.0.4:1", "c=10.0.0.4:1"][node];
    list
}

/// 7.6, 7.7: nor is one in which another server has a new endpoint; the own is not tried before its
/// turn.
#[test]
fn a_list_that_differs_in_an_endpoint_moves_nobody() {
    for seed in 0..10 {
        let config = sticky().start_delay(ms(1_000));
        let (mut s, own) = connected(config, &KEYED, seed);
        let other = (own + 1) % 3;
        s.set_nodes(&moved(other)).gives(&[]);
        assert_eq!(moves(&mut s), None);
        s.at(10).closed(own).set_nodes(&KEYED).gives(&[]);
        s.run_to(1_010);
        assert_ne!(s.dialled(), own);
    }
}

/// 7.6, 7.7: and a client that was never connected keeps its order.
#[test]
fn a_list_that_differs_in_an_endpoint_draws_no_new_order() {
    let lap = |s: &mut Script| -> Vec<usize> {
        let refused = |s: &mut Script| {
            let node = s.dialled();
            s.refused(node);
            node
        };
        (0..3).map(|_| refused(s)).collect()
    };
    for seed in 0..10 {
        let mut s = Script::with_seed(build(sticky()), &KEYED, seed);
        let order = lap(&mut s);
        s.at(500).set_nodes(&moved(1)).gives(&[]);
        s.at(1_000).tick();
        assert_eq!(lap(&mut s), order);
    }
}

/// 7.7: never connected, nothing in setup: nobody moves, the order is drawn anew.
#[test]
fn a_client_that_never_tried_does_not_move() {
    let mut firsts = [0; 5];
    for seed in 0..500 {
        let mut s = Script::with_seed(build(sticky()), ONE, seed);
        s.gives(&["connect n0"]).refused(0).gives(&[]).events();
        s.at(500).set_nodes(FIVE).gives(&[]);
        assert_eq!(moves(&mut s), None);
        // The lap's delay holds.
        s.deadline(1_000).at(1_000).tick();
        firsts[s.dialled()] += 1;
    }
    // 100 ± 5 × 8.9.
    assert!(firsts.iter().all(|n| (55..145).contains(n)), "{firsts:?}");
}

/// 7.7: the server in setup is the own.
#[test]
fn an_attempt_to_a_server_that_left_is_abandoned_in_the_same_step() {
    for up in [false, true] {
        let mut s = Script::new(build(sticky()), TWO);
        let first = s.dialled();
        if up {
            s.connected(first).gives(&[&format!("handshake n{first}")]);
        }
        let other = 1 - first;
        s.set_nodes(&[TWO[other]]);
        let lines = [format!("abort n{first}"), format!("connect n{other}")];
        s.gives(&[&lines[0], &lines[1]]);
    }
}

/// 7.7: to stay while not connected; once.
#[test]
fn the_own_is_tried_first_when_it_stays() {
    for seed in 0..20 {
        let config = sticky().start_delay(ms(1_000));
        let (mut s, own) = connected(config, FIVE, seed);
        s.at(10).closed(own).gives(&[]);
        let due = s.cluster().poll_timeout().expect("a dial").at;
        let three = FIVE
            .iter()
            .enumerate()
            .filter(|(n, _)| *n == own || *n % 2 == 0);
        let kept: Vec<&str> = three.map(|(_, host)| *host).collect();
        s.set_nodes(&kept).gives(&[]);
        assert_eq!(s.cluster().poll_timeout().expect("a dial").at, due);
        s.at_instant(due).tick();
        assert_eq!(s.dialled(), own);
        s.refused(own).run_to(5_000);
        assert_ne!(s.dialled(), own);
    }
}

/// 7.7: to all of the added in random order, then to all kept but the own; then the plain round.
#[test]
fn a_move_tries_the_added_then_the_kept_then_goes_round() {
    let (mut s, own) = grown(&sticky(), THREE, FIVE, true);
    let mut order = vec![dial_among(&s.take())];
    for _ in 0..3 {
        s.refused(*order.last().expect("one"));
        order.push(s.dialled());
    }
    let mut kept: Vec<usize> = (0..3).filter(|n| *n != own).collect();
    order[..2].sort_unstable();
    order[2..].sort_unstable();
    kept.sort_unstable();
    assert_eq!((&order[..2], &order[2..]), (&[3, 4][..], &kept[..]));
    // All but the own, which was left: a lap.
    s.refused(3).whatever();
    let last = (0..5)
        .find(|n| s.state(*n).is_setup())
        .expect("the last of the move");
    s.refused(last).gives(&[]).deadline(1_010).at(1_010).tick();
    let mut round = vec![s.dialled()];
    for _ in 0..4 {
        s.refused(*round.last().expect("one"));
        round.push(s.dialled());
    }
    round.sort_unstable();
    assert_eq!(round, [0, 1, 2, 3, 4]);
}

/// 7.7: a second list starts over from the server in setup.
#[test]
fn another_update_during_a_move_starts_over_from_the_server_in_setup() {
    let (mut s, own) = connected(sticky(), FIVE, 0);
    let left = without(FIVE, own);
    s.set_nodes(&left);
    let target = dial_among(&s.take());
    s.events();
    // It shrinks to the target and one more: the target is the own now, and kept.
    let other = (0..5).find(|n| *n != own && *n != target).expect("three");
    s.set_nodes(&[FIVE[target], FIVE[other]]).gives(&[]);
    assert_eq!(moves(&mut s), Some(false));
    // Now it goes.
    s.set_nodes(&[FIVE[other]]);
    let lines = [format!("abort n{target}"), format!("connect n{other}")];
    s.gives(&[&lines[0], &lines[1]]);
    assert_eq!(moves(&mut s), Some(true));
}

/// 7.7: the own is known by its entry.
#[test]
fn an_own_that_left_and_comes_back_is_tried_first() {
    for seed in 0..20 {
        let (mut s, own) = connected(sticky(), THREE, seed);
        s.set_nodes(&without(THREE, own));
        for _ in 0..2 {
            let tried = (0..3)
                .find(|n| *n != own && s.state(*n).is_setup())
                .expect("one");
            s.refused(tried);
        }
        s.whatever().at(100).set_nodes(THREE).gives(&[]);
        assert_eq!(moves(&mut s), Some(true), "the first list moved it");
        s.run_to(1_500);
        // It is a new node with the old endpoint.
        assert_eq!(s.dialled(), 3);
    }
}

/// 7.6: by the key if both entries have one, else by the endpoint.
#[test]
fn an_own_that_comes_back_is_known_by_its_key_or_its_endpoint() {
    for (left, back, is_own) in [
        ("a=10.0.0.1:1", "10.0.0.1:1", true),
        ("10.0.0.1:1", "a=10.0.0.1:1", true),
        ("a=10.0.0.1:1", "a=10.0.0.9:1", true),
        ("a=10.0.0.1:1", "b=10.0.0.1:1", false),
    ] {
        let mut clients = (0..20).map(|seed| connected(sticky(), &[left, "10.0.0.2:1"], seed));
        let (mut s, _) = clients.find(|(_, own)| *own == 0).expect("half of them");
        s.set_nodes(&["10.0.0.2:1"]).refused(1).whatever().events();
        s.at(100).set_nodes(&[back, "10.0.0.2:1"]).gives(&[]);
        assert_eq!(moves(&mut s), Some(!is_own), "{left} and {back}");
    }
}

/// 7.7: also if it left while another was in setup.
#[test]
fn an_own_that_left_during_an_attempt_elsewhere_is_remembered() {
    for seed in 0..20 {
        let (mut s, own) = connected(sticky(), THREE, seed);
        s.closed(own);
        let tried = s.dialled();
        s.set_nodes(&without(THREE, own)).gives(&[]);
        s.refused(tried).gives(&[]).events();
        s.at(100).set_nodes(THREE).gives(&[]);
        assert_eq!(moves(&mut s), Some(false));
        s.run_to(1_500);
        assert_eq!(s.dialled(), 3);
    }
}

/// 7.6, 7.7: a new endpoint of the client's own is tried at once.
#[test]
fn an_own_with_a_new_endpoint_is_tried_there_first() {
    for list in [
        &["a=10.0.0.1:1"][..],
        &["a=10.0.0.1:1", "b=10.0.0.2:1", "c=10.0.0.3:1"],
    ] {
        let (mut s, own) = connected(sticky().start_delay(ms(1_000)), list, 0);
        let moved = list[own].replace(":1", ":2");
        let mut new = list.to_vec();
        new[own] = &moved;
        let lines = [format!("close n{own}"), format!("connect n{own}")];
        s.at(10).set_nodes(&new);
        let came = s.take();
        assert_eq!(came.len(), 2);
        assert!(
            came[0].starts_with("close") && came[1] == lines[1],
            "{came:?}"
        );
    }
}

/// 7.8, 7.7: a list that changes all the time does not make the client dial more often.
#[test]
fn flapping_lists_reset_no_lap() {
    for seed in 0..20 {
        let (mut s, own) = connected(sticky(), TWO, seed);
        s.at(10).closed(own);
        for step in 0..300 {
            s.whatever();
            if let Some(tried) = (0..64).find(|n| exists(&s, *n) && s.state(*n).is_setup()) {
                s.refused(tried);
            }
            s.whatever().at(10 + 10 * step);
            s.set_nodes(if step % 2 == 0 { THREE } else { TWO });
        }
        // Three seconds: no more than three laps begin after the first.
        let attempts = s.cluster().stats().attempts;
        assert!(attempts <= 1 + 4 * 3, "{attempts}");
    }
}

fn exists(s: &Script, node: usize) -> bool {
    s.nodes_seen() > node && s.cluster().node(s.id(node)).is_some()
}

/// 7.7: if the client's next server is Ready already for requests bound to it, the move is done.
#[test]
fn a_move_to_a_server_that_is_ready_needs_no_dial() {
    let (mut s, own) = connected(sticky(), TWO, 0);
    let other = 1 - own;
    s.establish(other);
    s.set_nodes(&[TWO[other]])
        .gives(&[&format!("close n{own}")]);
    s.submit(any()).gives(&[&format!("write n{other} r0")]);
}

/// 7.7: also after its others; then it serves what has waited.
#[test]
fn a_server_that_is_ready_has_its_turn_in_a_move() {
    let mut after_another = 0;
    for seed in 0..20 {
        let (mut s, own) = connected(sticky(), THREE, seed);
        let [other, third] = [(own + 1) % 3, (own + 2) % 3];
        s.establish(other);
        s.set_nodes(&without(THREE, own)).submit(any());
        if s.state(third).is_setup() {
            after_another += 1;
            s.refused(third);
        }
        let came = s.take();
        assert!(came.contains(&format!("write n{other} r0")), "{came:?}");
    }
    assert!((1..20).contains(&after_another));
}

/// 7.7: nor does one that rests keep it waiting.
#[test]
fn a_server_that_rests_leaves_its_turn_to_one_that_is_ready() {
    for seed in 0..20 {
        let (mut s, own) = connected(sticky(), THREE, seed);
        let [other, third] = [(own + 1) % 3, (own + 2) % 3];
        s.establish(other).begin(third).refused(third).whatever();
        s.set_nodes(&without(THREE, own))
            .gives(&[&format!("close n{own}")]);
        s.submit(any()).gives(&[&format!("write n{other} r0")]);
    }
}

/// 7.7: one that is in setup, if only for a request bound to it, does not lose it.
#[test]
fn a_server_in_setup_for_a_bound_request_keeps_its_turn() {
    let mut kept = 0;
    for seed in 0..20 {
        let (mut s, own) = connected(sticky().attempts_per_second(1), THREE, seed);
        let [other, third] = [(own + 1) % 3, (own + 2) % 3];
        s.run_to(1_000).establish(other);
        s.set_nodes(&without(THREE, own)).submit(any());
        if s.take().len() > 1 {
            // It was the turn of the one that is Ready.
            continue;
        }
        s.submit_on(third, any()).gives(&[]);
        s.run_to(2_000).gives(&[&format!("connect n{third}")]);
        s.tick().gives(&[]);
        s.connected(third).ready(third);
        s.gives(&[
            &format!("handshake n{third}"),
            &format!("write n{third} r0"),
            &format!("write n{third} r1"),
        ]);
        kept += 1;
    }
    assert!((1..20).contains(&kept), "{kept}");
}

/// 5.3: rebalancing ignores health.
#[test]
fn an_unhealthy_own_is_not_left_for_it() {
    let (mut s, own) = connected(sticky().unhealthy_after(1u32).max_attempts(1u32), FIVE, 0);
    s.submit(any())
        .written(0)
        .whatever()
        .at(30_000)
        .tick()
        .whatever();
    let other = (own + 1) % 5;
    s.set_nodes(&[FIVE[own], FIVE[other]]).gives(&[]);
}

/// 9.2.
#[test]
fn shutdown_ends_a_move() {
    for keeps in [false, true] {
        let (mut s, own) = grown(&sticky().make_before_break(keeps), THREE, FIVE, true);
        let next = dial_among(&s.take());
        s.shutdown(0);
        let came = s.take();
        assert_eq!(came.contains(&format!("close n{own}")), keeps);
        assert!(came.contains(&format!("abort n{next}")) && came.contains(&"terminated".into()));
        s.no_deadline();
    }
}

/// 3.7: an attempt that a move aborts is no failure; the second in a row is.
#[test]
fn two_attempts_in_a_row_that_moves_abort_are_a_failure() {
    let config = sticky().reconnect_backoff(Backoff::constant(ms(70)));
    let tested = (0..200).filter(|seed| {
        let mut s = Script::with_seed(build(config.clone()), ONE, *seed);
        s.gives(&["connect n0"]);
        s.set_nodes(TWO).whatever();
        if s.state(0) != NodeState::Disconnected {
            return false;
        }
        assert_eq!(
            (s.view(0).last_failure, s.rests_until(0)),
            (None, None),
            "a move is no failure"
        );
        s.refused(1).run_to(1_000);
        assert_eq!(s.dialled(), 0);
        s.set_nodes(THREE).whatever();
        if s.state(0) != NodeState::Disconnected {
            return false;
        }
        let failure = s.view(0).last_failure.expect("a failure");
        assert_eq!(
            (failure.stage, failure.cause),
            (Stage::Connect, Cause::AbortedTwice)
        );
        assert_eq!(s.rests_until(0), Some(t(1_070)));
        true
    });
    assert!(tested.count() > 10);
}
