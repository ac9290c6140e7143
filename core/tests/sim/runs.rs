//! Runs.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use redial::{
    Config, Instant, RequestError, RequestId, RequestOptions,
    client::{
        Response,
        length_prefixed::{Frame, Kind, LengthPrefixed, Status},
    },
    sim::{
        Answers, App, Fault, Load, Reaction, Schedule, Server, Service, Simulation, Target,
        Workload, Wrong, listed_by_name,
    },
};

use super::{ms, run, s, simulation};

#[test]
fn a_schedule_gives_the_same_run_again_and_another_seed_another() {
    let schedule = |seed| {
        Schedule::new(seed, 3, s(60))
            .fault(s(5), s(10), Target::Server(0), Fault::Crash)
            .fault(
                s(10),
                s(20),
                Target::All,
                Fault::Latency {
                    by: ms(5),
                    jitter: ms(20),
                },
            )
    };
    let simulation = simulation().traced();
    let (first, second) = (
        run(&simulation, &schedule(7)),
        run(&simulation, &schedule(7)),
    );
    assert_eq!(first.trace.diff(&second.trace), None);
    assert_eq!(first, second);
    assert_eq!(first.trace.hash(), second.trace.hash());
    let other = run(&simulation, &schedule(8));
    assert!(first.trace.diff(&other.trace).is_some());
    assert_ne!(first.trace.hash(), other.trace.hash());
}

#[test]
fn each_client_of_a_run_has_its_own_chance() {
    let simulation = simulation().clients(20).traced();
    let run = run(&simulation, &Schedule::new(1, 10, s(1)));
    let mut firsts = std::collections::BTreeSet::new();
    for (_, client, output) in run.trace.outputs() {
        if let redial::Output::Action(redial::Action::Resolve { node, .. }) = output {
            firsts.insert((client, *node));
        }
    }
    let nodes: std::collections::BTreeSet<_> = firsts.iter().map(|(_, node)| node).collect();
    assert!(nodes.len() > 5, "{nodes:?}");
}

#[test]
fn a_property_that_does_not_hold_ends_the_run_and_says_of_what() {
    let schedule = Schedule::new(1, 1, s(60)).fault(s(10), s(5), Target::All, Fault::Slow(ms(500)));
    let simulation = simulation().property("an answer within 100 ms", |outcome| {
        outcome.completed - outcome.submitted < ms(100)
    });
    let failure = simulation.run(&schedule).unwrap_err();
    let Wrong::Property { name, what, .. } = &failure.what else {
        panic!("{failure}");
    };
    assert_eq!(name, "an answer within 100 ms");
    assert!(what.contains("submitted at 10"), "{what}");
    assert_eq!(failure.schedule, schedule);
}

#[test]
fn what_must_hold_of_a_whole_run_is_looked_at_when_it_is_over() {
    let simulation = simulation().finally("all is answered", |run| run.stats[0].failed == 0);
    let down = Schedule::new(1, 1, s(10)).fault(s(1), s(20), Target::All, Fault::Crash);
    assert!(simulation.run(&Schedule::new(1, 1, s(10))).is_ok());
    let failure = simulation.run(&down).unwrap_err();
    assert!(matches!(failure.what, Wrong::Property { .. }), "{failure}");
}

/// Submits again at once what is refused.
struct Stubborn;

impl Workload<LengthPrefixed> for Stubborn {
    fn act(&mut self, app: &mut App<'_, LengthPrefixed>) -> Option<Instant> {
        let _ = app.submit("again".into(), RequestOptions::new());
        (!app.is_over()).then(|| app.now())
    }
}

#[test]
fn an_application_that_lets_no_time_pass_is_stopped() {
    let simulation = Simulation::new(LengthPrefixed::new, |_| Service::echo(ms(1)));
    let simulation = simulation.workload(|_| Stubborn).unchecked();
    let failure = simulation.run(&Schedule::new(1, 1, s(1))).unwrap_err();
    assert!(
        matches!(failure.what, Wrong::Stuck { client: 0, .. }),
        "{failure}"
    );
}

