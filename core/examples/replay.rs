//! Replays a recording, and says the first call of which something else comes than was recorded:
//!
//! ```text
//! cargo run --release -p redial --features record --example replay -- FILE [--outputs]
//! ```
//!
//! With `--outputs` it prints everything that the core gave out, and when. The exit code says whether
//! all went as recorded.

use std::{env, error::Error, fs::File, io::BufReader, process::ExitCode};

use redial::{
    Output,
    record::{replay, replay_with},
};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let path = arguments.next().ok_or("usage: replay FILE [--outputs]")?;
    let file = BufReader::new(File::open(path)?);
    let run = match arguments.next().as_deref() {
        Some("--outputs") => replay_with(file, |at, _, output| match output {
            Output::Action(action) => println!("{at} {action:?}"),
            Output::Completion(completion) => println!("{at} {completion:?}"),
            Output::Event(event) => println!("{at} {event:?}"),
            Output::Terminated => println!("{at} terminated"),
        })?,
        Some(other) => return Err(format!("unknown argument {other}").into()),
        None => replay(file)?,
    };
    println!(
        "as recorded: {} calls, {} outputs, hash {:016x}",
        run.calls, run.outputs, run.hash
    );
    println!("{:#?}", run.cluster.stats());
    Ok(())
}
