//! SEMANTICS 7.3 and 7.4: when the server list is refreshed.

use redial::{
    Config, ConfigBuilder, DeadlineReason, Event, Hint, Instant, Limit, RefreshAfterFailures,
    RefreshResult, Source, SourceId, Verdict, Warm,
};
use redial_tests::script::{Script, after, any, build, exact, ms, t};

const A: &str = "10.0.0.1:1";
const B: &str = "10.0.0.2:1";
const C: &str = "10.0.0.3:1";

/// No chance, and no retry at the interval of the rest: every 60 s, a second apart at least.
fn config() -> ConfigBuilder {
    exact()
        .refresh_jitter(ms(0))
        .refresh_after_failures(RefreshAfterFailures::After(1_000))
}

/// One primary source, which has said `list` at time 0.
fn with_source(config: ConfigBuilder, list: &[&str]) -> Script {
    let mut s = Script::empty(build(config.source(Source::primary())), 0);
    s.tick().gives(&["refresh s0"]);
    s.answers(0, list).whatever();
    s.events();
    s
}

fn results(s: &mut Script) -> Vec<RefreshResult> {
    let result = |event| match event {
        Event::Refreshed { result, .. } => Some(result),
        _ => None,
    };
    s.events().into_iter().filter_map(result).collect()
}

/// 7.3: from the end of the last one, whose answer may take a while.
#[test]
fn the_first_begins_at_construction_and_each_next_one_an_interval_after_the_end() {
    let mut s = Script::empty(build(config().source(Source::primary())), 0);
    assert_eq!(
        s.cluster().poll_timeout().map(|d| (d.at, d.reason)),
        Some((t(0), DeadlineReason::Outputs))
    );
    s.tick().gives(&["refresh s0"]).deadline(10_000);
    s.at(700).answers(0, &[A]).gives(&[]).deadline(60_700);
    s.run_to(60_700).gives(&["refresh s0"]).deadline(70_700);
    s.at(62_000).answers(0, &[A]).gives(&[]).deadline(122_000);
}

/// 7.3.
#[test]
fn a_deadline_says_whether_a_source_is_asked_or_its_answer_is_due() {
    let mut s = with_source(config(), &[A]);
    let reason = |s: &Script| s.cluster().poll_timeout().map(|deadline| deadline.reason);
    let source = |id| matches!(id, Some(DeadlineReason::Refresh(source)) if source.index() == 0);
    assert!(source(reason(&s)));
    s.run_to(60_000).gives(&["refresh s0"]);
    assert!(matches!(
        reason(&s),
        Some(DeadlineReason::RefreshTimeout(_))
    ));
}

/// 7.3: r is uniform in [0, jitter), from the source's own stream.
#[test]
fn each_interval_has_a_jitter_of_its_own() {
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..50 {
        let config = config().refresh_jitter(ms(10_000));
        let config = config.source(Source::primary()).source(Source::primary());
        let mut s = Script::empty(build(config), seed);
        s.tick().gives(&["refresh s0", "refresh s1"]);
        s.answers(0, &[A]).answers(1, &[A]).whatever();
        for _ in 0..2 {
            let at = s.cluster().poll_timeout().expect("a refresh is due").at;
            assert!(at >= t(60_000) && at < t(70_000), "{at}");
            assert!(seen.insert(at), "seed {seed} draws {at} again");
            s.at_instant(at).tick().whatever();
        }
    }
}

