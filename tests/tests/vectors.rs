//! The recorded vectors that the repository carries.

use std::path::Path;

use redial_tests::vectors::Report;

fn replay(file: &str, vectors: usize) {
    let mut report = Report::default();
    report.replay(
        &Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("vectors")
            .join(file),
    );
    assert!(report.failures.is_empty(), "{}", report.render());
    assert_eq!(report.passed, vectors, "all of them were read");
}

#[test]
fn backoff_grows_as_kafka_computes_it() {
    replay("backoff.jsonl", 105);
}

#[test]
fn a_nodes_history_is_kafkas() {
    replay("node-history.jsonl", 100);
}

#[test]
fn the_node_picked_is_one_that_kafka_could_pick() {
    replay("pick.jsonl", 300);
}

#[test]
fn a_connect_string_is_read_as_zookeepers_save_where_that_misreads_it() {
    replay("connect-string.jsonl", 61);
}

#[test]
fn a_dynamic_configuration_is_read_as_zookeepers_for_a_client() {
    replay("dynamic-config.jsonl", 50);
}

#[test]
fn clients_move_as_zookeepers_do_where_those_move_evenly() {
    replay("rebalance.jsonl", 86);
}

#[test]
fn a_fleet_stays_even_through_a_chain_of_lists() {
    replay("rebalance-chain.jsonl", 20);
}
