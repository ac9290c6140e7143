//! Random worlds: any configuration, any faults, any use.

use std::{collections::BTreeSet, time::Duration};

use proptest::{
    collection::vec, prelude::*, sample::select, strategy::ValueTree, test_runner::TestRunner,
};
use redial::{
    Action, CloseError, Completion, ConnectError, Event, HandshakeError, Hint, Instant, Limit,
    NodeSpec, Output, RequestOptions, SourceId, Verdict,
};
use redial_tests::world::{Accept, Answer, Fault, Greet, Op, Plan, Serve, Tells, World, address};

use crate::{cases, config::config};

proptest! {
    #![proptest_config(cases(40))]

    /// The rules hold in every world, and every run ends.
    #[test]
    fn the_rules_hold_in_random_worlds(plan in plan()) {
        if let Err(wrong) = World::run(&plan) {
            prop_assert!(false, "{wrong}");
        }
    }

    /// DESIGN 4.20: a world can be repeated.
    #[test]
    fn random_worlds_can_be_repeated(plan in plan()) {
        let run = || World::run(&plan).map(|run| run.trace.to_string()).map_err(|wrong| wrong.to_string());
        prop_assert_eq!(run(), run());
    }
}

/// Faults that never fire find nothing.
#[test]
fn random_worlds_are_eventful() {
    let mut runner = TestRunner::deterministic();
    let mut causes = BTreeSet::new();
    let mut reasons = BTreeSet::new();
    let mut results = BTreeSet::new();
    let mut seen = [0; 8];
    for _ in 0..300 {
        let plan = plan().new_tree(&mut runner).expect("a plan").current();
        let run = World::run(&plan).unwrap_or_else(|wrong| panic!("{wrong}"));
        for (_, output) in run.trace.outputs() {
            match output {
                Output::Event(Event::StateChanged {
                    cause: Some(cause), ..
                }) => {
                    causes.insert(format!("{cause:?}"));
                }
                Output::Completion(Completion {
                    result: Err(error), ..
                }) => {
                    let reason = format!("{:?}", error.reason);
                    reasons.insert(reason.split('(').next().unwrap_or_default().to_owned());
                }
                Output::Event(Event::Refreshed { result, .. }) => {
                    let result = format!("{result:?}");
                    results.insert(result.split('(').next().unwrap_or_default().to_owned());
                }
                Output::Event(Event::Unhealthy { .. }) => seen[0] += 1,
                Output::Action(Action::Withdraw { .. }) => seen[1] += 1,
                Output::Action(Action::Discover { .. }) => seen[2] += 1,
                _ => {}
            }
        }
        let stats = run.stats;
        for (seen, count) in seen[3..].iter_mut().zip([
            stats.succeeded,
            stats.hedges,
            stats.retries,
            stats.late_replies,
            stats.stale_facts,
        ]) {
            *seen += count;
        }
    }
    assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
    assert!(causes.len() >= 15, "{causes:?}");
    assert!(reasons.len() >= 8, "{reasons:?}");
    assert_eq!(results.len(), 7, "{results:?}");
}

const SERVERS: usize = 4;
const SPAN: u64 = 15_000;

/// Any world.
pub(crate) fn plan() -> impl Strategy<Value = Plan> {
    let at = || 0..SPAN;
    (
        config(),
        any::<u64>(),
        prop_oneof![6 => list(), 1 => Just(vec![])],
        vec((at(), op()), 1..80),
        vec((at(), fault()), 0..25),
        prop_oneof![4 => Just(3_000u64), 1 => Just(0)],
    )
        .prop_map(|(config, seed, list, ops, faults, drain)| {
            let mut plan = Plan::new(config, SERVERS).seed(seed).until(SPAN + 5_000);
            plan.list = list;
            plan.drain = Duration::from_millis(drain);
            plan.ops = ops
                .into_iter()
                .map(|(at, op)| (Instant::from_millis(at), op))
                .collect();
            plan.faults = faults
                .into_iter()
                .map(|(at, fault)| (Instant::from_millis(at), fault))
                .collect();
            plan
        })
}

/// Addresses with and without keys, names, and an address where there is nobody.
fn list() -> impl Strategy<Value = Vec<NodeSpec>> {
    let literals = (0..=SERVERS).map(|server| NodeSpec::new(address(server)));
    let keyed =
        (0..2).map(|server| NodeSpec::new(address(server)).with_key(format!("key{server}")));
    let moved = [NodeSpec::new(address(2)).with_key("key0")];
    let names = ["db.example:9092", "other.example:9092"];
    let names = names
        .into_iter()
        .map(|name| name.parse().expect("an endpoint"));
    vec(
        select(
            literals
                .chain(keyed)
                .chain(moved)
                .chain(names)
                .collect::<Vec<_>>(),
        ),
        1..6,
    )
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        20 => options().prop_map(Op::Submit),
        8 => (0..5usize, options()).prop_map(|(node, options)| Op::SubmitOn(node, options)),
        4 => (0..5usize).prop_map(Op::Cancel),
        3 => list().prop_map(Op::SetNodes),
        1 => list().prop_map(Op::SetFallback),
        1 => hint().prop_map(Op::Hint),
        1 => (0..5_000u64).prop_map(|millis| Op::Shutdown(Duration::from_millis(millis))),
    ]
}

