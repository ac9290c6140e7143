//! SEMANTICS 10, 12 and the contract of driving: events, counters, bad input.

use redial::{
    Action, AttemptId, Backoff, BackoffReset, Cause, Cluster, Config, ConfigError, DeadlineReason,
    Event, EventMask, HandshakeError, Input, Instant, Jitter, Limit, Matching, NodeState,
    OnRequestTimeout, Output, RefreshAfterFailures, RequestOptions, RetryBudget, Source, Stage,
    Warm,
};
use redial_tests::script::{Script, after, any, build, exact, ms, specs, t};

const ONE: &[&str] = &["10.0.0.1:1"];

/// 10.1: all events of one node's life, in order.
#[test]
fn every_step_of_a_node_is_told_in_order() {
    let mut s = Script::new(build(exact()), &["db.example:1"]);
    s.at(0).begin(0).whatever();
    let (node, attempt) = (s.id(0), s.attempt(0));
    s.at(10).resolved(0, &["10.0.0.1:1"]).whatever();
    s.at(20).connected(0).whatever();
    s.at(30).ready(0).gives(&[]);
    s.at(90).closed(0).gives(&[]);
    let connection = s.connection(0);
    let address = Some("10.0.0.1:1".parse().expect("an address"));
    let change = |from, to, cause| Event::StateChanged {
        node,
        from,
        to,
        cause,
    };
    let (closed, up) = (Some(Cause::PeerClosed), None);
    let came = s.events();
    let expected = [
        Event::ListChanged {
            added: 1,
            removed: 0,
            kept: 0,
        },
        Event::AttemptStarted {
            node,
            attempt,
            hedge: false,
        },
        change(NodeState::Disconnected, NodeState::Resolving, None),
        change(NodeState::Resolving, NodeState::Connecting, None),
        Event::Connected {
            node,
            connection,
            address,
        },
        change(NodeState::Connecting, NodeState::Handshaking, None),
        Event::AttemptEnded {
            node,
            attempt,
            stage: Stage::Established,
            address,
            duration: ms(30),
            cause: up,
        },
        change(NodeState::Handshaking, NodeState::Ready, None),
        change(NodeState::Ready, NodeState::Disconnected, closed),
        Event::Disconnected {
            node,
            connection,
            cause: Cause::PeerClosed,
        },
    ];
    assert_eq!(came, expected);
}

/// 10.1: an attempt that fails says how far it came, where, and how long it took.
#[test]
fn a_failed_attempt_is_told_with_stage_address_and_duration() {
    let mut s = Script::new(build(exact()), ONE);
    s.at(5).begin(0).whatever();
    s.events();
    s.at(47).refused(0).gives(&[]);
    let ended = Event::AttemptEnded {
        node: s.id(0),
        attempt: s.attempt(0),
        stage: Stage::Connect,
        address: Some("10.0.0.1:1".parse().expect("an address")),
        duration: ms(42),
        cause: Some(Cause::Refused),
    };
    assert!(s.events().contains(&ended));
}

/// 10.1: so does one that is given up, because its node left the list.
#[test]
fn an_attempt_that_is_given_up_is_told_with_its_stage() {
    let stages = [Stage::Resolve, Stage::Connect, Stage::Handshake];
    for (steps, stage) in stages.into_iter().enumerate() {
        let mut s = Script::new(build(exact()), &["db.example:1"]);
        s.begin(0);
        if steps > 0 {
            s.resolved(0, &["10.0.0.1:1"]);
        }
        if steps > 1 {
            s.connected(0);
        }
        s.whatever().set_nodes(ONE).whatever();
        let ended = |event: &Event| match *event {
            Event::AttemptEnded { stage, cause, .. } => Some((stage, cause)),
            _ => None,
        };
        let ended: Vec<_> = s.events().iter().filter_map(ended).collect();
        assert_eq!(ended, [(stage, Some(Cause::Removed))]);
    }
}