#[test]
fn a_server_is_a_closure_from_request_to_reaction() {
    let service = |_| {
        let mut seen = 0;
        Service::new(move |request| {
            seen += 1;
            match seen % 8 {
                1 => Reaction::RetryElsewhere,
                3 => Reaction::RetryHere(ms(20)),
                5 => Reaction::Close,
                7 => Reaction::Silence,
                _ => Reaction::Reply(ms(2), request.clone()),
            }
        })
        .limit(5)
    };
    let config = Config::builder()
        .request_timeout(s(1))
        .max_attempts(10)
        .build();
    let simulation = Simulation::new(LengthPrefixed::new, service).config(config.unwrap());
    let simulation = simulation.workload(|_| {
        Load::every(ms(100), |n| format!("{n}").into())
            .options(RequestOptions::new().idempotent())
            .at_most(100)
    });
    let run = run(&simulation, &Schedule::new(5, 2, s(60)));
    assert_eq!((run.stats[0].succeeded, run.stats[0].failed), (100, 0));
    assert!(run.stats[0].retries > 50, "{:?}", run.stats[0]);
}

#[test]
fn so_many_requests_are_in_flight_at_all_times() {
    let simulation = Simulation::new(LengthPrefixed::new, |_| Service::echo(ms(8)))
        .latency(ms(1), ms(0))
        .workload(|_| Load::in_flight(50, |n| format!("{n}").into()));
    let run = run(&simulation, &Schedule::new(1, 1, s(10)));
    // A round trip of ten milliseconds.
    assert!(
        (49_000..=50_000).contains(&run.stats[0].succeeded),
        "{:?}",
        run.stats[0]
    );
}

/// Goes by a list of its own, and says when.
struct Lister;

impl Workload<LengthPrefixed> for Lister {
    fn act(&mut self, app: &mut App<'_, LengthPrefixed>) -> Option<Instant> {
        let servers: &[u32] = match app.now() < app.calm_from() {
            true => &[0],
            false => &[1],
        };
        let list: Vec<_> = servers.iter().copied().map(listed_by_name).collect();
        app.set_nodes(&list).expect("it is a list");
        let _ = app.submit("request".into(), RequestOptions::new());
        Some(app.now() + s(1))
    }
}

#[test]
fn an_application_can_have_a_list_of_its_own_until_all_is_well() {
    let service =
        |server| Service::new(move |_| Reaction::Reply(ms(1), format!("server {server}").into()));
    let simulation = Simulation::new(LengthPrefixed::new, service)
        .workload(|_| Lister)
        .property(
            "server 0 answers while something is wrong, then server 1",
            |outcome| {
                let expected = match outcome.submitted < outcome.calm_from {
                    true => "server 0",
                    false => "server 1",
                };
                let reply = outcome
                    .result
                    .as_ref()
                    .ok()
                    .and_then(|response| response.reply.as_ref());
                reply.is_some_and(|reply| reply == expected)
            },
        );
    let schedule = Schedule::new(1, 2, s(60)).fault(s(0), s(30), Target::All, Fault::Slow(ms(5)));
    assert!(run(&simulation, &schedule).stats[0].succeeded > 55);
}

/// Answers with the time, hangs up, and answers again.
struct Clock;

impl Server for Clock {
    fn read(&mut self, _: u64, input: &mut BytesMut, answers: &mut Answers) {
        while let Ok(Some(frame)) = Frame::decode(input, 1024) {
            let mut bytes = BytesMut::new();
            let now = answers.now().as_nanos().to_string();
            match frame.kind {
                Kind::Hello => Frame::hello_answer(Status::Ok, 0).encode(&mut bytes),
                _ => Frame::reply(frame.id, now).encode(&mut bytes),
            }
            let is_last = frame.kind != Kind::Hello;
            answers.send(ms(1), bytes);
            if is_last {
                answers.close();
            }
        }
    }
}

#[test]
fn a_server_knows_the_time_and_says_no_more_after_it_hangs_up() {
    let simulation = Simulation::new(LengthPrefixed::new, |_| Clock)
        .workload(|_| Load::every(s(1), |_| "what time is it?".into()))
        .property("the server's time", |outcome| {
            let reply = outcome
                .result
                .as_ref()
                .ok()
                .and_then(|response| response.reply.as_ref());
            let time = reply.and_then(|reply| std::str::from_utf8(reply).ok()?.parse().ok());
            let time = time.map(Instant::from_nanos);
            time.is_some_and(|time| (outcome.submitted..outcome.completed).contains(&time))
        });
    let stats = run(&simulation, &Schedule::new(1, 1, s(10))).stats[0];
    assert_eq!((stats.succeeded, stats.late_replies), (10, 0));
    assert_eq!(stats.failures_established, 10);
}

