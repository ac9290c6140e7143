//! The cases of one runtime: runs them, and counts those that have run.

use std::{
    io::{self, Write},
    sync::atomic::{AtomicUsize, Ordering},
};

use crate::host::Host;

pub(crate) struct Suite {
    cases: usize,
    ran: AtomicUsize,
    passed: AtomicUsize,
}

impl Suite {
    pub(crate) const fn new(cases: usize) -> Self {
        Self {
            cases,
            ran: AtomicUsize::new(0),
            passed: AtomicUsize::new(0),
        }
    }

    /// Runs a case on a runtime of its own.
    pub(crate) fn run<H: Host>(&self, case: impl FnOnce(H)) {
        let _counted = Counted(self, H::NAME);
        case(H::start());
        self.passed.fetch_add(1, Ordering::SeqCst);
    }

    /// The same for a case that runs inside of the runtime.
    pub(crate) fn run_on_site<H: Host>(&self, case: impl AsyncFnOnce(H::Site)) {
        self.run(|host: H| host.block_on(case(host.site())));
    }
}

/// A case has run when it is dropped, however it ended.
struct Counted<'a>(&'a Suite, &'static str);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        let Self(suite, runtime) = self;
        let Suite { cases, ran, passed } = suite;
        if ran.fetch_add(1, Ordering::SeqCst) + 1 == *cases {
            let passed = passed.load(Ordering::SeqCst);
            // Past the capture of tests that pass, which `print!` is subject to.
            let line = format!("\nconformance: {runtime}: {cases} cases ran, {passed} passed\n");
            let _ = io::stdout().lock().write_all(line.as_bytes());
        }
    }
}
