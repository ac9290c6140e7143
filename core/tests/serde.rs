//! What is serialised is read back as it was, and what makes no sense is refused.

use std::{fmt::Debug, time::Duration};

use redial::{
    Action, AttemptId, Backoff, BackoffReset, Candidate, CloseError, Cluster, Config, Endpoint,
    Event, EventMask, Hint, Input, Instant, Jitter, KeepaliveOn, Limit, Limits, Matching, NodeSpec,
    OnRequestTimeout, Output, RefreshAfterFailures, ReplyTo, RequestOptions, RetryBudget, Select,
    SelectionPolicy, Source, SourceId, Verdict, Warm,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{from_str, json, to_string, to_value};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[track_caller]
fn assert_round_trip<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
    let text = to_string(value).unwrap();
    assert_eq!(&from_str::<T>(&text).unwrap(), value, "{text}");
}

/// Far from the defaults in every setting but one.
fn unusual() -> Config {
    let builder = Config::builder()
        .handshake(false)
        .keepalive(true)
        .matching(Matching::Order)
        .connection_setup_timeout(Backoff::new(ms(1), ms(2), 3))
        .handshake_timeout(ms(7))
        .reconnect_backoff(Backoff::constant(ms(0)))
        .jitter(Jitter::Band(17))
        .backoff_reset(BackoffReset::StableFor(ms(5)))
        .address_attempt_delay(Limit::Never)
        .dns_max_age(ms(1))
        .hedge_delay(Limit::Never)
        .max_hedges(0u32)
        .max_concurrent_attempts(Some(4))
        .attempts_per_second(Some(5))
        .warm(Warm::AtLeast(2))
        .selection(SelectionPolicy::PowerOfTwoChoices)
        .lap_delay(ms(0))
        .start_delay(ms(1))
        .make_before_break(true)
        .delivery_timeout(Limit::Never)
        .request_timeout(Limit::Never)
        .on_request_timeout(OnRequestTimeout::Disconnect)
        .max_attempts(Some(3))
        .retry_backoff(Backoff::new(ms(3), ms(4), 5))
        .retry_budget(Some(RetryBudget {
            per_submit_milli: 1,
            per_second: 2,
            max: 3,
        }));
    let builder = builder
        .max_in_flight(3u32)
        .queue_max_requests(0u32)
        .queue_max_bytes(u64::MAX)
        .queue_max_age(ms(9))
        .unhealthy_after(None)
        .write_timeout(Limit::Never)
        .max_idle(Limit::Never)
        .max_age(ms(1))
        .keepalive_interval(ms(2))
        .keepalive_on(KeepaliveOn::Either)
        .keepalive_timeout(ms(3))
        .drain_timeout(ms(0))
        .max_nodes(1u32)
        .source(Source::primary())
        .source(Source::discovery())
        .source(Source::fallback())
        .refresh_interval(ms(4))
        .refresh_jitter(ms(5))
        .refresh_timeout(ms(6))
        .refresh_min_interval(ms(7))
        .refresh_after_failures(RefreshAfterFailures::After(8))
        .rebootstrap(false)
        .rebootstrap_after(Limit::Never)
        .max_pending_events(0u32)
        .events(EventMask::ALL - EventMask::STATES);
    builder.build().unwrap()
}

#[test]
fn a_configuration_is_read_back_as_it_was() {
    let zookeeper = Config::zookeeper(ms(30_000));
    for config in [Config::default(), Config::kafka(), zookeeper, unusual()] {
        assert_round_trip(&config);
    }
}

#[test]
fn the_unusual_configuration_differs_in_every_setting() {
    let fields = |config| to_value(config).unwrap().as_object().unwrap().clone();
    let (usual, unusual) = (fields(Config::default()), fields(unusual()));
    // `one_session` excludes `make_before_break`.
    for (name, value) in unusual.iter().filter(|(name, _)| *name != "one_session") {
        assert_ne!(&usual[name], value, "{name}");
    }
}

