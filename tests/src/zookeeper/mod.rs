//! ZooKeeper: the example's protocol, and real ensembles to speak it with.

mod ensemble;
// The example's own files, as those of Redis are.
#[path = "../../../adapter-tokio/examples/zookeeper/jute/mod.rs"]
pub mod jute;

pub use ensemble::Ensemble;
