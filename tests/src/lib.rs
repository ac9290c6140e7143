//! Test support for redial.

pub mod real_client;
pub mod servers;
pub mod step;
pub mod vectors;
