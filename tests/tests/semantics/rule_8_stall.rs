//! SEMANTICS 8.3: a transport that accepts nothing.

use redial::{Cause, Config, Limit};
use redial_tests::script::{Script, after, any, build, exact, ms};

const ONE: &[&str] = &["10.0.0.1:1"];

fn ready() -> Script {
    let mut s = Script::new(build(exact().request_timeout(Limit::Never)), ONE);
    s.establish(0);
    s
}

/// 8.3: a Write that is emitted and not taken.
#[test]
fn a_write_that_never_starts_closes_the_connection() {
    let mut s = ready();
    s.at(5_000)
        .submit(any())
        .gives(&["write n0 r0"])
        .deadline(35_000);
    s.at(35_000).tick().gives(&["close n0"]);
    let failure = s.view(0).last_failure.expect("a failure");
    assert_eq!(
        (failure.stage, failure.cause),
        (redial::Stage::Established, Cause::WriteStall)
    );
    assert!(
        s.cluster().is_open(s.request(0)),
        "it was never handed over"
    );
}

/// 8.3, R087: bytes that are handed over and not accepted.
#[test]
fn a_frame_that_is_never_accepted_closes_the_connection() {
    let mut s = ready();
    s.at(0)
        .submit(any())
        .started(0)
        .gives(&["write n0 r0"])
        .deadline(30_000);
    s.at(30_000)
        .tick()
        .gives(&["close n0", "r0 Disconnected(WriteStall) PossiblyWritten"]);
}

/// 8.3: progress starts the time anew.
#[test]
fn progress_starts_the_time_anew() {
    let mut s = ready();
    s.at(0).submit(any()).started(0).gives(&["write n0 r0"]);
    s.at(20_000).progress(0).gives(&[]).deadline(50_000);
    s.at(49_999).tick().gives(&[]);
    s.at(50_000)
        .tick()
        .gives(&["close n0", "r0 Disconnected(WriteStall) PossiblyWritten"]);
}

/// 8.3: what is emitted behind it is no progress.
#[test]
fn more_frames_do_not_start_the_time_anew() {
    let mut s = ready();
    s.at(0).submit(any()).started(0).gives(&["write n0 r0"]);
    s.at(20_000).submit(any()).gives(&["write n0 r1"]);
    s.deadline(30_000);
}

/// 8.3: an accepted frame is progress for those behind it.
#[test]
fn an_accepted_frame_is_progress() {
    let mut s = ready();
    s.at(0).submit(any()).submit(any()).started(0).whatever();
    s.at(10_000).done(0).started(1).gives(&[]).deadline(40_000);
    s.at(20_000).done(1).gives(&[]).deadline(120_000);
}

/// 8.3: with nothing to write nothing is armed.
#[test]
fn an_idle_connection_does_not_stall() {
    let mut s = ready();
    s.no_deadline();
    s.at(0)
        .submit(any())
        .written(0)
        .reply(0)
        .whatever()
        .no_deadline();
    s.at(600_000).tick().gives(&[]);
}

/// 8.3: blocked writing alone is a stall, too.
#[test]
fn a_blocked_connection_without_requests_stalls() {
    let mut s = ready();
    s.at(0).blocked(0).gives(&[]).deadline(30_000);
    s.at(10_000).progress(0).gives(&[]).no_deadline();
    s.blocked(0).gives(&[]).deadline(40_000);
    s.at(40_000).tick().gives(&["close n0"]);
}

/// 8.3: reading goes on while writing is blocked; what is read is no acceptance.
#[test]
fn replies_are_read_while_writing_is_blocked() {
    let mut s = ready();
    s.at(0)
        .submit(any())
        .submit(any())
        .written(0)
        .started(1)
        .blocked(0)
        .whatever();
    s.at(10_000)
        .reply(0)
        .gives(&["r0 reply n0"])
        .deadline(30_000);
    s.at(30_000)
        .tick()
        .gives(&["close n0", "r1 Disconnected(WriteStall) PossiblyWritten"]);
}

/// 8.3: a request that is cancelled before its hand-over is nothing to write any more.
#[test]
fn a_cancelled_write_does_not_stall() {
    let mut s = ready();
    s.at(0)
        .submit(any())
        .whatever()
        .cancel(0)
        .whatever()
        .no_deadline();
}

/// 8.3: a frame that is begun must be accepted, also after its request has ended.
#[test]
fn a_cancelled_frame_that_is_begun_stalls() {
    let mut s = ready();
    s.at(0).submit(any()).started(0).whatever();
    s.at(1_000)
        .cancel(0)
        .gives(&["r0 Cancelled PossiblyWritten"])
        .deadline(30_000);
    s.at(30_000).tick().gives(&["close n0"]);
}

/// 8.3: never in the Kafka preset.
#[test]
fn without_a_write_timeout_nothing_stalls() {
    let config = Config::kafka().to_builder().request_timeout(Limit::Never);
    let mut s = Script::new(build(config.delivery_timeout(Limit::Never)), ONE);
    s.establish(0);
    s.at(0)
        .submit(any())
        .started(0)
        .blocked(0)
        .whatever()
        .no_deadline();
}

/// 8.3: a draining connection stalls as well.
#[test]
fn a_draining_connection_stalls() {
    let config = exact()
        .write_timeout(after(2_000))
        .request_timeout(Limit::Never);
    let mut s = Script::new(build(config), ONE);
    s.establish(0);
    s.at(0)
        .submit(any())
        .written(0)
        .reply(0)
        .submit(any())
        .started(1)
        .whatever();
    s.at(100).draining(0).gives(&[]).deadline(2_000);
    s.at(2_000)
        .tick()
        .gives(&["close n0", "r1 Disconnected(WriteStall) PossiblyWritten"]);
    assert_eq!(s.view(0).failures, 0);
    assert_eq!(s.error(1).elapsed, ms(2_000));
}
