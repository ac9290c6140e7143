//! One suite for every runtime: whatever the handle, the driver and an adapter promise together is a
//! case here, written once over [`Runtime`](redial::driver::Runtime) and run on each, and nothing is
//! skipped on any. What needs no socket runs on the simulator's runtime too. One runtime alone:
//!
//! ```text
//! cargo test -p redial-tests --test conformance smol::
//! ```
//!
//! When the last case of a runtime has run, a line says how many there were. A case is an async function
//! in a file of `cases`, by topic, and a line in `registry`; another runtime is a `Host` and a line
//! below.
//!
//! The servers are threads with blocking sockets, or child processes, and share nothing with what is
//! tested. Time is real where they are, and bounds are for busy machines.
//!
//! Nodes die here in the ways that a machine offers without privileges: nobody listens, the accept queue
//! is full (as a black hole), they accept and close, stay mute, talk nonsense, reset, close, cut off a
//! reply, stop reading, come and go, are stopped (as half-open) and killed. What needs firewalls, routes
//! or links of its own, and so a network namespace, is not here: SYNs that are dropped selectively, ICMP,
//! links that go down and heal, packet loss. The simulator has these.

mod cases;
mod client;
mod ending;
mod host;
mod loopback;
mod pinging;
mod registry;
mod simulated;
mod site;
mod suite;
mod transports;
mod wait;

use std::{collections::BTreeSet, process::Command};

use registry::with_all_cases;

/// All cases that a host can run, as tests of a module.
macro_rules! suite {
    (
        ($module:ident, $host:ident, $reach:ident)
        $($topic:ident { $($kind:ident { $($case:ident)+ })+ })+
    ) => {
        mod $module {
            static SUITE: crate::suite::Suite =
                crate::suite::Suite::new(0 $($(+ count!($reach $kind $($case)+))+)+);

            $(mod $topic {
                $(tests!($reach $kind $host $topic $($case)+);)+
            })+
        }
    };
}

macro_rules! tests {
    (no_sockets sockets $($_:ident)+) => {};
    (no_sockets socket_hosts $($_:ident)+) => {};
    ($reach:ident everywhere $host:ident $topic:ident $($case:ident)+) => {
        $(#[test]
        fn $case() {
            super::SUITE.run_on_site::<crate::host::$host>(crate::cases::$topic::$case);
        })+
    };
    ($reach:ident sockets $($rest:ident)+) => {
        tests!($reach everywhere $($rest)+);
    };
    ($reach:ident hosts $host:ident $topic:ident $($case:ident)+) => {
        $(#[test]
        fn $case() {
            super::SUITE.run::<crate::host::$host>(crate::cases::$topic::$case);
        })+
    };
    ($reach:ident socket_hosts $($rest:ident)+) => {
        tests!($reach hosts $($rest)+);
    };
}

macro_rules! count {
    (no_sockets sockets $($case:ident)+) => { 0 };
    (no_sockets socket_hosts $($case:ident)+) => { 0 };
    ($reach:ident $kind:ident $($case:ident)+) => { [$(stringify!($case)),+].len() };
}

with_all_cases!(suite!(tokio_current_thread, TokioCurrentThread, sockets));
with_all_cases!(suite!(tokio_multi_thread, TokioMultiThread, sockets));
with_all_cases!(suite!(async_std, AsyncStd, sockets));
with_all_cases!(suite!(smol, Smol, sockets));
with_all_cases!(suite!(virtual_time, VirtualTime, no_sockets));

/// The modules of the runtimes with sockets.
const REAL: [&str; 4] = [
    "tokio_current_thread",
    "tokio_multi_thread",
    "async_std",
    "smol",
];

/// As the test program itself lists them: the names of a module's tests.
fn cases_of(module: &str, more: &[&str]) -> BTreeSet<String> {
    let program = std::env::current_exe().expect("this program");
    let list = Command::new(program)
        .args(["--list", "--format", "terse"])
        .args(more)
        .output()
        .expect("it lists its tests");
    let list = String::from_utf8(list.stdout).expect("names are text");
    let name = |line: &str| {
        let test = line.strip_suffix(": test")?.strip_prefix(module)?;
        test.strip_prefix("::").map(str::to_owned)
    };
    list.lines().filter_map(name).collect()
}

#[test]
fn every_runtime_has_the_same_cases_and_none_is_skipped() {
    let all = cases_of(REAL[0], &[]);
    assert!(all.len() >= 100);
    for module in REAL {
        assert_eq!(cases_of(module, &[]), all, "{module}");
        assert_eq!(
            cases_of(module, &["--ignored"]),
            BTreeSet::new(),
            "{module}"
        );
    }
    assert!(cases_of("virtual_time", &[]).is_subset(&all));
}
