//! Replays recorded test vectors: JSON lines, one module a kind.

mod backoff;
mod embedder;
mod node_history;
mod pick;
mod rebalance;
mod server_lists;
mod surrogates;

use std::{
    fmt::Write,
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
};

use serde::de::DeserializeOwned;
use serde_json::Value;

/// What came of a number of files.
#[derive(Debug, Default)]
pub struct Report {
    /// Vectors that came out as they say.
    pub passed: usize,
    /// One line for each that did not: `FAIL file:id: what was expected, what came`.
    pub failures: Vec<String>,
}

impl Report {
    /// Replays every vector of a file. What cannot be read counts as failed.
    pub fn replay(&mut self, path: &Path) {
        let file = path.file_name().unwrap_or(path.as_os_str()).display();
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) => return self.failures.push(format!("FAIL {file}:0: {error}")),
        };
        for (number, line) in text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty())
        {
            let (id, result) = replay_line(line);
            match result {
                Ok(()) => self.passed += 1,
                Err(what) => {
                    let id = id.unwrap_or_else(|| format!("line {}", number + 1));
                    self.failures.push(format!("FAIL {file}:{id}: {what}"));
                }
            }
        }
    }

    /// The lines to print: the failures, then the sums.
    #[must_use]
    pub fn render(&self) -> String {
        let mut text = String::new();
        for failure in &self.failures {
            let _ = writeln!(text, "{}", failure.replace('\n', " "));
        }
        let _ = writeln!(
            text,
            "{} passed, {} failed",
            self.passed,
            self.failures.len()
        );
        text
    }
}

/// The vector's id, if it has one, and what was expected and what came instead.
fn replay_line(line: &str) -> (Option<String>, Result<(), String>) {
    let value: Value = match serde_json::from_str(&surrogates::replace_lone(line)) {
        Ok(value) => value,
        Err(error) => return (None, Err(format!("cannot be read: {error}"))),
    };
    let id = value["id"].as_str().map(str::to_owned);
    let result = catch_unwind(AssertUnwindSafe(|| replay_vector(value)))
        .unwrap_or_else(|_| Err("expected a result, came a panic".to_owned()));
    (id, result)
}

fn replay_vector(value: Value) -> Result<(), String> {
    match value["kind"].as_str() {
        Some("backoff") => read(value).and_then(|vector: backoff::Vector| vector.replay()),
        Some("node_history") => {
            read(value).and_then(|vector: node_history::Vector| vector.replay())
        }
        Some("pick") => read(value).and_then(|vector: pick::Vector| vector.replay()),
        Some("connect_string") => {
            read(value).and_then(|vector: server_lists::ConnectStringVector| vector.replay())
        }
        Some("dynamic_config") => {
            read(value).and_then(|vector: server_lists::DynamicConfigVector| vector.replay())
        }
        Some("rebalance") => read(value).and_then(|vector: rebalance::Vector| vector.replay()),
        Some("rebalance_chain") => {
            read(value).and_then(|vector: rebalance::ChainVector| vector.replay())
        }
        Some(kind) => Err(format!("unknown kind {kind:?}")),
        None => Err("no kind".to_owned()),
    }
}

fn read<V: DeserializeOwned>(value: Value) -> Result<V, String> {
    serde_json::from_value(value).map_err(|error| format!("cannot be read: {error}"))
}

/// `Ok` if what came is what was expected.
fn expect<T: PartialEq + std::fmt::Debug>(what: &str, expected: T, came: T) -> Result<(), String> {
    if expected == came {
        Ok(())
    } else {
        Err(format!("{what}: expected {expected:?}, came {came:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(line: &str) -> (Option<String>, bool) {
        let (id, result) = replay_line(line);
        (id, result.is_ok())
    }

    #[test]
    fn what_cannot_be_read_is_a_failure() {
        for line in [
            "{",
            "[]",
            r#"{"id":"x"}"#,
            r#"{"id":"x","kind":"nonsense"}"#,
            r#"{"id":"x","kind":"backoff"}"#,
            r#"{"id":"x","kind":"pick","now":0,"max_in_flight":5,"reconnect_backoff_ms":50,
                "nodes":[{"state":"asleep"}],"pick_one_of":[]}"#,
            r#"{"id":"x","kind":"connect_string","default_port":1,"in":"","expect":"mistake"}"#,
            r#"{"id":"x","kind":"dynamic_config","in":"","expect":{"servers":[]}}"#,
        ] {
            assert!(!outcome(line).1, "{line}");
        }
    }

    #[test]
    fn a_wrong_expectation_is_a_failure_with_its_id() {
        let line = |delay: u64| {
            format!(
                r#"{{"id":"b1","kind":"backoff","base_ms":10,"max_ms":50,"multiplier":2,
                    "tolerance_ms":1,"delays_ms":[10,20,{delay},50]}}"#
            )
        };
        assert_eq!(outcome(&line(40)), (Some("b1".to_owned()), true));
        assert_eq!(outcome(&line(42)), (Some("b1".to_owned()), false));
    }

    #[test]
    fn a_text_that_is_read_differently_or_not_at_all_is_a_failure() {
        let line = |kind: &str, text: &str, expected: &str| {
            format!(
                r#"{{"id":"s","kind":"{kind}","default_port":7,"in":"{text}","expect":{expected}}}"#
            )
        };
        let listed = |servers: &str, rest: &str| format!(r#"{{"servers":[{servers}],{rest}}}"#);
        let connect =
            |text: &str, expected: &str| outcome(&line("connect_string", text, expected)).1;
        let list = listed(r#"["A",7],["::1",2]"#, r#""chroot":"/c""#);
        assert!(connect("a,[0::1]:2/c", &list));
        assert!(!connect("[::1]:2,a/c", &list), "the order");
        assert!(!connect("a,[::1]:2/d", &list), "the chroot");
        assert!(!connect("dns-srv://a/c", &list));
        assert!(!connect("a:0", &list));
        assert!(!connect("a", r#""error""#));
        let dynamic =
            |text: &str, expected: &str| outcome(&line("dynamic_config", text, expected)).1;
        let list = listed(r#"["a",3],["b",3]"#, r#""version":255"#);
        let text = r"server.1=b:1:2;3\nserver.2=a:1:2;3\nversion=";
        assert!(dynamic(&format!("{text}ff"), &list));
        assert!(!dynamic(&format!("{text}fe"), &list));
        assert!(!dynamic("server.1=b:1:2;3", &list));
        assert!(!dynamic(&format!("{text}ff"), r#""error""#));
    }

    #[test]
    fn a_field_more_does_no_harm() {
        for line in [
            r#"{"why":[1],"kind":"rebalance","old":[1],"current":1,"new":[2],"trials":3,"moved":3,
                "ends_on":{"2":3}}"#,
            r#"{"id":7,"note":{},"kind":"rebalance_chain","clients":3,
                "steps":[{"list":[1]},{"list":[2],"why":"moved"}]}"#,
            r#"{"id":7,"note":{},"kind":"connect_string","default_port":7,"in":"a/",
                "expect":{"servers":[["a",7]],"chroot":null}}"#,
        ] {
            assert_eq!(replay_line(line).1, Ok(()), "{line}");
        }
    }

    #[test]
    fn the_last_line_has_the_sums() {
        let report = Report {
            passed: 3,
            failures: vec!["FAIL f:a: b\nc".to_owned()],
        };
        assert_eq!(report.render(), "FAIL f:a: b c\n3 passed, 1 failed\n");
    }
}
