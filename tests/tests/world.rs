//! Scenarios in the world on virtual time. Every step of every run is checked.

use std::{collections::BTreeSet, time::Duration};

use redial::{
    Cause, CloseError, Completion, Config, ConnectError, Event, HandshakeError, Instant, Jitter,
    Limit, NodeSpec, Output, RequestOptions, Verdict, Warm,
};
use redial_tests::world::{Accept, Answer, Fault, Greet, Op, Plan, Run, Serve, World, address};

fn any() -> RequestOptions {
    RequestOptions::new()
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[track_caller]
fn run(plan: &Plan) -> Run {
    World::run(plan).unwrap_or_else(|wrong| panic!("{wrong}"))
}

fn completions(run: &Run) -> Vec<(Instant, Completion)> {
    let completion = |(at, output): (Instant, &Output)| match output {
        Output::Completion(completion) => Some((at, *completion)),
        _ => None,
    };
    run.trace.outputs().filter_map(completion).collect()
}

fn first_answer(run: &Run) -> Option<Instant> {
    completions(run)
        .into_iter()
        .find(|(_, done)| done.result.is_ok())
        .map(|(at, _)| at)
}

/// The longest time without an answer, from `from` to `to`.
fn longest_gap(run: &Run, from: Instant, to: Instant) -> Duration {
    let answers = completions(run)
        .into_iter()
        .filter(|(_, done)| done.result.is_ok());
    let mut times = vec![from];
    times.extend(
        answers
            .map(|(at, _)| at)
            .filter(|at| (from..=to).contains(at)),
    );
    times.push(to);
    times
        .windows(2)
        .map(|pair| pair[1] - pair[0])
        .max()
        .unwrap_or_default()
}

fn causes(run: &Run) -> BTreeSet<String> {
    let cause = |(_, output): (Instant, &Output)| match output {
        Output::Event(Event::StateChanged {
            cause: Some(cause), ..
        }) => Some(format!("{cause:?}")),
        _ => None,
    };
    run.trace.outputs().filter_map(cause).collect()
}

/// A busy life with some of everything.
fn eventful(seed: u64) -> Plan {
    Plan::new(Config::default(), 4)
        .seed(seed)
        .load(20, 1_000, any().idempotent())
        .fault(1_000, Fault::Crash(0))
        .fault(2_000, Fault::Accept(1, Accept::BlackHole))
        .fault(2_100, Fault::Cut(1, CloseError::Peer))
        .fault(4_000, Fault::Revive(0))
        .fault(5_000, Fault::Throttle(2, ms(700)))
        .fault(6_000, Fault::Goodbye(3))
        .fault(9_000, Fault::Reads(2, false))
        .fault(12_000, Fault::Revive(2))
        .until(20_000)
}

/// DESIGN 4.20, 5: the same seed gives the same trace, another seed another.
#[test]
fn a_run_can_be_repeated() {
    let first = run(&eventful(7)).trace;
    let second = run(&eventful(7)).trace;
    assert_eq!(first.first_difference(&second), None);
    assert_eq!(
        (first.to_string(), first.hash()),
        (second.to_string(), second.hash())
    );
    let other = run(&eventful(8)).trace;
    assert!(first.first_difference(&other).is_some());
    assert_ne!(first.hash(), other.hash());
}

/// DESIGN 5: each kind of fault does what its name says.
#[test]
fn every_kind_of_fault_fires() {
    for (fault, expected) in [
        (
            Fault::Accept(0, Accept::No(ConnectError::Refused)),
            Cause::Refused,
        ),
        (
            Fault::Accept(0, Accept::No(ConnectError::Unreachable)),
            Cause::Unreachable,
        ),
        (Fault::Accept(0, Accept::BlackHole), Cause::SetupTimeout),
        (Fault::Greet(0, Greet::Mute), Cause::SetupTimeout),
        (Fault::Greet(0, Greet::Close(CloseError::Io)), Cause::Io),
        (
            Fault::Greet(0, Greet::No(HandshakeError::Rejected)),
            Cause::CredentialsRejected,
        ),
        (
            Fault::Serve(0, Serve::Close(CloseError::Protocol)),
            Cause::ProtocolError,
        ),
        (
            Fault::Serve(0, Serve::Close(CloseError::Peer)),
            Cause::PeerClosed,
        ),
        (Fault::Reads(0, false), Cause::WriteStall),
        (
            Fault::Name("db.example".to_owned(), Answer::Fails),
            Cause::ResolveFailed,
        ),
        (
            Fault::Name("db.example".to_owned(), Answer::Silent),
            Cause::SetupTimeout,
        ),
        (
            Fault::Name("db.example".to_owned(), Answer::Addresses(Vec::new())),
            Cause::NoAddress,
        ),
    ] {
        let mut plan = Plan::new(Config::default(), 1)
            .fault(0, fault.clone())
            .until(80_000);
        plan.list = vec!["db.example:9092".parse().expect("an endpoint")];
        let came = causes(&run(&plan.at(1, Op::Submit(any()))));
        assert!(
            came.contains(&format!("{expected:?}")),
            "{fault:?} gave {came:?}"
        );
    }
    for (fault, expected) in [
        (Fault::Cut(0, CloseError::Io), "Io"),
        (Fault::Goodbye(0), "PeerDraining"),
    ] {
        let plan = Plan::new(Config::default(), 1)
            .at(0, Op::Submit(any()))
            .fault(500, fault);
        let came = causes(&run(&plan));
        assert!(came.contains(expected), "{came:?}");
    }
}

/// DESIGN 7, R001, R121: with k of n nodes dead the first answer takes k hedge delays and a round
/// trip at most.
#[test]
fn k_dead_nodes_cost_at_most_k_hedge_delays() {
    for dead in 1..=8 {
        for (kind, seed) in (0..10).flat_map(|seed| [(0, seed), (1, seed)]) {
            let mut plan = Plan::new(Config::default(), dead + 1)
                .seed(seed)
                .at(0, Op::Submit(any()));
            for server in 0..dead {
                let fault = match kind {
                    0 => Fault::Accept(server, Accept::BlackHole),
                    _ => Fault::Greet(server, Greet::Mute),
                };
                plan = plan.fault(0, fault);
            }
            let first = first_answer(&run(&plan)).expect("an answer");
            let most = Instant::ORIGIN + ms(250) * dead as u32 + ms(40);
            assert!(first <= most, "seed {seed}, {dead} dead: {first}");
        }
    }
}

/// The same, seen from the other side: hedging is what it takes.
#[test]
fn with_two_of_three_nodes_dead_some_first_answer_needs_two_hedges() {
    let slowest = (0..20)
        .map(|seed| {
            let plan = Plan::new(Config::default(), 3)
                .seed(seed)
                .load(10, 100, any())
                .fault(0, Fault::Accept(0, Accept::BlackHole))
                .fault(0, Fault::Greet(1, Greet::Mute));
            let done = run(&plan);
            assert_eq!(done.stats.succeeded, 100, "seed {seed}");
            first_answer(&done).expect("an answer")
        })
        .max();
    let slowest = slowest.expect("twenty");
    assert!(
        (450..1_000).contains(&(slowest.as_nanos() / 1_000_000)),
        "{slowest}"
    );
}

/// R143, K41: a rolling restart that announces itself costs no idempotent request.
#[test]
fn a_rolling_restart_costs_nothing() {
    let mut plan = Plan::new(Config::default(), 3)
        .load(25, 800, any().idempotent())
        .until(25_000);
    for (number, server) in (0..9).map(|number| (number, number as usize % 3)) {
        let at = 1_000 + number * 2_000;
        plan = plan
            .fault(at, Fault::Goodbye(server))
            .fault(at + 100, Fault::Crash(server))
            .fault(at + 1_000, Fault::Revive(server));
    }
    let done = run(&plan);
    assert_eq!((done.stats.succeeded, done.stats.failed), (800, 0));
    assert!(longest_gap(&done, Instant::ORIGIN, Instant::from_millis(20_000)) < ms(1_000));
}

/// The whole cluster is down for a while and comes back.
#[test]
fn an_outage_of_everything_ends_soon_after_it_is_over() {
    let mut plan = Plan::new(Config::default(), 3).load(200, 300, any().idempotent());
    for server in 0..3 {
        plan = plan
            .fault(5_000, Fault::Crash(server))
            .fault(40_000, Fault::Revive(server));
    }
    let done = run(&plan);
    let seconds = |seconds: u64| Instant::from_millis(seconds * 1_000);
    // The longest rest is ten seconds; with three nodes drawing theirs it is far less.
    assert!(longest_gap(&done, seconds(40), seconds(59)) < ms(10_100));
    assert_eq!(done.stats.failed, 0, "everything waited");
}

/// R091, R093: a node that only stops answering is found out by its timeouts.
#[test]
fn a_node_that_falls_silent_is_chosen_last() {
    let config = Config::builder().request_timeout(ms(500)).warm(Warm::All);
    let plan = Plan::new(config.build().expect("it makes sense"), 2)
        .load(50, 800, any().idempotent())
        .fault(5_000, Fault::Serve(0, Serve::Mute))
        .until(50_000);
    let done = run(&plan);
    assert_eq!(done.stats.failed, 0);
    let unhealthy =
        |(_, output): &(Instant, &Output)| matches!(output, Output::Event(Event::Unhealthy { .. }));
    assert!(done.trace.outputs().any(|output| unhealthy(&output)));
    // One round of timeouts and a few more, not half of all requests.
    assert!(done.stats.retries < 200, "{} retries", done.stats.retries);
}

/// R105, Z23, K47: all addresses of a name change while the client is connected.
#[test]
fn a_name_whose_addresses_change_is_found_again() {
    let mut plan = Plan::new(Config::default(), 2).load(100, 300, any().idempotent());
    let only = |server| Answer::Addresses(vec![address(server)]);
    plan.list = vec!["db.example:9092".parse().expect("an endpoint")];
    let plan = plan
        .fault(0, Fault::Name("db.example".to_owned(), only(0)))
        .fault(5_000, Fault::Name("db.example".to_owned(), only(1)))
        .fault(5_000, Fault::Crash(0));
    let done = run(&plan);
    assert_eq!(done.stats.succeeded, 300);
}

/// Z03, Z31, R117: a name that cannot be resolved is tried again and again.
#[test]
fn a_name_that_cannot_be_resolved_is_tried_until_it_can() {
    let mut plan = Plan::new(Config::default(), 1).at(0, Op::Submit(any()));
    plan.list = vec!["db.example:9092".parse().expect("an endpoint")];
    let plan = plan
        .fault(0, Fault::Name("db.example".to_owned(), Answer::Fails))
        .fault(
            30_000,
            Fault::Name("db.example".to_owned(), Answer::Addresses(vec![address(0)])),
        );
    let done = run(&plan);
    assert_eq!(done.stats.succeeded, 1);
    assert!(done.stats.failures_resolve > 5);
}

/// Section 1.2: the machine sleeps; what was due is done once, and life goes on.
#[test]
fn a_machine_that_slept_goes_on() {
    let plan = Plan::new(Config::default(), 3)
        .load(100, 500, any())
        .fault(10_000, Fault::Sleep(Duration::from_secs(3_600)))
        .until(4_000_000);
    let done = run(&plan);
    assert_eq!(done.stats.succeeded + done.stats.failed, 500);
    assert!(done.stats.succeeded > 490, "{:?}", done.stats);
}

/// Z21: attempts go on at the configured pace after 10,000 failures.
#[test]
fn attempts_go_on_after_ten_thousand_failures() {
    let config = Config::kafka()
        .to_builder()
        .warm(Warm::All)
        .jitter(Jitter::None);
    let plan = Plan::new(config.build().expect("it makes sense"), 1)
        .fault(0, Fault::Accept(0, Accept::No(ConnectError::Refused)))
        .until(10_100_000);
    let done = run(&plan);
    // A rest of a second and a round trip of ten milliseconds.
    assert!(
        (9_990..10_010).contains(&done.stats.failures_connect),
        "{:?}",
        done.stats
    );
}

/// Z25: a server that accepts and then closes is backed off.
#[test]
fn a_server_that_accepts_and_closes_is_backed_off() {
    let config = Config::builder().warm(Warm::All).hedge_delay(Limit::Never);
    let plan = Plan::new(config.build().expect("it makes sense"), 1)
        .fault(0, Fault::Greet(0, Greet::Close(CloseError::Peer)))
        .until(600_000);
    let attempts = run(&plan).stats.attempts;
    assert!(
        (60..140).contains(&attempts),
        "{attempts} attempts in ten minutes"
    );
}

/// K35: a server that left the list is not contacted again.
#[test]
fn a_server_that_left_is_not_contacted() {
    let config = Config::builder()
        .warm(Warm::All)
        .build()
        .expect("it makes sense");
    let others: Vec<NodeSpec> = (1..3)
        .map(|server| NodeSpec::new(address(server)))
        .collect();
    let plan = Plan::new(config, 3)
        .load(50, 400, any())
        .at(5_000, Op::SetNodes(others))
        .fault(6_000, Fault::Crash(0))
        .fault(8_000, Fault::Revive(0));
    let done = run(&plan);
    assert_eq!(done.stats.succeeded, 400);
    let late_dial = done.trace.outputs().any(|(at, output)| {
        let there = matches!(output, Output::Action(redial::Action::Connect { address: Some(to), .. }) if *to == address(0));
        there && at >= Instant::from_millis(5_000)
    });
    assert!(!late_dial);
}

/// 4.6, R049: a throttled cluster delays requests and fails none.
#[test]
fn a_throttled_cluster_fails_no_request() {
    let mut plan = Plan::new(Config::kafka(), 2).load(20, 1_000, any());
    for server in 0..2 {
        for round in 0..4 {
            plan = plan.fault(1_000 + 4_000 * round, Fault::Throttle(server, ms(3_000)));
        }
    }
    let done = run(&plan);
    assert_eq!((done.stats.succeeded, done.stats.failed), (1_000, 0));
}

/// 4.7: a server that sends everybody elsewhere loses nothing.
#[test]
fn a_server_that_sends_requests_elsewhere_loses_none() {
    let config = Config::builder().warm(Warm::All);
    let plan = Plan::new(config.build().expect("it makes sense"), 3)
        .load(20, 1_000, any())
        .fault(0, Fault::Serve(0, Serve::Reply(Verdict::RETRY_ELSEWHERE)));
    let done = run(&plan);
    assert_eq!((done.stats.succeeded, done.stats.failed), (1_000, 0));
}

/// 4.3: the peer's limit is kept under load.
#[test]
fn a_peers_limit_holds_under_load() {
    let plan = Plan::new(Config::default(), 2)
        .load(1, 400, any())
        .fault(0, Fault::Greet(0, Greet::WithLimit(3)))
        .fault(0, Fault::Greet(1, Greet::WithLimit(3)))
        .fault(0, Fault::Work(0, ms(50)))
        .fault(0, Fault::Latency(1, ms(20)));
    let done = run(&plan);
    assert_eq!((done.stats.succeeded, done.stats.failed), (400, 0));
}
