//! The protocol of the ZooKeeper example, on bytes.

mod handshake;
mod matching;
mod rig;
mod watches;