/// 7.3: to the nanosecond, from the end of each to the start of the next, whatever came of it.
#[test]
fn each_gap_is_the_interval_and_less_than_the_jitter_more() {
    let mut s = with_source(config().refresh_jitter(ms(10_000)), &[A]);
    s.establish(0);
    let (mut end, mut gaps) = (t(0), Vec::new());
    for round in 0..200 {
        let start = s.cluster().poll_timeout().expect("a refresh is due").at;
        let gap = start - end;
        assert!((ms(60_000)..ms(70_000)).contains(&gap), "{gap:?}");
        gaps.push(gap);
        s.at_instant(end + (gap - ms(1))).tick().gives(&[]);
        s.at_instant(start).tick().gives(&["refresh s0"]);
        end = start + ms(round * 37 % 9_000);
        s.at_instant(end);
        match round % 2 {
            0 => s.answers(0, &[A]).gives(&[]),
            _ => s.refresh_fails(0).gives(&[]),
        };
    }
    let (shortest, longest) = (gaps.iter().min(), gaps.iter().max());
    assert!(shortest < Some(&ms(60_500)) && longest > Some(&ms(69_500)));
}

/// 7.3: the draw happens at the end of a refresh, never in a query.
#[test]
fn asking_for_the_deadline_draws_nothing() {
    let config = || config().refresh_jitter(ms(10_000));
    let (mut often, mut never) = (with_source(config(), &[A]), with_source(config(), &[A]));
    for _ in 0..100 {
        let _ = often.cluster().poll_timeout();
        often.tick();
    }
    assert_eq!(
        often.cluster().poll_timeout(),
        never.cluster().poll_timeout()
    );
    never.tick();
}

/// 7.3.
#[test]
fn without_an_interval_only_early_refreshes_come() {
    let mut s = with_source(config().refresh_interval(Limit::Never), &[A]);
    s.no_deadline();
    s.at(5_000).hint(Hint::Resumed).gives(&["refresh s0"]);
}

/// 7.3: one in flight, and its timeout.
#[test]
fn an_answer_that_does_not_come_in_time_is_a_failure() {
    let mut s = with_source(config(), &[A]);
    s.run_to(60_000).gives(&["refresh s0"]);
    s.at(69_999).tick().gives(&[]);
    assert!(results(&mut s).is_empty());
    s.at(70_000).tick().gives(&[]);
    assert_eq!(results(&mut s), [RefreshResult::TimedOut]);
    let stats = s.cluster().stats();
    assert_eq!((stats.refreshes, stats.refreshes_failed), (2, 1));
}

/// 2.3, 7.3: an id is checked like any other.
#[test]
fn a_late_or_repeated_answer_is_ignored_and_counted() {
    let mut s = with_source(config(), &[A]);
    s.answers(0, &[B]).gives(&[]);
    s.refresh_fails(0).gives(&[]);
    assert_eq!(s.cluster().stats().stale_facts, 2);
    s.run_to(60_000).gives(&["refresh s0"]);
    let old = s.refresh(0, 1);
    s.input(redial::Input::RefreshFailed { refresh: old })
        .gives(&[]);
    assert_eq!(s.cluster().stats().stale_facts, 3);
    s.run_to(70_000).whatever();
    s.answers(0, &[B]);
    assert_eq!(s.cluster().stats().stale_facts, 4);
    assert_eq!(s.cluster().stats().nodes, 1);
    assert!(s.cluster().find(&A.parse().expect("an endpoint")).is_some());
}

/// 7.3, K23, R117: a name that cannot be resolved yet, or any other error, schedules the next try.
#[test]
fn while_no_node_is_ready_a_failed_refresh_is_tried_again_with_the_retry_backoff() {
    let config = config().refresh_min_interval(ms(1));
    let mut s = Script::empty(build(config.source(Source::primary())), 0);
    s.tick().gives(&["refresh s0"]);
    let mut now = 0;
    for wait in [100, 200, 400, 800, 1_000, 1_000] {
        s.at(now).refresh_fails(0).gives(&[]).deadline(now + wait);
        now += wait;
        s.at(now).tick().gives(&["refresh s0"]);
    }
    s.at(now).answers(0, &[A]).gives(&[]).deadline(now + 60_000);
    s.run_to(now + 60_000).gives(&["refresh s0"]);
    s.refresh_fails(0).gives(&[]).deadline(now + 60_100);
}

