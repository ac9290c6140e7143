//! Shows that the checkers find what they are there for, in cores that are broken on purpose:
//! `RUSTFLAGS="--cfg redial_mutant" cargo run --release -p redial-tests --bin mutants --target-dir
//! target/mutants`.

use std::process::ExitCode;

#[cfg(not(redial_mutant))]
fn main() -> ExitCode {
    eprintln!("the faults are compiled with RUSTFLAGS=\"--cfg redial_mutant\" only");
    ExitCode::FAILURE
}

#[cfg(redial_mutant)]
fn main() -> ExitCode {
    mutants::main()
}

#[cfg(redial_mutant)]
mod mutants {
    use std::{ops::Range, panic, process::ExitCode};

    use clap::Parser;
    use redial::mutant::Mutant;
    use redial_tests::mutants::{Caught, Search, rule_of, search};

    /// Breaks the core in many ways, one at a time, until the rule that is there for it does not hold.
    #[derive(Debug, Parser)]
    struct Options {
        /// In how many worlds, by seeds from 0, each fault must be found.
        #[arg(long, default_value_t = 200)]
        seeds: u64,
        /// In how many of these a sound core is seen to break no rule.
        #[arg(long, default_value_t = 200)]
        sound: u64,
        /// Only these faults, and all that is told of each.
        faults: Vec<String>,
    }

    pub(super) fn main() -> ExitCode {
        let options = Options::parse();
        // A broken core may panic, which is told in the table.
        panic::set_hook(Box::new(|_| {}));
        let wanted = |name: &str| options.faults.iter().any(|fault| fault == name);
        let everything = options.faults.is_empty();
        let mut failed = everything && !is_sound(0..options.sound);
        println!(
            "{:<26} {:>4} {:>9} {:>7}  rule",
            "fault", "seed", "steps", "ms"
        );
        let (mut tried, mut caught) = (0, 0);
        for mutant in Mutant::CORE {
            let name = format!("{mutant:?}");
            if everything || wanted(&name) {
                let found = search(Some(*mutant), 0..options.seeds);
                let as_expected = print(&name, rule_of(*mutant), &found, !everything);
                tried += 1;
                caught += u32::from(as_expected);
                failed |= !as_expected;
            }
        }
        println!("{caught} of {tried} broken cores are caught by the rule that is there for them");
        ExitCode::from(u8::from(failed))
    }

    fn is_sound(seeds: Range<u64>) -> bool {
        let found = search(None, seeds.clone());
        let (steps, seconds) = (found.steps, found.took.as_secs_f64());
        println!("a sound core: seeds {seeds:?}, {steps} steps, {seconds:.1} s");
        if let Some(Caught { seed, story, .. }) = &found.caught {
            println!("seed {seed}: {story}");
        }
        found.caught.is_none()
    }

    /// A row of the table. Whether the rule is the expected one.
    fn print(name: &str, expected: &str, found: &Search, in_full: bool) -> bool {
        let Search {
            caught,
            steps,
            took,
        } = found;
        let millis = took.as_secs_f64() * 1e3;
        let Some(Caught { seed, rule, story }) = caught else {
            println!("{name:<26} NOT CAUGHT {steps} steps, {millis:.0} ms; expected: {expected}");
            return false;
        };
        println!("{name:<26} {seed:>4} {steps:>9} {millis:>7.1}  {rule}");
        if rule != expected {
            println!("{:<26} expected: {expected}", "");
        }
        if in_full {
            println!("{story}");
        }
        rule == expected
    }
}
