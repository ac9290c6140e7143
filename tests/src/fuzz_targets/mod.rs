//! What a fuzzer runs on arbitrary bytes. Each panics if a property does not hold, and is a plain
//! function, so that a test can replay what a fuzzer has found.

mod connect_string;
mod dynamic_config;

pub use connect_string::connect_string;
pub use dynamic_config::dynamic_config;

use redial::{Endpoint, ParseError};

/// A target's name, which is that of its folder in `tests/fuzz/corpus`, and what it runs.
pub type Target = (&'static str, fn(&[u8]));

/// All of them.
pub const TARGETS: [Target; 2] = [
    ("connect_string", connect_string),
    ("dynamic_config", dynamic_config),
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
