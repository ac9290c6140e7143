//! Replays recorded test vectors: `vectors FILE...`.
//!
//! Prints a line for each vector that fails, then the sums; exits 0 only if none failed.

use std::{env, path::Path, process::ExitCode};

use redial_tests::vectors::Report;

fn main() -> ExitCode {
    let mut report = Report::default();
    if env::args_os().len() < 2 {
        eprintln!("usage: vectors FILE...");
        return ExitCode::from(2);
    }
    for path in env::args_os().skip(1) {
        report.replay(Path::new(&path));
    }
    print!("{}", report.render());
    if report.failures.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
