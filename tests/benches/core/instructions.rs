//! Instructions a cycle, counted by callgrind: exact, whatever else the machine does.
//!
//! The benchmark runs itself under valgrind, which counts only inside [`measured_cycles`].

use std::{
    env,
    process::{Command, Stdio},
};

use crate::cycle::Cycle;

const CYCLES: u64 = 2_000;

/// The argument of the run under valgrind; the numbers of nodes and of requests in flight follow.
pub(crate) const ARGUMENT: &str = "--counted-cycles";

/// Instructions of one cycle. `None` without valgrind.
pub(crate) fn per_cycle(nodes: usize, in_flight: usize) -> Option<f64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg("--toggle-collect=*measured_cycles*")
        .arg(env::current_exe().ok()?)
        .args([ARGUMENT, &nodes.to_string(), &in_flight.to_string()])
        .stdout(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stderr);
    let collected = text
        .lines()
        .find_map(|line| line.split_once("Collected : "))?;
    let instructions: f64 = collected.1.trim().parse().ok()?;
    assert!(output.status.success(), "{text}");
    Some(instructions / CYCLES as f64)
}

/// The run under valgrind.
pub(crate) fn run_counted(mut arguments: impl Iterator<Item = String>) {
    let mut number = || arguments.next()?.parse().ok();
    let (nodes, in_flight) = number().zip(number()).expect("two numbers");
    let mut cycle = Cycle::new(nodes).with_in_flight(in_flight - 1);
    cycle.run(1_000);
    measured_cycles(&mut cycle);
}

#[inline(never)]
fn measured_cycles(cycle: &mut Cycle) {
    cycle.run(CYCLES);
}
