//! SEMANTICS 9: ending.

use std::time::Duration;

use redial::{Instant, Limit, Matching, Warm, record::Call};
use redial_tests::script::{Script, after, any, build, exact, ms, t};

const ONE: &[&str] = &["10.0.0.1:1"];
const TWO: &[&str] = &["10.0.0.1:1", "10.0.0.2:1"];

fn ready() -> Script {
    let mut s = Script::new(build(exact()), ONE);
    s.establish(0);
    s
}

/// 9.1: with nothing handed over it ends at once.
#[test]
fn an_idle_client_ends_at_once() {
    let mut s = ready();
    s.shutdown(10_000)
        .gives(&["close n0", "terminated"])
        .no_deadline();
    assert!(s.cluster().is_terminated());
}

/// 9.1: also one that never had a node.
#[test]
fn a_client_without_nodes_ends_at_once() {
    let mut s = Script::empty(build(exact()), 0);
    s.shutdown(10_000).gives(&["terminated"]);
}

/// 9.1, R145, R149: what waits fails as Closed, new submits are refused, those handed over may
/// finish.
#[test]
fn what_is_handed_over_may_finish() {
    let mut s = ready();
    s.at(0)
        .submit(any())
        .written(0)
        .submit(any())
        .gives(&["write n0 r0", "write n0 r1"]);
    s.at(100)
        .shutdown(5_000)
        .gives(&["r1 Closed NeverWritten"])
        .deadline(5_100);
    s.submit(any()).gives(&["error Closed"]);
    let (connection, serial) = (s.connection(0), s.serial(1));
    assert!(!s.cluster().may_write(t(100), connection, serial));
    s.at(200)
        .reply(0)
        .gives(&["r0 reply n0", "close n0", "terminated"])
        .no_deadline();
}

/// 9.1: what has passed its deadline waits for nothing but the next timeout, and fails as well.
#[test]
fn what_is_past_its_deadline_fails_too() {
    let mut s = Script::new(build(exact()), ONE);
    s.at(0).submit(any().timeout(ms(500))).connected(0);
    s.gives(&["connect n0", "handshake n0"]);
    s.at(600).ready(0).gives(&[]);
    s.shutdown(5_000)
        .gives(&["r0 Closed NeverWritten", "close n0", "terminated"]);
}

/// 9.1, R155, K45: until the drain's end, and no longer.
#[test]
fn the_drains_end_ends_everything() {
    let mut s = ready();
    s.at(0).submit(any()).written(0).whatever();
    s.at(100).shutdown(5_000).gives(&[]).deadline(5_100);
    s.at(5_099).tick().gives(&[]);
    s.at(5_100)
        .tick()
        .gives(&["r0 Closed PossiblyWritten", "close n0", "terminated"]);
}

/// 9.1: a drain of zero.
#[test]
fn a_drain_of_zero_ends_everything_now() {
    let mut s = ready();
    s.submit(any()).written(0).whatever();
    s.shutdown(0)
        .tick()
        .gives(&["r0 Closed PossiblyWritten", "close n0", "terminated"]);
}

/// 9.1: what is in setup is given up at once.
#[test]
fn setup_is_given_up_at_once() {
    let list = &["10.0.0.1:1", "10.0.0.2:1", "db.example:1"];
    let mut s = Script::new(build(exact().warm(Warm::All)), list);
    s.whatever().connected(1).gives(&["handshake n1"]);
    s.shutdown(10_000)
        .gives(&["abort n0", "abort n1", "abort-resolve n2", "terminated"]);
}

/// 9.1: requests that wait for a retry fail as Closed.
#[test]
fn a_request_that_waits_for_a_retry_fails_as_closed() {
    let mut s = ready();
    s.submit(any().idempotent()).written(0).closed(0).whatever();
    s.shutdown(10_000)
        .gives(&["r0 Closed PossiblyWritten", "terminated"]);
}

/// 9.1: nothing is retried.
#[test]
fn nothing_is_retried_while_it_drains() {
    let mut s = Script::new(build(exact()), TWO);
    s.establish(0).establish(1);
    s.submit_on(0, any().idempotent())
        .submit_on(1, any().idempotent())
        .whatever();
    s.written(0).written(1).shutdown(10_000).gives(&[]);
    s.closed(0)
        .gives(&["r0 Disconnected(PeerClosed) PossiblyWritten"]);
    s.reply(1).gives(&["r1 reply n1", "close n1", "terminated"]);
}

/// 9.1: a request's own deadlines hold while it drains.
#[test]
fn timeouts_hold_while_it_drains() {
    let mut s = ready();
    s.at(0)
        .submit(any().timeout(ms(700)))
        .written(0)
        .shutdown(60_000)
        .gives(&["write n0 r0"]);
    s.deadline(700)
        .at(700)
        .tick()
        .gives(&["r0 Timeout PossiblyWritten", "close n0", "terminated"]);
}

