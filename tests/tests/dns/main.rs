//! Server lists from a real DNS server, and a client of real servers that follows them.
//!
//! Where dnsmasq is not installed the tests say so and pass, unless the environment says
//! `REDIAL_REQUIRE_DNSMASQ=1`.

mod addresses;
mod failures;
mod srv;
mod support;
