//! The faults that users of other clients have reported, by number, and what becomes of each here:
//! a test whose doc comment has the number, or the reason why there is none.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use Row::{NotHere, Tested};

/// What becomes of a fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Row {
    /// The doc comment of a test, or of a checker that sees every step of every test, has its
    /// number.
    Tested,
    /// It cannot occur, for this reason.
    NotHere(&'static str),
}

/// R: clients of all kinds; Z: of ZooKeeper; K: of Kafka.
const ROWS: &[(&str, Row)] = &[
    ("R001", Tested),
    ("R003", Tested),
    ("R005", Tested),
    ("R007", Tested),
    ("R009", Tested),
    ("R011", Tested),
    ("R013", Tested),
    ("R015", Tested),
    ("R017", Tested),
    ("R019", Tested),
    ("R021", Tested),
    ("R023", Tested),
    ("R025", Tested),
    ("R027", Tested),
    ("R029", Tested),
    ("R031", Tested),
    ("R033", Tested),
    ("R035", Tested),
    ("R037", Tested),
    ("R039", Tested),
    ("R041", Tested),
    ("R043", Tested),
    ("R045", Tested),
    ("R047", Tested),
    ("R049", Tested),
    ("R051", Tested),
    ("R053", Tested),
    (
        "R055",
        NotHere(
            "no duration is ever written to the wire or narrowed: the ready-made protocol only reads milliseconds",
        ),
    ),
    ("R057", Tested),
    ("R059", Tested),
    ("R061", Tested),
    ("R063", Tested),
    ("R065", Tested),
    ("R067", Tested),
    ("R069", Tested),
    (
        "R071",
        NotHere(
            "the core has no await: every call is one step, and what it takes it has recorded when it returns",
        ),
    ),
    ("R073", Tested),
    ("R075", Tested),
    ("R077", Tested),
    ("R079", Tested),
    ("R081", Tested),
    ("R085", Tested),
    ("R087", Tested),
    ("R091", Tested),
    ("R093", Tested),
    ("R095", Tested),
    ("R097", Tested),
    ("R099", Tested),
    ("R101", Tested),
    ("R103", Tested),
    ("R105", Tested),
    ("R107", Tested),
    ("R109", Tested),
    ("R111", Tested),
    ("R113", Tested),
    ("R115", Tested),
    ("R117", Tested),
    ("R119", Tested),
    ("R121", Tested),
    ("R123", Tested),
    ("R125", Tested),
    ("R127", Tested),
    ("R129", Tested),
    ("R131", Tested),
    ("R133", Tested),
    ("R135", Tested),
    ("R137", Tested),
    ("R141", Tested),
    ("R143", Tested),
    ("R145", Tested),
    ("R147", Tested),
    ("R149", Tested),
    (
        "R151",
        NotHere("the core calls nobody: events are pulled, and a hook of the user runs outside it"),
    ),
    ("R153", Tested),
    ("R155", Tested),
    ("Z01", Tested),
    ("Z03", Tested),
    ("Z05", Tested),
    ("Z07", Tested),
    ("Z09", Tested),
    ("Z11", Tested),
    ("Z13", Tested),
    ("Z15", Tested),
    ("Z17", Tested),
    ("Z19", Tested),
    ("Z21", Tested),
    ("Z23", Tested),
    ("Z25", Tested),
    ("Z27", Tested),
    ("Z29", Tested),
    ("Z31", Tested),
    ("Z33", Tested),
    ("Z35", Tested),
    ("K01", Tested),
    ("K03", Tested),
    ("K05", Tested),
    ("K07", Tested),
    ("K09", Tested),
    ("K11", Tested),
    ("K13", Tested),
    ("K15", Tested),
    ("K17", Tested),
    ("K19", Tested),
    ("K21", Tested),
    ("K23", Tested),
    ("K25", Tested),
    ("K29", Tested),
    ("K31", Tested),
    ("K33", Tested),
    ("K35", Tested),
    ("K37", Tested),
    ("K39", Tested),
    ("K41", Tested),
    ("K43", Tested),
    ("K45", Tested),
    ("K47", Tested),
    ("K49", Tested),
    ("K51", Tested),
];

/// Where tests are.
const ROOTS: [&str; 5] = [
    "tests/tests",
    "tests/src",
    "core",
    "adapter-async-std/tests",
    "adapter-tokio/tests",
];

#[test]
fn each_fault_has_a_test_or_a_reason() {
    let named = numbers_in_doc_comments();
    let tested: Vec<&str> = rows(|row| row == Tested).collect();
    let missing: Vec<&&str> = tested.iter().filter(|id| !named.contains(**id)).collect();
    assert!(missing.is_empty(), "no test names {missing:?}");
}

#[test]
fn no_test_names_a_fault_that_is_said_to_have_none() {
    let named = numbers_in_doc_comments();
    let surprising: Vec<&str> = rows(|row| row != Tested)
        .filter(|id| named.contains(*id))
        .collect();
    assert!(surprising.is_empty(), "{surprising:?} are tested after all");
}

#[test]
fn each_number_is_listed_once_and_each_reason_says_something() {
    let known: BTreeSet<&str> = ROWS.iter().map(|(id, _)| *id).collect();
    assert_eq!(known.len(), ROWS.len());
    for (id, row) in ROWS {
        if let NotHere(reason) = row {
            assert!(reason.split(' ').count() > 1, "{id}");
        }
    }
    let unknown: Vec<String> = numbers_in_doc_comments()
        .into_iter()
        .filter(|id| !known.contains(id.as_str()))
        .collect();
    assert!(unknown.is_empty(), "{unknown:?} are in no row");
}

fn rows(wanted: impl Fn(Row) -> bool) -> impl Iterator<Item = &'static str> {
    ROWS.iter()
        .filter(move |(_, row)| wanted(*row))
        .map(|(id, _)| *id)
}

fn numbers_in_doc_comments() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for dir in ROOTS {
        collect(&root.join(dir), &mut files);
    }
    assert!(files.len() > 50, "the sources are where they are expected");
    let mut found = BTreeSet::new();
    for file in files {
        let text = fs::read_to_string(&file).expect("it can be read");
        let lines = text.lines().map(str::trim_start);
        let docs = lines.filter(|line| line.starts_with("///") || line.starts_with("//!"));
        let words = docs.flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric()));
        found.extend(words.filter(|word| is_number(word)).map(str::to_owned));
    }
    found
}

/// All Rust files but this one, which names every number.
fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("it can be listed") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            if !path.ends_with("target") {
                collect(&path, files);
            }
        } else if path.extension().is_some_and(|ext| ext == "rs") && !path.ends_with("faults.rs") {
            files.push(path);
        }
    }
}

fn is_number(word: &str) -> bool {
    let digits = word.strip_prefix(['R', 'Z', 'K']).unwrap_or("");
    (2..=3).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
}
