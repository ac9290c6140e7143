//! Test support for redial.

pub mod dnsmasq;
#[cfg(feature = "real")]
pub mod fleet;
pub mod fuzz_targets;
pub mod lab;
#[cfg(redial_mutant)]
pub mod mutants;
#[cfg(feature = "real")]
pub mod nginx;
mod process;
pub mod recording;
pub mod redis;
pub mod rig;
pub mod script;
pub mod search;
#[cfg(feature = "real")]
pub mod servers;
pub mod vectors;
#[cfg(feature = "real")]
pub mod waiting;
pub mod watched;
pub mod world;
pub mod zookeeper;
