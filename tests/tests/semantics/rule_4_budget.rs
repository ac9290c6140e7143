//! SEMANTICS 4.7: what retries that count may cost in relation to requests.

use redial::{
    Cause, Config, ConfigBuilder, Instant, OnRequestTimeout, Reason, RetryBudget, Verdict,
};
use redial_tests::script::{Script, after, any, build, exact, ms};

const ONE: &[&str] = &["10.0.0.1:1"];

const fn budget(per_submit_milli: u32, per_second: u32, max: u32) -> RetryBudget {
    RetryBudget {
        per_submit_milli,
        per_second,
        max,
    }
}

fn ready_with(config: ConfigBuilder, budget: RetryBudget) -> Script {
    let mut s = Script::new(build(config.retry_budget(budget)), ONE);
    s.establish(0);
    s
}

fn ready(budget: RetryBudget) -> Script {
    ready_with(exact(), budget)
}

/// Submits the request and has it answered with "try again"; whether it will be.
fn is_retried(s: &mut Script, request: usize) -> bool {
    s.submit(any())
        .written(request)
        .verdict(request, Verdict::RETRY_HERE)
        .whatever();
    s.cluster().is_open(s.request(request))
}

/// 4.7: a retry that counts takes a token; without one the request ends with its last outcome, here
/// a reply.
#[test]
fn without_a_token_a_reply_that_asks_for_a_retry_completes_the_request() {
    let mut s = ready(budget(0, 0, 1));
    s.at(0).submit(any()).written(0).gives(&["write n0 r0"]);
    s.verdict(0, Verdict::RETRY_HERE).gives(&[]).deadline(100);
    s.at(100).tick().gives(&["write n0 r0"]);
    s.written(0)
        .verdict(0, Verdict::RETRY_HERE)
        .gives(&["r0 reply n0"]);
    let success = s.outcome(0).expect("a reply");
    assert_eq!((success.budget_exhausted, success.attempts), (true, 2));
    assert_eq!(s.cluster().stats().retries, 1);
}

/// 4.7: here the failure.
#[test]
fn without_a_token_a_failed_attempt_fails_the_request() {
    let mut s = ready(budget(0, 0, 1));
    s.at(0)
        .submit(any().idempotent())
        .submit(any().idempotent());
    s.written(0).written(1).whatever();
    s.at(5)
        .closed(0)
        .gives(&["r1 Disconnected(PeerClosed) PossiblyWritten"]);
    let error = s.error(1);
    assert!(error.budget_exhausted);
    assert_eq!(error.reason, Reason::Disconnected(Cause::PeerClosed));
    assert!(s.cluster().is_open(s.request(0)));
}

/// 4.7: and here a timeout.
#[test]
fn without_a_token_a_timeout_fails_the_request() {
    let mut s = ready_with(exact().request_timeout(after(1_000)), budget(0, 0, 1));
    s.at(0).submit(any().idempotent()).written(0).whatever();
    s.at(1_000).tick().gives(&[]).deadline(1_100);
    s.at(1_100).tick().written(0).gives(&["write n0 r0"]);
    s.at(2_100).tick().gives(&["r0 Timeout PossiblyWritten"]);
    assert!(s.error(0).budget_exhausted);
}

/// 4.7: each submit deposits 0.2 token.
#[test]
fn five_submits_pay_for_one_retry() {
    let mut s = ready(budget(200, 0, 1));
    assert!(is_retried(&mut s, 0));
    // Each of these deposits a fifth: the fifth of them makes a token, which it takes.
    for request in 1..5 {
        assert!(!is_retried(&mut s, request), "r{request}");
    }
    assert!(is_retried(&mut s, 5));
    assert!(!is_retried(&mut s, 6));
}

/// 4.7: and each second so many, to the nanosecond.
#[test]
fn tokens_come_with_time() {
    let mut s = ready(budget(0, 3, 1));
    s.at(1_000);
    assert!(is_retried(&mut s, 0));
    s.at_instant(Instant::from_nanos(1_333_333_333));
    assert!(!is_retried(&mut s, 1));
    s.at_instant(Instant::from_nanos(1_333_333_334));
    assert!(is_retried(&mut s, 2));
}

/// 4.7: it holds no more than its maximum, starts full, and that is 100 by default.
#[test]
fn the_default_budget_starts_with_a_hundred_tokens_and_holds_no_more() {
    let mut s = ready_with(exact(), RetryBudget::DEFAULT);
    s.at(3_600_000);
    // Submits that are not retried deposit nothing more.
    for request in 0..50 {
        s.submit(any()).written(request).reply(request).whatever();
    }
    let retried = (50..250)
        .filter(|&request| is_retried(&mut s, request))
        .count();
    // 100, and a fifth for each of the 199 submits since the bucket was full last.
    assert_eq!(retried, 100 + 199 / 5);
}