/// 7.3: whatever the backoff says.
#[test]
fn a_retry_keeps_the_shortest_interval_between_two_starts() {
    let mut s = Script::empty(build(config().source(Source::primary())), 0);
    s.tick().gives(&["refresh s0"]);
    s.at(30).refresh_fails(0).gives(&[]).deadline(1_000);
    s.at(1_000).tick().gives(&["refresh s0"]);
    s.at(1_950).refresh_fails(0).gives(&[]).deadline(2_150);
}

/// 7.3: a cluster that works can wait.
#[test]
fn while_a_node_is_ready_a_failed_refresh_waits_for_its_regular_time() {
    let mut s = with_source(config(), &[A]);
    s.establish(0);
    s.run_to(60_000).gives(&["refresh s0"]);
    s.refresh_fails(0).gives(&[]).deadline(120_000);
    // Both times are kept: the retry's was at 60.1 s, moved to the end of the shortest interval.
    s.at(60_500).closed(0).gives(&[]).deadline(61_000);
    s.at(60_600).establish(0).deadline(120_000);
    s.at(63_000).closed(0).gives(&["refresh s0"]);
}

/// 7.4: m = s/3 + 1 attempts in a row, of whatever nodes.
#[test]
fn failed_attempts_across_the_list_ask_early() {
    let config = config()
        .refresh_after_failures(RefreshAfterFailures::ByListSize)
        .reconnect_backoff(redial::Backoff::constant(ms(60_000)));
    let mut s = with_source(config, &[A, B, C]);
    s.at(5_000).begin(0).refused(0).whatever();
    s.at(5_100)
        .begin(1)
        .refused(1)
        .gives(&["connect n1", "refresh s0"]);
    s.answers(0, &[A, B, C]).gives(&[]);
    // The count has started anew.
    s.at(7_000).begin(2).refused(2).gives(&["connect n2"]);
}

/// 7.4.
#[test]
fn a_node_that_is_ready_sets_the_count_to_zero() {
    let config = config().refresh_after_failures(RefreshAfterFailures::After(2));
    let mut s = with_source(config, &[A, B]);
    s.at(5_000).begin(0).refused(0).whatever();
    s.establish(1);
    s.at(6_000).begin(0).refused(0).gives(&["connect n0"]);
    s.at(7_000)
        .begin(0)
        .refused(0)
        .gives(&["connect n0", "refresh s0"]);
}

/// 7.4: only attempts count, unless every disconnect does.
#[test]
fn a_lost_connection_asks_early_only_where_every_disconnect_does() {
    for (setting, expected) in [
        (RefreshAfterFailures::After(1), [].as_slice()),
        (RefreshAfterFailures::EveryDisconnect, &["refresh s0"]),
    ] {
        let mut s = with_source(config().refresh_after_failures(setting), &[A, B]);
        s.establish(0);
        s.establish(1);
        s.at(5_000).closed(0).gives(expected);
    }
}

/// 7.4: planned closes are none.
#[test]
fn a_connection_that_is_closed_as_planned_does_not_count() {
    let config = config()
        .refresh_after_failures(RefreshAfterFailures::EveryDisconnect)
        .max_idle(after(3_000));
    let mut s = with_source(config, &[A]);
    s.establish(0);
    s.at(3_000).tick().gives(&["close n0"]);
    assert_eq!(s.cluster().stats().refreshes, 1);
}

/// 7.4, 4.5.
#[test]
fn a_request_without_a_reply_asks_early() {
    let mut s = with_source(config().request_timeout(after(2_000)), &[A]);
    s.establish(0);
    s.at(5_000).submit(any()).written(0).whatever();
    s.at(7_000).tick();
    s.gives(&["refresh s0", "r0 Timeout PossiblyWritten"]);
}

/// 7.4.
#[test]
fn a_verdict_can_ask() {
    let mut s = with_source(config(), &[A]);
    s.establish(0);
    for (request, verdict, expected) in [
        (0, Verdict::DONE, ["r0 reply n0"].as_slice()),
        (1, Verdict::DONE.refresh(), &["r1 reply n0", "refresh s0"]),
    ] {
        s.at(5_000).submit(any()).written(request).whatever();
        s.verdict(request, verdict).gives(expected);
    }
}

