//! redial on tokio.
