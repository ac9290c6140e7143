//! A steady load, and the book that is kept of it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use redial::{NodeId, client::length_prefixed::LengthPrefixed, driver::Error};
use redial_tokio::Client;
use tokio::{
    task::{JoinHandle, JoinSet},
    time::{Instant, interval},
};

/// 200 requests a second.
const PERIOD: Duration = Duration::from_millis(5);

/// The task that sends.
pub(crate) struct Load(JoinHandle<Requests>);

/// The requests that were sent.
pub(crate) struct Requests(JoinSet<()>);

impl Load {
    /// Sends for this long.
    pub(crate) fn start(
        client: &Client<LengthPrefixed>,
        ledger: &Arc<Ledger>,
        length: Duration,
    ) -> Self {
        let (client, ledger) = (client.clone(), Arc::clone(ledger));
        Self(tokio::spawn(async move {
            let mut ticks = interval(PERIOD);
            let end = Instant::now() + length;
            let mut requests = JoinSet::new();
            while ticks.tick().await < end {
                requests.spawn(send(client.clone(), Arc::clone(&ledger)));
            }
            Requests(requests)
        }))
    }

    /// Waits until all is sent.
    pub(crate) async fn finish(self) -> Requests {
        self.0.await.expect("sending does not panic")
    }
}

impl Requests {
    /// Waits until each has completed.
    pub(crate) async fn wait(&mut self) {
        while self.0.join_next().await.is_some() {}
    }
}

/// Sends one. An echo may be carried out twice, and so the client is told; all else is default.
async fn send(client: Client<LengthPrefixed>, ledger: Arc<Ledger>) {
    let number = ledger.send();
    let body = Bytes::copy_from_slice(&number.to_be_bytes());
    match client.request(body.clone()).idempotent().await {
        Ok(response) if response.reply == Some(body) => ledger.answered(number, response.node),
        Ok(_) => ledger.failed(number, "another request's reply".to_owned()),
        Err(Error::Submit(error)) => ledger.refused(number, error.to_string()),
        Err(Error::Request(error)) => ledger.failed(number, error.reason.to_string()),
    }
}

/// What became of the requests.
pub(crate) struct Ledger(Mutex<Book>);

#[derive(Clone)]
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
        let now = Instant::now();
        Self(Mutex::new(Book {
            completions: Vec::new(),
            answered: 0,
            answered_by: BTreeMap::new(),
            refused: BTreeMap::new(),
            failed: BTreeMap::new(),
            first_answer: None,
            longest_gap: Duration::ZERO,
            start: now,
            last_sent: now,
            last_answer: None,
        }))
    }

    /// The book, with the gap from the last answer to the last request counted.
    pub(crate) fn close(&self) -> Book {
        let mut book = self.with(|book| book.clone());
        let silent = book
            .last_sent
            .saturating_duration_since(book.last_answer.unwrap_or(book.start));
        book.longest_gap = book.longest_gap.max(silent);
        book
    }

    /// The number of the next request.
    fn send(&self) -> u64 {
        self.with(|book| {
            book.last_sent = Instant::now();
            if book.completions.is_empty() {
                book.start = book.last_sent;
            }
            book.completions.push(0);
            book.completions.len() as u64 - 1
        })
    }

    fn answered(&self, number: u64, node: NodeId) {
        self.with(|book| {
            let now = Instant::now();
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