/// 8.5: whoever says that the network is another says that the list may be.
#[test]
fn a_hint_asks() {
    let hints: [fn(&mut Script); 4] = [
        |s| _ = s.hint(Hint::NetworkChanged),
        |s| _ = s.hint(Hint::Resumed),
        |s| _ = s.node_up(0),
        |s| _ = s.node_down(0),
    ];
    for hint in hints {
        let mut s = with_source(config(), &[A]);
        s.at(5_000);
        hint(&mut s);
        s.gives(&["refresh s0"]);
    }
}

/// 7.4: within the shortest interval one is deferred to its end.
#[test]
fn a_trigger_within_the_shortest_interval_is_deferred_to_its_end() {
    let mut s = with_source(config(), &[A]);
    s.at(200).hint(Hint::Resumed).gives(&[]).deadline(1_000);
    s.at(300).hint(Hint::Resumed).gives(&[]).deadline(1_000);
    s.at(1_000).tick().gives(&["refresh s0"]);
    s.answers(0, &[A]).gives(&[]).deadline(61_000);
}

/// 7.4: also if the refresh that keeps it back is still under way when it comes.
#[test]
fn a_trigger_early_in_a_refresh_outlives_it() {
    let mut s = with_source(config(), &[A]);
    s.run_to(60_000).gives(&["refresh s0"]);
    s.at(60_200).hint(Hint::Resumed).gives(&[]);
    s.at(60_300).answers(0, &[A]).gives(&[]).deadline(61_000);
    s.at(61_000).tick().gives(&["refresh s0"]);
}

/// 7.4.
#[test]
fn a_trigger_late_in_a_refresh_is_answered_by_it() {
    let mut s = with_source(config(), &[A]);
    s.run_to(60_000).gives(&["refresh s0"]);
    s.at(60_200).hint(Hint::Resumed).gives(&[]);
    s.at(61_000).hint(Hint::Resumed).gives(&[]);
    s.at(61_300).answers(0, &[A]).gives(&[]).deadline(121_300);
    s.run_to(121_300).gives(&["refresh s0"]);
    s.at(121_500).hint(Hint::Resumed).gives(&[]);
    s.at(122_300).answers(0, &[A]).gives(&[]).deadline(182_300);
}

/// 7.4: that source and no other, also a fallback one; nothing is probed or dialled.
#[test]
fn a_change_of_a_source_asks_that_source_alone() {
    let config = config()
        .source(Source::primary())
        .source(Source::fallback());
    let mut s = Script::empty(build(config), 0);
    s.tick().gives(&["refresh s0", "refresh s1"]);
    s.answers(0, &[A]).answers(1, &[B]).whatever();
    s.at(5_000).hint(changed(0)).gives(&["refresh s0"]);
    s.hint(changed(1)).gives(&["refresh s1"]);
}

/// 7.4: changes are not lost and not added up.
#[test]
fn changes_within_the_shortest_interval_are_one_at_its_end() {
    let mut s = with_source(config(), &[A]);
    s.at(200).hint(changed(0)).gives(&[]).deadline(1_000);
    s.at(300).hint(changed(0)).gives(&[]).deadline(1_000);
    s.at(1_000).tick().gives(&["refresh s0"]);
    s.answers(0, &[A]).gives(&[]).deadline(61_000);
}

/// 7.4: what is read may be what was there before.
#[test]
fn a_change_while_the_source_is_asked_asks_once_more() {
    let mut s = with_source(config(), &[A]);
    s.run_to(60_000).gives(&["refresh s0"]);
    s.at(63_000).hint(changed(0)).hint(changed(0)).gives(&[]);
    s.at(64_000).answers(0, &[A]).gives(&["refresh s0"]);
    s.at(64_500).answers(0, &[A]).gives(&[]).deadline(124_500);
}

