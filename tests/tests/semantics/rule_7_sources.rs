//! SEMANTICS 7.2, 7.5 and 7.6: what the answers of several sources do to the list.

use redial::{
    ConfigBuilder, Event, NodeState, RefreshAfterFailures, RefreshResult, SetNodesError, Source,
};
use redial_tests::script::{Script, any, build, exact, ms, specs, t};

const A: &str = "10.0.0.1:1";
const B: &str = "10.0.0.2:1";
const C: &str = "10.0.0.3:1";

fn config() -> ConfigBuilder {
    exact()
        .refresh_jitter(ms(0))
        .refresh_after_failures(RefreshAfterFailures::After(1_000))
}

/// So many primary sources, which have been asked at time 0.
fn with_sources(config: ConfigBuilder, count: usize) -> Script {
    let config = (0..count).fold(config, |config, _| config.source(Source::primary()));
    let mut s = Script::empty(build(config), 0);
    s.tick().whatever();
    s
}

/// The next regular refresh of all sources.
fn next_round(s: &mut Script) {
    let at = s.cluster().now().as_nanos() / 1_000_000 + 60_000;
    s.run_to(at).whatever();
    s.events();
}

#[track_caller]
fn assert_list(s: &Script, expected: &[&str]) {
    let mut list: Vec<String> = s
        .cluster()
        .nodes()
        .map(|view| match &view.spec.key {
            Some(key) => format!("{key}={}", view.spec.endpoint),
            None => view.spec.endpoint.to_string(),
        })
        .collect();
    list.sort_unstable();
    assert_eq!(list, expected);
}

fn results(s: &mut Script) -> Vec<RefreshResult> {
    let result = |event| match event {
        Event::Refreshed { result, .. } => Some(result),
        _ => None,
    };
    s.events().into_iter().filter_map(result).collect()
}

fn list_changes(s: &mut Script) -> Vec<(u32, u32, u32)> {
    let change = |event| match event {
        Event::ListChanged {
            added,
            removed,
            kept,
        } => Some((added, removed, kept)),
        _ => None,
    };
    s.events().into_iter().filter_map(change).collect()
}

/// 7.2: the list is the union of the primaries, the application being one of them.
#[test]
fn the_list_is_the_union_of_the_primary_lists() {
    let mut s = with_sources(config(), 2);
    s.set_nodes(&[A]).answers(0, &[A, B]).answers(1, &[C]);
    assert_list(&s, &[A, B, C]);
    assert_eq!(list_changes(&mut s), [(1, 0, 0), (1, 0, 1), (1, 0, 2)]);
    next_round(&mut s);
    s.answers(0, &[B]);
    assert_list(&s, &[A, B, C]);
    assert!(list_changes(&mut s).is_empty(), "the application names it");
    s.set_nodes(&[B]);
    assert_list(&s, &[B, C]);
    assert_eq!(list_changes(&mut s), [(0, 1, 2)]);
}

/// 7.2: a node leaves with the last list that names it.
#[test]
fn a_node_stays_while_any_source_names_it() {
    let mut s = with_sources(config(), 2);
    s.answers(0, &[A, B]).answers(1, &[A]);
    s.establish(0);
    next_round(&mut s);
    s.answers(0, &[B]).gives(&[]);
    assert_eq!(s.state(0), NodeState::Ready);
    s.answers(1, &[C]).gives(&["close n0"]);
    assert_list(&s, &[B, C]);
}

/// 7.2: same host and port is one node even if only one source gives a key.
#[test]
fn a_key_that_one_source_gives_is_kept() {
    let mut s = with_sources(config(), 2);
    s.answers(0, &[A]).answers(1, &["1=10.0.0.1:1"]);
    assert_list(&s, &["1=10.0.0.1:1"]);
    let node = s.id(0);
    for _ in 0..2 {
        next_round(&mut s);
        s.answers(0, &[A]).answers(1, &["1=10.0.0.1:1"]);
        assert_eq!(results(&mut s), [RefreshResult::Unchanged; 2]);
    }
    assert_eq!(s.cluster().find_key("1"), Some(node));
}

/// 7.2: labels of one source are not taken away by another that has none.
#[test]
fn labels_that_one_source_gives_are_kept() {
    let mut s = with_sources(config(), 2);
    s.answers(0, &[A]);
    let labelled = specs(&[A]).remove(0).with_label("rack", "a");
    let refresh = s.refresh(1, 0);
    s.call(redial::record::Call::Refreshed(
        refresh,
        None,
        vec![labelled],
    ));
    next_round(&mut s);
    s.answers(0, &[A]);
    s.set_nodes(&["7=10.0.0.1:1"]);
    assert_eq!(s.view(0).spec.labels["rack"], "a");
    assert_eq!(s.cluster().find_key("7"), Some(s.id(0)));
}

/// 7.2, 7.6: a source that moves a key does not take away what another names.
#[test]
fn where_a_key_moves_the_old_place_stays_for_who_names_it() {
    let mut s = with_sources(config(), 1);
    s.set_nodes(&[A]).answers(0, &["1=10.0.0.1:1"]);
    let node = s.id(0);
    next_round(&mut s);
    s.answers(0, &["1=10.0.0.2:1"]);
    assert_list(&s, &[A, "1=10.0.0.2:1"]);
    assert_eq!(s.cluster().find_key("1"), Some(node), "requests follow it");
    assert_eq!(list_changes(&mut s), [(1, 0, 1)]);
    s.set_nodes(&[B]);
    assert_list(&s, &["1=10.0.0.2:1"]);
}

