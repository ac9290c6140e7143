//! Outages in the simulator. Every step of every run is checked.

use std::time::Duration;

use redial::{
    Action, Config, Instant, Jitter, Limit, Output, RequestOptions, Warm,
    client::length_prefixed::LengthPrefixed,
    sim::{
        App, Fault, Load, Reaction, Run, Schedule, Service, Simulation, Target, Workload,
        listed_by_name,
    },
};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// So many requests, one every so often; servers answer after a millisecond.
fn simulation(period: Duration, count: u64) -> Simulation<LengthPrefixed> {
    let options = RequestOptions::new().idempotent();
    Simulation::new(LengthPrefixed::new, |_| Service::echo(ms(1))).workload(move |_| {
        let load = Load::every(period, |n| format!("{n}").into());
        load.options(options).at_most(count)
    })
}

#[track_caller]
fn run(simulation: &Simulation<LengthPrefixed>, schedule: &Schedule) -> Run {
    match simulation.run(schedule) {
        Ok(run) => run,
        Err(failure) => panic!("{}", simulation.shrink(*failure)),
    }
}

#[track_caller]
fn all_succeed(run: &Run, count: u64) {
    assert_eq!((run.stats[0].succeeded, run.stats[0].failed), (count, 0));
}

/// The whole cluster is down for a while and comes back.
#[test]
fn an_outage_of_everything_ends_soon_after_it_is_over() {
    let schedule = Schedule::new(1, 3, s(60)).fault(s(5), s(35), Target::All, Fault::Crash);
    // The longest rest is ten seconds; with three nodes drawing theirs it is far less.
    let simulation = simulation(ms(200), 300).property("answered soon after", |outcome| {
        let begins = outcome.submitted.max(outcome.calm_from);
        outcome.result.is_ok() && outcome.completed < begins + ms(10_100)
    });
    all_succeed(&run(&simulation, &schedule), 300);
}

/// R105, Z23, K47: all addresses of a name change while the client is connected.
#[test]
fn a_name_whose_addresses_change_is_found_again() {
    let schedule = Schedule::new(1, 2, s(60))
        .fault(s(0), s(60), Target::Server(1), Fault::NotListed)
        .fault(s(5), s(55), Target::Server(0), Fault::NameMoves(1))
        .fault(s(5), s(55), Target::Server(0), Fault::Crash);
    all_succeed(&run(&simulation(ms(100), 300), &schedule), 300);
}

/// Z03, Z31, R117: a name that cannot be resolved is tried again and again.
#[test]
fn a_name_that_cannot_be_resolved_is_tried_until_it_can() {
    let schedule = Schedule::new(1, 1, s(60)).fault(s(0), s(30), Target::All, Fault::NameFails);
    let run = run(&simulation(ms(1), 1), &schedule);
    all_succeed(&run, 1);
    assert!(run.stats[0].failures_resolve > 5);
}

/// Section 1.2: the machine sleeps; what was due is done once, and life goes on.
#[test]
fn a_machine_that_slept_goes_on() {
    let schedule = Schedule::new(1, 3, s(4_000)).fault(s(10), s(3_600), Target::All, Fault::Sleep);
    let stats = run(&simulation(ms(100), 500), &schedule).stats[0];
    assert_eq!(stats.succeeded + stats.failed, 500);
    assert!(stats.succeeded > 490, "{stats:?}");
}

/// Z21: attempts go on at the configured pace after 10,000 failures.
#[test]
fn attempts_go_on_after_ten_thousand_failures() {
    let config = Config::kafka()
        .to_builder()
        .warm(Warm::All)
        .jitter(Jitter::None);
    let simulation = simulation(ms(1), 0)
        .config(config.build().expect("it makes sense"))
        .latency(ms(5), ms(0));
    let forever = s(10_100);
    let schedule = Schedule::new(1, 1, forever).fault(s(0), forever, Target::All, Fault::Refuse);
    let failures = run(&simulation.by_address(), &schedule).stats[0].failures_connect;
    // A rest of a second and a round trip of ten milliseconds.
    assert!((9_990..10_010).contains(&failures), "{failures}");
}

/// Z25: a server that accepts and then closes is backed off.
#[test]
fn a_server_that_accepts_and_closes_is_backed_off() {
    let config = Config::builder().warm(Warm::All).hedge_delay(Limit::Never);
    let simulation = simulation(ms(1), 0).config(config.build().expect("it makes sense"));
    // Garbage in the handshake ends the connection.
    let schedule = Schedule::new(1, 1, s(600)).fault(s(0), s(600), Target::All, Fault::Garble);
    let attempts = run(&simulation, &schedule).stats[0].attempts;
    assert!((60..140).contains(&attempts), "{attempts} in ten minutes");
}

/// Takes server 0 from its list after 5 s, and sends a request every 50 ms.
struct Leaving(Load<LengthPrefixed>);

impl Workload<LengthPrefixed> for Leaving {
    fn act(&mut self, app: &mut App<'_, LengthPrefixed>) -> Option<Instant> {
        if app.now() == Instant::ORIGIN + s(5) {
            let others = [1, 2].map(listed_by_name);
            app.set_nodes(&others).expect("it is a list");
        }
        self.0.act(app)
    }
}

