//! The report: tables for people, aims for the exit status.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use serde::Deserialize;

/// Collects tables and aims of one benchmark.
pub(crate) struct Report {
    bench: &'static str,
    text: String,
    aims: Vec<Aim>,
}

struct Aim {
    name: String,
    measured: f64,
    bound: Bound,
}

#[derive(Clone, Copy)]
enum Bound {
    AtLeast(f64),
    Below(f64),
}

/// `known-misses.toml`: aims that do not hold yet.
#[derive(Deserialize)]
struct KnownMisses {
    #[serde(default)]
    miss: Vec<KnownMiss>,
}

#[derive(Deserialize)]
struct KnownMiss {
    /// The name of the aim.
    aim: String,
    /// What was measured; a figure that is worse by more than a tenth is a new miss.
    measured: f64,
    /// Why it is so.
    bounded_by: String,
}

impl Report {
    pub(crate) fn new(bench: &'static str) -> Self {
        Self {
            bench,
            text: String::new(),
            aims: Vec::new(),
        }
    }

    /// Prints a line, and keeps it for the file.
    pub(crate) fn line(&mut self, line: impl AsRef<str>) {
        println!("{}", line.as_ref());
        self.text += line.as_ref();
        self.text.push('\n');
    }

    /// A table's head, after an empty line.
    pub(crate) fn table(&mut self, columns: &[&str]) {
        self.line("");
        self.row(columns);
        self.line(format!("|{}", "---|".repeat(columns.len())));
    }

    pub(crate) fn row(&mut self, cells: &[impl AsRef<str>]) {
        let cells: Vec<_> = cells.iter().map(AsRef::as_ref).collect();
        self.line(format!("| {} |", cells.join(" | ")));
    }

    pub(crate) fn at_least(&mut self, name: impl Into<String>, measured: f64, least: f64) {
        self.aim(name, measured, Bound::AtLeast(least));
    }

    pub(crate) fn below(&mut self, name: impl Into<String>, measured: f64, bound: f64) {
        self.aim(name, measured, Bound::Below(bound));
    }

    fn aim(&mut self, name: impl Into<String>, measured: f64, bound: Bound) {
        let name = name.into();
        self.aims.push(Aim {
            name,
            measured,
            bound,
        });
    }

    /// Judges the aims, writes the report into `BENCHMARKS.md`, and gives the exit status: success
    /// if every aim holds or its miss is known.
    pub(crate) fn finish(mut self) -> ExitCode {
        let known = known_misses();
        let mut status = ExitCode::SUCCESS;
        self.table(&["aim", "bound", "measured", "verdict"]);
        for aim in std::mem::take(&mut self.aims) {
            let known = known.iter().find(|miss| miss.aim == aim.name);
            let verdict = match known {
                _ if aim.bound.holds(aim.measured) => "holds".to_owned(),
                Some(miss) if aim.bound.is_no_worse(aim.measured, miss.measured) => {
                    format!("known miss: {}", miss.bounded_by)
                }
                _ => {
                    status = ExitCode::FAILURE;
                    "MISSED".to_owned()
                }
            };
            let (bound, measured) = (aim.bound.text(), format!("{:.2}", aim.measured));
            self.row(&[aim.name, bound, measured, verdict]);
        }
        write_section(self.bench, &self.text);
        status
    }
}

impl Bound {
    fn holds(self, measured: f64) -> bool {
        match self {
            Self::AtLeast(least) => measured >= least,
            Self::Below(bound) => measured < bound,
        }
    }

    fn is_no_worse(self, measured: f64, known: f64) -> bool {
        match self {
            Self::AtLeast(_) => measured >= known * 0.9,
            Self::Below(_) => measured <= known * 1.1,
        }
    }

    fn text(self) -> String {
        match self {
            Self::AtLeast(least) => format!("at least {least}"),
            Self::Below(bound) => format!("below {bound}"),
        }
    }
}

fn known_misses() -> Vec<KnownMiss> {
    let text = include_str!("../known-misses.toml");
    let known: KnownMisses = toml::from_str(text).expect("known-misses.toml has its form");
    known.miss
}

/// Replaces the benchmark's section of `BENCHMARKS.md`.
fn write_section(bench: &str, text: &str) {
    let path = root().join("BENCHMARKS.md");
    let old = fs::read_to_string(&path).unwrap_or_default();
    let mut new = String::from(
        "# Benchmarks\n\nWritten by the benchmarks themselves: `cargo bench -p redial-tests`. \
         Compare figures only within one run.\n",
    );
    let (start, end) = (
        format!("<!-- {bench} -->\n"),
        format!("<!-- end of {bench} -->\n"),
    );
    let section = format!(
        "{start}\n## `--bench {bench}`\n\n{}\n{text}\n{end}",
        machine()
    );
    let mut sections: Vec<String> = Vec::new();
    let mut replaced = false;
    for part in old.split_inclusive("-->\n").collect::<Vec<_>>().chunks(2) {
        let part = part.concat();
        let part = part.find("<!-- ").map_or("", |at| &part[at..]);
        if part.starts_with(&start) {
            sections.push(section.clone());
            replaced = true;
        } else if !part.is_empty() {
            sections.push(part.to_owned());
        }
    }
    if !replaced {
        sections.push(section);
    }
    for section in sections {
        let _ = write!(new, "\n{section}");
    }
    if let Err(error) = fs::write(&path, new) {
        eprintln!("{} is not written: {error}", path.display());
    }
}

fn machine() -> String {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or("unknown processor", |(_, model)| model);
    let processors = std::thread::available_parallelism().map_or(0, usize::from);
    let first_line = |program: &str, argument: &str| {
        let output = Command::new(program).arg(argument).output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let system = first_line("uname", "-sr").unwrap_or_default();
    let rust = first_line("rustc", "--version").unwrap_or_default();
    format!("{processors} processors, {model}; {system}; {rust}.")
}

fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest
        .parent()
        .expect("the workspace is above")
        .to_owned()
}
