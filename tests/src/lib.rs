//! Test support for redial.

pub mod dnsmasq;
pub mod fleet;
pub mod fuzz_targets;
pub mod lab;
#[cfg(redial_mutant)]
pub mod mutants;
pub mod nginx;
mod process;
pub mod real_client;
pub mod recording;
pub mod redis;
pub mod rig;
pub mod script;
pub mod search;
pub mod servers;
pub mod vectors;
pub mod watched;
pub mod world;
pub mod zookeeper;
