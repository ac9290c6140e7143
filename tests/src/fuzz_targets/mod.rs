//! What a fuzzer runs on arbitrary bytes. Each panics if a property does not hold, and is a plain
//! function, so that a test can replay what a fuzzer has found.

mod byte_layer;
mod client_operations;
mod connect_string;
mod dynamic_config;
mod schedule;
mod server_list;

pub use byte_layer::byte_layer;
pub use client_operations::client_operations;
pub use connect_string::connect_string;
pub use dynamic_config::dynamic_config;
pub use schedule::schedule;
pub use server_list::server_list;

use redial::{Endpoint, ParseError};

/// A target's name, which is that of its folder in `tests/fuzz/corpus`, and what it runs.
pub type Target = (&'static str, fn(&[u8]));

/// All of them.
pub const TARGETS: [Target; 6] = [
    ("byte_layer", byte_layer),
    ("client_operations", client_operations),
    ("connect_string", connect_string),
    ("dynamic_config", dynamic_config),
    ("schedule", schedule),
    ("server_list", server_list),
];

/// Each endpoint of a list is there once and reads as itself.
fn check_endpoints<'a>(endpoints: impl Iterator<Item = &'a Endpoint> + Clone) {
    let distinct: std::collections::BTreeSet<_> = endpoints.clone().collect();
    assert_eq!(distinct.len(), endpoints.clone().count());
    assert!((1..=10_000).contains(&distinct.len()));
    for endpoint in endpoints {
        assert_eq!(endpoint.to_string().parse().as_ref(), Ok(endpoint));
    }
}

/// An error is at a place of the text, or right behind it.
fn check_place(text: &str, error: ParseError) {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let line = text.split('\n').nth(error.line as usize - 1);
    let columns = line.expect("the error's line exists").chars().count();
    assert!(
        (1..=columns + 1).contains(&(error.column as usize)),
        "{error}"
    );
}
