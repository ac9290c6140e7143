//! The client layer: bytes in, bytes out, on virtual time.

mod connections;
mod framing;
mod protocols;
mod random;
mod requests;
mod rig;
mod sources;