/// 4.7: what was never handed over rejoins uncharged, also with an empty budget.
#[test]
fn a_request_that_was_never_handed_over_needs_no_token() {
    let mut s = ready(budget(0, 0, 1));
    assert!(is_retried(&mut s, 0));
    assert!(!is_retried(&mut s, 1));
    s.at(10).submit(any()).gives(&["write n0 r2"]);
    s.closed(0).gives(&[]);
    assert!(s.cluster().is_open(s.request(2)));
}

/// 4.7, 4.5: neither does what is collateral of another request's timeout.
#[test]
fn collateral_of_a_disconnect_needs_no_token() {
    let config = exact()
        .request_timeout(after(1_000))
        .on_request_timeout(OnRequestTimeout::Disconnect);
    let mut s = ready_with(config, budget(0, 0, 1));
    s.at(0).submit(any().idempotent()).written(0).whatever();
    s.at(500).submit(any().idempotent()).written(1).whatever();
    s.submit(any().idempotent()).written(2).whatever();
    s.at(1_000).tick().gives(&["close n0"]);
    // r0 took the only token, the others rejoin.
    s.run_to(1_100).connected(0).whatever().ready(0).whatever();
    s.written(0).written(1).written(2);
    s.run_to(2_100);
    let mut lines = s.take();
    lines.sort_unstable();
    assert!(
        lines.contains(&"r0 Timeout PossiblyWritten".to_owned()),
        "{lines:?}"
    );
    assert_eq!(s.error(0).attempts, 2);
}

/// 4.7: a retry that something else forbids takes no token and is not marked.
#[test]
fn a_retry_that_is_not_allowed_anyway_takes_no_token() {
    let config = exact().max_attempts(2);
    let mut s = ready_with(config, budget(0, 0, 2));
    // Not safe.
    s.at(0).submit(any()).written(0).whatever();
    s.closed(0)
        .gives(&["r0 Disconnected(PeerClosed) PossiblyWritten"]);
    assert!(!s.error(0).budget_exhausted);
    s.at(1_000).establish(0);
    // The deadline does not allow the wait.
    s.submit(any().timeout(ms(100)))
        .written(1)
        .verdict(1, Verdict::RETRY_HERE);
    s.gives(&["write n0 r1", "r1 reply n0"]);
    assert!(!s.outcome(1).expect("a reply").budget_exhausted);
    // No attempts remain.
    s.submit(any())
        .written(2)
        .verdict(2, Verdict::RETRY_HERE)
        .gives(&["write n0 r2"]);
    s.run_to(1_100).gives(&["write n0 r2"]);
    s.written(2)
        .verdict(2, Verdict::RETRY_HERE)
        .gives(&["r2 reply n0"]);
    assert!(!s.outcome(2).expect("a reply").budget_exhausted);
    // One of the two tokens is left.
    assert!(is_retried(&mut s, 3));
    assert!(!is_retried(&mut s, 4));
    assert!(s.outcome(4).expect("a reply").budget_exhausted);
}

/// 4.7: what was retried and then answered is not marked.
#[test]
fn a_request_that_got_its_token_is_not_marked() {
    let mut s = ready(budget(0, 0, 1));
    assert!(is_retried(&mut s, 0));
    s.at(100)
        .tick()
        .written(0)
        .reply(0)
        .gives(&["write n0 r0", "r0 reply n0"]);
    assert!(!s.outcome(0).expect("a reply").budget_exhausted);
}

/// 4.7: none in the Kafka preset.
#[test]
fn the_kafka_preset_has_no_budget() {
    assert_eq!(Config::kafka().retry_budget(), None);
    let mut s = Script::new(build(exact().retry_budget(None)), ONE);
    s.establish(0);
    assert!((0..500).all(|request| is_retried(&mut s, request)));
}

/// 4.7, R033: in an outage of a node that answers nothing, retries are bounded by the budget,
/// whatever the number of requests.
#[test]
fn an_outage_does_not_multiply_the_load() {
    let mut s = ready_with(
        exact().request_timeout(after(1_000)).unhealthy_after(None),
        budget(0, 10, 20),
    );
    for request in 0..200 {
        s.at(0)
            .submit(any().idempotent())
            .written(request)
            .whatever();
    }
    while s.cluster().stats().open_requests > 0 {
        let deadline = s.cluster().poll_timeout().expect("they end");
        s.at_instant(deadline.at).tick();
        for line in s.take() {
            if let Some(request) = line.strip_prefix("write n0 r") {
                s.written(request.parse().expect("a number"));
            }
        }
    }
    // The 200 time out together at 1 s and find 20 tokens; each later retry had to find its own.
    let retries = s.cluster().stats().retries;
    assert!((20..20 + 10 * 120).contains(&retries), "{retries}");
    assert!((0..200).all(|request| s.outcome(request).is_err()));
}
