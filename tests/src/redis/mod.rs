//! Redis: the example's protocol, and real servers to speak it with.

// The example's own files. It has them, and not this crate, because it is published and read on its
// own and must not need a crate that is not.
#[path = "../../../adapter-tokio/examples/redis/resp/mod.rs"]
pub mod resp;
mod server;

pub use server::RedisServer;

use resp::{Command, Value};

/// The command in this line, whose words have no blanks.
///
/// # Panics
///
/// If there is none.
pub fn command(line: &str) -> Command {
    let mut words = line.split(' ').map(str::to_owned);
    let name = words.next().expect("a name");
    words.fold(Command::new(name), Command::arg)
}

/// A string as a server answers it.
#[must_use]
pub fn string(text: &'static str) -> Value {
    Value::String(text.into())
}
