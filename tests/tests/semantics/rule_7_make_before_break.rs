//! SEMANTICS 7.7: with `make_before_break` a client under `Sticky` keeps its connection until a move has
//! found another.

use redial::{Cause, ConfigBuilder, Event, NodeState};
use redial_tests::script::{any, connected, dial_among, grown, moves, ms, sticky, without};

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

fn keeping() -> ConfigBuilder {
    sticky().make_before_break(true).drain_timeout(ms(5_000))
}

/// 7.7: make before break.
#[test]
fn the_old_connection_is_kept_until_the_new_one_is_ready() {
    let (mut s, own) = grown(&keeping(), THREE, FIVE, true);
    let first = s.dialled();
    s.submit(any()).gives(&[&format!("write n{own} r0")]);
    s.at(100).refused(first);
    let second = s.dialled();
    s.connected(second).whatever();
    s.ready(second)
        .whatever()
        .submit(any())
        .gives(&[&format!("write n{second} r1")]);
    assert_eq!(s.state(own), NodeState::Disconnected);
    let ended = |event| {
        matches!(
            event,
            Event::Disconnected {
                cause: Cause::Rebalanced,
                ..
            }
        )
    };
    s.written(1).reply(1).whatever();
    assert!(s.events().into_iter().any(ended));
}

/// 7.7: a request that was not handed over follows the client.
#[test]
fn what_the_old_connection_did_not_start_goes_to_the_new_one() {
    let (mut s, own) = grown(&keeping(), THREE, FIVE, true);
    let next = s.dialled();
    s.submit(any()).gives(&[&format!("write n{own} r0")]);
    s.connected(next).whatever().ready(next);
    let lines = [
        format!("withdraw n{own} r0"),
        format!("close n{own}"),
        format!("write n{next} r0"),
    ];
    s.gives(&[&lines[0], &lines[1], &lines[2]]);
}

/// 7.7: kept for good if no other becomes Ready by the drain deadline.
#[test]
fn the_old_connection_stays_for_good_when_the_move_comes_to_nothing() {
    let (mut s, own) = grown(&keeping(), THREE, FIVE, true);
    let next = s.dialled();
    s.deadline(5_010)
        .at(5_010)
        .tick()
        .gives(&[&format!("abort n{next}")])
        .no_deadline();
    s.at(60_000).tick().gives(&[]);
    s.submit(any()).gives(&[&format!("write n{own} r0")]);
    assert_eq!(s.view(next).last_failure, None);
}

/// 7.7: between the attempts of a move the lap's delay is kept.
#[test]
fn a_move_beside_the_old_connection_waits_after_a_lap() {
    let (mut s, _) = grown(&keeping(), ONE, TWO, true);
    let next = s.dialled();
    s.refused(next).gives(&[]).deadline(1_010);
    s.at(1_010).tick();
    assert_eq!(s.dialled(), next);
}

/// 7.7: then the move goes on without it.
#[test]
fn the_old_connection_may_be_lost_meanwhile() {
    let (mut s, own) = grown(&keeping(), THREE, FIVE, true);
    let next = s.dialled();
    s.closed(own)
        .gives(&[])
        .submit(any())
        .gives(&[])
        .deadline(10_010);
    s.connected(next)
        .whatever()
        .ready(next)
        .gives(&[&format!("write n{next} r0")]);
}

/// 7.7: not for a server that left.
#[test]
fn the_connection_to_a_server_that_left_is_not_kept() {
    let (mut s, own) = connected(keeping(), FIVE, 0);
    s.set_nodes(&without(FIVE, own));
    let came = s.take();
    assert_eq!(
        (came.len(), came[0].starts_with("close")),
        (2, true),
        "{came:?}"
    );
    assert_ne!(dial_among(&came), own);
}

/// 7.7: the server in setup is the own of a second list, not the one that is left.
#[test]
fn a_second_list_during_a_kept_move_counts_from_the_server_in_setup() {
    let (mut s, own) = grown(&keeping(), THREE, FIVE, true);
    let next = s.dialled();
    // It is kept, and no server is added.
    s.set_nodes(&[FIVE[own], FIVE[next]]).gives(&[]);
    assert_eq!(moves(&mut s), Some(false));
    s.connected(next)
        .whatever()
        .ready(next)
        .gives(&[&format!("close n{own}")]);
    s.submit(any()).gives(&[&format!("write n{next} r0")]);
}

/// 7.7: the own of a second list is lost, the old one still serves.
#[test]
fn a_second_list_without_the_server_in_setup_leads_to_another() {
    let (mut s, own) = grown(&keeping(), THREE, FIVE, true);
    let next = s.dialled();
    s.set_nodes(&[FIVE[own], FIVE[7 - next]]);
    let lines = [format!("abort n{next}"), format!("connect n{}", 7 - next)];
    let came = s.take();
    assert!(came.len() == 2 && came[0] == lines[0], "{came:?}");
    s.submit(any()).gives(&[&format!("write n{own} r0")]);
}

/// 7.7: it is another's turn.
#[test]
fn a_server_that_becomes_ready_for_bound_requests_ends_no_move() {
    let (mut s, own) = grown(&keeping(), THREE, FIVE, true);
    let other = 7 - s.dialled();
    s.submit_on(other, any())
        .gives(&[&format!("connect n{other}")]);
    s.connected(other).whatever();
    s.ready(other).gives(&[&format!("write n{other} r0")]);
    s.submit(any()).gives(&[&format!("write n{own} r1")]);
}
