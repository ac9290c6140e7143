//! The protocol of Redis byte by byte, without sockets.

mod handshake;
mod matching;
mod parsing;
mod rig;