/// 10.1, R017: Connected and Disconnected pair up, also when a handshake is given up.
#[test]
fn a_transport_given_up_in_its_handshake_is_told_as_disconnected() {
    let mut s = Script::new(build(exact()), ONE);
    s.at(0).begin(0).connected(0).whatever();
    s.events();
    s.at(10_000).tick().gives(&["abort n0"]);
    let disconnected = Event::Disconnected {
        node: s.id(0),
        connection: s.connection(0),
        cause: Cause::SetupTimeout,
    };
    assert_eq!(
        s.events()
            .iter()
            .filter(|event| **event == disconnected)
            .count(),
        1
    );
}

/// 10.1: at most so many events wait; the oldest are dropped and counted; actions never are.
#[test]
fn the_oldest_events_are_dropped_and_counted() {
    let list: Vec<String> = (1..=100).map(|host| format!("10.0.0.{host}:1")).collect();
    let list: Vec<&str> = list.iter().map(String::as_str).collect();
    let mut s = Script::new(
        build(exact().warm(Warm::All).max_pending_events(5u32)),
        &list,
    );
    assert_eq!(s.take().len(), 100, "every Connect");
    assert_eq!(s.events().len(), 5);
    // One ListChanged, an AttemptStarted and a StateChanged a node.
    assert_eq!(s.cluster().stats().dropped_events, 201 - 5);
    let mut s = Script::new(
        build(exact().warm(Warm::All).max_pending_events(0u32)),
        &list,
    );
    assert_eq!((s.take().len(), s.events().len()), (100, 0));
}

/// 10.1: kinds can be switched off, which is no drop.
#[test]
fn kinds_of_events_can_be_switched_off() {
    let config = exact().events(EventMask::CONNECTIONS);
    let mut s = Script::new(build(config), ONE);
    s.establish(0).closed(0).whatever();
    let kinds: Vec<bool> = s
        .events()
        .iter()
        .map(|event| matches!(event, Event::Connected { .. }))
        .collect();
    assert_eq!(kinds, [true, false]);
    assert_eq!(s.cluster().stats().dropped_events, 0);
}

/// 10.1: throttles are told.
#[test]
fn a_throttle_is_told() {
    let mut s = Script::new(build(exact()), ONE);
    s.establish(0);
    s.events();
    s.throttled(0, 500).gives(&[]);
    assert_eq!(
        s.events(),
        [Event::Throttled {
            node: s.id(0),
            until: t(500)
        }]
    );
}

/// 10.1: a full queue is told.
#[test]
fn a_full_queue_is_told() {
    let mut s = Script::empty(build(exact().queue_max_requests(0u32)), 0);
    s.submit(any()).gives(&["error QueueFull"]);
    assert_eq!(s.events(), [Event::QueueFull]);
}

/// 10.2: counters and gauges.
#[test]
fn the_counters_count() {
    let mut s = Script::new(build(exact()), &["10.0.0.1:1", "10.0.0.2:1"]);
    s.at(0).begin(0).refused(0).whatever();
    s.at(200).establish(0);
    s.submit_on(0, any())
        .submit_on(0, any())
        .submit_on(1, any())
        .whatever();
    s.written(0).reply(0).whatever();
    let stats = s.cluster().stats();
    assert_eq!(
        (stats.attempts, stats.ready, stats.failures_connect),
        (3, 1, 1)
    );
    assert_eq!(
        (stats.nodes, stats.nodes_ready, stats.nodes_in_setup),
        (2, 1, 1)
    );
    assert_eq!((stats.open_requests, stats.waiting_requests), (2, 1));
    assert_eq!((stats.in_flight, stats.connections), (1, 2));
    // Two of the requests are those by which `begin` and `establish` dialled.
    assert_eq!((stats.requests, stats.succeeded, stats.failed), (5, 1, 2));
}

/// 12: addresses that all are the same are one, none is a failure (SEMANTICS 2.4 has the rest).
#[test]
fn an_answer_without_an_address_is_a_failure_and_no_panic() {
    let mut s = Script::new(build(exact()), &["db.example:1"]);
    s.at(0).begin(0).resolved(0, &[]).whatever();
    assert_eq!(s.view(0).failures, 1);
}