/// Of a source that is there, and of one that is not.
fn hint() -> impl Strategy<Value = Hint> {
    let changed = |source| Hint::SourceChanged(SourceId::new(source));
    select(vec![
        Hint::NetworkChanged,
        Hint::Resumed,
        changed(0),
        changed(1),
        changed(9),
    ])
}

fn options() -> impl Strategy<Value = RequestOptions> {
    let timeout = prop_oneof![
        6 => Just(None),
        3 => (1..4_000u64).prop_map(|millis| Some(Limit::After(Duration::from_millis(millis)))),
    ];
    (timeout.clone(), timeout, any::<[bool; 4]>()).prop_map(
        |(timeout, request_timeout, [idempotent, fail_fast, slow, silent])| {
            let mut options = RequestOptions::new();
            options.timeout = timeout;
            options.request_timeout = request_timeout.filter(|_| slow);
            options.idempotent = idempotent;
            options.fail_fast = fail_fast && !slow;
            options.expects_reply = !silent;
            options
        },
    )
}

fn fault() -> impl Strategy<Value = Fault> {
    let server = || 0..SERVERS;
    let time = || (0..6_000u64).prop_map(Duration::from_millis);
    let answer = prop_oneof![
        Just(Answer::Fails),
        Just(Answer::Silent),
        vec(0..SERVERS, 0..4)
            .prop_map(|servers| { Answer::Addresses(servers.into_iter().map(address).collect()) }),
    ];
    let name = select(vec!["db.example".to_owned(), "other.example".to_owned()]);
    prop_oneof![
        2 => (server(), accept()).prop_map(|(server, accept)| Fault::Accept(server, accept)),
        2 => (server(), greet()).prop_map(|(server, greet)| Fault::Greet(server, greet)),
        4 => (server(), serve()).prop_map(|(server, serve)| Fault::Serve(server, serve)),
        1 => (server(), 1..400u64).prop_map(|(server, millis)| {
            Fault::Latency(server, Duration::from_millis(millis))
        }),
        1 => (server(), time()).prop_map(|(server, time)| Fault::Work(server, time)),
        2 => (server(), any::<bool>()).prop_map(|(server, reads)| Fault::Reads(server, reads)),
        2 => (server(), close()).prop_map(|(server, error)| Fault::Cut(server, error)),
        3 => server().prop_map(Fault::Crash),
        3 => server().prop_map(Fault::Revive),
        2 => (server(), time()).prop_map(|(server, time)| Fault::Throttle(server, time)),
        2 => server().prop_map(Fault::Goodbye),
        2 => (name, answer).prop_map(|(name, answer)| Fault::Name(name, answer)),
        4 => (0..4usize, tells()).prop_map(|(source, tells)| Fault::Source(source, tells)),
        1 => time().prop_map(Fault::Sleep),
    ]
}

/// Lists that are late, empty, malformed, old or told twice, and none at all.
fn tells() -> impl Strategy<Value = Tells> {
    let any_list = prop_oneof![8 => list(), 1 => Just(vec![])];
    let version = prop_oneof![3 => Just(None), 2 => (0..6u64).prop_map(Some)];
    let after = prop_oneof![3 => 0..50u64, 1 => 50..12_000u64];
    prop_oneof![
        5 => (version, any_list, after, any::<bool>()).prop_map(|(version, list, after, twice)| {
            let after = Duration::from_millis(after);
            Tells::List { version, list, after, twice }
        }),
        1 => (list(), list()).prop_map(|(one, other)| Tells::Flaps(one, other)),
        1 => Just(Tells::Fails),
        1 => Just(Tells::Silent),
    ]
}

fn accept() -> impl Strategy<Value = Accept> {
    let refused = Accept::No(ConnectError::Refused);
    select(vec![
        Accept::Yes,
        refused,
        Accept::No(ConnectError::Reset),
        Accept::BlackHole,
    ])
}

fn greet() -> impl Strategy<Value = Greet> {
    use HandshakeError::{Closed, Malformed, Rejected, Tls, Version};
    let refusals = [Closed, Malformed, Rejected, Rejected, Tls, Version].map(Greet::No);
    let others = [
        Greet::Yes,
        Greet::WithLimit(1),
        Greet::Mute,
        Greet::Close(CloseError::Io),
    ];
    select([&refusals[..], &others[..]].concat())
}

fn serve() -> impl Strategy<Value = Serve> {
    let elsewhere = Verdict::RETRY_ELSEWHERE;
    let verdicts = [
        Verdict::DONE,
        Verdict::RETRY_HERE,
        elsewhere,
        elsewhere.refresh(),
    ];
    prop_oneof![
        3 => (select(verdicts.to_vec()), 0..700u64).prop_map(|(verdict, after)| {
            Serve::Reply(verdict.after(Duration::from_millis(after)))
        }),
        2 => Just(Serve::Mute),
        1 => close().prop_map(Serve::Close),
    ]
}

fn close() -> impl Strategy<Value = CloseError> {
    select(vec![CloseError::Peer, CloseError::Io, CloseError::Protocol])
}
