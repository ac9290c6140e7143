//! Callers that share a client, and what becomes of their commands.

use std::{cell::RefCell, collections::BTreeMap, fmt, rc::Rc, time::Duration};

use bytes::Bytes;
use redial::{ShutdownError, Stats};
use redial_tokio::Client;
use tokio::{
    task::LocalSet,
    time::{Instant, sleep, timeout},
};

use crate::resp::{Command, Redis, Value};

/// What a caller does with a reply takes this long.
const PAUSE: Duration = Duration::from_millis(5);

/// How long what is open at the end may take.
const DRAIN: Duration = Duration::from_secs(1);

/// Sends for this long, ends the client and prints a summary. Returns whether all is well.
pub(crate) async fn run(
    client: &Client<Redis>,
    callers: u32,
    length: Duration,
) -> Result<bool, ShutdownError> {
    let book = Rc::new(RefCell::new(Book::open()));
    let end = Instant::now() + length;
    let work = LocalSet::new();
    for caller in 0..callers {
        work.spawn_local(call(client.clone(), caller, end, Rc::clone(&book)));
    }
    let mut work = std::pin::pin!(work);
    let _ = timeout(length + DRAIN, &mut work).await;
    // This completes whatever is still open.
    client.shutdown(DRAIN).await?;
    work.await;

    let summary = Summary {
        book: book.borrow().clone(),
        stats: client.stats(),
    };
    print!("{summary}");
    Ok(summary.all_is_well())
}

/// One caller: a command, its reply, the next.
async fn call(client: Client<Redis>, caller: u32, end: Instant, book: Rc<RefCell<Book>>) {
    for number in 0.. {
        if Instant::now() >= end {
            return;
        }
        let text = Bytes::from(format!("{caller}-{number}"));
        book.borrow_mut().sent += 1;
        // An echo may be carried out twice, so it may be sent again to another server when the one
        // that has it dies.
        let request = Command::new("ECHO").arg(text.clone());
        let result = client.request(request).idempotent().await;
        match result.map(|response| response.reply) {
            Ok(Some(Value::String(reply))) if reply == text => book.borrow_mut().answered(),
            Ok(reply) => book
                .borrow_mut()
                .failed(format!("a reply that is not its own: {reply:?}")),
            Err(error) => book.borrow_mut().failed(error_kind(&error)),
        }
        sleep(PAUSE).await;
    }
}

/// Without what differs from one request to the next.
fn error_kind(error: &redial::driver::Error) -> String {
    match error {
        redial::driver::Error::Request(error) => error.reason.to_string(),
        redial::driver::Error::Submit(error) => error.to_string(),
    }
}

/// What became of the commands.
#[derive(Clone)]
struct Book {
    sent: u64,
    answered: u64,
    /// Those that were not, by reason.
    failed: BTreeMap<String, u64>,
    last_answer: Instant,
    longest_gap: Duration,
}

impl Book {
    fn open() -> Self {
        Self {
            sent: 0,
            answered: 0,
            failed: BTreeMap::new(),
            last_answer: Instant::now(),
            longest_gap: Duration::ZERO,
        }
    }

    fn answered(&mut self) {
        self.answered += 1;
        let now = Instant::now();
        self.longest_gap = self.longest_gap.max(now - self.last_answer);
        self.last_answer = now;
    }

    fn failed(&mut self, reason: String) {
        *self.failed.entry(reason).or_default() += 1;
    }
}

/// The end: what was sent, what came of it, and whether it adds up.
struct Summary {
    book: Book,
    stats: Stats,
}

impl Summary {
    fn all_is_well(&self) -> bool {
        self.each_completed_once()
            && self.answered_percent() >= 95.0
            && self.book.longest_gap < Duration::from_secs(1)
    }

    /// By our book, and by the client's.
    fn each_completed_once(&self) -> bool {
        let Book {
            sent,
            answered,
            ref failed,
            ..
        } = self.book;
        let Stats {
            succeeded,
            open_requests,
            ..
        } = self.stats;
        sent == answered + failed.values().sum::<u64>()
            && answered == succeeded
            && open_requests == 0
    }

    fn answered_percent(&self) -> f64 {
        100.0 * self.book.answered as f64 / self.book.sent.max(1) as f64
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Book {
            sent,
            answered,
            failed,
            longest_gap,
            ..
        } = &self.book;
        let Stats {
            attempts, retries, ..
        } = self.stats;
        let percent = self.answered_percent();
        writeln!(f, "\nsent         {sent}")?;
        writeln!(
            f,
            "answered     {answered} ({percent:.2} %), with {retries} retries"
        )?;
        for (reason, count) in failed {
            writeln!(f, "failed       {count}: {reason}")?;
        }
        writeln!(f, "longest gap  {longest_gap:.1?} between answers")?;
        writeln!(f, "attempts     {attempts} to connect")?;
        let verdict = match self.each_completed_once() {
            true => "each command was completed once, with its own reply or an error",
            false => "NOT each command was completed once with its own reply",
        };
        writeln!(f, "{verdict}")
    }
}
