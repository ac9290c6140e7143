//! SEMANTICS 2.4 and 2.5: the addresses of a name, one after another or in a race.

use redial::{Cause, Config, ConfigBuilder, Limit, NodeState, Stage, Warm};
use redial_tests::script::{Script, after, any, build, exact, ms, old, older, t};

const NAME: &[&str] = &["db.example:1"];
const A: &str = "10.0.0.1:1";
const B: &str = "10.0.0.2:1";
const C: &str = "10.0.0.3:1";
const A6: &str = "[2001:db8::1]:1";
const B6: &str = "[2001:db8::2]:1";

/// A name that is kept warm: each failure is followed by an attempt.
fn warm(config: ConfigBuilder) -> Script {
    let mut s = Script::new(build(config.warm(Warm::All)), NAME);
    s.gives(&["resolve n0"]);
    s
}

/// One address an attempt, and a short constant rest.
fn one_by_one() -> ConfigBuilder {
    exact().reconnect_backoff(redial::Backoff::constant(ms(100)))
}

#[track_caller]
fn refused_then(s: &mut Script, next: &str) {
    let now = (s.cluster().now() + ms(100)).as_nanos() / 1_000_000;
    s.refused(0).gives(&[]);
    s.at(now).tick().gives(&[next]);
}

/// 2.4, R019, Z13: the resolver's order, families interleaved, the first one's first.
#[test]
fn addresses_are_used_in_the_resolvers_order_with_families_interleaved() {
    let mut s = warm(one_by_one());
    s.at(0)
        .resolved(0, &[A, B, C, A6, B6])
        .gives(&["connect n0 10.0.0.1:1"]);
    for next in [A6, B, B6, C] {
        refused_then(&mut s, &format!("connect n0 {next}"));
    }
    let mut s = warm(one_by_one());
    s.at(0)
        .resolved(0, &[A6, B6, A])
        .gives(&[&format!("connect n0 {A6}")]);
    for next in [A, B6] {
        refused_then(&mut s, &format!("connect n0 {next}"));
    }
}

/// 2.4, R021: duplicates are dropped.
#[test]
fn a_repeated_address_is_used_once() {
    let mut s = warm(one_by_one());
    s.at(0)
        .resolved(0, &[A, A, B, A, B])
        .gives(&["connect n0 10.0.0.1:1"]);
    refused_then(&mut s, "connect n0 10.0.0.2:1");
    refused_then(&mut s, "resolve n0");
}

/// 2.4, Z01, Z23, R105: when all were used, the name is looked up again.
#[test]
fn when_all_addresses_were_used_the_name_is_looked_up_again() {
    let mut s = warm(one_by_one());
    s.at(0).resolved(0, &[A]).gives(&["connect n0 10.0.0.1:1"]);
    refused_then(&mut s, "resolve n0");
    s.resolved(0, &[A, C]).gives(&["connect n0 10.0.0.3:1"]);
}

/// 2.4: after a new answer the attempt goes to the address tried longest ago, whatever the order
/// of the answer, so that n attempts visit n addresses.
#[test]
fn a_new_answer_in_the_same_order_does_not_start_over() {
    let mut s = warm(one_by_one().dns_max_age(ms(0)));
    let mut visited = Vec::new();
    for attempt in 0..6 {
        s.at(100 * attempt).resolved(0, &[A, B, C]);
        visited.extend(s.take());
        s.refused(0).gives(&[]);
        s.at(100 * (attempt + 1)).tick().gives(&["resolve n0"]);
    }
    let expected = [A, B, C, A, B, C].map(|address| format!("connect n0 {address}"));
    assert_eq!(visited, expected);
}

/// 2.4: never tried first, ties in the answer's order.
#[test]
fn addresses_never_tried_go_first_in_the_answers_order() {
    let mut s = warm(one_by_one());
    s.at(0).resolved(0, &[A]).gives(&["connect n0 10.0.0.1:1"]);
    refused_then(&mut s, "resolve n0");
    s.resolved(0, &[A, C, B]).gives(&["connect n0 10.0.0.3:1"]);
    refused_then(&mut s, "connect n0 10.0.0.2:1");
    refused_then(&mut s, "connect n0 10.0.0.1:1");
    refused_then(&mut s, "resolve n0");
}

/// 2.4, R097: an answer older than `dns_max_age` is not used for a new attempt.
#[test]
fn an_old_answer_is_not_used() {
    for (rest, next) in [(30_000, "connect n0 10.0.0.2:1"), (30_001, "resolve n0")] {
        let mut s = warm(exact().reconnect_backoff(redial::Backoff::constant(ms(rest))));
        s.at(0)
            .resolved(0, &[A, B])
            .gives(&["connect n0 10.0.0.1:1"]);
        s.at(0).refused(0).gives(&[]);
        s.at(rest).tick().gives(&[next]);
    }
}

