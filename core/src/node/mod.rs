mod state;
pub use state::NodeState;
