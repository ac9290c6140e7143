//! Properties that hold for random runs. `PROPTEST_CASES` raises the number of runs.

mod config;
mod hostile;
mod recordings;
mod walks;

use proptest::test_runner::Config;

/// The usual configuration, with this many cases unless `PROPTEST_CASES` says otherwise.
fn cases(default: u32) -> Config {
    let asked = std::env::var("PROPTEST_CASES").ok();
    Config {
        cases: asked
            .and_then(|cases| cases.parse().ok())
            .unwrap_or(default),
        failure_persistence: None,
        ..Config::default()
    }
}