/// 2.4, K11, R099, Z01: after the loss of an established connection the name is looked up anew, and
/// the address just lost does not go first if there is another.
#[test]
fn the_address_just_lost_is_not_tried_first() {
    for config in [
        exact(),
        Config::kafka().to_builder().jitter(redial::Jitter::None),
    ] {
        let mut s = warm(config);
        s.at(0)
            .resolved(0, &[A, B])
            .gives(&["connect n0 10.0.0.1:1"]);
        s.connected(0).ready(0).gives(&["handshake n0"]);
        s.at(5_000).closed(0).gives(&[]);
        s.run_to(5_100).gives(&["resolve n0"]);
        s.resolved(0, &[A, B]).gives(&["connect n0 10.0.0.2:1"]);
    }
}

/// 2.4: with no other address it is tried all the same.
#[test]
fn the_address_just_lost_is_tried_if_there_is_no_other() {
    let mut s = warm(exact());
    s.at(0).resolved(0, &[A]).connected(0).ready(0).whatever();
    s.at(5_000).closed(0).run_to(5_100).gives(&["resolve n0"]);
    s.resolved(0, &[A]).gives(&["connect n0 10.0.0.1:1"]);
}

/// 2.4: the memory is cleared with the failure counter.
#[test]
fn a_useful_connection_clears_the_memory_of_addresses() {
    let mut s = warm(one_by_one());
    s.at(0)
        .resolved(0, &[A, B, C])
        .gives(&["connect n0 10.0.0.1:1"]);
    refused_then(&mut s, "connect n0 10.0.0.2:1");
    s.connected(0).ready(0).gives(&["handshake n0"]);
    s.submit(any()).written(0).reply(0).whatever();
    s.closed(0).gives(&[]);
    s.at(300).tick().gives(&["resolve n0"]);
    // A was forgotten, so that it goes before C; B was just lost.
    s.resolved(0, &[A, B, C]).gives(&["connect n0 10.0.0.1:1"]);
}

/// 2.4, R107, Z33, K47: a fresh answer replaces the old addresses.
#[test]
fn an_address_that_is_gone_from_the_answer_is_not_dialled() {
    let mut s = warm(one_by_one());
    s.at(0)
        .resolved(0, &[A, B])
        .gives(&["connect n0 10.0.0.1:1"]);
    refused_then(&mut s, "connect n0 10.0.0.2:1");
    refused_then(&mut s, "resolve n0");
    s.resolved(0, &[C]).gives(&["connect n0 10.0.0.3:1"]);
    refused_then(&mut s, "resolve n0");
}

/// 12: thousands of addresses are capped at 64.
#[test]
fn of_very_many_addresses_the_first_64_are_used() {
    let mut s = warm(one_by_one());
    let many: Vec<String> = (1..=3_000)
        .map(|n| format!("10.1.{}.{}:1", n / 250, n % 250))
        .collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    s.at(0)
        .resolved(0, &many)
        .gives(&[&format!("connect n0 {}", many[0])]);
    for address in &many[1..64] {
        refused_then(&mut s, &format!("connect n0 {address}"));
    }
    refused_then(&mut s, "resolve n0");
}

/// 2.5: without a race an attempt uses one address.
#[test]
fn without_a_race_an_attempt_uses_one_address() {
    let mut s = warm(exact());
    s.at(0)
        .resolved(0, &[A, B])
        .gives(&["connect n0 10.0.0.1:1"]);
    s.deadline(10_000).at(5).refused(0).gives(&[]);
    assert_eq!(s.view(0).failures, 1);
}

fn racing() -> ConfigBuilder {
    exact().address_attempt_delay(after(250))
}

/// 2.5 (RFC 8305): the next is dialled beside the one that is slow.
#[test]
fn a_race_dials_the_next_address_after_the_delay_without_cancelling_the_first() {
    let mut s = warm(racing());
    s.at(0)
        .resolved(0, &[A, B, C])
        .gives(&["connect n0 10.0.0.1:1"])
        .deadline(250);
    s.at(250)
        .tick()
        .gives(&["connect n0 10.0.0.2:1"])
        .deadline(500);
    s.at(500)
        .tick()
        .gives(&["connect n0 10.0.0.3:1"])
        .deadline(10_000);
    assert_eq!(s.state(0), NodeState::Connecting);
}

/// 2.5: the first to connect wins, the rest are aborted.
#[test]
fn the_first_address_to_connect_wins() {
    let mut s = warm(racing());
    s.at(0).resolved(0, &[A, B, C]).whatever();
    s.at(250).tick().whatever();
    s.at(500).tick().whatever();
    s.at(510)
        .connected(old(0))
        .gives(&["abort n0-2", "abort n0", "handshake n0-1"]);
    s.at(520).ready(old(0)).gives(&[]);
    assert_eq!(s.state(0), NodeState::Ready);
    assert_eq!(s.view(0).failures, 0);
    assert_eq!(s.cluster().stats().connections, 1);
}

