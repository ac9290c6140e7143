//! Real Redis servers: one process for each that a test needs.
//!
//! Where `redis-server` is not installed the tests say so and pass, unless the environment says
//! `REDIAL_REQUIRE_REDIS=1`.

mod authentication;
mod cancel;
mod failures;
mod pipelining;
mod pushes;
mod support;
mod verdicts;
