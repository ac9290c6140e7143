//! Server lists from a real nginx: one process for each test that needs one.
//!
//! Where nginx is not installed the tests say so and pass, unless the environment says
//! `REDIAL_REQUIRE_NGINX=1`.

mod changes;
mod failures;
mod pace;
mod put;
mod redirects;
#[allow(dead_code, reason = "redial-tokio's own tests use the rest")]
#[path = "../../../adapter-tokio/tests/scripted/mod.rs"]
mod scripted;
mod support;
mod tls;
mod tool;
mod watch;
