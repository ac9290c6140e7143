//! Random clients in random worlds: one seed gives a wire protocol and its servers, a configuration,
//! an application and a schedule of faults.
//!
//! - `dialect`, `wire`, `protocol`, `server`: a protocol whose traits are settings, both sides of it
//! - `config`: configurations
//! - `application`: what is done with the client
//! - `tally`: what was seen
//!
//! What must hold, besides the rules of the core: each request completes once, with its own reply; and
//! when all has been well for [`SETTLED`], plain requests are answered within [`SOON`]. The second is
//! asked of the presets, save where a connection that has died without a word is found by nobody but
//! the system, after a quarter of an hour (where a timeout keeps its connection and the protocol has
//! no keepalive to ask with), and where a session of hours makes attempts of minutes.

mod application;
mod chance;
pub mod config;
mod dialect;
mod protocol;
mod server;
mod tally;
pub(crate) mod wire;

use std::{cell::RefCell, time::Duration};

use redial::{
    Backoff, Config, Matching, OnRequestTimeout,
    sim::{Schedule, Simulation, Swarm, listed_by_address, listed_by_name},
};

use self::server::{Listener, Sessions};
pub use self::{
    application::{Application, SETTLED, SOON},
    chance::Chance,
    dialect::Dialect,
    protocol::Speaker,
    tally::{Tallies, Tally},
    wire::Request,
};

/// What a seed is used for.
enum For {
    World = 1,
    Servers,
    Application,
}

/// The simulation of a seed.
#[must_use]
pub fn simulation(seed: u64) -> Simulation<Speaker> {
    let mut chance = Chance::new(seed, For::World as u64);
    let dialect = Dialect::draw(&mut chance);
    let is_preset = seed.is_multiple_of(3);
    let config = match is_preset {
        true => config::preset(&mut chance, &dialect),
        false => with_rest(&config::any(&mut chance, &dialect)),
    };
    // All times follow from a session's timeout.
    let is_quick = dialect.session.is_none_or(|timeout| timeout < SETTLED);
    let finds_dead = dialect.keepalive || disconnects(&config, &dialect);
    let is_strict = is_preset && is_quick && finds_dead;
    let by_address = chance.below(2) == 0;
    let listed = match by_address {
        true => listed_by_address,
        false => listed_by_name,
    };
    let servers = *swarm(Duration::ZERO).servers.end();
    let list: Vec<_> = (0..servers).map(listed).collect();
    // Somebody has to hand in the first list.
    let asks_itself = config.sources().iter().all(|source| source.is_discovery());
    let has_lists = asks_itself || chance.below(2) == 0;

    let sessions = RefCell::new(Sessions::default());
    let known = list.clone();
    let server = move |number| {
        // The first of a new run.
        if number == 0 {
            sessions.replace(Sessions::default());
        }
        let chance = Chance::new(seed, (For::Servers as u64) << 32 | u64::from(number));
        let sessions = sessions.borrow().clone();
        Listener::new(dialect, number, known.clone(), chance, sessions)
    };
    let application = move |number: u32| {
        let chance = Chance::new(seed, u64::from(number) << 32 | For::Application as u64);
        Application::new(chance, list.clone(), has_lists, is_strict)
    };
    let simulation = Simulation::new(move || Speaker::new(dialect), server)
        .config(config)
        .workload(application)
        .reopens()
        .made_by(format!("redial_tests::lab::simulation({seed})"))
        .finally("all requests are complete", |run| {
            let mut all = run.stats.iter();
            all.all(|stats| stats.requests == stats.succeeded + stats.failed)
        });
    match by_address {
        true => simulation.by_address(),
        false => simulation,
    }
}

/// A client that dials without any rest does nothing else.
fn with_rest(config: &Config) -> Config {
    let builder = match config.reconnect_backoff().base {
        Duration::ZERO => config
            .to_builder()
            .reconnect_backoff(Backoff::constant(Duration::from_millis(50))),
        _ => config.to_builder(),
    };
    builder.build().expect("it made sense before")
}

/// Whether a request that is not answered in time takes its connection with it.
fn disconnects(config: &Config, dialect: &Dialect) -> bool {
    config.on_request_timeout() == OnRequestTimeout::Disconnect
        || dialect.matching == Matching::Order
}

/// The schedule of a seed, for so long.
#[must_use]
pub fn schedule(seed: u64, lasts: Duration) -> Schedule {
    Schedule::draw(seed, &swarm(lasts))
}

/// Of what schedules are drawn: two faults a minute, or the default's one would leave an hour in a
/// thousand without five that overlap; at least twenty; and at the end time to see that the client
/// recovers.
fn swarm(lasts: Duration) -> Swarm {
    let calm = SETTLED + 2 * SOON;
    let active = lasts.saturating_sub(calm).as_secs().max(1);
    let swarm = Swarm::default();
    Swarm {
        lasts,
        faults_per_hour: (2 * 60).max((20 * 3600 / active) as u32),
        longest: swarm.longest.min(lasts / 6),
        calm: Some(calm),
        ..swarm
    }
}
