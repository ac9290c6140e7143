//! [`Failure`]: what went wrong with a run, and how to see it again.

use core::fmt;
use std::string::String;

use thiserror::Error;

use crate::{ConfigError, Deadline, Instant, sim::schedule::Schedule};

/// A run that went wrong. Its text has what came before, and a test that fails in the same way;
/// `Debug` gives it too, so that an `unwrap` shows it.
#[derive(Clone, PartialEq, Eq, Error)]
#[error(
    "{what}\nat {at}, seed {seed}; the last steps:{past}\n\n\
     A test that fails so, to be pasted and run by `cargo test seed_{seed}`:\n\n{test}",
    seed = schedule.seed
)]
#[non_exhaustive]
pub struct Failure {
    /// What happened from outside. [`Simulation::run`](super::Simulation::run) with it fails in the same way.
    pub schedule: Schedule,
    /// When.
    pub at: Instant,
    /// What went wrong.
    pub what: Wrong,
    /// What came before, as text: the last steps of the client.
    pub past: String,
    /// A test that fails in the same way, to be pasted beside the function that makes the simulation
    /// ([`made_by`](super::Simulation::made_by)).
    pub test: String,
}

/// What can go wrong with a run.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum Wrong {
    /// A rule does not hold: one of redial's, or of a checker of yours.
    #[error("client {client}: {rule}: {what}")]
    Rule {
        /// For which client, from 0.
        client: u32,
        /// The rule.
        rule: String,
        /// What was seen.
        what: String,
    },
    /// A property of yours does not hold.
    #[error("{name} does not hold: {what}")]
    Property {
        /// Its name.
        name: String,
        /// For which client, from 0; `None` if it is one of the whole run.
        client: Option<u32>,
        /// Of what: a request, or the run.
        what: String,
    },
    /// The application said that what happened must not happen.
    #[error("client {client}: {what}")]
    Application {
        /// Of which client, from 0.
        client: u32,
        /// What it said.
        what: String,
    },
    /// Time does not go on: too many events at one instant.
    #[error("client {client}: time does not go on, its deadline is {deadline:?}")]
    Stuck {
        /// The client to which it happened.
        client: u32,
        /// Its deadline.
        deadline: Option<Deadline>,
    },
    /// A client does not end after its shutdown.
    #[error("client {client} does not end after its shutdown, its deadline is {deadline:?}")]
    NoEnd {
        /// Which client, from 0.
        client: u32,
        /// Its deadline.
        deadline: Option<Deadline>,
    },
    /// The configuration does not suit the protocol.
    #[error("{0}")]
    Config(ConfigError),
}

impl Wrong {
    /// To which client it happened, from 0, if to one.
    #[must_use]
    pub const fn client(&self) -> Option<u32> {
        match *self {
            Self::Rule { client, .. }
            | Self::Application { client, .. }
            | Self::Stuck { client, .. }
            | Self::NoEnd { client, .. } => Some(client),
            Self::Property { client, .. } => client,
            Self::Config(_) => None,
        }
    }

    /// Whether the other is the same kind of failure, perhaps of another client or with other
    /// figures.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Rule { rule, .. }, Self::Rule { rule: theirs, .. }) => rule == theirs,
            (Self::Property { name, .. }, Self::Property { name: theirs, .. }) => name == theirs,
            _ => core::mem::discriminant(self) == core::mem::discriminant(other),
        }
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
