//! Test support for redial.