/// 12, K25: facts that name nothing are ignored and counted, whatever they are.
#[test]
fn facts_about_nothing_are_ignored_and_counted() {
    let mut other = Script::new(build(exact()), &["10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"]);
    other.begin(0).begin(1).begin(2).whatever();
    let (foreign, attempt): (_, AttemptId) = (other.connection(2), other.attempt(2));
    let mut s = Script::new(build(exact()), ONE);
    s.input(Input::Connected {
        connection: foreign,
    });
    s.input(Input::WriteStarted {
        connection: foreign,
        serial: 0,
    });
    s.input(Input::Closed {
        connection: foreign,
        error: redial::CloseError::Peer,
    });
    s.input(Input::ResolveFailed { attempt });
    s.gives(&[]);
    assert_eq!(s.cluster().stats().stale_facts, 4);
}

/// 12: a second Closed.
#[test]
fn a_second_closed_is_ignored_and_counted() {
    let mut s = Script::new(build(exact()), ONE);
    s.establish(0).closed(0).gives(&[]);
    s.closed(0).gives(&[]);
    assert_eq!(
        (s.cluster().stats().stale_facts, s.view(0).failures),
        (1, 1)
    );
}

/// 12: facts of which a connection's phase knows nothing.
#[test]
fn facts_that_come_too_early_or_too_late_are_ignored_and_counted() {
    let mut s = Script::new(build(exact()), ONE);
    let seen = |s: &Script| (s.state(0), s.cluster().stats().stale_facts);
    let failed = HandshakeError::Malformed;
    s.begin(0).whatever();
    s.ready(0).handshake_failed(0, failed).received(0).push(0);
    s.throttled(0, 1_000)
        .blocked(0)
        .reply_serial(0, 0)
        .gives(&[]);
    assert_eq!(seen(&s), (NodeState::Connecting, 7));
    s.connected(0).gives(&["handshake n0"]);
    s.connected(0).refused(0).gives(&[]);
    assert_eq!(seen(&s), (NodeState::Handshaking, 9));
    s.ready(0).gives(&[]);
    s.connected(0)
        .refused(0)
        .ready(0)
        .handshake_failed(0, failed);
    s.gives(&[]);
    assert_eq!(seen(&s), (NodeState::Ready, 13));
}

/// 12: a frame that has begun, or that never was, cannot be rejected by its encoder.
#[test]
fn a_write_is_rejected_before_it_starts_or_not_at_all() {
    let mut s = Script::new(build(exact()), ONE);
    s.establish(0).submit(any()).started(0).whatever();
    let connection = s.connection(0);
    for serial in [s.serial(0), 7] {
        s.input(Input::WriteRejected { connection, serial });
    }
    s.gives(&[]);
    assert!(s.cluster().is_open(s.request(0)));
    assert_eq!(s.cluster().stats().stale_facts, 2);
}

