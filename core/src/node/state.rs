//! The states of a node and the transitions between them: SEMANTICS 2.1 as a table.

use core::fmt;

/// What a node is doing (SEMANTICS 2.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum NodeState {
    /// No connection and no attempt.
    Disconnected,
    /// Its name is being looked up.
    Resolving,
    /// A transport is being brought up.
    Connecting,
    /// The transport is up, the handshake is under way.
    Handshaking,
    /// It takes requests.
    Ready,
    /// It rejected our credentials; otherwise as Disconnected.
    AuthenticationFailed,
}

impl NodeState {
    /// All states.
    pub const ALL: [Self; 6] = [
        Self::Disconnected,
        Self::Resolving,
        Self::Connecting,
        Self::Handshaking,
        Self::Ready,
        Self::AuthenticationFailed,
    ];

    /// Whether an attempt is under way.
    #[must_use]
    pub const fn is_setup(self) -> bool {
        matches!(self, Self::Resolving | Self::Connecting | Self::Handshaking)
    }

    /// Whether it may be dialled once its next-attempt time is reached.
    #[must_use]
    pub const fn is_idle(self) -> bool {
        matches!(self, Self::Disconnected | Self::AuthenticationFailed)
    }
}

impl fmt::Display for NodeState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
