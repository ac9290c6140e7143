//! Fleets: many clients lose their server at the same instant. When do they dial it again?

mod picture;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use redial::{
    Cluster, Config, Event, Instant, Jitter, Output, Warm,
    client::length_prefixed::LengthPrefixed,
    record::Step,
    sim::{Checker, Failure, Fault, Load, Schedule, Service, Simulation, Target, Violation},
};

pub use picture::picture;

/// When the server is lost: by then every client is Ready and its backoff reset.
const LOST: Duration = Duration::from_secs(20);

/// How long it stays away, and is looked at.
const AWAY: Duration = Duration::from_secs(60);

/// Into so many windows the time is cut in which a first attempt may come.
const WINDOWS: u32 = 20;

/// How the clients of a fleet spread their waits, by name.
pub const KINDS: [(&str, Jitter); 6] = [
    ("none", Jitter::None),
    ("equal", Jitter::Equal),
    ("full", Jitter::Full),
    ("band 0.2", Jitter::Band(200)),
    ("clipped 0.2", Jitter::Clipped(200)),
    ("decorrelated", Jitter::Decorrelated),
];

/// When each client of a fleet has dialled the lost server again.
#[derive(Clone, Debug)]
pub struct Fleet {
    /// How many clients there are.
    pub clients: u32,
    /// How they spread their waits.
    pub jitter: Jitter,
    /// Since it learned of the loss, for each client in the order of time.
    pub attempts: Vec<Vec<Duration>>,
    /// The wait before jitter, for the first attempt.
    pub first_wait: Duration,
}

/// Notes when attempts begin, since the client has learned that the server is lost.
struct Dials {
    client: usize,
    lost: Option<Instant>,
    attempts: Arc<Mutex<Vec<Vec<Duration>>>>,
}

impl Checker for Dials {
    fn after_step(&mut self, step: &Step, _: &Cluster) -> Result<(), Violation> {
        for output in &step.outputs {
            match (output, self.lost) {
                (Output::Event(Event::Disconnected { .. }), None) => self.lost = Some(step.now),
                (Output::Event(Event::AttemptStarted { .. }), Some(lost)) => {
                    lock(&self.attempts)[self.client].push(step.now - lost);
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Fleet {
    /// So many clients of one server, which they keep warm and use, lose it together and for a minute.
    ///
    /// # Errors
    ///
    /// A rule that did not hold: every step of every client is checked.
    ///
    /// # Panics
    ///
    /// Never: the configuration makes sense.
    pub fn lose_their_server(
        clients: u32,
        jitter: Jitter,
        seed: u64,
    ) -> Result<Self, Box<Failure>> {
        let config = Config::builder().warm(Warm::All).jitter(jitter).build();
        let config = config.expect("it makes sense");
        let first_wait = config.reconnect_backoff().base;
        let attempts = Arc::new(Mutex::new(vec![Vec::new(); clients as usize]));
        let (noted, next) = (Arc::clone(&attempts), Arc::new(Mutex::new(0)));
        let simulation = Simulation::new(LengthPrefixed::new, |_| {
            Service::echo(Duration::from_millis(1))
        })
        .config(config)
        .by_address()
        .clients(clients)
        // A reply resets the backoff.
        .workload(|_| Load::every(LOST / 2, |n| format!("{n}").into()).at_most(1))
        .checker(move || {
            let mut next = lock(&next);
            *next += 1;
            Dials {
                client: *next - 1,
                lost: None,
                attempts: Arc::clone(&noted),
            }
        });
        let schedule = Schedule::new(seed, 1, LOST + AWAY);
        simulation.run(&schedule.fault(LOST, AWAY, Target::All, Fault::Crash))?;
        let attempts = lock(&attempts).clone();
        Ok(Self {
            clients,
            jitter,
            attempts,
            first_wait,
        })
    }

    /// Of the first attempts, how many came in each twentieth of the time in which the default jitter
    /// puts them, from half the wait to the wait; and how many came before and after it.
    #[must_use]
    pub fn first_attempts(&self) -> ([u32; WINDOWS as usize], u32) {
        let (from, span) = (self.first_wait / 2, self.first_wait / 2);
        let (mut windows, mut outside) = ([0; WINDOWS as usize], 0);
        for first in self.attempts.iter().filter_map(|attempts| attempts.first()) {
            let place = first
                .checked_sub(from)
                .map(|after| (after.as_nanos() * u128::from(WINDOWS) / span.as_nanos()) as usize);
            match place.and_then(|place| windows.get_mut(place)) {
                Some(window) => *window += 1,
                None => outside += 1,
            }
        }
        (windows, outside)
    }

    /// The fullest of those windows, in thousandths of all clients.
    #[must_use]
    pub fn fullest(&self) -> u32 {
        let (windows, _) = self.first_attempts();
        windows.into_iter().max().unwrap_or_default() * 1000 / self.clients.max(1)
    }

    /// How many attempts of all clients came in each period of this length since the loss.
    #[must_use]
    pub fn attempts_by(&self, period: Duration) -> Vec<u32> {
        let mut periods = vec![0; AWAY.as_nanos().div_ceil(period.as_nanos()) as usize];
        for at in self.attempts.iter().flatten() {
            if let Some(count) = periods.get_mut((at.as_nanos() / period.as_nanos()) as usize) {
                *count += 1;
            }
        }
        periods
    }
}

/// Attempts in each second of the first sixteen, and how the first ones are spread.
impl fmt::Display for Fleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let periods = self.attempts_by(Duration::from_secs(1));
        for count in &periods[..16] {
            write!(f, "{count:>6}")?;
        }
        let peak = self.attempts_by(Duration::from_millis(5)).into_iter().max();
        let peak = peak.unwrap_or_default();
        let (_, outside) = self.first_attempts();
        let fullest = self.fullest();
        write!(
            f,
            "  {:>6}{:>5}.{}%{outside:>8}",
            peak,
            fullest / 10,
            fullest % 10
        )
    }
}

/// Above the lines of fleets.
#[must_use]
pub fn heading() -> String {
    let seconds: String = (0..16)
        .map(|second| format!("{:>6}", format!("{second} s")))
        .collect();
    format!("{seconds}  {:>6}{:>8}{:>8}", "peak", "fullest", "outside")
}
