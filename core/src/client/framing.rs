//! Cutting frames from a stream of bytes.
