//! The states of a node and the transitions between them: SEMANTICS 2.1 as a table.

use core::fmt;

use crate::Stage;

/// What a node is doing (SEMANTICS 2.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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

    /// At what stage an attempt is that is under way.
    pub(super) const fn setup_stage(self) -> Stage {
        match self {
            Self::Resolving => Stage::Resolve,
            Self::Handshaking => Stage::Handshake,
            _ => Stage::Connect,
        }
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

/// One transition of SEMANTICS 2.1: from, what happens, to.
pub(crate) type Transition = (NodeState, &'static str, NodeState);

/// Every transition that a node makes while it is in the list. A removed node has no state.
pub(crate) const TRANSITIONS: &[Transition] = {
    use NodeState::*;
    &[
        (Disconnected, "dialled, name to be resolved", Resolving),
        (Disconnected, "dialled, address known", Connecting),
        (
            AuthenticationFailed,
            "dialled, name to be resolved",
            Resolving,
        ),
        (AuthenticationFailed, "dialled, address known", Connecting),
        (Resolving, "addresses", Connecting),
        (
            Resolving,
            "failure, no address, setup deadline, abort",
            Disconnected,
        ),
        (Connecting, "transport up, handshake", Handshaking),
        (Connecting, "transport up, no handshake", Ready),
        (
            Connecting,
            "no address left, setup deadline, abort",
            Disconnected,
        ),
        (Handshaking, "done", Ready),
        (Handshaking, "credentials rejected", AuthenticationFailed),
        (Handshaking, "failure, setup deadline, abort", Disconnected),
        (Ready, "failure, or detached to drain", Disconnected),
        (AuthenticationFailed, "new endpoint", Disconnected),
    ]
};

/// Whether the table has this transition.
pub(crate) fn is_legal(from: NodeState, to: NodeState) -> bool {
    let mut transitions = TRANSITIONS.iter();
    transitions.any(|&(a, _, b)| (a, b) == (from, to))
}

#[cfg(test)]
mod tests {
    use alloc::{format, string::String, vec::Vec};

    use super::*;

    /// The table and a diagram of it, as they are checked in beside this file.
    fn drawing() -> String {
        let mut text =
            String::from("# The states of a node\n\nMade from the table in `state.rs`.\n");
        text += "\n| from | what happens | to |\n|---|---|---|\n";
        for (from, what, to) in TRANSITIONS {
            text += &format!("| {from} | {what} | {to} |\n");
        }
        text += "\n```mermaid\nstateDiagram-v2\n    [*] --> Disconnected\n";
        for (from, what, to) in TRANSITIONS {
            text += &format!("    {from} --> {to}: {what}\n");
        }
        text + "```\n"
    }

    #[test]
    fn the_table_and_its_diagram_are_those_checked_in() {
        assert_eq!(
            include_str!("states.md"),
            drawing(),
            "if meant, put the right side there"
        );
    }

    #[test]
    fn a_node_is_ready_after_setup_alone_and_disconnected_after_that() {
        let states = |legal: fn(&NodeState) -> bool| -> Vec<NodeState> {
            NodeState::ALL.into_iter().filter(legal).collect()
        };
        use NodeState::*;
        let to_ready = states(|from| is_legal(*from, Ready));
        assert_eq!(to_ready, [Connecting, Handshaking]);
        assert_eq!(states(|to| is_legal(Ready, *to)), [Disconnected]);
    }

    #[test]
    fn every_state_can_be_reached_and_left() {
        for state in NodeState::ALL {
            assert!(
                TRANSITIONS
                    .iter()
                    .any(|(from, _, to)| *from == state && *to != state)
            );
            assert!(
                TRANSITIONS
                    .iter()
                    .any(|(from, _, to)| *to == state && *from != state)
            );
        }
    }
}
