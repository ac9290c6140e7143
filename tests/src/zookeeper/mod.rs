//! ZooKeeper: the example's protocol.

// The example's own files, as those of Redis are.
#[path = "../../../adapter-tokio/examples/zookeeper/jute/mod.rs"]
pub mod jute;