/// 12, K29: configurations that make no sense name the setting.
#[test]
fn a_configuration_that_makes_no_sense_is_refused() {
    let zero = |setting| Err(ConfigError::Zero { setting });
    let b = Config::builder;
    let none = Backoff::constant(ms(0));
    let never = after(0);
    let budget = RetryBudget {
        max: 0,
        ..RetryBudget::default()
    };
    for (builder, setting) in [
        (
            b().connection_setup_timeout(none),
            "connection_setup_timeout",
        ),
        (b().handshake_timeout(never), "handshake_timeout"),
        (b().hedge_delay(never), "hedge_delay"),
        (b().request_timeout(never), "request_timeout"),
        (b().queue_max_age(never), "queue_max_age"),
        (b().write_timeout(never), "write_timeout"),
        (b().max_idle(never), "max_idle"),
        (b().max_age(never), "max_age"),
        (b().keepalive_interval(never), "keepalive_interval"),
        (b().keepalive_timeout(ms(0)), "keepalive_timeout"),
        (
            b().backoff_reset(BackoffReset::StableFor(ms(0))),
            "backoff_reset",
        ),
        (b().max_in_flight(0u32), "max_in_flight"),
        (b().max_nodes(0u32), "max_nodes"),
        (b().max_attempts(0), "max_attempts"),
        (b().unhealthy_after(0), "unhealthy_after"),
        (b().max_concurrent_attempts(0), "max_concurrent_attempts"),
        (b().attempts_per_second(0), "attempts_per_second"),
        (b().retry_budget(budget), "retry_budget"),
        (b().warm(Warm::AtLeast(0)), "warm"),
        (b().refresh_interval(never), "refresh_interval"),
        (b().refresh_timeout(ms(0)), "refresh_timeout"),
        (b().refresh_min_interval(ms(0)), "refresh_min_interval"),
        (
            b().refresh_after_failures(RefreshAfterFailures::After(0)),
            "refresh_after_failures",
        ),
        (b().rebootstrap_after(never), "rebootstrap_after"),
    ] {
        assert_eq!(builder.build(), zero(setting));
    }
    assert!(b().max_in_flight(65_536u32).build().is_ok());
    assert_eq!(
        b().max_in_flight(65_537u32).build(),
        Err(ConfigError::TooLarge {
            setting: "max_in_flight",
            max: 65_536
        })
    );
    let sources = |n| (0..n).fold(b(), |builder, _| builder.source(Source::primary()));
    assert!(sources(32).build().is_ok());
    assert_eq!(
        sources(33).build(),
        Err(ConfigError::TooLarge {
            setting: "sources",
            max: 32
        })
    );
    let mute = b().keepalive(false).keepalive_interval(after(1_000));
    assert_eq!(mute.build(), Err(ConfigError::NoKeepalive));
    for delay in [99, 2_001] {
        assert_eq!(
            b().address_attempt_delay(after(delay)).build(),
            Err(ConfigError::AddressAttemptDelay { delay: ms(delay) })
        );
    }
    for jitter in [Jitter::Band(1_001), Jitter::Clipped(300_000)] {
        assert!(matches!(
            b().jitter(jitter).build(),
            Err(ConfigError::Jitter { .. })
        ));
    }
    let keep = b()
        .matching(Matching::Order)
        .on_request_timeout(OnRequestTimeout::Keep);
    assert_eq!(keep.build(), Err(ConfigError::KeepWithOrder));
    let slow = Backoff::new(ms(1), ms(2), 0);
    assert!(matches!(
        b().retry_backoff(slow).build(),
        Err(ConfigError::Multiplier { .. })
    ));
}

/// 3.4, 4.1: odd but sensible ones are accepted: the shorter rules.
#[test]
fn an_odd_configuration_is_accepted() {
    let config = Config::builder()
        .reconnect_backoff(Backoff::new(ms(5_000), ms(100), 2))
        .delivery_timeout(after(10))
        .request_timeout(after(1_000))
        .queue_max_requests(0u32)
        .max_pending_events(0u32)
        .jitter(Jitter::Band(1_000));
    assert!(config.build().is_ok());
}

/// 11: the fixed points of the Kafka preset.
#[test]
fn the_kafka_preset_has_kafkas_values() {
    let kafka = Config::kafka();
    assert_eq!(
        kafka.reconnect_backoff(),
        Backoff::new(ms(50), ms(1_000), 2)
    );
    assert_eq!(
        kafka.connection_setup_timeout(),
        Backoff::new(ms(10_000), ms(30_000), 2).into()
    );
    assert_eq!(kafka.retry_backoff(), Backoff::new(ms(100), ms(1_000), 2));
    assert_eq!(
        (kafka.jitter(), kafka.max_in_flight()),
        (Jitter::Clipped(200), 5)
    );
    assert_eq!(kafka.handshake_timeout(), kafka.request_timeout());
    assert_eq!(kafka.request_timeout(), after(30_000));
    assert_eq!(kafka.delivery_timeout(), after(120_000));
    let never = [
        kafka.effective_hedge_delay(),
        kafka.address_attempt_delay(),
        kafka.write_timeout(),
    ];
    assert_eq!(never, [Limit::Never; 3]);
    assert_eq!((kafka.warm(), kafka.unhealthy_after()), (Warm::None, None));
}