#[test]
fn what_should_go_wrong_after_the_end_does_not_happen() {
    // Else the client would sleep through the time of its shutdown.
    let late = Schedule::new(1, 1, s(10))
        .fault(s(5), s(60), Target::All, Fault::Mute)
        .fault(s(10), s(3600), Target::All, Fault::Sleep)
        .fault(s(11), s(3600), Target::All, Fault::Sleep);
    let run = run(&simulation(), &late);
    assert_eq!(run.faults.keys().collect::<Vec<_>>(), [&"mute"]);
}

#[test]
fn a_request_that_fails_by_the_shutdown_itself_is_seen_by_the_properties() {
    let down = Schedule::new(1, 1, s(1)).fault(s(0), s(1), Target::All, Fault::NameHangs);
    let simulation = simulation()
        .drain(Duration::ZERO)
        .property("every request is answered", |request| {
            request.result.is_ok()
        });
    let failure = simulation.run(&down).unwrap_err();
    assert!(matches!(failure.what, Wrong::Property { .. }), "{failure}");
}

#[test]
fn the_longest_latency_is_no_overflow() {
    let (by, jitter) = (Duration::MAX, Duration::MAX);
    let far = Fault::Latency { by, jitter };
    let schedule = Schedule::new(1, 1, s(5)).fault(s(1), s(1), Target::All, far);
    run(&simulation(), &schedule);
}

/// An application that replaces each request at once by another that has no time.
struct NoTime;

impl Workload<LengthPrefixed> for NoTime {
    fn act(&mut self, app: &mut App<'_, LengthPrefixed>) -> Option<Instant> {
        let options = RequestOptions::new().timeout(Duration::ZERO);
        _ = app.submit("x".into(), options);
        None
    }

    fn completed(
        &mut self,
        app: &mut App<'_, LengthPrefixed>,
        _: RequestId,
        _: &Result<Response<Bytes>, RequestError>,
    ) {
        self.act(app);
    }
}

#[test]
fn an_application_that_lets_no_time_pass_within_a_call_is_stuck() {
    let simulation = simulation().unchecked().workload(|_| NoTime);
    let failure = simulation.run(&Schedule::new(1, 1, s(1))).unwrap_err();
    assert!(matches!(failure.what, Wrong::Stuck { .. }), "{failure}");
}

/// After a restart it knows no session, and says so once.
#[derive(Default)]
struct Forgetful {
    has_forgotten: bool,
}

impl Server for Forgetful {
    fn read(&mut self, _: u64, input: &mut BytesMut, answers: &mut Answers) {
        while let Ok(Some(frame)) = Frame::decode(input, 1024) {
            let mut bytes = BytesMut::new();
            let status = match std::mem::take(&mut self.has_forgotten) {
                true => Status::SessionOver,
                false => Status::Ok,
            };
            match frame.kind {
                Kind::Hello => Frame::hello_answer(status, 0).encode(&mut bytes),
                _ => Frame::reply(frame.id, frame.body).encode(&mut bytes),
            }
            answers.send(ms(1), bytes);
        }
    }

    fn restart(&mut self) {
        self.has_forgotten = true;
    }
}

#[test]
fn a_client_that_ends_with_its_session_is_replaced_where_the_simulation_says_so() {
    let simulation = || {
        Simulation::new(LengthPrefixed::new, |_| Forgetful::default())
            .workload(|_| Load::every(s(1), |_| "ping".into()))
    };
    let schedule = Schedule::new(1, 1, s(60)).fault(s(10), s(10), Target::Server(0), Fault::Crash);
    let alone = run(&simulation(), &schedule);
    assert_eq!(alone.stats.len(), 1);
    assert!(alone.ended < Instant::ORIGIN + s(30), "{}", alone.ended);
    let replaced = run(&simulation().reopens(), &schedule);
    assert_eq!(replaced.stats.len(), 2);
    assert_eq!(replaced.stats[0], alone.stats[0]);
    assert!(replaced.stats[1].succeeded > 30, "{:?}", replaced.stats[1]);
    assert!(replaced.ended >= Instant::ORIGIN + s(60));
}