#[test]
fn a_setting_that_is_missing_has_its_default() {
    let config: Config = from_str(r#"{ "max_in_flight": 5, "retry_budget": null }"#).unwrap();
    let expected = Config::builder().max_in_flight(5u32).retry_budget(None);
    assert_eq!(config, expected.build().unwrap());
}

#[track_caller]
fn assert_refused<T: DeserializeOwned + Debug>(text: &str, why: &str) {
    let error = from_str::<T>(text).unwrap_err().to_string();
    assert!(error.contains(why), "{error}");
}

#[test]
fn an_unknown_setting_is_an_error() {
    assert_refused::<Config>(r#"{ "max_in_fligth": 5 }"#, "unknown field `max_in_fligth`");
}

#[test]
fn a_setting_that_makes_no_sense_is_an_error() {
    assert_refused::<Config>(
        r#"{ "max_in_flight": 0 }"#,
        "max_in_flight must not be zero",
    );
}

#[test]
fn a_policy_of_the_users_own_cannot_be_serialised() {
    #[derive(Debug)]
    struct First;
    impl Select for First {
        fn select(&self, _: &[Candidate<'_>], _: u64) -> Option<usize> {
            Some(0)
        }
    }
    let config = Config::builder().selection(SelectionPolicy::custom(First));
    let error = to_string(&config.build().unwrap()).unwrap_err().to_string();
    assert!(error.contains("SelectionPolicy::Custom"), "{error}");
    assert_refused::<Config>(r#"{ "selection": "Custom" }"#, "unknown variant `Custom`");
}

#[test]
fn an_endpoint_is_text() {
    for (endpoint, text) in [
        (Endpoint::name("Db.Example", 80).unwrap(), "db.example:80"),
        (Endpoint::Address(([1, 2, 3, 4], 5).into()), "1.2.3.4:5"),
        (Endpoint::Address("[::1]:5".parse().unwrap()), "[::1]:5"),
        (Endpoint::Opaque("/run/db:80".into()), "opaque:///run/db:80"),
        // What a list of servers cannot say.
        (Endpoint::name("1.2.3.4", 5).unwrap(), "name://1.2.3.4:5"),
        (Endpoint::Address(([1, 2, 3, 4], 0).into()), "1.2.3.4:0"),
        (
            Endpoint::Address("[fe80::1%2]:5".parse().unwrap()),
            "[fe80::1%2]:5",
        ),
    ] {
        assert_eq!(to_value(&endpoint).unwrap(), json!(text));
        assert_round_trip(&endpoint);
    }
    assert_refused::<Endpoint>(r#""db example:80""#, "host:port");
}

#[test]
fn the_entry_of_a_list_may_leave_out_what_it_does_not_have() {
    let spec: NodeSpec = from_str(r#"{ "endpoint": "db:80" }"#).unwrap();
    assert_eq!(spec, "db:80".parse().unwrap());
    let mut spec = spec.with_key("7").with_label("rack", "a");
    spec.address = Some(([1, 2, 3, 4], 5).into());
    assert_round_trip(&spec);
}

#[test]
fn options_may_leave_out_what_is_usual() {
    let options: RequestOptions = from_str(r#"{ "idempotent": true }"#).unwrap();
    assert_eq!(options, RequestOptions::new().idempotent());
}

#[test]
fn an_id_is_text() {
    let (cluster, nodes) = with_nodes();
    assert_eq!(to_value(nodes[0]).unwrap(), json!("n0"));
    assert_eq!(to_value(nodes[1]).unwrap(), json!("n1.1"), "used again");
    nodes.iter().for_each(assert_round_trip);
    assert_refused::<AttemptId>(r#""n0""#, "an id such as a7 or a7.1");
    drop(cluster);
}

/// Two nodes, of which the second has the place of one that left.
fn with_nodes() -> (Cluster, Vec<redial::NodeId>) {
    let sources = Config::builder().sources([Source::primary(), Source::fallback()]);
    let mut cluster = Cluster::new(sources.build().unwrap(), 1, Instant::ORIGIN);
    let list = |texts: [&str; 2]| texts.map(|text| text.parse::<NodeSpec>().unwrap());
    for texts in [["10.0.0.1:1", "10.0.0.2:1"], ["10.0.0.1:1", "10.0.0.3:1"]] {
        cluster.set_nodes(Instant::ORIGIN, &list(texts)).unwrap();
    }
    let nodes = cluster.nodes().map(|node| node.id).collect();
    (cluster, nodes)
}

#[test]
fn outputs_facts_and_what_can_be_seen_are_read_back_as_they_were() {
    let (mut cluster, nodes) = with_nodes();
    let now = Instant::from_nanos(u64::MAX / 2);
    let options = RequestOptions::new().on(nodes[0]).timeout(ms(700));
    assert_round_trip(&options);
    let refused = cluster.submit(now, RequestOptions::new().on(nodes[1]).bytes(7));
    assert_round_trip(&refused);
    let request = cluster.submit(now, options).unwrap();
    let mut outputs = Vec::new();
    while let Some(deadline) = cluster.poll_timeout() {
        assert_round_trip(&deadline);
        assert_round_trip(&cluster.snapshot());
        assert_round_trip(&cluster.explain(request));
        cluster.drive(deadline.at, |_, output| outputs.push(output));
        for output in &outputs {
            if let Output::Action(Action::Connect { connection, .. }) = output {
                assert_round_trip(&cluster.connection(*connection));
            }
        }
        if !cluster.is_open(request) && !cluster.is_terminated() {
            cluster.shutdown(deadline.at, ms(0)).unwrap();
        }
    }
    let has = |is: fn(&Output) -> bool| outputs.iter().any(is);
    assert!(has(|o| matches!(o, Output::Action(_))));
    assert!(has(|o| matches!(o, Output::Completion(_))));
    assert!(has(|o| matches!(
        o,
        Output::Event(Event::AttemptEnded { cause: Some(_), .. })
    )));
    assert!(has(|o| matches!(o, Output::Terminated)));
    let refreshed = |o: &Output| matches!(o, Output::Event(Event::Refreshed { .. }));
    assert!(outputs.iter().any(refreshed));
    outputs.iter().for_each(assert_round_trip);

    let connection = outputs.iter().find_map(|output| match output {
        Output::Action(Action::Connect { connection, .. }) => Some(*connection),
        _ => None,
    });
    let connection = connection.unwrap();
    let refresh = outputs.iter().find_map(|output| match output {
        Output::Action(Action::Refresh { refresh, .. }) => Some(*refresh),
        _ => None,
    });
    let refresh = refresh.unwrap();
    for input in [
        Input::Connected { connection },
        Input::HandshakeDone {
            connection,
            limits: Limits::in_flight(3).with_session(ms(20)),
        },
        Input::Reply {
            connection,
            to: ReplyTo::Serial(u32::MAX),
            verdict: Verdict::RETRY_ELSEWHERE.after(ms(1)),
        },
        Input::Throttled {
            connection,
            until: Instant::MAX,
        },
        Input::Closed {
            connection,
            error: CloseError::Protocol,
        },
        Input::RefreshFailed { refresh },
    ] {
        assert_round_trip(&input);
    }
    assert_round_trip(&Hint::NodeDown(nodes[1]));
    assert_round_trip(&Hint::SourceChanged(SourceId::new(3)));
}
