//! Real ZooKeeper servers: one ensemble for each test.
//!
//! Where ZooKeeper is not installed the tests say so and pass, unless the environment says
//! `REDIAL_REQUIRE_ZOOKEEPER=1`.

mod configuration;
mod equal_lists;
mod expiry;
mod failures;
mod rebalancing;
mod support;
mod watches;
