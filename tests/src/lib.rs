//! Test support for redial.

pub mod servers;