/// 7.5: a failed, empty or malformed answer changes nothing and raises an event.
#[test]
fn what_is_no_list_changes_nothing() {
    let mut s = with_sources(config().max_nodes(2u32), 1);
    s.set_nodes(&[A]).answers(0, &[A, B]);
    s.establish(0);
    let duplicate = SetNodesError::DuplicateKey {
        first: 0,
        second: 1,
    };
    let many = SetNodesError::TooMany { nodes: 3, max: 2 };
    let cases: [(&[&str], RefreshResult); 4] = [
        (&[], RefreshResult::Empty),
        (
            &["1=10.0.0.1:1", "1=10.0.0.3:1"],
            RefreshResult::Malformed(duplicate),
        ),
        (&[A, B, C], RefreshResult::Malformed(many)),
        // The limit is for the union: A stays, as the application names it.
        (&["10.0.0.4:1", C], RefreshResult::Malformed(many)),
    ];
    for (list, result) in cases {
        next_round(&mut s);
        s.answers(0, list).gives(&[]);
        assert_eq!(results(&mut s), [result], "{list:?}");
        assert_list(&s, &[A, B]);
    }
    next_round(&mut s);
    s.refresh_fails(0).gives(&[]);
    assert_eq!(results(&mut s), [RefreshResult::Failed]);
    assert_list(&s, &[A, B]);
    assert_eq!(s.cluster().stats().refreshes_failed, 5);
}

/// 7.1: who leaves with the same list does not count, who is named by another does.
#[test]
fn a_list_that_is_too_long_together_with_the_others_is_refused() {
    let mut s = with_sources(config().max_nodes(3u32), 1);
    s.set_nodes(&[A]).answers(0, &[A, B, C]);
    let others = ["10.0.0.4:1", "10.0.0.5:1", "10.0.0.6:1"];
    let many = SetNodesError::TooMany { nodes: 4, max: 3 };
    next_round(&mut s);
    s.answers(0, &others).gives(&[]);
    assert_eq!(results(&mut s), [RefreshResult::Malformed(many)]);
    assert_list(&s, &[A, B, C]);
    next_round(&mut s);
    s.answers(0, &others[..2]).gives(&[]);
    assert_list(&s, &[A, others[0], others[1]]);
}

/// 7.5: as far as the source's own last answer goes.
#[test]
fn a_version_that_is_not_newer_is_ignored() {
    let mut s = with_sources(config(), 2);
    s.answers_version(0, Some(7), &[A]);
    s.answers_version(1, Some(3), &[B]);
    s.establish(1);
    for (version, list, result, expected) in [
        (Some(6), C, RefreshResult::Older, [A, B]),
        (Some(7), C, RefreshResult::Older, [A, B]),
        (Some(8), A, RefreshResult::Unchanged, [A, B]),
        (Some(9), C, RefreshResult::Changed, [B, C]),
        (None, A, RefreshResult::Changed, [A, B]),
        (Some(1), C, RefreshResult::Changed, [B, C]),
    ] {
        next_round(&mut s);
        s.answers_version(1, Some(3), &[B]);
        s.events();
        s.answers_version(0, version, &[list]).whatever();
        assert_eq!(results(&mut s), [result], "{version:?}");
        assert_list(&s, &expected);
    }
    assert_eq!(s.cluster().stats().refreshes_failed, 0);
}

/// 7.6: whatever the order and the case of names.
#[test]
fn equal_lists_cause_nothing() {
    let mut s = with_sources(config(), 1);
    s.answers(0, &["db.example:1", A, B]);
    s.establish(1);
    let nodes: Vec<_> = s.cluster().nodes().map(|view| view.id).collect();
    for list in [
        [B, A, "DB.example:1"],
        [A, "db.EXAMPLE:1", B],
        ["db.example:1", B, A],
    ] {
        next_round(&mut s);
        s.answers(0, &list).gives(&[]);
        assert_eq!(s.events().len(), 1, "the refresh itself");
        assert_eq!(s.state(1), NodeState::Ready);
        assert!(s.cluster().nodes().map(|view| view.id).eq(nodes.clone()));
    }
}

/// 3.5: a list that flaps gives nobody a fresh start.
#[test]
fn a_list_that_flaps_resets_no_backoff() {
    let backoff = redial::Backoff::new(ms(150_000), ms(600_000), 2);
    let mut s = with_sources(config().reconnect_backoff(backoff), 1);
    s.answers(0, &[A, B]);
    s.submit_on(0, any()).refused(0).whatever();
    assert_eq!(s.rests_until(0), Some(t(150_000)));
    next_round(&mut s);
    s.answers(0, &[B]).gives(&["r0 NodeRemoved NeverWritten"]);
    next_round(&mut s);
    s.answers(0, &[A, B]).whatever();
    s.submit_on(2, any()).gives(&[]);
    assert_eq!(
        (s.rests_until(2), s.view(2).failures),
        (Some(t(150_000)), 1)
    );
}

/// Z17: every later attempt is to a server of the newest list.
#[test]
fn who_left_the_list_is_not_dialled() {
    let mut s = with_sources(config(), 1);
    s.answers(0, &[A]);
    s.at(5).submit(any()).gives(&["connect n0"]);
    next_round(&mut s);
    s.answers(0, &[B]).gives(&["abort n0", "connect n1"]);
}

/// 7.2: a list of the application's alone may do anything but be empty.
#[test]
fn sources_change_nothing_for_an_application_that_has_none() {
    let mut s = with_sources(config(), 0);
    s.set_nodes(&[A, B]).set_nodes(&[B, C]).gives(&[]);
    assert_list(&s, &[B, C]);
    s.set_nodes(&[]).gives(&["error Empty"]).no_deadline();
}