/// 8.5.
#[test]
fn a_change_of_a_source_that_is_not_there_is_counted_and_ignored() {
    let mut s = with_source(config(), &[A]);
    s.at(5_000).hint(changed(1)).gives(&[]);
    assert_eq!(s.cluster().stats().stale_facts, 1);
}

fn changed(source: u32) -> Hint {
    Hint::SourceChanged(SourceId::new(source))
}

/// K39: after a drop the list is refreshed once, not without end.
#[test]
fn a_refresh_that_worked_asks_for_no_other() {
    let config = config().refresh_after_failures(RefreshAfterFailures::EveryDisconnect);
    let mut s = with_source(config, &[A, B]);
    s.establish(0);
    s.at(5_000).closed(0).gives(&["refresh s0"]);
    s.answers(0, &[A, B]).gives(&[]).deadline(65_000);
    s.run_to(64_999).gives(&[]);
}

/// 7.4: all primary sources, and no other.
#[test]
fn a_trigger_asks_all_primary_sources() {
    let config = config()
        .source(Source::fallback())
        .source(Source::primary())
        .source(Source::primary());
    let mut s = Script::empty(build(config), 0);
    s.tick().gives(&["refresh s0", "refresh s1", "refresh s2"]);
    s.answers(1, &[A])
        .answers(2, &[B])
        .answers(0, &[C])
        .whatever();
    s.at(5_000).hint(Hint::Resumed);
    s.gives(&["refresh s1", "refresh s2"]);
}

/// 11: every 300 s to the nanosecond, and at every disconnect.
#[test]
fn kafkas_preset_refreshes_as_kafkas_clients_do() {
    let mut s = with_source(Config::kafka().to_builder(), &[A, B]);
    s.deadline(300_000);
    s.establish(0);
    s.at(5_000).begin(1).refused(1);
    s.gives(&["connect n1", "refresh s0"]);
    s.answers(0, &[A, B]).gives(&[]).deadline(305_000);
    s.at(7_000).closed(0).gives(&["refresh s0"]);
}

/// 1.2: a clock that jumps asks once.
#[test]
fn after_a_sleep_a_source_is_asked_once() {
    let mut s = with_source(config(), &[A]);
    s.at(1_000_000).tick().gives(&["refresh s0"]);
    s.answers(0, &[A]).gives(&[]).deadline(1_060_000);
}

/// 1.3: what would be beyond the end of time is not armed.
#[test]
fn times_at_the_end_of_time_are_not_armed() {
    let config = config().refresh_timeout(std::time::Duration::MAX);
    let mut s = Script::empty(build(config.source(Source::primary())), 0);
    s.tick().gives(&["refresh s0"]).no_deadline();
    s.at_instant(Instant::MAX).answers(0, &[A]).gives(&[]);
    s.no_deadline();
}

/// 9.2: after a shutdown nobody is asked and nothing is awaited.
#[test]
fn a_shutdown_does_not_wait_for_sources() {
    let config = config()
        .source(Source::primary())
        .source(Source::primary())
        .source(Source::discovery())
        .warm(Warm::AtLeast(1));
    let mut s = Script::empty(build(config), 0);
    s.tick().gives(&["refresh s0", "refresh s1"]);
    s.answers(0, &[A]).gives(&["connect n0"]);
    s.shutdown(0).gives(&["abort n0", "terminated"]);
    s.answers(1, &[B]).gives(&[]).no_deadline();
    assert_eq!(s.cluster().stats().stale_facts, 1);
}

/// 9.2: nor is a refresh under way told to have failed.
#[test]
fn a_shutdown_forgets_the_refresh_under_way() {
    let mut s = Script::new(build(config().source(Source::discovery())), &[A]);
    s.establish(0);
    s.events();
    s.shutdown(0).gives(&["close n0", "terminated"]);
    assert!(results(&mut s).is_empty());
}
