//! Requests and replies as bytes.
