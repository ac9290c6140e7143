//! redial on async-io, of which async-std and smol are made, against redial on tokio: both with one
//! thread for everything.

use redial_async_std::{AsyncIo, Executor};
use redial_tokio::Tokio;

use crate::{
    LOADS, ours, rate, serve_callers,
    server::Server,
    support::{Report, interleave, median, ratio},
};

static EXECUTOR: smol::Executor<'static> = smol::Executor::new();

/// The executor of async-std and of smol. Theirs have threads of their own; this one has the calling
/// one alone, as tokio's current-thread runtime has.
#[derive(Clone, Copy)]
struct OneThread;

impl Executor for OneThread {
    fn current() -> Option<Self> {
        Some(Self)
    }

    fn spawn(&self, driver: impl Future<Output = ()> + Send + 'static) {
        EXECUTOR.spawn(driver).detach();
    }
}

pub(crate) fn compare(report: &mut Report) {
    let server = Server::start();
    let address = server.address();
    report.table(&[
        "in flight",
        "redial-tokio, 1/s",
        "redial-async-std, 1/s",
        "async-std / tokio",
    ]);
    for (callers, requests) in LOADS {
        let figures = interleave(&mut [
            Box::new(|| rate(ours::frames::<Tokio>(address), callers, requests)),
            Box::new(|| {
                let client = ours::frames::<AsyncIo<OneThread>>(address);
                let work =
                    serve_callers(client, callers, requests, |caller| EXECUTOR.spawn(caller));
                smol::block_on(EXECUTOR.run(work))
            }),
        ]);
        let [tokio, async_std] = [0, 1].map(|subject: usize| &figures[subject][..]);
        let ratio = ratio(async_std, tokio);
        report.row(&[
            callers.to_string(),
            format!("{:.0}", median(tokio)),
            format!("{:.0}", median(async_std)),
            format!("{ratio:.2}"),
        ]);
        if callers > 1 {
            report.at_least(
                format!("redial-async-std / redial-tokio, {callers} in flight"),
                ratio,
                0.8,
            );
        }
    }
}
