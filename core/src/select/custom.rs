//! A selection policy of the user's own.

use alloc::sync::Arc;
use core::fmt;

use crate::{NodeId, NodeSpec};

/// Who gets a request that names no node (SEMANTICS 5.2), decided by the user: by rack, by label, by
/// weight.
///
/// Pure: no clock, no randomness but the number handed in, no state that changes; or the same seed
/// does not give the same run. Called once for each such request, with every node that can take one
/// now; so it costs as much as there are nodes.
///
/// ```
/// use redial::{Candidate, Config, Select, SelectionPolicy};
///
/// /// The least loaded node of our own rack.
/// #[derive(Debug)]
/// struct SameRack(&'static str);
///
/// impl Select for SameRack {
///     fn select(&self, candidates: &[Candidate<'_>], _random: u64) -> Option<usize> {
///         let ours = |c: &Candidate<'_>| c.spec.labels.get("rack").is_some_and(|r| r == self.0);
///         let ours = candidates.iter().enumerate().filter(|(_, c)| ours(c));
///         ours.min_by_key(|(_, c)| c.in_flight).map(|(index, _)| index)
///     }
/// }
///
/// let config = Config::builder().selection(SelectionPolicy::custom(SameRack("a"))).build()?;
/// # Ok::<(), redial::ConfigError>(())
/// ```
pub trait Select: fmt::Debug + Send + Sync {
    /// The index of one of `candidates`, which are never empty and in the order of their ids.
    /// `None`, or an index that is out of range: none of them; the request waits and does not hold
    /// up later ones. `random` is uniform.
    fn select(&self, candidates: &[Candidate<'_>], random: u64) -> Option<usize>;
}

/// A node that can take a request now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Candidate<'a> {
    /// The node.
    pub node: NodeId,
    /// Its entry of the server list.
    pub spec: &'a NodeSpec,
    /// Slots taken on its connection.
    pub in_flight: u32,
}

/// A [`Select`] in a configuration. Two are equal if they are the same object.
#[derive(Clone, Debug)]
pub struct CustomPolicy(pub(crate) Arc<dyn Select>);

impl PartialEq for CustomPolicy {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for CustomPolicy {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SelectionPolicy;

    #[derive(Debug)]
    struct First;

    impl Select for First {
        fn select(&self, _candidates: &[Candidate<'_>], _random: u64) -> Option<usize> {
            Some(0)
        }
    }

    #[test]
    fn policies_are_equal_if_they_are_one_object() {
        let policy = SelectionPolicy::custom(First);
        assert_eq!(policy, policy.clone());
        assert_ne!(policy, SelectionPolicy::custom(First));
    }
}