/// 2.5: a refusal starts the next at once.
#[test]
fn a_refusal_starts_the_next_address_at_once() {
    let mut s = warm(racing());
    s.at(0)
        .resolved(0, &[A, B, C])
        .gives(&["connect n0 10.0.0.1:1"]);
    s.at(100)
        .refused(0)
        .gives(&["connect n0 10.0.0.2:1"])
        .deadline(350);
    s.at(120).refused(0).gives(&["connect n0 10.0.0.3:1"]);
    assert_eq!(s.view(0).failures, 0);
}

/// 2.5, 3.2: the attempt fails once, when all addresses have.
#[test]
fn a_race_fails_once_when_all_addresses_have_failed() {
    let mut s = warm(racing());
    s.at(0).resolved(0, &[A, B]).whatever();
    s.at(250).tick().gives(&["connect n0 10.0.0.2:1"]);
    s.at(260).refused(0).gives(&[]);
    assert_eq!(s.state(0), NodeState::Connecting);
    s.at(270)
        .connect_failed(old(0), redial::ConnectError::Unreachable)
        .gives(&[]);
    let failure = s.view(0).last_failure.expect("it failed");
    assert_eq!(
        (failure.stage, failure.cause),
        (Stage::Connect, Cause::Unreachable)
    );
    assert_eq!((s.view(0).failures, s.rests_until(0)), (1, Some(t(370))));
}

/// 2.5: the next attempt begins after the address that the last one began with.
#[test]
fn the_next_race_begins_with_the_next_address() {
    let mut s = warm(racing());
    s.at(0).resolved(0, &[A, B, C]).whatever();
    s.refused(0).refused(0).whatever().refused(0).gives(&[]);
    s.at(100).tick().gives(&["resolve n0"]);
    s.resolved(0, &[A, B, C]).gives(&["connect n0 10.0.0.2:1"]);
    s.refused(0).gives(&["connect n0 10.0.0.3:1"]);
    s.refused(0).gives(&["connect n0 10.0.0.1:1"]);
}

/// 2.5, 3.1: one setup deadline for the whole race.
#[test]
fn the_setup_deadline_ends_the_whole_race() {
    let mut s = warm(racing());
    s.at(0).resolved(0, &[A, B]).whatever();
    s.at(250).tick().whatever();
    s.deadline(10_000)
        .at(10_000)
        .tick()
        .gives(&["abort n0", "abort n0-1"]);
    assert_eq!(s.view(0).failures, 1);
}

/// 2.5, 2.1: a race that is removed is aborted altogether.
#[test]
fn removal_ends_the_whole_race() {
    let mut s = warm(racing());
    s.at(0).resolved(0, &[A, B, C]).tick().whatever();
    s.at(250).tick().whatever();
    s.set_nodes(&["10.9.9.9:1"]);
    let mut came = s.take();
    came.sort_unstable();
    assert_eq!(came, ["abort n0", "abort n0-1", "connect n1"]);
}

/// 2.5: a loser that comes up after all is stale.
#[test]
fn a_loser_that_connects_later_is_ignored() {
    let mut s = warm(racing());
    s.at(0).resolved(0, &[A, B, C]).whatever();
    s.at(250).tick().whatever();
    s.at(260)
        .connected(0)
        .gives(&["abort n0-1", "handshake n0"]);
    let before = s.cluster().stats().stale_facts;
    s.connected(older(0, 1)).gives(&[]);
    assert_eq!(s.cluster().stats().stale_facts, before + 1);
}

/// 2.5: the end of the winner in the handshake ends the attempt.
#[test]
fn a_winner_that_fails_its_handshake_fails_the_attempt() {
    let mut s = warm(racing());
    s.at(0)
        .resolved(0, &[A, B])
        .connected(0)
        .gives(&["connect n0 10.0.0.1:1", "handshake n0"]);
    s.at(10).closed(0).gives(&[]);
    assert_eq!(
        (s.view(0).failures, s.state(0)),
        (1, NodeState::Disconnected)
    );
}

/// 1.3: the race's delay is a limit that can be absent.
#[test]
fn the_delay_of_a_race_has_bounds() {
    for (delay, ok) in [(99, false), (100, true), (2_000, true), (2_001, false)] {
        let built = Config::builder()
            .address_attempt_delay(after(delay))
            .build();
        assert_eq!(built.is_ok(), ok, "{delay} ms");
    }
    assert!(
        Config::builder()
            .address_attempt_delay(Limit::Never)
            .build()
            .is_ok()
    );
}
