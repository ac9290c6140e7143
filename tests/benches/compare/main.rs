//! Requests a second over one loopback connection, by callers that each wait for their reply:
//! redial on tokio against a client written by hand, against redis-rs on a real Redis, and against
//! redial on async-io.
//!
//! ```text
//! cargo bench -p redial-tests --bench compare
//! ```
//!
//! The server is another process. Where `taskset` is to be had the client is pinned to one processor
//! and the server to another. Figures are medians of interleaved runs; compare ratios only. It
//! writes its tables to `BENCHMARKS.md`, and succeeds if every aim holds or its miss is in
//! `known-misses.toml`.

mod bare;
mod by_hand;
mod ours;
mod redis;
mod runtimes;
mod server;
#[path = "../support/mod.rs"]
mod support;

use std::{
    env,
    pin::Pin,
    process::{Command, ExitCode, Stdio, id},
    time::Instant,
};

use redial_tokio::Tokio;
use server::Server;
use support::{Report, interleave, median, ratio};

/// Callers, and requests of all of them together in one run.
const LOADS: [(usize, usize); 3] = [(1, 10_000), (64, 200_000), (1024, 400_000)];

/// With its header a frame of 16 bytes.
pub(crate) const BODY: &[u8] = b"1234567";

/// Someone who waits for replies.
pub(crate) trait Caller: Clone + Send + 'static {
    fn call(&self) -> impl Future<Output = ()> + Send;
}

fn main() -> ExitCode {
    if env::args().any(|argument| argument == server::ARGUMENT) {
        server::serve();
        return ExitCode::SUCCESS;
    }
    pin(id(), 0);
    let mut report = Report::new("compare");
    against_by_hand(&mut report);
    redis::compare(&mut report);
    runtimes::compare(&mut report);
    report.finish()
}

fn against_by_hand(report: &mut Report) {
    let server = Server::start();
    let address = server.address();
    report.table(&[
        "in flight",
        "bare loop, 1/s",
        "by hand, 1/s",
        "redial, 1/s",
        "by hand / bare",
        "redial / by hand",
    ]);
    for (callers, requests) in LOADS {
        let figures = interleave(&mut [
            Box::new(|| block_on(bare::run(address, callers, requests))),
            Box::new(|| rate(by_hand::ByHand::connect(address), callers, requests)),
            Box::new(|| rate(ours::frames::<Tokio>(address), callers, requests)),
        ]);
        let [bare, by_hand, redial] = [0, 1, 2].map(|subject: usize| &figures[subject][..]);
        let (good, ours) = (ratio(by_hand, bare), ratio(redial, by_hand));
        let mut cells = vec![callers.to_string()];
        cells.extend([bare, by_hand, redial].map(|figures| format!("{:.0}", median(figures))));
        cells.extend([good, ours].map(|ratio| format!("{ratio:.2}")));
        report.row(&cells);
        if callers == 64 {
            report.at_least("by hand / bare loop, 64 in flight", good, 0.5);
        }
        let least = if callers == 1 { 0.8 } else { 0.9 };
        report.at_least(
            format!("redial / by hand, {callers} in flight"),
            ours,
            least,
        );
    }
}

/// Requests a second of so many callers, on tokio.
pub(crate) fn rate<C: Caller>(
    connect: impl Future<Output = C>,
    callers: usize,
    requests: usize,
) -> f64 {
    block_on(serve_callers(connect, callers, requests, |caller| {
        let task = tokio::spawn(caller);
        async { task.await.expect("no caller panics") }
    }))
}

/// Requests a second of so many callers, which are run by `spawn`.
pub(crate) async fn serve_callers<C: Caller, T: Future<Output = ()>>(
    connect: impl Future<Output = C>,
    callers: usize,
    requests: usize,
    spawn: impl Fn(BoxFuture) -> T,
) -> f64 {
    let client = connect.await;
    client.call().await;
    let start = Instant::now();
    let tasks: Vec<_> = (0..callers)
        .map(|_| {
            let client = client.clone();
            spawn(Box::pin(async move {
                for _ in 0..requests / callers {
                    client.call().await;
                }
            }))
        })
        .collect();
    for task in tasks {
        task.await;
    }
    (requests / callers * callers) as f64 / start.elapsed().as_secs_f64()
}

type BoxFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// All on this thread, which is pinned.
fn block_on<T>(work: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().expect("a runtime");
    runtime.block_on(work)
}

/// Keeps a process on one processor, where that can be done.
pub(crate) fn pin(process: u32, processor: usize) {
    let _ = Command::new("taskset")
        .args(["-cp", &processor.to_string(), &process.to_string()])
        .stdout(Stdio::null())
        .status();
}
