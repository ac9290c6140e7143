//! Processes that are stopped as a whole and go on, or are told to read their files again.

use std::{
    fs, io,
    process::{Child, Command},
    thread,
    time::Duration,
};

/// Stops a process. Returns when every thread of it has stopped.
pub(crate) fn freeze(process: &Child) -> io::Result<()> {
    signal(process, "STOP")?;
    // The signal is on its way; each thread stops when it gets there.
    while !is_stopped(process)? {
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Lets it go on.
pub(crate) fn thaw(process: &Child) -> io::Result<()> {
    signal(process, "CONT")
}

/// Tells it that its configuration has changed.
pub(crate) fn hang_up(process: &Child) -> io::Result<()> {
    signal(process, "HUP")
}

fn is_stopped(process: &Child) -> io::Result<bool> {
    for thread in fs::read_dir(format!("/proc/{}/task", process.id()))? {
        let stat = fs::read_to_string(thread?.path().join("stat"))?;
        // `pid (name) state …`
        if !stat
            .rsplit(") ")
            .next()
            .is_some_and(|rest| rest.starts_with('T'))
        {
            return Ok(false);
        }
    }
    Ok(true)
}

fn signal(process: &Child, name: &str) -> io::Result<()> {
    let script = format!("kill -{name} {}", process.id());
    match Command::new("sh").args(["-c", &script]).status()? {
        status if status.success() => Ok(()),
        status => Err(io::Error::other(format!("{script}: {status}"))),
    }
}