/// K35: a server that left the list is not contacted again.
#[test]
fn a_server_that_left_is_not_contacted() {
    let config = Config::builder().warm(Warm::All).build();
    let simulation = simulation(ms(50), 400)
        .config(config.expect("it makes sense"))
        .workload(|_| Leaving(Load::every(ms(50), |n| format!("{n}").into()).at_most(400)))
        .traced();
    let schedule = Schedule::new(1, 3, s(30)).fault(s(6), s(2), Target::Server(0), Fault::Crash);
    let run = run(&simulation, &schedule);
    all_succeed(&run, 400);
    let to_0 = redial::sim::listed_by_address(0).endpoint.to_string();
    let dials = run.trace.outputs().filter(|(_, _, output)| {
        matches!(output, Output::Action(Action::Connect { address: Some(to), .. }) if to.to_string() == to_0)
    });
    let dials: Vec<_> = dials.map(|(at, ..)| at).collect();
    assert!(!dials.is_empty() && dials.iter().all(|at| *at < Instant::ORIGIN + s(5)));
}

/// 4.6, R049: a throttled cluster delays requests and fails none.
#[test]
fn a_throttled_cluster_fails_no_request() {
    let mut schedule = Schedule::new(1, 2, s(60));
    for round in 0..4 {
        let throttle = Fault::Throttle(ms(3_000));
        schedule = schedule.fault(s(1 + 4 * round), ms(200), Target::All, throttle);
    }
    let run = run(
        &simulation(ms(20), 1_000).config(Config::kafka()),
        &schedule,
    );
    all_succeed(&run, 1_000);
}

/// 4.7: a server that sends everybody elsewhere loses nothing.
#[test]
fn a_server_that_sends_requests_elsewhere_loses_none() {
    let service = |number| {
        Service::new(move |request| match number {
            0 => Reaction::RetryElsewhere,
            _ => Reaction::Reply(ms(1), request.clone()),
        })
    };
    let config = Config::builder().warm(Warm::All).build();
    let simulation = Simulation::new(LengthPrefixed::new, service)
        .config(config.expect("it makes sense"))
        .workload(|_| Load::every(ms(20), |n| format!("{n}").into()).at_most(1_000));
    all_succeed(&run(&simulation, &Schedule::new(1, 3, s(60))), 1_000);
}

/// 4.3: the peer's limit is kept under load.
#[test]
fn a_peers_limit_holds_under_load() {
    let service = |number| Service::echo([ms(51), ms(1)][number as usize]).limit(3);
    let simulation = Simulation::new(LengthPrefixed::new, service)
        .workload(|_| Load::every(ms(1), |n| format!("{n}").into()).at_most(400));
    all_succeed(&run(&simulation, &Schedule::new(1, 2, s(60))), 400);
}

/// R143, K41: a rolling restart that announces itself costs no idempotent request.
#[test]
fn a_rolling_restart_costs_nothing() {
    let mut schedule = Schedule::new(1, 3, s(25));
    for number in 0..9 {
        let (at, server) = (1_000 + number * 2_000, Target::Server(number as u32 % 3));
        schedule = schedule
            .fault(ms(at), ms(1_000), server, Fault::Drain)
            .fault(ms(at + 100), ms(900), server, Fault::Crash);
    }
    let simulation = simulation(ms(25), 800).property("answered within a second", |outcome| {
        outcome.completed < outcome.submitted + s(1)
    });
    all_succeed(&run(&simulation, &schedule), 800);
}

/// R091, R093: a node that only stops answering is found out by its timeouts.
#[test]
fn a_node_that_falls_silent_is_chosen_last() {
    let config = Config::builder().request_timeout(ms(500)).warm(Warm::All);
    let simulation = simulation(ms(50), 800).config(config.build().expect("it makes sense"));
    let schedule = Schedule::new(1, 2, s(50)).fault(s(5), s(45), Target::Server(0), Fault::Mute);
    let run = run(&simulation, &schedule);
    all_succeed(&run, 800);
    // One round of timeouts and a few more, not half of all requests.
    assert!(
        (3..200).contains(&run.stats[0].retries),
        "{} retries",
        run.stats[0].retries
    );
}

/// R001, R121: with k of n nodes dead the first answer takes k hedge delays and a round
/// trip at most.
#[test]
fn k_dead_nodes_cost_at_most_k_hedge_delays() {
    for dead in 1..=8 {
        for (fault, seed) in
            (0..10).flat_map(|seed| [(Fault::BlackHole, seed), (Fault::Mute, seed)])
        {
            let mut schedule = Schedule::new(seed, dead + 1, s(60));
            for server in 0..dead {
                schedule = schedule.fault(s(0), s(60), Target::Server(server), fault);
            }
            let name = format!("an answer after {dead} hedge delays");
            let simulation = simulation(ms(1), 1).property(name, move |outcome| {
                let most = outcome.submitted + ms(250) * dead + ms(40);
                outcome.result.is_ok() && outcome.completed <= most
            });
            all_succeed(&run(&simulation, &schedule), 1);
        }
    }
}

/// The same, seen from the other side: hedging is what it takes.
#[test]
fn with_two_of_three_nodes_dead_some_first_answer_needs_two_hedges() {
    let slowest = (0..20).map(|seed| {
        let schedule = Schedule::new(seed, 3, s(60))
            .fault(s(0), s(60), Target::Server(0), Fault::BlackHole)
            .fault(s(0), s(60), Target::Server(1), Fault::Mute);
        let run = run(&simulation(ms(10), 100).traced(), &schedule);
        all_succeed(&run, 100);
        let mut outputs = run.trace.outputs();
        let first = outputs.find(|(.., output)| matches!(output, Output::Completion(_)));
        first.map(|(at, ..)| at)
    });
    let slowest = slowest.max().flatten().expect("an answer");
    assert!(
        (450..1_000).contains(&(slowest.as_nanos() / 1_000_000)),
        "{slowest}"
    );
}
