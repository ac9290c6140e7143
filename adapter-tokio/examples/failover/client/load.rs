//! A steady load, and the book that is kept of it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use redial::{
    Instant, NodeId,
    client::length_prefixed::LengthPrefixed,
    driver::{Error, Handle, Runtime},
};

use super::tasks::{Task, sleep_until, spawn};

/// 200 requests a second.
const PERIOD: Duration = Duration::from_millis(5);

/// The requests that were sent and are not known to have completed.
pub(crate) struct Requests(Vec<Task<()>>);

/// Sends for this long.
pub(crate) fn start<R: Runtime>(
    client: &Handle<LengthPrefixed, R>,
    runtime: &R,
    ledger: &Arc<Ledger>,
    length: Duration,
) -> Task<Requests> {
    let (client, ledger) = (client.clone(), Arc::clone(ledger));
    let on = runtime.clone();
    spawn(runtime, async move {
        let mut next = on.now();
        let end = next + length;
        let mut requests = Vec::new();
        while next < end {
            sleep_until(&on, next).await;
            requests.push(spawn(&on, send(client.clone(), Arc::clone(&ledger))));
            next += PERIOD;
        }
        Requests(requests)
    })
}

impl Requests {
    /// Waits until each has completed.
    pub(crate) async fn wait(&mut self) {
        while let Some(request) = self.0.last() {
            request.join().await;
            self.0.pop();
        }
    }
}

/// Sends one. An echo may be carried out twice, and so the client is told; all else is default.
async fn send<R: Runtime>(client: Handle<LengthPrefixed, R>, ledger: Arc<Ledger>) {
    let number = ledger.send(client.now());
    let body = Bytes::copy_from_slice(&number.to_be_bytes());
    match client.request(body.clone()).idempotent().await {
        Ok(response) if response.reply == Some(body) => {
            ledger.answered(number, response.node, client.now());
        }
        Ok(_) => ledger.failed(number, "another request's reply".to_owned()),
        Err(Error::Submit(error)) => ledger.refused(number, error.to_string()),
        Err(Error::Request(error)) => ledger.failed(number, error.reason.to_string()),
    }
}

/// What became of the requests.
pub(crate) struct Ledger(Mutex<Book>);

#[derive(Clone, Default, PartialEq, Debug)]
pub(crate) struct Book {
    /// How often each request completed, by its number.
    pub(crate) completions: Vec<u32>,
    pub(crate) answered: u64,
    pub(crate) answered_by: BTreeMap<NodeId, u64>,
    /// Not accepted, by reason.
    pub(crate) refused: BTreeMap<String, u64>,
    /// Accepted and failed, by reason.
    pub(crate) failed: BTreeMap<String, u64>,
    /// From the first request to the first answer.
    pub(crate) first_answer: Option<Duration>,
    /// Between one answer and the next, or the end.
    pub(crate) longest_gap: Duration,
    start: Instant,
    last_sent: Instant,
    last_answer: Option<Instant>,
}

impl Ledger {
    pub(crate) fn new() -> Self {
        Self(Mutex::default())
    }

    /// The book, with the gap from the last answer to the last request counted.
    pub(crate) fn close(&self) -> Book {
        let mut book = self.with(|book| book.clone());
        let silent = book.last_sent - book.last_answer.unwrap_or(book.start);
        book.longest_gap = book.longest_gap.max(silent);
        book
    }

    /// The number of the next request.
    fn send(&self, now: Instant) -> u64 {
        self.with(|book| {
            book.last_sent = now;
            if book.completions.is_empty() {
                book.start = book.last_sent;
            }
            book.completions.push(0);
            book.completions.len() as u64 - 1
        })
    }

    fn answered(&self, number: u64, node: NodeId, now: Instant) {
        self.with(|book| {
            book.completions[number as usize] += 1;
            book.answered += 1;
            *book.answered_by.entry(node).or_default() += 1;
            match book.last_answer.replace(now) {
                Some(last) => book.longest_gap = book.longest_gap.max(now - last),
                None => book.first_answer = Some(now - book.start),
            }
        });
    }

    fn failed(&self, number: u64, reason: String) {
        self.with(|book| {
            book.completions[number as usize] += 1;
            *book.failed.entry(reason).or_default() += 1;
        });
    }

    fn refused(&self, number: u64, reason: String) {
        self.with(|book| {
            book.completions[number as usize] += 1;
            *book.refused.entry(reason).or_default() += 1;
        });
    }

    fn with<T>(&self, keep: impl FnOnce(&mut Book) -> T) -> T {
        keep(&mut self.0.lock().expect("nobody panics while keeping the book"))
    }
}