/// The deadline is now while outputs wait.
#[test]
fn the_deadline_is_now_while_outputs_wait() {
    let mut cluster = Cluster::new(build(exact()), 0, t(5));
    assert_eq!(cluster.poll_timeout(), None);
    cluster.set_nodes(t(5), &specs(ONE)).expect("a list");
    let deadline = cluster.poll_timeout().expect("an event waits");
    assert_eq!(
        (deadline.at, deadline.reason),
        (t(5), DeadlineReason::Outputs)
    );
    while cluster.poll_output().is_some() {}
    assert_eq!(cluster.poll_timeout(), None);
}

/// Any call is legal while outputs wait; they come in their order.
#[test]
fn calls_need_no_drain_between_them() {
    let mut cluster = Cluster::new(build(exact()), 0, t(0));
    cluster.set_nodes(t(0), &specs(ONE)).expect("a list");
    let request = cluster.submit(t(0), RequestOptions::new()).expect("room");
    assert!(cluster.cancel(t(0), request));
    let mut actions = Vec::new();
    let mut completions = 0;
    while let Some(output) = cluster.poll_output() {
        match output {
            Output::Action(action) => actions.push(action),
            Output::Completion(_) => completions += 1,
            _ => {}
        }
    }
    assert!(matches!(actions[..], [Action::Connect { .. }]));
    assert_eq!(completions, 1);
}

/// `drive` handles, drains and tells the deadline; what it is told meanwhile counts.
#[test]
fn drive_drains_what_its_callback_causes() {
    let mut cluster = Cluster::new(build(exact().handshake(false)), 0, t(0));
    cluster.set_nodes(t(0), &specs(ONE)).expect("a list");
    cluster.submit(t(0), RequestOptions::new()).expect("room");
    let mut written = false;
    let deadline = cluster.drive(t(0), |cluster, output| match output {
        Output::Action(Action::Connect { connection, .. }) => {
            cluster.handle_input(t(0), Input::Connected { connection });
        }
        Output::Action(Action::Write {
            connection, serial, ..
        }) => {
            written = true;
            cluster.handle_input(t(0), Input::WriteStarted { connection, serial });
            cluster.handle_input(t(0), Input::WriteDone { connection, serial });
        }
        _ => {}
    });
    assert!(written);
    assert_eq!(deadline.map(|deadline| deadline.at), Some(t(30_000)));
}

/// A deadline says why.
#[test]
fn a_deadline_says_why() {
    let reason = |s: &Script| s.cluster().poll_timeout().expect("a deadline").reason;
    let mut s = Script::new(build(exact()), ONE);
    s.at(0).submit(any()).whatever();
    assert_eq!(reason(&s), DeadlineReason::Setup(s.id(0)));
    s.at(10).refused(0).gives(&[]);
    assert!(matches!(
        reason(&s),
        DeadlineReason::AnyRequest | DeadlineReason::NextAttempt(_)
    ));
    s.run_to(110).whatever().establish(0);
    assert_eq!(reason(&s), DeadlineReason::WriteStall(s.connection(0)));
    s.written(0).gives(&[]);
    assert_eq!(reason(&s), DeadlineReason::Attempt(s.connection(0)));
    s.throttled(0, 300).gives(&[]);
    assert_eq!(reason(&s), DeadlineReason::ThrottleEnd(s.id(0)));
    s.submit(any().timeout(ms(5))).gives(&[]);
    assert_eq!(reason(&s), DeadlineReason::Request);
    s.run_to(400).whatever().shutdown(50).gives(&[]);
    assert_eq!(reason(&s), DeadlineReason::Shutdown);
}

/// The clock may be any; instants compare by their nanoseconds.
#[test]
fn the_getter_of_the_time_is_the_last_now() {
    let mut s = Script::new(build(exact()), ONE);
    s.at_instant(Instant::from_nanos(123)).tick();
    assert_eq!(s.cluster().now(), Instant::from_nanos(123));
}
