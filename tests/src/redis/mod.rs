//! Redis: the example's protocol, and real servers to speak it with.

/// The example's own files. It has them, and not this crate, because it is published and read on its
/// own and must not need a crate that is not.
#[path = "../../../adapter-tokio/examples/redis/resp/mod.rs"]
pub mod resp;
mod server;

pub use server::RedisServer;