/// 9.1: the write stall stays armed; bounded also when a peer never reads.
#[test]
fn a_stalled_write_ends_the_drain_early() {
    let mut s = Script::new(build(exact().write_timeout(after(3_000))), ONE);
    s.establish(0);
    s.at(0).submit(any()).started(0).blocked(0).whatever();
    s.at(1_000).shutdown(60_000).gives(&[]).deadline(3_000);
    s.at(3_000).tick().gives(&[
        "close n0",
        "r0 Disconnected(WriteStall) PossiblyWritten",
        "terminated",
    ]);
}

/// 9.1: tombstones do not hold it.
#[test]
fn a_tombstone_does_not_hold_a_shutdown() {
    let mut s = ready();
    s.submit(any()).written(0).whatever().cancel(0).whatever();
    s.shutdown(60_000).gives(&["close n0", "terminated"]);
}

/// 9.1: nor does one that arises while it drains.
#[test]
fn the_cancel_of_the_last_request_ends_the_drain() {
    let mut s = ready();
    s.submit(any()).written(0).whatever();
    s.shutdown(60_000).gives(&[]);
    s.cancel(0)
        .gives(&["r0 Cancelled PossiblyWritten", "close n0", "terminated"]);
}

/// 9.1: a second call shortens the drain and never lengthens it.
#[test]
fn a_second_shutdown_shortens_the_drain() {
    let mut s = ready();
    s.at(0).submit(any()).written(0).whatever();
    s.shutdown(5_000).gives(&[]).deadline(5_000);
    s.at(1_000).shutdown(60_000).gives(&[]).deadline(5_000);
    s.shutdown(1_000).gives(&[]).deadline(2_000);
    s.at(2_000)
        .tick()
        .gives(&["r0 Closed PossiblyWritten", "close n0", "terminated"]);
}

/// 9.1: a drain that would never end is refused, and nothing happens.
#[test]
fn a_drain_that_would_never_end_is_refused() {
    let mut s = ready();
    s.call(Call::Shutdown(Duration::MAX))
        .gives(&["error DrainTooLong"]);
    s.submit(any()).gives(&["write n0 r0"]);
    let left = Duration::from_nanos(u64::MAX);
    s.at_instant(Instant::from_nanos(5))
        .call(Call::Shutdown(left));
    s.gives(&["error DrainTooLong"]);
}

/// 9.2: no Resolve, no Connect and no new frame comes out.
#[test]
fn nothing_new_begins_after_shutdown() {
    let mut s = Script::new(build(exact().warm(Warm::All)), TWO);
    s.whatever().establish(0);
    s.submit_on(0, any()).written(0).whatever();
    s.shutdown(20_000).gives(&["abort n1"]);
    s.run_to(15_000).gives(&[]);
    s.draining(0).gives(&[]);
    s.reply(0).gives(&["r0 reply n0", "close n0", "terminated"]);
}

/// 9.2: after Terminated any call is legal and nothing comes.
#[test]
fn after_terminated_nothing_comes() {
    let mut s = ready();
    s.submit(any()).written(0).shutdown(0).tick().whatever();
    s.reply(0)
        .closed(0)
        .connected(0)
        .tick()
        .gives(&[])
        .no_deadline();
    s.shutdown(5)
        .submit(any())
        .set_nodes(TWO)
        .gives(&["error Closed", "error Closed"]);
    s.cancel(0).gives(&["error not open"]);
    s.at(1_000_000).tick().gives(&[]).no_deadline();
}

/// 9.1: a draining connection is part of it.
#[test]
fn a_connection_that_drains_already_may_finish_too() {
    let mut s = Script::new(build(exact()), TWO);
    s.establish(0).establish(1);
    s.submit_on(0, any()).written(0).whatever();
    s.set_nodes(&TWO[1..]).gives(&[]);
    s.shutdown(9_000).gives(&["close n1"]);
    s.reply(0).gives(&["r0 reply n0", "close n0", "terminated"]);
}

/// 9.1: by order, the replies of tombstones before it are waited for.
#[test]
fn a_reply_behind_a_tombstone_still_comes() {
    let mut s = Script::new(build(exact().matching(Matching::Order)), ONE);
    s.establish(0);
    s.submit(any())
        .submit(any())
        .written(0)
        .written(1)
        .whatever();
    s.cancel(0).whatever().shutdown(9_000).gives(&[]);
    s.reply_next(0).gives(&[]);
    s.reply_next(0)
        .gives(&["r1 reply n0", "close n0", "terminated"]);
}

/// 9.1: with no other limit the drain alone bounds it.
#[test]
fn a_shutdown_is_bounded_without_any_other_timeout() {
    let never = exact()
        .request_timeout(Limit::Never)
        .delivery_timeout(Limit::Never)
        .write_timeout(Limit::Never);
    let mut s = Script::new(build(never), ONE);
    s.establish(0);
    s.at(0)
        .submit(any())
        .started(0)
        .blocked(0)
        .whatever()
        .no_deadline();
    s.shutdown(1_000).gives(&[]).deadline(1_000);
    s.at(1_000)
        .tick()
        .gives(&["r0 Closed PossiblyWritten", "close n0", "terminated"]);
}
